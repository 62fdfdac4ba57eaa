"""Samples of one person are not independent: neighbours, permutations, folds and calibration."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from imkpl import IMKPL, load, path, save, stability
from imkpl.estimators import _fitted
from imkpl.kernels import PerFeatureGaussian
from imkpl.measures import judge, weigh_answers
from imkpl.model.calibration import (
    FORBIDDEN,
    leave_out,
    leave_out_contrasts,
    leave_out_novelty,
)
from imkpl.model.neighbors import find_neighborhoods
from imkpl.model.permutation_test import permute_persons
from imkpl.model.size import split
from model.problems import make_data, pose


def make_kernel(n_samples, seed=0):
    X = np.random.default_rng(seed).standard_normal((n_samples, 3))
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 4)


def make_patients(seed=0, n_real=0, n_persons=60, n_rows=6, n_columns=10):
    """Columns that are nearly constant for every person, of which the first tell the classes."""
    source = np.random.default_rng(seed)
    persons = np.repeat(np.arange(n_persons), n_rows)
    X = source.standard_normal((n_persons, n_columns))[persons]
    X += 0.1 * source.standard_normal(X.shape)
    y = persons % 2
    X[:, :n_real] += 1.5 * y[:, None]
    return X, y, persons


def test_neighbours_of_the_same_class_are_other_persons():
    kernel, labels, persons = make_kernel(24), np.arange(24) % 2, np.arange(24) // 4
    same = find_neighborhoods(kernel, labels, 3, 3, persons=persons).same
    assert np.all(persons[same.rows] != persons[same.columns])
    for i in range(24):
        allowed = np.flatnonzero((labels == labels[i]) & (persons != persons[i]))
        nearest = allowed[np.argsort(-kernel[i, allowed], kind="stable")[:3]]
        assert_array_equal(same.columns[same.rows == i], nearest)


def test_permutations_keep_persons_together():
    persons = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3])
    ranked = np.random.default_rng(1).permutation(10)
    order = permute_persons(persons, ranked, np.random.default_rng(0))
    taken = [set(persons[order[persons == person]]) for person in range(4)]
    assert all(len(one) == 1 for one in taken)
    assert set.union(*taken) == {0, 1, 2, 3}


def test_folds_keep_persons_together_and_every_class():
    X, labels, _ = make_data(0, n_samples=48)
    persons = np.arange(48) // 3
    problem = replace(pose(PerFeatureGaussian().on(X), labels), persons=persons)
    folds = list(split(problem, np.arange(48)))
    assert folds
    for is_left in folds:
        assert not set(persons[is_left]) & set(persons[~is_left])
        assert set(problem.labels[~is_left]) == set(problem.labels)


def test_a_person_is_left_out_of_prototypes_and_contrasts():
    kernel, persons = make_kernel(8), np.array([0, 0, 1, 1, 1, 2, 3, 3])
    mixes = np.array([[0.5, 0.2, 0.4, 0, 0, 0, 0, 0.1], [0, 0, 0, 0.3, 0.9, 0, 0, 0]])
    mixes /= np.sqrt(np.einsum("is,st,it->i", mixes, kernel, mixes))[:, None]
    found = leave_out(sp.csr_array(mixes), kernel, persons)
    rest = leave_out_contrasts(sp.csr_array(mixes), kernel, persons)
    for i in range(8):
        for j in range(2):
            without = np.where(persons == persons[i], 0.0, mixes[j])
            norm = np.sqrt(without @ kernel @ without)
            expected = FORBIDDEN if norm == 0 else without @ kernel[i] / norm
            assert found[i, j] == pytest.approx(expected)
            assert rest[i, j] == pytest.approx(without @ kernel[i], abs=1e-12)
    support = np.array([0, 3, 7])
    others = np.where(persons[:, None] == persons[support], -np.inf, kernel[:, support])
    expected = 1 - others.max(axis=1)
    assert_allclose(leave_out_novelty(kernel, support, persons), np.minimum(expected, 1.0))


def test_persons_of_one_sample_change_nothing():
    kernel, alone = make_kernel(12), np.arange(12)
    mixes = sp.csr_array(np.eye(12)[:2] / np.sqrt(kernel[0, 0]) + 0.1 * np.eye(12)[2:4])
    mixes = sp.csr_array(mixes / np.sqrt(mixes.multiply(mixes @ kernel).sum(axis=1))[:, None])
    assert_allclose(leave_out(mixes, kernel, alone), leave_out(mixes, kernel))
    X, y, _ = make_patients(n_real=2)
    model = IMKPL(n_prototypes=4, contrast=False)
    one, other = clone(model).fit(X, y), clone(model).fit(X, y, groups=np.arange(y.size))
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert (one.n_groups_, other.n_groups_) == (None, y.size)


@pytest.mark.parametrize("seed", range(6))
def test_persons_may_have_different_numbers_of_samples(seed):
    source = np.random.default_rng(seed)
    persons = source.integers(0, 30, 90)
    y = source.integers(0, 2, 90) if seed % 2 else persons % 2
    X = source.standard_normal((90, 4))
    X[:, 0] += 4 * y
    # In some permutations the last samples do not occur.
    model = IMKPL(n_prototypes=2).fit(X, y, groups=persons)
    assert np.argmax(model.kernel_evidence_) == 0
    assert model.kernel_evidence_[0] > 0.75


def test_noise_that_is_constant_per_person_is_chance():
    X, y, persons = make_patients()
    with pytest.warns(UserWarning, match="No kernel tells the classes apart"):
        model = IMKPL(n_prototypes=2).fit(X, y, groups=persons)
    assert model.kernel_evidence_.max() < 0.75
    # The control: rows that are taken for independent look like evidence.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert IMKPL(n_prototypes=2).fit(X, y).kernel_evidence_.min() > 0.75


def test_features_of_persons_are_found_whatever_the_order_and_names(tmp_path):
    X, y, persons = make_patients(seed=3, n_real=3)
    # Folds tell whether prototypes have contrasts.
    model = IMKPL(n_prototypes=2).fit(X, y, groups=persons)
    assert model.kernel_evidence_[:3].min() > 0.75
    assert np.count_nonzero(model.kernel_evidence_[3:] > 0.75) <= 1
    assert model.n_groups_ == 60
    order = np.random.default_rng(0).permutation(y.size)
    names = np.array([f"patient {(7 * one) % 60}" for one in persons])
    other = IMKPL(n_prototypes=2).fit(X[order], y[order], groups=names[order])
    assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-6)
    save(model, tmp_path / "m.imkpl")
    assert load(tmp_path / "m.imkpl").n_groups_ == 60


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], "expected one name or number for each of the 360 samples"),
        (["a"] * 360, "groups has one name only, 'a'"),
        ([None, *range(359)], "groups has no name in row 0"),
    ],
)
def test_groups_that_cannot_be_used_get_a_sentence(groups, message):
    X, y, _ = make_patients()
    with pytest.raises(ValueError, match=message):
        IMKPL().fit(X, y, groups=groups)


def test_answers_count_as_their_classes_cost():
    labels, right = ["sick"] * 10 + ["well"] * 90, np.repeat([0.8, 0.7], [10, 90])
    alone = np.arange(100)
    assert weigh_answers(right, labels, alone, None, None) is None
    found = weigh_answers(right, labels, alone, {"sick": 20}, None)
    assert found["accuracy"] == pytest.approx((0.8 * 200 + 0.7 * 90) / 290)
    assert found["baseline"] == {"class": "sick", "accuracy": pytest.approx(200 / 290)}
    found = weigh_answers(right, labels, alone, None, "balanced")
    assert (found["accuracy"], found["baseline"]["accuracy"]) == pytest.approx((0.75, 0.5))
    measured = {"baseline": {"class": "well", "accuracy": 0.9}, "weighed": found}
    measured |= {"accuracy": 0.71, "interval": [0.6, 0.8]}
    assert judge(measured)["text"].endswith("than always saying sick, with classes weighed alike.")
    persons = weigh_answers(right, labels, alone // 10, None, "balanced")
    assert persons["interval"][0] < found["interval"][0]


def test_a_rare_class_that_is_ranked_well_is_not_called_bad():
    base = {"class": "well", "accuracy": 0.95}
    measured = {"accuracy": 0.95, "interval": [0.93, 0.96], "baseline": base}
    assert judge(measured)["level"] == "worse"
    chances = {"auc": {"value": 0.84, "interval": [0.79, 0.89]}}
    chances["skill"] = {"value": 0.1, "interval": [-0.02, 0.2]}
    found = judge({**measured, "chances": chances})
    assert found["level"] == "unclear"
    assert "ranks cases clearly better than chance: AUC 0.84" in found["text"]
    chances["skill"]["interval"] = [0.03, 0.2]
    found = judge({**measured, "chances": chances})
    assert found["level"] == "better"
    assert found["text"].startswith("Clearly better than guessing by how frequent classes are")
    assert "Its answers alone are not clearly better than always saying well" in found["text"]
    better = {**measured, "interval": [0.96, 0.98], "accuracy": 0.97}
    assert judge(better)["text"] == "Clearly better than always saying well (95.0% right)."


def test_stability_and_path_draw_whole_persons():
    X, y, patient = make_patients(n_real=2)
    model = IMKPL(n_prototypes=2, max_kernels=3, contrast=False)
    found = stability(model, X, y, groups=patient, n_repeats=2)
    assert found.model.n_groups_ == 60
    pipeline = make_pipeline(StandardScaler(), model)
    again = stability(pipeline, X, y, groups=patient, n_repeats=2)
    assert again.kernels["frequencies"][0]["frequency"] == 1
    walked = path(model, X, y, sizes=[1, 3], cv=3, groups=patient)
    assert walked.model.n_groups_ == 60
    # Rows of known persons are easier than new persons.
    by_rows = path(model, X, y, sizes=[1, 3], cv=3)
    assert walked.accuracy.max() <= by_rows.accuracy.max()


def test_landmarks_are_calibrated_on_persons_that_are_not_in_prototypes(monkeypatch):
    source = np.random.default_rng(0)
    patient = np.repeat(np.arange(200), 5)
    X = source.standard_normal((200, 4))[patient] + 0.05 * source.standard_normal((1000, 4))
    y = np.where(X[:, 0] + source.standard_normal(200)[patient] > 0, "sick", "well")
    shares, map_blocks = [], _fitted.map_blocks

    def record(whole, predictor, samples, function, *rest):
        if function.__name__ == "compare":
            owners = patient[whole.data.rows[samples]]
            shares.append(np.isin(owners, patient[predictor.rows]).mean())
        return map_blocks(whole, predictor, samples, function, *rest)

    monkeypatch.setattr(_fitted, "map_blocks", record)
    options = {"solver": "landmarks", "n_landmarks": 100, "n_prototypes": 20, "sparsity": 5}
    for groups in (None, patient):
        IMKPL(**options, contrast=False).fit(X, y, groups=groups)
    # Rows of the persons in prototypes look easy: probabilities would be too sure.
    assert shares[0] > 0.1
    assert shares[1] == 0
