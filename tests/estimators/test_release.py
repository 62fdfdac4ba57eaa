"""A released model has means of several records, and nothing of single ones."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import imkpl
from imkpl import IMKPL, ISKPL, TimeSeriesIMKPL, release
from imkpl.estimators._release import _group
from imkpl.files.store import model_bytes


@pytest.fixture(scope="module")
def named(wine):
    """Samples with names, and a model of them."""
    X = pd.DataFrame(wine.X, columns=[f"c{i}" for i in range(wine.X.shape[1])])
    X.index = [f"patient {i}" for i in range(len(X))]
    return X, IMKPL(n_prototypes=6, max_kernels=5).fit(X, wine.y)


@pytest.mark.parametrize("k", [2, 5, 10])
def test_prototypes_are_rounded_means_of_k_records_of_their_class(named, wine, k):
    X, model = named
    found = release(model, X, wine.y, k=k, cv=None)
    new = found.model
    assert found.n_records == k * new.prototypes_.shape[0]
    assert_array_equal(new.support_classes_, new.prototype_classes_)
    assert_array_equal(np.unique(new.prototype_classes_), model.classes_)
    # The twin: the k most similar records, where prototypes do not compete for them.
    similarities = model._predictor.similarities(model._read_new(X))
    for label in model.classes_:
        own = np.flatnonzero(model.prototype_classes_ == label)
        places = np.flatnonzero(new.prototype_classes_ == label)
        if own.size > 1:
            continue
        rows = np.flatnonzero(wine.y == label)
        rows = rows[np.argsort(-similarities[rows, own[0]], kind="stable")[:k]]
        for name, value in new.support_values_[places[0]].items():
            assert abs(value - X[name].iloc[rows].mean()) <= X[name].std() / 19


def test_groups_are_disjoint_and_full(rng):
    for n_records, n_prototypes, k in ((30, 4, 5), (11, 4, 3), (5, 3, 5), (9, 9, 1)):
        groups = _group(rng.random((n_records, n_prototypes)), k)
        assert len(groups) == min(n_prototypes, n_records // k)
        members = np.concatenate([rows for _, rows in groups])
        assert np.unique(members).size == members.size == k * len(groups)
        assert np.unique([place for place, _ in groups]).size == len(groups)


def test_nothing_of_a_single_record_is_in_the_file(named, wine, rng):
    X, model = named
    # Numbers that rounding cannot give by chance.
    X = X * (1 + 1e-7 * rng.random(X.shape))
    model = clone(model).fit(X, wine.y)
    content = model_bytes(release(model, X, wine.y, k=3, cv=None).model)
    assert b"patient" not in content
    assert b"patient" in model_bytes(model)
    kept = X.to_numpy()[:, model._predictor.columns]
    assert any(np.float64(value).tobytes() in model_bytes(model) for value in kept.ravel())
    assert not any(np.float64(value).tobytes() in content for value in kept.ravel())


def test_a_released_model_is_a_model(named, wine, tmp_path):
    X, model = named
    before = model_bytes(model)
    new = release(model, X, wine.y, cv=None).model
    assert model_bytes(model) == before
    imkpl.save(new, tmp_path / "m.imkpl")
    loaded = imkpl.load(tmp_path / "m.imkpl")
    assert_array_equal(loaded.predict_proba(X), new.predict_proba(X))
    assert loaded.score(X, wine.y) > 0.9
    assert "mean 1 of 5 records" in str(loaded.explain(X))
    assert loaded.transform(X).shape == (len(X), new.prototypes_.shape[0])
    assert loaded.report(X, wine.y, tmp_path / "page.html").exists()
    assert loaded.provenance_ == {"released": 5}


def test_the_cost_is_measured_in_folds(wine):
    model = IMKPL(n_prototypes=3, max_kernels=3).fit(wine.X, wine.y)
    found = release(model, wine.X, wine.y, k=3, cv=2)
    assert all(0.7 < one <= 1 for one in found.accuracy)
    before, after = found.membership
    assert before.keys() == after.keys() == {"similarity", "confidence"}
    # The records inside are all similar to themselves.
    assert before["similarity"] > 0.55
    for part in ("Accuracy in folds:", "told from others by similarity", "no differential"):
        assert part in str(found)
    assert found.to_dict()["k"] == 3


@pytest.mark.parametrize("model", [IMKPL(["linear", "rbf"]), IMKPL(decision="share"), ISKPL()])
def test_every_model_of_numbers_can_be_released(model, wine):
    model.set_params(sparsity=3).fit(wine.X, wine.y)
    new = release(model, wine.X, wine.y, k=2, cv=None).model
    assert new.score(wine.X, wine.y) > model.score(wine.X, wine.y) - 0.15


def test_equal_records_count_once(wine):
    X, y = np.vstack([wine.X, wine.X]), np.tile(wine.y, 2)
    model = IMKPL(n_prototypes=3, max_kernels=3).fit(X, y)
    n_least = int(np.bincount(wine.y).min())
    with pytest.raises(
        ValueError, match=rf"different records that may be shown, expected at least k={n_least + 2}"
    ):
        release(model, X, y, k=n_least + 2, cv=None)


def test_what_has_no_means_is_refused(wine):
    series = wine.X[:, :12].reshape(-1, 2, 6)
    model = TimeSeriesIMKPL("global_alignment", sparsity=2).fit(series, wine.y)
    with pytest.raises(ValueError, match=r"makes means of numbers, but this .* reads series"):
        release(model, series, wine.y)
    model = IMKPL(sparsity=2).fit(wine.X, wine.y)
    with pytest.raises(ValueError, match="k=0, expected a whole number"):
        release(model, wine.X, wine.y, k=0)
    with pytest.raises(ValueError, match="other values than the records inside"):
        release(model, wine.X + 1, wine.y)
    with pytest.raises(TypeError, match="model is a str, expected a fitted IMKPL"):
        release("model", wine.X, wine.y)


def test_records_that_may_not_be_shown_are_in_no_mean(wine):
    eligible = np.arange(60) % 2 == 0
    model = IMKPL(n_prototypes=3, max_kernels=3).fit(wine.X, wine.y, eligible=eligible)
    new = release(model, wine.X, wine.y, k=3, cv=2).model
    assert new.sample_wishes_ is None
    model_bytes(new)
    n_shown = int(np.bincount(wine.y[eligible]).min())
    with pytest.raises(ValueError, match=f"has {n_shown} different records that may be shown"):
        release(model, wine.X, wine.y, k=n_shown + 1, cv=None)
