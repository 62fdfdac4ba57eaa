"""Banks around other banks: rescaled kernels, and means of kernels over groups of columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl import IMKPL, TimeSeriesIMKPL
from imkpl.kernels import (
    Averaged,
    GlobalAlignment,
    KernelStack,
    Normalized,
    PerFeatureGaussian,
    Precomputed,
    VarianceNormalized,
)
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

    bank = Normalized(KernelStack(["linear", squares])).adapt(X)
    check_bank(bank, X, Y, dense, rtol=1e-12)
    K = bank.evaluate(0, X)
    assert K[4, 4] == 1
    assert K[4, 0] == 0


def test_unit_diagonals_are_left_alone():
    X, Y = make_data()
    bank = Normalized(PerFeatureGaussian()).adapt(X)
    check_bank(bank, X, Y, lambda A, B: per_feature_stack(A, A if B is None else B, X), rtol=1e-11)
    assert isinstance(bank, PerFeatureGaussian)


def test_laws_of_unit_variances():
    X, Y = make_data()
    scales = 1 / feature_space_variance(per_feature_stack(X, X, X))
    bank = VarianceNormalized(PerFeatureGaussian()).adapt(X)
    assert_allclose(bank.scales, scales, rtol=1e-12)

    def dense(A, B):
        return scales * per_feature_stack(A, A if B is None else B, X)

    check_bank(bank, X, Y, dense, rtol=1e-11)
    assert_allclose(feature_space_variance(dense(X, None)), 1.0)


def test_laws_of_unit_variances_without_unit_diagonals():
    X, Y = make_data()
    scales = 1 / feature_space_variance(linear_and_squares(X, X))
    bank = VarianceNormalized(KernelStack(["linear", squares])).adapt(X)
    check_bank(
        bank, X, Y, lambda A, B: scales * linear_and_squares(A, A if B is None else B), rtol=1e-11
    )


@pytest.mark.parametrize("max_samples", [10, 1000])
def test_precomputed_variances(max_samples):
    X, _ = make_data()
    stack = per_feature_stack(X, X, X)
    bank = VarianceNormalized(Precomputed(), max_samples=max_samples).adapt(stack)
    chosen = np.linspace(0, 28, min(max_samples, 29)).round().astype(int)
    expected = 1 / feature_space_variance(stack[np.ix_(chosen, chosen)])
    assert_allclose(bank.scales, expected, rtol=1e-12)
    check_bank(
        bank, stack, np.array([3, 0]), lambda S, B: bank.scales * (S if B is None else S[:, B])
    )


def test_integer_weights_equal_repeated_samples():
    X, _ = make_data()
    counts = np.random.default_rng(2).integers(0, 4, 29)
    bank = VarianceNormalized(PerFeatureGaussian())
    repeated = bank.adapt(np.repeat(X, counts, axis=0))
    assert_allclose(bank.adapt(X, counts).scales, repeated.scales, rtol=1e-12)


def test_measuring_leaves_the_bandwidths_alone():
    X, Y = make_data()
    bank = PerFeatureGaussian().adapt(X)
    measured = VarianceNormalized(bank)._measure(Y)
    assert_array_equal(measured.bank.kernels.widths, bank.kernels.widths)
    assert_allclose(measured.scales, 1 / feature_space_variance(per_feature_stack(Y, Y, X)))
    assert np.any(VarianceNormalized(bank).adapt(Y).bank.kernels.widths != bank.kernels.widths)


def test_constant_kernels_get_scale_zero():
    X, _ = make_data()
    X[:, 1] = 5.0
    bank = VarianceNormalized(PerFeatureGaussian()).adapt(X)
    assert bank.scales[1] == 0.0
    assert np.all(bank.scales[[0, 2]] > 0)
    assert_array_equal(bank.contract(np.ones((29, 29)), X)[1], 0.0)


def test_banks_do_not_keep_data():
    X, _ = make_data()
    bank = VarianceNormalized(Normalized(PerFeatureGaussian())).adapt(X)
    inner = bank.bank.kernels
    for array in (bank.scales, inner.columns, inner.scales, inner.rates):
        assert array.size == 3
        assert not np.shares_memory(array, X)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda X: VarianceNormalized(PerFeatureGaussian(), max_samples=1), "at least 2"),
        (lambda X: VarianceNormalized(KernelStack(["rbf"])).combine([1.0], X), "Call adapt"),
        (lambda X: Normalized(KernelStack([lambda X, Y: -X @ Y.T])).evaluate(0, X), "0 or more"),
    ],
)
def test_bad_input_is_explained(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(make_data()[0])


def test_samples_of_vanishing_norm_are_one_point():
    X = np.array([[1e-160], [2e-160], [1.0]])
    found = Normalized(KernelStack(["linear"])).evaluate(0, X)
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
    bank = Averaged(PerFeatureGaussian(), GROUPS).adapt(X)

    def dense(A, B):
        return mean_of(per_feature_stack(A, A if B is None else B, X), GROUPS)

    check_bank(bank, X, Y, dense, rtol=1e-11)
    assert bank.kernel_columns is None
    assert bank._columns.tolist() == [0, 1, 2, 3]


def test_laws_of_means_of_alignment_kernels_and_of_their_tables():
    X, Y = make_series()
    inner = GlobalAlignment(views=("values", "differences"), scales=(0.5, 2.0), length=6).adapt(X)
    bank = Averaged(inner, GROUPS).adapt(X)

    def dense(A, B):
        stack = np.stack([inner.evaluate(i, A, B) for i in range(inner.n_kernels)], -1)
        # Two widths of every channel side by side, then the same of the differences.
        return mean_of(stack.reshape(*stack.shape[:2], 2, 4, 2).mean(axis=(2, 4)), GROUPS)

    check_bank(bank, X, Y, dense, rtol=1e-9)
    table, packed = bank._tabulate(X)
    full = dense(X, None)

    def look_up(_, columns):
        return full if columns is None else full[:, columns]

    check_bank(table, packed, [3, 1], look_up, rtol=1e-9)
    assert table.kernel_names() == ["a", "b", "c"]


def test_kernels_without_unit_diagonal_keep_their_mean_norms():
    class Linear(PerFeatureGaussian):
        """x_l y_l for every feature l."""

        _has_unit_diagonal = False

        def pairs(self, X, rows, columns, dtype=np.float64):
            return (X[rows] * X[columns]).astype(dtype)

        def _diagonal(self, X):
            return X**2

        def select(self, indices):
            assert np.array_equal(indices, np.arange(3))
            return self

    X = make_columns()[0][:, :3]
    bank = Averaged(Linear().adapt(X), {"a": [0, 1], "b": [2]}).adapt(X)
    assert_allclose(bank._diagonal(X), np.stack([(X[:, :2] ** 2).mean(axis=1), X[:, 2] ** 2], 1))


def test_groups_keep_their_names_order_and_kernels_when_some_are_selected():
    X, _ = make_columns()
    bank = Averaged(PerFeatureGaussian(), GROUPS).adapt(X)
    some = bank.select([2, 1])
    assert some.kernel_names(["v"] * 5) == ["c", "b"]
    assert some.bank.n_kernels == 3
    assert_allclose(some.evaluate(0, X), bank.evaluate(2, X))
    again = some.adapt(X)
    assert again.kernel_names() == ["c", "b"]
    assert_array_equal(again.evaluate(1, X), some.evaluate(1, X))


def test_a_weight_is_the_weight_of_a_group():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.standard_normal((40, 6))
    X[:, [1, 4]] += 8 * y[:, np.newaxis]
    groups = {"noise": [0, 2], "signal": [1, 4], "more noise": [3, 5]}
    model = IMKPL(Averaged(PerFeatureGaussian(), groups), max_kernels=1).fit(X[::2], y[::2])
    assert model.kernel_names_ == ["noise", "signal", "more noise"]
    assert model.kernel_weights_.tolist() == [0, 1, 0]
    assert model.score(X[1::2], y[1::2]) == 1


def test_series_are_classified_by_groups_of_channels():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 12)
    X = rng.standard_normal((24, 4, 8))
    X[:, 2:] += 3 * y[:, np.newaxis, np.newaxis] * np.linspace(-1, 1, 8)
    bank = Averaged(
        GlobalAlignment(views=("values", "differences")), {"first": [0, 1], "second": [2, 3]}
    )
    model = TimeSeriesIMKPL(bank, max_kernels=1).fit(X[::2], y[::2])
    assert model.kernel_weights_.tolist() == [0, 1]
    assert model.score(X[1::2], y[1::2]) == 1
    with pytest.raises(TypeError, match="the kernels of this model are Averaged"):
        model.align(X[0], X[1])


@pytest.mark.parametrize(
    ("bank", "groups", "sentence"),
    [
        (PerFeatureGaussian(), {"a": [5]}, r"Group 'a' lists the columns \[5\], expected numbers"),
        (PerFeatureGaussian(), {"a": []}, "expected numbers of columns from 0 to 4"),
        (PerFeatureGaussian(), {"a": ["x"]}, "expected numbers of columns from 0 to 4"),
        (KernelStack(["linear"]), {"a": [0]}, "KernelStack whose kernels read several columns"),
    ],
)
def test_groups_of_unknown_columns_are_refused(bank, groups, sentence):
    with pytest.raises(ValueError, match=sentence):
        Averaged(bank, groups).adapt(make_columns()[0])


def test_missing_groups_are_explained():
    with pytest.raises(ValueError, match="has no groups, expected at least one"):
        Averaged(PerFeatureGaussian(), {})
    with pytest.raises(ValueError, match=r"not known yet.*Call adapt\(X\) first"):
        Averaged(PerFeatureGaussian(), {"a": [0]}).combine([1.0], make_columns()[0])
