"""Banks around other banks: rescaled kernels, and means of kernels over groups of columns."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank, check_kernels
from imkpl import IMKPL
from imkpl.kernels import (
    Averaged,
    FunctionKernel,
    GlobalAlignment,
    KernelStack,
    PerFeatureGaussian,
    Precomputed,
)
from imkpl.kernels.normalize import AveragedKernels, divide_by_variance, normalized
from imkpl.series import SeriesSet
from reference.kernels import feature_space_variance, normalized_stack, per_feature_stack

GROUPS = {"a": [0, 2], "b": [1], "c": [3, 0, 1]}


def make_data():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((29, 3)), rng.standard_normal((11, 3))
    X[[4, 7]] = 0.0
    Y[2] = 0.0
    return X, Y


def squares(X, Y):
    return (X @ Y.T) ** 2


def linear_and_squares(X, Y):
    return np.stack([X @ Y.T, squares(X, Y)], axis=-1)


def norms(X):
    return np.einsum("iil->il", linear_and_squares(X, X))


def test_laws_of_unit_diagonals_with_samples_of_zero_norm():
    X, Y = make_data()

    def dense(X, Y):
        Y = X if Y is None else Y
        return normalized_stack(linear_and_squares(X, Y), norms(X), norms(Y))

    kernels = normalized(KernelStack(["linear", squares]).on(X))
    check_kernels(kernels, dense(X, None), Y, dense(Y, X), rtol=1e-12)
    K = kernels.evaluate(0)
    assert K[4, 4] == 1
    assert K[4, 0] == 0


def test_a_fit_normalizes_what_has_no_unit_norms_on_average():
    X, _ = make_data()
    features, linear = PerFeatureGaussian().on(X), KernelStack(["linear"]).on(X)
    assert normalized(features) is features
    assert_array_equal(normalized(linear).diagonal(), 1.0)


@pytest.mark.parametrize("has_unit_diagonal", [True, False])
def test_laws_of_unit_variances(has_unit_diagonal):
    X, Y = make_data()
    full, crossed = (linear_and_squares(A, X) for A in (X, Y))
    kernels = KernelStack(["linear", squares]).on(X)
    if has_unit_diagonal:
        full, crossed = per_feature_stack(X, X, X), per_feature_stack(Y, X, X)
        kernels = PerFeatureGaussian().on(X)
    factors, kernels = 1 / feature_space_variance(full), divide_by_variance(kernels)
    assert_allclose(kernels.factors, factors, rtol=1e-12)
    check_kernels(kernels, factors * full, Y, factors * crossed, rtol=1e-11)
    own = np.ones((11, 3)) if has_unit_diagonal else norms(Y)
    assert_allclose(kernels.cross(Y).diagonal(), factors * own)


@pytest.mark.parametrize("max_samples", [10, 1000])
def test_precomputed_variances(max_samples):
    X, Y = make_data()
    stack, new = per_feature_stack(X, X, X), per_feature_stack(Y, X, X)
    kernels = divide_by_variance(Precomputed().on(stack), max_samples=max_samples)
    chosen = np.linspace(0, 28, min(max_samples, 29)).round().astype(int)
    expected = 1 / feature_space_variance(stack[np.ix_(chosen, chosen)])
    assert_allclose(kernels.factors, expected, rtol=1e-12)
    check_kernels(kernels, kernels.factors * stack, new, kernels.factors * new)


def test_integer_weights_equal_repeated_samples():
    X, _ = make_data()
    counts = np.random.default_rng(2).integers(0, 4, 29)
    weighted = divide_by_variance(PerFeatureGaussian().on(X, counts), counts)
    repeated = divide_by_variance(PerFeatureGaussian().on(np.repeat(X, counts, axis=0)))
    assert_allclose(weighted.factors, repeated.factors, rtol=1e-12)


def test_constant_kernels_get_factor_zero():
    X, _ = make_data()
    X[:, 1] = 5.0
    kernels = divide_by_variance(PerFeatureGaussian().on(X))
    assert kernels.factors[1] == 0.0
    assert np.all(kernels.factors[[0, 2]] > 0)
    assert_array_equal(kernels.contract(np.ones((29, 29)))[1], 0.0)


def test_kernels_that_are_no_inner_products_are_refused():
    kernels = normalized(KernelStack([lambda X, Y: -X @ Y.T]).on(make_data()[0]))
    with pytest.raises(ValueError, match="0 or more"):
        kernels.evaluate(0)


def test_samples_of_vanishing_norm_are_one_point():
    X = np.array([[1e-160], [2e-160], [1.0]])
    found = normalized(KernelStack(["linear"]).on(X)).evaluate(0)
    assert_array_equal(found, [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def mean_of(stack, groups):
    return np.stack([stack[..., list(columns)].mean(axis=-1) for columns in groups.values()], -1)


def make_columns():
    rng = np.random.default_rng(0)
    return rng.standard_normal((23, 5)), rng.standard_normal((9, 5))


def make_series():
    rng = np.random.default_rng(1)
    return [
        SeriesSet.from_list([rng.standard_normal((4, 5 + i % 3)) for i in range(n)])
        for n in (13, 6)
    ]


def test_laws_of_means_of_kernels_per_feature():
    X, Y = make_columns()

    def dense(A, B):
        return mean_of(per_feature_stack(A, A if B is None else B, X), GROUPS)

    kernels = check_bank(Averaged(PerFeatureGaussian(), GROUPS), X, Y, dense, rtol=1e-11)
    assert kernels.kernel_columns is None
    assert kernels.input_columns.tolist() == [0, 1, 2, 3]


def test_groups_of_one_column_each_know_it():
    X, _ = make_columns()
    bank = Averaged(PerFeatureGaussian(scales=(0.5, 2.0)), {"last": [4], "first": [0]})
    kernels = bank.on(X)
    assert kernels.kernel_columns.tolist() == [4, 0]
    kept = kernels.take([3]).narrowed()
    assert kept.kernel_columns.tolist() == [4, 0]


def test_laws_of_means_of_alignment_kernels_and_of_their_tables():
    X, Y = make_series()
    inner = GlobalAlignment(views=("values", "differences"), scales=(0.5, 2.0), length=6)

    def dense(A, B):
        kernels = inner.on(X) if B is None else inner.on(X).cross(A)
        stack = np.stack([kernels.evaluate(i) for i in range(kernels.n_kernels)], -1)
        # Two widths of every channel side by side, then the same of the differences.
        return mean_of(stack.reshape(*stack.shape[:2], 2, 4, 2).mean(axis=(2, 4)), GROUPS)

    kernels = check_bank(Averaged(inner, GROUPS), X, Y, dense, rtol=1e-9)
    table = kernels.tabulated()
    check_kernels(table, dense(X, None), rtol=1e-9)
    assert table.kernel_names() == ["a", "b", "c"]


def test_means_of_kernels_without_unit_diagonal_keep_their_mean_norms():
    X = make_columns()[0]
    linear = [FunctionKernel(lambda A, B, c=c: np.outer(A[:, c], B[:, c])) for c in range(3)]
    shares = sp.csr_array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    kernels = AveragedKernels(KernelStack(linear).on(X), ("a", "b"), shares)
    expected = np.stack([(X[:, :2] ** 2).mean(axis=1), X[:, 2] ** 2], 1)
    assert_allclose(kernels.diagonal(), expected)
    assert_allclose(kernels.mean_diagonal(np.full(23, 1 / 23)), expected.mean(axis=0))


def test_a_weight_is_the_weight_of_a_group():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.standard_normal((40, 6))
    X[:, [1, 4]] += 8 * y[:, np.newaxis]
    groups = {"noise": [0, 2], "signal": [1, 4], "more noise": [3, 5]}
    model = IMKPL(
        Averaged(PerFeatureGaussian(), groups), max_kernels=1, n_prototypes=2, contrast=False
    )
    model.fit(X[::2], y[::2])
    assert model.kernel_names_ == ["noise", "signal", "more noise"]
    assert model.kernel_weights_.tolist() == [0, 1, 0]
    assert model.score(X[1::2], y[1::2]) == 1


@pytest.mark.parametrize(
    ("bank", "groups", "sentence"),
    [
        (PerFeatureGaussian(), {"a": [5]}, r"Group 'a' lists the columns \[5\], expected numbers"),
        (PerFeatureGaussian(), {}, "has no groups, expected at least one"),
        (PerFeatureGaussian(), {"a": []}, "expected numbers of columns from 0 to 4"),
        (PerFeatureGaussian(), {"a": ["x"]}, "expected numbers of columns from 0 to 4"),
        (KernelStack(["linear"]), {"a": [0]}, "KernelStack whose kernels read several columns"),
    ],
)
def test_missing_groups_and_unknown_columns_are_explained(bank, groups, sentence):
    with pytest.raises(ValueError, match=sentence):
        Averaged(bank, groups).on(make_columns()[0])
