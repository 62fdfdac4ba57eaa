import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl.kernels import (
    KernelStack,
    Normalized,
    PerFeatureGaussian,
    Precomputed,
    VarianceNormalized,
)
from reference.kernels import feature_space_variance, normalized_stack, per_feature_stack


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
    assert_array_equal(bank.combine(np.ones(3), X), bank.bank.combine(np.ones(3), X))


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
    measured = VarianceNormalized(bank).measure(Y)
    assert_array_equal(measured.bank.widths, bank.widths)
    assert_allclose(measured.scales, 1 / feature_space_variance(per_feature_stack(Y, Y, X)))
    assert np.any(VarianceNormalized(bank).adapt(Y).bank.widths != bank.widths)


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
    inner = bank.bank.bank.kernels
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
