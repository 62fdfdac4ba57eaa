"""Samples with several labels each."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier

from imkpl import IMKPL, ISKPL, MultiLabelIMKPL, TimeSeriesIMKPL
from imkpl.estimators._multilabel import find_threshold, group_by_rarest_label


@pytest.fixture(scope="module")
def topics():
    """Every sample has label 0; half of them 1 as well, or 2 and 3, by two features of three."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 90)
    X = rng.standard_normal((90, 3))
    X[:, 0] += 5 * (kind == 1)
    X[:, 1] += 5 * (kind == 2)
    y = np.stack([np.ones(90, int), kind == 1, kind == 2, kind == 2], axis=1).astype(int)
    return X, y


@pytest.fixture(scope="module")
def fitted(topics):
    X, y = topics
    return MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X[:60], y[:60])


def test_labels_that_come_together_are_found_together(fitted, topics):
    X, y = topics
    found = fitted.predict(X[60:])
    assert found.dtype == np.int64
    assert np.mean(found == y[60:]) > 0.95
    assert_array_equal(found[:, 2], found[:, 3])
    assert fitted.score(X[60:], y[60:]) > 0.85
    # The classes of the one model are the rarest labels.
    assert_array_equal(fitted.estimator_.classes_, [0, 1, 2])


def test_a_label_is_as_probable_as_the_classes_whose_samples_have_it(fitted, topics):
    X, y = topics
    groups = group_by_rarest_label(y[:60] > 0, np.ones(60))
    for place, group in enumerate(fitted.estimator_.classes_):
        assert_allclose(fitted.label_shares_[place], y[:60][groups == group].mean(axis=0))
    expected = fitted.estimator_.predict_proba(X) @ fitted.label_shares_
    assert_allclose(fitted.predict_proba(X), expected, atol=1e-12)
    assert_array_equal(fitted.predict(X), expected >= fitted.threshold_)


def test_prototypes_tell_the_labels_of_the_samples_they_are_made_of(fitted, topics):
    _, y = topics
    mixes = fitted.estimator_.prototypes_.toarray()
    for row, told in zip(mixes, fitted.prototype_labels_, strict=True):
        assert_allclose(told, np.average(y[:60], axis=0, weights=row), atol=1e-12)


def test_explanations_are_those_of_the_model(fitted, topics):
    X, _ = topics
    explanation = fitted.explain(X[60:63])
    assert_array_equal(explanation.predicted, fitted.estimator_.predict(X[60:63]))
    assert str(explanation[0]).startswith("Sample 0 is ")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_labels_have_the_names_of_their_columns(topics, kind):
    X, y = topics
    names = ["any", "sports", "war", "army"]
    frame = pd.DataFrame(y, columns=names) if kind == "pandas" else pl.DataFrame(y, names)
    named = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X, frame)
    assert named.classes_.tolist() == names
    assert named.estimator_.classes_.tolist() == ["any", "sports", "war"]
    plain = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X, y)
    assert_allclose(named.predict_proba(X), plain.predict_proba(X))


def test_names_need_not_be_in_order(topics):
    X, y = topics
    named = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(
        X, pd.DataFrame(y, columns=list("dbca"))
    )
    assert named.estimator_.classes_.tolist() == ["b", "c", "d"]
    assert_array_equal(
        named.predict(X), MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X, y).predict(X)
    )


def test_samples_without_a_label_are_a_class_of_their_own(topics):
    X, y = topics
    model = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X, y[:, 1:])
    assert_array_equal(model.estimator_.classes_, [-1, 0, 1])
    assert np.mean(model.predict(X) == y[:, 1:]) > 0.97
    named = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(
        X, pd.DataFrame(y[:, 1:], columns=list("abc"))
    )
    assert named.estimator_.classes_.tolist() == ["a", "b", "no label"]
    assert_array_equal(named.predict(X), model.predict(X))


@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_matrix, np.ndarray.tolist, np.bool_])
def test_tables_of_labels_come_in_any_form(topics, form):
    X, y = topics
    model = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X, form(y))
    expected = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X, y).predict_proba(X)
    assert_array_equal(model.predict_proba(X), expected)


def test_other_models_learn_several_labels_too(topics):
    X, y = topics
    assert MultiLabelIMKPL(ISKPL(sparsity=3, n_prototypes=9)).fit(X, y).predict(X).shape == y.shape
    series = X[:, :, np.newaxis] + np.sin(np.arange(6))
    model = MultiLabelIMKPL(TimeSeriesIMKPL("global_alignment", sparsity=2, n_prototypes=6)).fit(
        series, y
    )
    assert np.mean(model.predict(series) == y) > 0.8


def test_one_label_per_sample_is_the_model_itself(topics):
    X, y = topics
    labels = np.array(["a", "b", "c"])[y[:, 1] + 2 * y[:, 2]]
    model, alone = (
        MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)),
        IMKPL(sparsity=3, n_prototypes=9).fit(X, labels),
    )
    # An earlier fit to several labels leaves nothing behind.
    model.fit(X, y).fit(X, labels)
    assert_array_equal(model.predict(X), alone.predict(X))
    assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert model.label_shares_ is model.prototype_labels_ is model.threshold_ is None


