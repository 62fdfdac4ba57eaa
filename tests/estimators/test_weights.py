"""A weight of two is a sample given twice, a weight of zero is a sample left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from imkpl import IMKPL, ISKPL

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": False}

SIX = {"sparsity": 2, "n_prototypes": 6, "contrast": False}

MODELS = [
    IMKPL(sparsity=3),
    ISKPL(**SMALL),
    IMKPL(sparsity=3, decision="share"),
    IMKPL(**SMALL, class_weight="balanced"),
]
FEW = SMALL | {"solver": "landmarks", "n_landmarks": 24}
LANDMARKS = [IMKPL(**FEW), ISKPL(**FEW), IMKPL(**FEW, class_weight="balanced")]


def assert_equal_models(left, right, new):
    assert_array_equal(left.classes_, right.classes_)
    assert_array_equal(left.kernel_weights_, right.kernel_weights_)
    assert_array_equal(left.predict_proba(new), right.predict_proba(new))
    assert_array_equal(left.transform(new).toarray(), right.transform(new).toarray())


def assert_equal_fits(left, right):
    assert_allclose(left.kernel_weights_, right.kernel_weights_)
    assert_allclose(left.prototypes_.toarray(), right.prototypes_.toarray())
    assert_allclose(left.codes_.toarray(), right.codes_.toarray())


@pytest.mark.parametrize("model", MODELS + LANDMARKS, ids=repr)
def test_repeated_samples_equal_integer_weights(model, wine, rng):
    counts = rng.integers(model.solver == "auto", 4, len(wine.y))
    weighted = clone(model).fit(wine.X, wine.y, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(wine.X, counts, axis=0), np.repeat(wine.y, counts))
    assert_equal_models(weighted, repeated, wine.new)
    codes = np.repeat(weighted.codes_.toarray(), counts, axis=0)
    assert_array_equal(codes, repeated.codes_.toarray())
    plain = clone(model).fit(wine.X, wine.y)
    assert np.any(plain.predict_proba(wine.new) != weighted.predict_proba(wine.new))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_samples_of_zero_weight_equal_removed_samples(model, wine, rng):
    weight = rng.integers(0, 2, len(wine.y))
    weighted = clone(model).fit(wine.X, wine.y, sample_weight=weight)
    removed = clone(model).fit(wine.X[weight > 0], wine.y[weight > 0])
    assert_equal_models(weighted, removed, wine.new)
    assert_array_equal(np.flatnonzero(weight)[removed.support_], weighted.support_)
    assert not np.diff(weighted.codes_.indptr)[weight == 0].any()


@pytest.mark.parametrize("model", [IMKPL(**SMALL), *LANDMARKS], ids=repr)
def test_order_of_samples_does_not_matter(model, wine, rng):
    order = rng.permutation(len(wine.y))
    shuffled = clone(model).fit(wine.X[order], wine.y[order])
    model = clone(model).fit(wine.X, wine.y)
    assert_equal_models(model, shuffled, wine.new)
    assert_array_equal(shuffled.prototypes_.toarray(), model.prototypes_.toarray()[:, order])
    assert_array_equal(shuffled.codes_.toarray(), model.codes_.toarray()[order])


@pytest.mark.parametrize("model", [IMKPL(sparsity=3), *LANDMARKS[:2], MODELS[2]], ids=repr)
def test_names_of_classes_do_not_matter(model, wine):
    names = np.array([2, 0, 1])
    renamed = clone(model).fit(wine.X, names[wine.y])
    model = clone(model).fit(wine.X, wine.y)
    proba = renamed.predict_proba(wine.new)[:, names]
    assert_allclose(proba, model.predict_proba(wine.new), rtol=1e-9)


@pytest.mark.parametrize("model", [IMKPL(), ISKPL(**SMALL), MODELS[2]], ids=repr)
@pytest.mark.parametrize("change", ["columns", "signs", "units"])
def test_order_signs_and_units_of_features_do_not_matter(model, change, wine, rng):
    n_features = wine.X.shape[1]
    order, factors = np.arange(n_features), np.ones(n_features)
    if change == "columns":
        order = rng.permutation(n_features)
    elif change == "signs":
        factors = rng.choice([-1.0, 1.0], n_features)
    else:
        factors = rng.choice([0.1, 1 / 3, 10.0, 453.59237], n_features)
    changed = clone(model).fit((wine.X * factors)[:, order], wine.y)
    model = clone(model).fit(wine.X, wine.y)
    assert_allclose(changed.kernel_weights_, model.kernel_weights_[order], atol=1e-9)
    proba = changed.predict_proba((wine.new * factors)[:, order])
    assert_allclose(proba, model.predict_proba(wine.new), atol=1e-9)


def test_equal_rows_of_different_classes_stay_apart(two_blobs):
    X, y = two_blobs
    X, y = np.concatenate([X, X[:3]]), np.concatenate([y, 1 - y[:3]])
    model = ISKPL(sparsity=2, n_prototypes=20, contrast=False).fit(X, y)
    assert_array_equal(np.diff(model.codes_.indptr), 1)
    assert model.codes_.shape[0] == 43


def test_equal_rows_have_equal_codes_and_one_of_them_is_support(two_blobs):
    X, y = two_blobs
    model = ISKPL(**SIX).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert_array_equal(model.codes_[:40].toarray(), model.codes_[40:].toarray())
    assert model.support_.max() < 40


def test_single_row_of_weight_two_is_two_samples(two_blobs):
    X, y = two_blobs
    X, y = np.concatenate([X, [[9.0, -9.0, 0.0, 0.0]]]), np.concatenate([y, [2]])
    weight = np.ones(41)
    weight[-1] = 2
    weighted = IMKPL(**SIX).fit(X, y, sample_weight=weight)
    repeated = IMKPL(**SIX).fit(np.concatenate([X, X[-1:]]), np.concatenate([y, y[-1:]]))
    assert_equal_models(weighted, repeated, X)


# A sample weight of two also says that a sample is there twice, which a class weight does not.
def test_class_weights_equal_sample_weights_below_two(wine):
    weights = {0: 1.0, 1: 1.9, 2: 1.5}
    by_class = IMKPL(sparsity=3, class_weight=weights).fit(wine.X, wine.y)
    by_sample = IMKPL(sparsity=3).fit(
        wine.X, wine.y, sample_weight=[weights[label] for label in wine.y]
    )
    assert_equal_fits(by_class, by_sample)
    plain = IMKPL(sparsity=3).fit(wine.X, wine.y)
    assert np.any(plain.predict_proba(wine.new) != by_class.predict_proba(wine.new))


def test_balanced_weights_make_classes_count_alike(wine):
    kept = np.concatenate([np.flatnonzero(wine.y == 0)[:12], np.flatnonzero(wine.y > 0)])
    X, y = wine.X[kept], wine.y[kept]
    factors = len(y) / (3 * np.bincount(y))
    assert 1.3 < factors.max() < 2
    balanced = IMKPL(**SMALL, class_weight="balanced").fit(X, y)
    by_hand = IMKPL(**SMALL).fit(X, y, sample_weight=factors[y])
    assert_equal_fits(balanced, by_hand)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_factor_on_all_weights_changes_nothing(model, wine):
    # Copies of a sample are left out with it: all of them given three times say no more.
    plain = clone(model).fit(wine.X, wine.y)
    threefold = clone(model).fit(wine.X, wine.y, np.full(len(wine.y), 3.0))
    repeated = clone(model).fit(np.tile(wine.X, (3, 1)), np.tile(wine.y, 3))
    for other in (threefold, repeated):
        assert_equal_models(plain, other, wine.new)


@pytest.mark.parametrize("decision", ["votes", "share"])
def test_class_of_negligible_weight_gets_one_prototype(wine, decision):
    model = ISKPL(sparsity=8, decision=decision, class_weight={0: 1e9}).fit(wine.X, wine.y)
    owners = list(model.prototype_classes_)
    assert owners.count(1) == owners.count(2) == 1
    assert decision == "votes" or owners.count(0) > 10
