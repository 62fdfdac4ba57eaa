"""A fit that was cut off goes on where it was, and ends as if nothing had happened."""

import pathlib
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import imkpl
from imkpl import IMKPL, IMKPLCV, ISKPL, TimeSeriesIMKPL
from imkpl._hash import hash_values
from imkpl.estimators import _base, _cv, _landmarks
from imkpl.estimators._checkpoint import Checkpoint
from imkpl.kernels import FunctionKernel, Gaussian, SparseColumns, alignment

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N_ROUNDS = 4


class CutOffError(Exception):
    """Stands for whatever ends a process."""


def linear(X, Y):
    return X @ Y.T


@pytest.fixture
def samples(wine, stacks, two_blobs):
    """Samples and labels for every kind of kernels."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 8)
    series = rng.standard_normal((16, 2, 9)) + 2 * y[:, None, None] * [[1.0], [0.0]]
    table = pd.DataFrame({"grape": np.array(["a", "b", "c"])[wine.y], "alcohol": wine.X[:, 0]})
    table.loc[::7, "alcohol"] = np.nan
    table.loc[::5, "grape"] = None
    n_train = len(wine.y)
    return {
        "vectors": (wine.X, wine.y),
        "stack": (stacks[0][:n_train, :n_train], wine.y),
        "table": (table, np.array(["one", "two", "three"])[wine.y]),
        "series": (series, y),
        "columns": (SparseColumns(sp.csc_array(wine.X)), wine.y),
    }


COMMON = {"sparsity": 3, "n_prototypes": 6, "max_iter": N_ROUNDS, "tol": 0.0}
CASES = {
    "IMKPL": ("vectors", IMKPL(**COMMON)),
    "chosen size": ("vectors", IMKPL(**(COMMON | {"n_prototypes": None}))),
    "share": ("vectors", IMKPL(decision="share", **COMMON)),
    "few kernels": ("vectors", IMKPL(max_kernels=4, class_weight="balanced", **COMMON)),
    "ridge": ("vectors", IMKPL(weight_rule="ridge", **COMMON)),
    "lp": ("vectors", IMKPL(weight_rule="lp", **COMMON)),
    "ISKPL": ("vectors", ISKPL(**COMMON)),
    "landmarks": ("vectors", IMKPL(solver="landmarks", n_landmarks=30, random_state=3, **COMMON)),
    "two Gaussians": ("vectors", IMKPL([Gaussian(1.0), Gaussian(0.1)], **COMMON)),
    "a function": ("vectors", IMKPL([FunctionKernel(linear), "rbf"], **COMMON)),
    "precomputed": ("stack", IMKPL("precomputed", **COMMON)),
    "per column": ("table", IMKPL("per_column", **COMMON)),
    "series": ("series", TimeSeriesIMKPL("global_alignment", **COMMON)),
    "from disk": ("columns", IMKPL(**COMMON)),
}


def everything(model):
    """All that a model has learned, to the last bit."""
    learned = {name: v for name, v in vars(model).items() if name not in model.get_params()}
    return {name: hash_values(value) for name, value in learned.items()}


@contextmanager
def cut_off(module, name, n_calls):
    """A fit in this block ends when the function has done its work so many times."""
    original, calls = getattr(module, name), []

    def fail(*arguments, **more):
        result = original(*arguments, **more)
        calls.append(name)
        if len(calls) == n_calls:
            raise CutOffError
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, fail)
        with pytest.raises(CutOffError):
            yield


@pytest.mark.parametrize("case", CASES)
def test_a_fit_that_ends_after_a_round_goes_on_to_the_same_model(case, samples, tmp_path, capsys):
    kind, model = CASES[case]
    X, y = samples[kind]
    plain = clone(model).fit(X, y)
    expected, n_rounds = everything(plain), plain.n_iter_
    assert n_rounds > 1
    for n_done in sorted({1, n_rounds - 1, n_rounds}):
        folder = tmp_path / str(n_done)
        kept = clone(model).set_params(checkpoint=folder)
        with cut_off(Checkpoint, "save_round", n_done):
            kept.fit(X, y)
        assert "kernel_weights_" not in vars(kept)
        capsys.readouterr()
        again = kept.set_params(verbose=1).fit(X, y)
        lines = capsys.readouterr().err
        assert f"resumed from round {n_done} of at most {N_ROUNDS}\n" in lines
        assert f"round {n_done}/" not in lines
        assert everything(again) == expected


def test_model_files_of_both_are_the_same(wine, tmp_path):
    model = IMKPL(checkpoint=tmp_path / "kept", **COMMON)
    with cut_off(Checkpoint, "save_round", 2):
        model.fit(wine.X, wine.y)
    plain, again = IMKPL(**COMMON).fit(wine.X, wine.y), model.fit(wine.X, wine.y)
    imkpl.save(plain, tmp_path / "plain.imkpl")
    imkpl.save(again.set_params(checkpoint=None), tmp_path / "again.imkpl")
    assert (tmp_path / "plain.imkpl").read_bytes() == (tmp_path / "again.imkpl").read_bytes()
    np.testing.assert_array_equal(again.predict_proba(wine.new), plain.predict_proba(wine.new))


def test_sample_weights_belong_to_the_fit(wine, tmp_path):
    weight = np.random.default_rng(0).uniform(0, 3, len(wine.y))
    model = IMKPL(checkpoint=tmp_path, **COMMON).fit(wine.X, wine.y)
    model.fit(wine.X, wine.y, sample_weight=weight)
    plain = IMKPL(**COMMON).fit(wine.X, wine.y, sample_weight=weight)
    assert everything(model) == everything(plain)
    assert len(list(tmp_path.glob("*-round.checkpoint"))) == 2


def test_single_precision_is_kept(wine, tmp_path, monkeypatch):
    monkeypatch.setattr("imkpl.model.problem.MANY_VALUES", 1)
    expected = everything(IMKPL(**COMMON).fit(wine.X, wine.y))
    model = IMKPL(checkpoint=tmp_path, **COMMON)
    with cut_off(Checkpoint, "save_round", 2):
        model.fit(wine.X, wine.y)
    assert everything(model.fit(wine.X, wine.y)) == expected


@pytest.mark.parametrize(
    ("case", "module", "name"),
    [
        ("landmarks", _landmarks, "choose_landmarks"),
        ("series", alignment, "align_triangle"),
    ],
)
def test_the_expensive_stages_are_not_repeated(case, module, name, samples, tmp_path, monkeypatch):
    kind, model = CASES[case]
    X, y = samples[kind]
    kept = clone(model).set_params(checkpoint=tmp_path)
    with cut_off(Checkpoint, "save_round", 1):
        kept.fit(X, y)

    def repeat(*arguments, **more):
        raise AssertionError

    monkeypatch.setattr(module, name, repeat)
    assert kept.fit(X, y).n_iter_ > 1


def test_alignments_are_kept_before_all_are_done(samples, tmp_path, monkeypatch):
    X, y = samples["series"]
    model = TimeSeriesIMKPL("global_alignment", checkpoint=tmp_path, **COMMON)
    with cut_off(alignment, "align_triangle", 2):
        model.fit(X, y)
    n_calls, original = [], alignment.align_triangle

    def count(*arguments):
        n_calls.append(1)
        return original(*arguments)

    monkeypatch.setattr(alignment, "align_triangle", count)
    again = model.fit(X, y)
    # Of two channels the first was kept; the second was computed, but not kept.
    assert len(n_calls) == 1
    assert everything(again) == everything(TimeSeriesIMKPL("global_alignment", **COMMON).fit(X, y))
    assert again._predictor.bank.cache_dir is None


def test_a_finished_fit_is_not_repeated_and_more_rounds_go_on_from_its_end(wine, tmp_path, capsys):
    short = IMKPL(checkpoint=tmp_path, **COMMON).fit(wine.X, wine.y)
    again = clone(short).set_params(verbose=1).fit(wine.X, wine.y)
    assert "objective" not in capsys.readouterr().err
    assert everything(again) == everything(short)
    longer = clone(short).set_params(max_iter=N_ROUNDS + 2).fit(wine.X, wine.y)
    plain = IMKPL(**COMMON | {"max_iter": N_ROUNDS + 2}).fit(wine.X, wine.y)
    assert longer.n_iter_ == N_ROUNDS + 2
    assert everything(longer) == everything(plain)


def test_fewer_rounds_than_were_kept_are_counted_from_the_start(wine, tmp_path):
    IMKPL(checkpoint=tmp_path, **COMMON).fit(wine.X, wine.y)
    short = IMKPL(checkpoint=tmp_path, **COMMON | {"max_iter": 2}).fit(wine.X, wine.y)
    plain = IMKPL(**COMMON | {"max_iter": 2}).fit(wine.X, wine.y)
    assert everything(short) == everything(plain)


def test_a_search_that_has_settled_stays_where_it_is(wine, tmp_path):
    first = IMKPL(sparsity=3, n_prototypes=9, checkpoint=tmp_path).fit(wine.X, wine.y)
    assert first.n_iter_ < first.max_iter
    assert everything(clone(first).fit(wine.X, wine.y)) == everything(first)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"sparsity": 2}, "other settings"),
        ({"kernels": [Gaussian(0.3), "linear"]}, "other settings"),
    ],
)
def test_other_settings_begin_anew_and_are_said(change, difference, wine, tmp_path, capsys):
    IMKPL(checkpoint=tmp_path, **COMMON).fit(wine.X, wine.y)
    model = IMKPL(checkpoint=tmp_path, verbose=1, **COMMON | change)
    model.fit(wine.X, wine.y)
    lines = capsys.readouterr().err
    assert f"[checkpoint] {tmp_path} has checkpoints of {difference}\n" in lines
    assert "resumed" not in lines
    assert everything(model) == everything(IMKPL(**COMMON | change).fit(wine.X, wine.y))


def test_other_data_begin_anew_and_are_said(wine, tmp_path, capsys):
    IMKPL(checkpoint=tmp_path, **COMMON).fit(wine.X, wine.y)
    X = wine.X.copy()
    X[3, 4] = np.nextafter(X[3, 4], 99)
    model = IMKPL(checkpoint=tmp_path, verbose=1, **COMMON).fit(X, wine.y)
    assert "has checkpoints of other data\n" in capsys.readouterr().err
    assert everything(model) == everything(IMKPL(**COMMON).fit(X, wine.y))


def test_other_versions_begin_anew_and_are_said(wine, tmp_path, capsys, monkeypatch):
    IMKPL(checkpoint=tmp_path, **COMMON).fit(wine.X, wine.y)
    monkeypatch.setattr("imkpl.estimators._checkpoint._version", lambda library: "99")
    IMKPL(checkpoint=tmp_path, verbose=1, **COMMON).fit(wine.X, wine.y)
    assert "has checkpoints of other versions\n" in capsys.readouterr().err


def test_threads_and_silence_do_not_count(wine, tmp_path, capsys):
    IMKPL(checkpoint=tmp_path, **COMMON).fit(wine.X, wine.y)
    IMKPL(checkpoint=str(tmp_path), n_jobs=1, verbose=1, **COMMON).fit(wine.X, wine.y)
    assert "has round of this fit\n" in capsys.readouterr().err


def test_the_number_of_prototypes_is_chosen_once(wine, tmp_path, monkeypatch):
    model = IMKPL(**(COMMON | {"n_prototypes": None, "checkpoint": tmp_path}))
    with cut_off(_base, "choose_size", 1):
        clone(model).fit(wine.X, wine.y)
    assert not list(tmp_path.iterdir())
    with cut_off(_base, "initial_state", 1):
        clone(model).fit(wine.X, wine.y)
    assert [path.name.split("-")[-1] for path in tmp_path.iterdir()] == ["size.checkpoint"]
    plain = clone(model).set_params(checkpoint=None).fit(wine.X, wine.y)
    monkeypatch.setattr(_base, "choose_size", None)
    assert everything(clone(model).fit(wine.X, wine.y)) == everything(plain)


def test_a_search_over_settings_shares_the_folder(wine, tmp_path):
    grid = {"max_kernels": [2, 4]}
    plain = GridSearchCV(IMKPL(n_prototypes=9, max_iter=3), grid, cv=2).fit(wine.X, wine.y)
    model = IMKPL(n_prototypes=9, max_iter=3, checkpoint=tmp_path)
    for _ in range(2):
        with parallel_config("threading", n_jobs=2):
            kept = GridSearchCV(model, grid, cv=2).fit(wine.X, wine.y)
        for name in ("split0_test_score", "split1_test_score"):
            np.testing.assert_array_equal(kept.cv_results_[name], plain.cv_results_[name])
        assert everything(kept.best_estimator_) == everything(plain.best_estimator_)
    # Two settings on two folds, and the best on all samples.
    assert len(list(tmp_path.glob("IMKPL-*-round.checkpoint"))) == 5


PATH = {"sparsity": (1, 2), "cv": 2, "max_iter": 2}


@pytest.mark.parametrize("max_kernels", ["auto", (2, 4)])
def test_the_path_goes_on_with_the_next_split(max_kernels, wine, tmp_path, monkeypatch, capsys):
    plain = IMKPLCV(max_kernels=max_kernels, **PATH).fit(wine.X, wine.y)
    model = IMKPLCV(max_kernels=max_kernels, checkpoint=tmp_path, **PATH)
    with cut_off(_cv, "follow_path", 2):
        model.fit(wine.X, wine.y)
    assert not [name for name in vars(model) if name.endswith("_")]
    calls, original = [], _cv.follow_path

    def count(*arguments):
        calls.append(1)
        return original(*arguments)

    monkeypatch.setattr(_cv, "follow_path", count)
    again = model.set_params(verbose=1).fit(wine.X, wine.y)
    assert "[checkpoint] resumed with the scores of 1 of 2 splits\n" in capsys.readouterr().err
    assert len(calls) == 1
    assert everything(again) == everything(plain)


def test_other_splits_are_followed_anew(wine, tmp_path):
    settings = {**PATH, "sparsity": (2,), "max_kernels": (3,)}
    IMKPLCV(checkpoint=tmp_path, **settings).fit(wine.X, wine.y)
    other = {**settings, "random_state": 1}
    kept = IMKPLCV(checkpoint=tmp_path, **other).fit(wine.X, wine.y)
    assert everything(kept) == everything(IMKPLCV(**other).fit(wine.X, wine.y))


def test_parameters_and_files_have_the_folder(tmp_path):
    model = IMKPL(checkpoint=tmp_path / "kept")
    assert clone(model).checkpoint == tmp_path / "kept"
    assert "checkpoint=" in repr(model)
    imkpl.save(model, tmp_path / "model.imkpl")
    assert imkpl.load(tmp_path / "model.imkpl").checkpoint == str(tmp_path / "kept")
    with pytest.raises(ValueError, match="'checkpoint' parameter of IMKPL must be"):
        IMKPL(checkpoint=3).fit([[0.0], [1.0]], [0, 1])


def test_the_folder_is_made_and_holds_little(wine, tmp_path):
    folder = tmp_path / "new" / "folder"
    IMKPL(checkpoint=folder, **COMMON).fit(wine.X, wine.y)
    sizes = {path.name.split("-")[-1]: path.stat().st_size for path in folder.iterdir()}
    assert set(sizes) == {"round.checkpoint"}
    # The kernel of a round is made again, not kept.
    assert sizes["round.checkpoint"] < 8 * len(wine.y) ** 2


def test_without_a_folder_nothing_is_written(wine, monkeypatch):
    monkeypatch.setattr(pathlib.Path, "mkdir", None)
    monkeypatch.setattr("imkpl.estimators._checkpoint.write_file", None)
    assert IMKPL(sparsity=3, n_prototypes=9).fit(wine.X, wine.y).n_iter_ > 1


class TestCallbacks:
    """Callbacks are told of the rounds that are run."""

    @pytest.fixture(autouse=True)
    def _needs_callbacks(self):
        pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has none")

    def test_only_the_rounds_that_are_left_are_told(self, wine, tmp_path):
        from estimators.test_progress import Recorder, expected_events

        model = IMKPL(checkpoint=tmp_path, **COMMON)
        with cut_off(Checkpoint, "save_round", 3):
            model.fit(wine.X, wine.y)
        for n_left in (1, 0):
            recorder = Recorder()
            clone(model).set_callbacks(recorder).fit(wine.X, wine.y)
            assert recorder.events == expected_events(n_left)

    def test_a_callback_that_ends_the_search_ends_it_again(self, wine, tmp_path):
        from estimators.test_progress import Recorder

        model = IMKPL(checkpoint=tmp_path, **COMMON)
        stopped = clone(model).set_callbacks(Recorder(stop_after=2)).fit(wine.X, wine.y)
        again = clone(model).set_callbacks(Recorder(stop_after=1)).fit(wine.X, wine.y)
        assert again.n_iter_ == stopped.n_iter_ == 2
        np.testing.assert_array_equal(
            again.predict_proba(wine.new), stopped.predict_proba(wine.new)
        )
