from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin

import imkpl_paper
from imkpl import IMKPL
from imkpl.estimators import discrimination_scorer, interpretability_scorer
from imkpl.kernels import GlobalAlignment
from imkpl_paper.baselines import DKMLD
from imkpl_paper.experiments.items import ITEMS
from imkpl_paper.experiments.methods import (
    METHODS,
    PAPER,
    PEERS,
    STEPS,
    Method,
    _counts,
    _without_docstrings,
    source_fingerprint,
)
from imkpl_paper.experiments.plan import Cell
from imkpl_paper.experiments.protocol import choose_some, find_right, measure, stack_kernels, tune
from imkpl_paper.experiments.studies import STUDIES, draw_samples, load_samples, split_samples


def test_splits_are_stratified_reproducible_and_different():
    y = np.repeat(["a", "b", "c"], [50, 30, 20])
    train, test = split_samples(y, 3)
    assert sorted([*train, *test]) == list(range(100))
    assert np.unique(y[test], return_counts=True)[1].tolist() == [10, 6, 4]
    assert np.array_equal(split_samples(y, 3)[1], test)
    assert not np.array_equal(split_samples(y, 4)[1], test)


def test_a_row_has_what_the_estimator_gives_on_the_split():
    row = measure(Cell("judge", "wine", "IMKPL", 1, (("sparsity", 3),)))
    X, y = load_samples("wine")
    train, test = split_samples(y, 1)
    model = IMKPL(sparsity=3, random_state=1).fit(X[train], y[train])
    assert row["status"] == "done"
    assert row["accuracy"] == pytest.approx(100 * model.score(X[test], y[test]))
    assert row["ip"] == pytest.approx(interpretability_scorer(model))
    assert row["dr"] == pytest.approx(discrimination_scorer(model, X[test], y[test]))
    assert row["kernels"] == np.count_nonzero(model.kernel_weights_)
    assert sum(row["per_class"].values()) == row["prototypes"] == len(model.prototype_classes_)
    assert list(row["per_class"]) == model.classes_.tolist()
    assert row["objective"] == pytest.approx(model.history_["total"])
    assert (row["n_train"], row["n_test"]) == (142, 36)
    assert row["seconds"] > 0


def test_of_several_labels_one_is_enough(monkeypatch):
    _, y = load_samples("wine")
    numbers = np.unique(y, return_inverse=True)[1]
    # Class 1 counts as right for everyone.
    table = np.eye(3, dtype=bool)[numbers] | (np.arange(3) == 1)
    monkeypatch.setitem(STUDIES, "wine", replace(STUDIES["wine"], labels=lambda: table))
    cell = Cell("judge", "wine", "1-NN", 2)
    truth = numbers[split_samples(y, 2)[1]]
    assert find_right(cell, np.ones(36, dtype=int), None).all()
    assert_array_equal(find_right(cell, np.zeros(36, dtype=int), None), truth == 0)


def test_measures_that_do_not_apply_are_not_there():
    row = measure(Cell("judge", "wine", "1-NN", 0))
    assert row["status"] == "done"
    assert not {"ip", "dr", "kernels", "per_class"} & set(row)


@pytest.mark.parametrize("name", ["1-NN", "SVM, average kernel", "sparse logistic regression"])
def test_peers_that_need_no_other_package_classify(name):
    row = measure(Cell("judge", "wine", name, 0))
    assert row["accuracy"] > 90
    assert ("kernels" in row) == (name == "sparse logistic regression")


@pytest.mark.parametrize("name", PEERS)
def test_peers_run_where_their_packages_are_installed(name):
    method = METHODS[name]
    for module in method.requires:
        pytest.importorskip(module)
    dataset = "synthetic_small" if "vectors" not in method.kinds else "wine"
    row = measure(Cell("judge", dataset, name, 0))
    assert row["status"] == "done", row["reason"]
    assert row["accuracy"] > 80


def test_a_method_without_its_package_says_what_to_install():
    method = Method("X", lambda *_: None, requires=("no_such_module.inner",), package="such")
    assert method.missing() == (
        "X needs no_such_module.inner, which is not installed. Install it with pip install such."
    )
    assert METHODS["IMKPL"].missing() == ""


def test_the_methods_of_the_paper_have_their_names():
    assert {*PAPER, *PEERS, *STEPS} == set(METHODS)
    assert all(METHODS[name].group != "peer" for name in PAPER)


