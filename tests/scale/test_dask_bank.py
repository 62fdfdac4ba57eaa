"""A bank on a cluster is the bank it wraps."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl import IMKPL, scale
from imkpl.kernels import Averaged, GlobalAlignment, KernelStack, PerFeatureGaussian
from imkpl.kernels.per_feature import FeatureKernels
from imkpl.scale import DaskBank
from imkpl.series import SeriesSet
from reference.alignment import alignment_stack
from reference.kernels import per_feature_stack


def series(rng, lengths=(5, 9, 3, 12, 7, 6, 8)):
    return SeriesSet.from_list([rng.standard_normal((2, n)).cumsum(axis=1) for n in lengths])


@pytest.fixture(autouse=True)
def few_blocks(monkeypatch):
    """No sum is so small that it is computed here, and five tasks are enough."""
    monkeypatch.setattr(scale, "LEAST_VALUES", 0)
    monkeypatch.setattr(scale, "N_BLOCKS", 5)


@pytest.mark.parametrize(("n_features", "n_blocks"), [(3, 5), (40, 1), (40, 5)])
def test_the_laws_of_banks_hold_for_features(local_client, rng, monkeypatch, n_features, n_blocks):
    monkeypatch.setattr(scale, "N_BLOCKS", n_blocks)
    X, Y = rng.standard_normal((23, n_features)), rng.standard_normal((6, n_features))
    bank = DaskBank(PerFeatureGaussian())
    check_bank(bank, X, Y, lambda A, B: per_feature_stack(A, A if B is None else B, X), rtol=1e-11)


def test_the_laws_of_banks_hold_for_series(local_client, rng):
    X, Y = series(rng), series(rng, (4, 7))
    inner = GlobalAlignment(length=None)
    bank = DaskBank(inner)
    check_bank(bank, X, Y, lambda A, B: alignment_stack(inner.on(X), A, B))


def test_the_laws_of_banks_hold_for_kernels_of_whole_samples(local_client, rng):
    X, Y = rng.standard_normal((9, 3)), rng.standard_normal((4, 3))
    inner = KernelStack(["rbf", "linear", "laplacian"])

    def dense(A, B):
        kernels = inner.on(A) if B is None else inner.on(X).cross(A)
        return np.stack([kernels.evaluate(i) for i in range(3)], axis=2)

    check_bank(DaskBank(inner), X, Y, dense)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-13), (np.float32, 1e-6)])
def test_workers_compute_what_the_kernels_inside_compute(on_cluster, rng, dtype, rtol):
    X, Y = rng.standard_normal((60, 20)), rng.standard_normal((7, 20))
    banks = PerFeatureGaussian(), DaskBank(PerFeatureGaussian())
    inner, kernels = (bank.on(X) for bank in banks)
    if dtype == np.float32:
        inner, kernels = inner.in_single_precision(), kernels.in_single_precision()
    weights = rng.random(20)
    combined = kernels.combine(weights)
    assert_array_equal(combined, combined.T)
    assert_allclose(combined, inner.combine(weights), rtol=rtol)
    assert_allclose(kernels.cross(Y).combine(weights), inner.cross(Y).combine(weights), rtol=rtol)
    M = rng.random((60, 60))
    assert_allclose(kernels.contract(M), inner.contract(M), rtol=1e-12)
    left, right = rng.integers(0, 60, (2, 30))
    assert_allclose(kernels.pairs(left, right), inner.pairs(left, right), rtol=1e-13)


def test_alignments_are_computed_by_blocks_of_pairs(local_client, rng):
    X, inner = series(rng), GlobalAlignment(length=None)
    table = DaskBank(inner).on(X).tabulated()
    expected = inner.on(X).tabulated()
    assert_allclose(table.table, expected.table, rtol=1e-14)
    assert table.kernel_names() == expected.kernel_names()
    assert table.most_kernels == expected.most_kernels
    averaged = Averaged(inner, {"both": [0, 1]})
    found = DaskBank(averaged).on(X).tabulated()
    assert_allclose(found.combine([1.0]), averaged.on(X).combine([1.0]), rtol=1e-6)


def test_a_fit_with_the_bank_is_the_fit_without(local_client, two_blobs, assert_same_model):
    X, y = two_blobs
    bank = DaskBank(PerFeatureGaussian())
    model = IMKPL(bank, sparsity=3, n_prototypes=9, contrast=False).fit(X, y)
    assert_same_model(model, IMKPL(sparsity=3, n_prototypes=9, contrast=False).fit(X, y), X)
    # A fitted model needs no cluster.
    assert isinstance(model._predictor.kernels, FeatureKernels)


@pytest.mark.parametrize("groups", [None, "weighed"])
def test_a_fit_of_series_with_the_bank_is_the_fit_without(local_client, rng, groups):
    y = np.arange(20) % 2
    X = rng.standard_normal((20, 2, 6)) + 2 * np.outer(y, np.arange(6))[:, np.newaxis]
    options = {"sparsity": 2, "n_neighbors": 2, "n_prototypes": 4, "contrast": False}
    inner = GlobalAlignment(groups=groups)
    model = IMKPL(DaskBank(inner), **options).fit(X, y)
    expected = IMKPL(inner, **options).fit(X, y)
    assert_allclose(model.feature_importances_, expected.feature_importances_, rtol=1e-8)
    assert_allclose(model.kernel_weights_, expected.kernel_weights_, rtol=1e-8)
    assert_array_equal(model.predict(X), expected.predict(X))


def test_small_sums_are_computed_here(no_client, rng, monkeypatch):
    monkeypatch.setattr(scale, "LEAST_VALUES", 2**24)
    kernels = DaskBank(PerFeatureGaussian()).on(rng.standard_normal((5, 2)))
    assert_array_equal(kernels.combine([1.0, 2.0]), kernels.kernels.combine([1.0, 2.0]))


def test_a_missing_installation_is_named(monkeypatch, rng):
    monkeypatch.setitem(sys.modules, "distributed", None)
    kernels = DaskBank(PerFeatureGaussian()).on(rng.standard_normal((5, 2)))
    with pytest.raises(ImportError, match=r"pip install 'imkpl\[dask\]'"):
        kernels.combine([1.0, 1.0])


def test_what_is_no_bank_is_refused():
    with pytest.raises(ValueError, match="got 'per_feature_gaussian', expected a bank"):
        DaskBank("per_feature_gaussian")