def test_weights_count_as_copies(topics):
    X, y = topics
    weight = np.where(np.arange(90) < 30, 2, 1)
    weight[80:] = 0
    rows = np.repeat(np.arange(90), weight)
    weighted = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X, y, sample_weight=weight)
    copied = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X[rows], y[rows])
    assert_allclose(weighted.label_shares_, copied.label_shares_)
    assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-9)
    assert weighted.threshold_ == pytest.approx(copied.threshold_)


def test_a_label_of_left_out_samples_alone_is_no_class(topics):
    X, y = topics
    more = np.column_stack([y, np.arange(90) < 5])
    weight = np.where(np.arange(90) < 5, 0, 1)
    model = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X, more, sample_weight=weight)
    assert_array_equal(model.estimator_.classes_, [0, 1, 2])
    assert np.all(model.label_shares_[:, 4] == 0)


def test_a_fit_that_fails_leaves_the_model_as_it_was(topics):
    X, y = topics
    model = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)).fit(X, y)
    expected = model.predict(X)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X > 4, np.inf, X), y)
    assert_array_equal(model.predict(X), expected)


def test_it_is_cross_validated_by_any_score(topics):
    X, y = topics
    scores = cross_val_score(
        MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9)), X, y, scoring="f1_micro", cv=2
    )
    assert np.all(scores > 0.9)


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, MultiOutputClassifier])
def test_wrappers_of_scikit_learn_learn_a_model_per_label(topics, wrapper):
    X, y = topics
    model = wrapper(IMKPL(sparsity=3, n_prototypes=9)).fit(X, y[:, 1:])
    assert np.mean(model.predict(X) == y[:, 1:]) > 0.97


tables = hnp.arrays(bool, st.tuples(st.integers(2, 12), st.integers(1, 5)))


@settings(max_examples=25, deadline=None)
@given(tables)
def test_a_sample_gets_the_rarest_label_that_makes_a_class_or_another_of_its_own(table):
    groups = group_by_rarest_label(table, np.ones(len(table)))
    counts = np.bincount(groups + 1)
    assert np.all(counts[counts > 0] >= 2)
    label_counts = table.sum(axis=0)
    rarest = np.argmin(np.where(table, label_counts, len(table) + 1), axis=1)
    plain = np.where(table.any(axis=1), rarest, -1)
    if np.bincount(plain + 1)[np.unique(plain + 1)].min() >= 2:
        assert_array_equal(groups, plain)
    n_foreign = 0
    for row, group in zip(table, groups, strict=True):
        n_foreign += bool(group >= 0 and not row[group])
    # At most the last single sample, which has no label of its own that makes a class.
    assert n_foreign <= 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_the_threshold_has_the_largest_f1_of_all(seed):
    rng = np.random.default_rng(seed)
    table = rng.random((6, 3)) < 0.4
    table[0, 0] = True
    weight = rng.integers(1, 4, 6).astype(float)
    probabilities = np.round(rng.random((6, 3)), 1)

    def score(threshold):
        found = probabilities >= threshold
        hits = weight @ (found & table)
        return 2 * hits.sum() / (weight @ found + weight @ table).sum()

    best = max(score(threshold) for threshold in np.append(probabilities.ravel(), 2.0))
    assert score(find_threshold(probabilities, table, weight)) == pytest.approx(best)


def test_wrong_labels_and_settings_get_a_sentence(topics):
    X, y = topics
    with pytest.raises(ValueError, match=r"shape \(90, 4\) and other values than 0 and 1"):
        MultiLabelIMKPL().fit(X, y + 1)
    with pytest.raises(ValueError, match="Turn sets of labels into such a table"):
        MultiLabelIMKPL().fit(X, y * np.arange(4))
    with pytest.raises(ValueError, match="y has rows of unequal length, expected zeros and ones"):
        MultiLabelIMKPL().fit(X, [[0, 1], [2]] * 45)
    with pytest.raises(ValueError, match="All samples belong to one class by their rarest labels"):
        MultiLabelIMKPL().fit(X, np.zeros((90, 2)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MultiLabelIMKPL().fit(X[:50], y)
    with pytest.raises(ValueError, match="The 'threshold' parameter"):
        MultiLabelIMKPL(threshold=1.5).fit(X, y)
    for method in ("predict", "predict_proba", "explain"):
        with pytest.raises(NotFittedError):
            getattr(MultiLabelIMKPL(), method)(X)


def test_a_given_threshold_is_taken(topics):
    X, y = topics
    model = MultiLabelIMKPL(IMKPL(sparsity=3, n_prototypes=9), threshold=0.25).fit(X, y)
    assert model.threshold_ == 0.25