class Candidate(ClassifierMixin, BaseEstimator):
    """Classifies right if a is 2, better still if b is 1 as well; counts its fits."""

    n_fits = 0

    def __init__(self, a=0, b=0):
        self.a, self.b = a, b

    def fit(self, X, y):
        Candidate.n_fits += 1
        assert len(X) == len(y) == 16
        return self

    def predict(self, X):
        right = (X[:, 0] > 0.5).astype(int)
        n_right = len(X) - 2 + (self.a == 2) + (self.a == 2 and self.b == 1)
        right[n_right:] = 1 - right[n_right:]
        return right


def test_tuning_takes_the_best_of_every_setting_in_turn():
    Candidate.n_fits = 0
    X = np.tile([0.0, 1.0], 10)[:, None]
    tuned = tune(Candidate(), X, X[:, 0].astype(int), {"a": (0, 1, 2, 3), "b": (0, 1)})
    assert tuned.settings == {"a": 2, "b": 1}
    assert tuned.accuracy == 100
    # 1 to start with, 3 other values of a, 1 of b, five folds each.
    assert tuned.n_fits == Candidate.n_fits == 25


class Fickle(Candidate):
    """With a = 1 better in two folds of five and worse in one."""

    n_predicted = 0

    def predict(self, X):
        n_wrong = (0, 0, 2, 1, 1)[Fickle.n_predicted % 5] if self.a else 1
        Fickle.n_predicted += 1
        right = (X[:, 0] > 0.5).astype(int)
        right[:n_wrong] = 1 - right[:n_wrong]
        return right


def test_tuning_keeps_a_setting_unless_another_is_clearly_better():
    X = np.tile([0.0, 1.0], 10)[:, None]
    assert tune(Fickle(), X, X[:, 0].astype(int), {"a": (0, 1)}).settings == {"a": 0}


def test_what_varies_is_not_searched_for(monkeypatch):
    monkeypatch.setattr("imkpl_paper.experiments.protocol.tune", None)
    row = measure(Cell("judge", "wine", "IMKPL, large margin", 0, (("max_iter", 1),)))
    assert row["status"] == "done"
    assert len(row["objective"]) == 1
    assert "tuned" not in row


def test_settings_of_baselines_are_chosen_in_the_training_part():
    row = measure(Cell("judge", "wine", "AKGLVQ", 0))
    assert row["tuned"]["sparsity"] in (10, 20, 50)
    assert row["tuned"]["n_per_class"] in (1, 3)
    assert row["tuned_fits"] == 20


def test_series_are_compared_once_for_all_candidates(monkeypatch):
    fitted = []
    fit = DKMLD.fit
    monkeypatch.setattr(DKMLD, "fit", lambda self, X, y: (fitted.append(self), fit(self, X, y))[1])
    row = measure(Cell("judge", "synthetic_small", "DKMLD", 0))
    assert row["status"] == "done", row["reason"]
    *candidates, final = [model.kernels for model in fitted[1:]]
    assert candidates == ["precomputed"] * 15
    assert isinstance(final, GlobalAlignment)


def test_stacked_kernels_are_those_of_the_bank():
    X, _ = load_samples("synthetic_small")
    bank = STUDIES["synthetic_small"].kernels
    stack = stack_kernels(bank, X[:6])
    assert stack.shape == (6, 6, 9)
    assert_allclose(stack[..., 4], bank.on(X[:6]).evaluate(4), atol=1e-6)


def test_settings_are_searched_on_some_samples_of_every_class():
    y = np.repeat(np.arange(3), [900, 450, 150])
    rows = choose_some(np.arange(1500), y, 0)
    assert np.bincount(y[rows]).tolist() == [240, 120, 40]
    assert_array_equal(choose_some(np.arange(1500)[:400], y[:400], 0), np.arange(400))
    assert choose_some(np.arange(3000), np.repeat(np.arange(100), 30), 0).size == 500


def test_fewer_samples_get_fewer_prototypes():
    half = STUDIES["Isolet"].shrink(0.5)
    assert METHODS["MIDL"].make(half, {}, 0).n_per_class == 10
    assert METHODS["+ contrasts"].make(half, {}, 0).n_prototypes == 260
    assert METHODS["IMKPL, as printed"].make(half, {}, 0).sparsity == 20
    assert STUDIES["wine"].shrink(1.0).n_prototypes is None


def test_the_steps_lead_from_the_paper_to_the_defaults():
    study = STUDIES["TOX_171"]
    models = [METHODS[name].make(study, {}, 0) for name in STEPS]
    first, last = models[0].get_params(), models[-1].get_params()
    assert (first["weight_rule"], first["decision"]) == ("lp", "share")
    assert (first["discrimination"], first["separation"]) == (0.1, 0.3)
    assert last == METHODS["IMKPL"].make(study, {}, 0).get_params()
    for before, after in pairwise(models):
        assert before.get_params() != after.get_params()


def test_comments_and_docstrings_do_not_change_the_fingerprint():
    bare = "def f(x):\n    return x\n"
    told = '"""What."""\n\n\ndef f(x):\n    """How."""\n    # Why.\n    return x\n'
    assert _without_docstrings(bare) == _without_docstrings(told)
    assert _without_docstrings(bare) != _without_docstrings(bare.replace("return x", "return -x"))


@pytest.mark.parametrize(
    ("parts", "groups"),
    [
        (("imkpl", "kernels", "base.py"), {"ours", "baseline", "peer"}),
        (("imkpl", "series.py"), {"ours", "baseline", "peer"}),
        (("imkpl", "model", "updates.py"), {"ours", "baseline"}),
        (("imkpl", "report", "write.py"), set()),
        (("imkpl_paper", "baselines", "_midl.py"), {"baseline"}),
        (("imkpl_paper", "datasets", "real.py"), {"ours", "baseline", "peer"}),
        (("imkpl_paper", "skeletons", "bones.py"), {"ours", "baseline", "peer"}),
        (("imkpl_paper", "experiments", "protocol.py"), {"ours", "baseline", "peer"}),
        (("imkpl_paper", "experiments", "peers.py"), {"peer"}),
        (("imkpl_paper", "experiments", "page.py"), set()),
        (("imkpl_paper", "cli.py"), set()),
    ],
)
def test_a_file_counts_for_the_methods_whose_numbers_it_decides(parts, groups):
    assert {g for g in ("ours", "baseline", "peer") if _counts(parts, g)} == groups


def test_fingerprints_depend_on_the_group_and_on_versions():
    found = [source_fingerprint(group, ()) for group in ("ours", "baseline", "peer")]
    assert len({*found, source_fingerprint("peer", ("numpy",))}) == 4
    assert all(len(one) == 12 for one in found)


def test_stand_ins_say_what_they_stand_for():
    pairs = {(study.name, study.stand_in) for study in STUDIES.values() if study.stand_in}
    assert pairs == {("CLL_SUB", "MLL_Leukemia3"), ("PEMS", "DodgerLoopDay")}
    assert all(STUDIES[other].stands_for == name for name, other in pairs)


def test_every_study_of_an_item_is_known():
    for item in ITEMS.values():
        for size in (item.full, item.quick):
            assert set(size.datasets) <= set(STUDIES)
            assert set(size.methods) <= set(METHODS)


def test_the_settings_of_table_1_are_parameters_of_the_published_method():
    expected = {"sparsity": 18, "discrimination": 0.1, "separation": 0.3, "interpretability": 0.1}
    assert imkpl_paper.settings("TOX_171") == expected
    assert imkpl_paper.settings("AUSLAN")["sparsity"] == 12
    model = METHODS["IMKPL, as printed"].make(STUDIES["TOX_171"], {}, 0)
    published = IMKPL.as_published("per_feature_gaussian", **expected, random_state=0, n_jobs=1)
    assert model.get_params() == published.get_params()
    with pytest.raises(ValueError, match="'wine', expected one of CLL_SUB, TOX_171"):
        imkpl_paper.settings("wine")


@pytest.mark.parametrize("dataset", ["wine", "synthetic_small"])
def test_dr_is_measured_for_short_codes_beside_random_prototypes(dataset):
    row = measure(Cell("judge", dataset, "IMKPL, as printed", 0))
    assert row["status"] == "done", row["reason"]
    names = ["dr_1", "dr_2", "dr_3", "dr"]
    assert all(0 <= row[kind + name] <= 100 for name in names for kind in ("", "control_"))
    assert row["dr_1"] >= row["dr"]


def test_every_split_of_made_series_is_a_new_draw():
    first, second = (draw_samples("synthetic_small", split) for split in range(2))
    assert not np.array_equal(first.X[0], second.X[0])
    assert draw_samples("wine", 1) is draw_samples("wine", 0)
