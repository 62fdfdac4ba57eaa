"""Kernels of whole samples, their stacks, and what `kernels` may be."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl.kernels import (
    FunctionKernel,
    Gaussian,
    KernelStack,
    NamedKernel,
    PerFeatureGaussian,
    Precomputed,
    resolve_bank,
)
from imkpl.kernels.forms import Form
from reference.kernels import gaussian_matrix, mean_squared_distance


def make_data(offset=0.0):
    rng = np.random.default_rng(0)
    return rng.standard_normal((31, 4)) + offset, rng.standard_normal((13, 4)) + offset


def cube(X, Y):
    return (1.0 + X @ Y.T) ** 3


def letters(x, y):
    return float(len(set(x) & set(y)))


LETTERS = FunctionKernel(letters, pairwise=True, vector_input=False)


def test_laws():
    X, Y = make_data()
    width = mean_squared_distance(X)
    kernels = [Gaussian(), "linear", cube, NamedKernel("rbf", {"gamma": 0.3}), "laplacian"]

    def dense(X, Y):
        Y = X if Y is None else Y
        city = np.abs(X[:, np.newaxis] - Y).sum(axis=2)
        layers = [gaussian_matrix(X, Y, width), X @ Y.T, cube(X, Y)]
        layers += [gaussian_matrix(X, Y, 1 / 0.3), np.exp(-city / 4)]
        return np.stack(layers, axis=-1)

    check_bank(KernelStack(kernels), X, Y, dense, rtol=1e-12)


def test_laws_on_sequences():
    words = ["ab", "bcd", "a", "xyz", "abx", "bb"]
    others = ["abc", "z"]

    def dense(X, Y):
        return np.array([[[letters(x, y)] for y in (X if Y is None else Y)] for x in X])

    kernels = check_bank(KernelStack([LETTERS]), words, others, dense)
    assert kernels.input_kind == "anything"


def test_kernels_of_vectors_make_all_samples_vectors():
    assert KernelStack([LETTERS, "linear"]).kind.input_kind == "vectors"
    assert KernelStack([LETTERS]).kind.input_kind == "anything"


def test_the_values_of_a_series_are_samples_whatever_its_index():
    words = pd.Series(["ab", "bcd", "a"], index=[2, 0, 1])
    samples, form = KernelStack([LETTERS]).kind.read(words, Form())
    assert samples.tolist() == words.tolist()
    assert form.n_features is None
    K = KernelStack([LETTERS]).on(words).evaluate(0)
    assert_array_equal(K, [[2, 1, 1], [1, 3, 0], [1, 0, 1]])


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_gaussian_equals_its_formula_under_any_offset(offset):
    X, Y = make_data(offset)
    kernel = Gaussian().adapt(X)
    assert_allclose(kernel.bandwidth, mean_squared_distance(X), rtol=1e-12)
    expected = gaussian_matrix(X, Y, kernel.bandwidth)
    assert_allclose(kernel(X, Y), expected, rtol=1e-12, atol=1e-14)


def test_narrow_gaussian_is_exact():
    X = np.array([[0.0], [1e6], [1e6 + 1e-3]])
    expected = gaussian_matrix(X, X, 1e-6)
    assert_allclose(Gaussian(bandwidth=1e-6)(X), expected, rtol=1e-9)


def test_gaussian_keeps_what_was_given_and_without_spread_is_constant():
    assert Gaussian(bandwidth=2.0).adapt(make_data()[0]) == Gaussian(bandwidth=2.0)
    kernel = Gaussian().adapt(np.full((5, 2), 0.1))
    assert_array_equal(kernel([[0.0, 0.0]], [[3.0, 4.0]]), 1.0)


def names_of(bank):
    return bank.on(make_data()[0]).kernel_names()


def test_equal_names_are_numbered_and_kept():
    bank = KernelStack([Gaussian(), "linear", Gaussian(), NamedKernel("rbf", {"gamma": 0.5})])
    assert names_of(bank) == ["gaussian 1", "linear", "gaussian 2", "rbf (gamma=0.5)"]
    assert bank.on(make_data()[0]).select([2]).kernel_names() == ["gaussian 2"]
    assert names_of(KernelStack([cube, FunctionKernel(cube, "third")])) == ["cube", "third"]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda X: KernelStack([]), "at least one"),
        (lambda X: KernelStack([3]), "is not a kernel"),
        (lambda X: NamedKernel("liner"), "Choose one of chi2, cosine"),
        (lambda X: FunctionKernel(3), "must be callable"),
        (lambda X: FunctionKernel(lambda X, Y: 1.0)(X), "expected \\(31, 31\\)"),
        (lambda X: FunctionKernel(lambda X, Y: X @ Y.T * np.nan)(X), "NaN or infinite"),
        (lambda X: FunctionKernel(lambda X, Y: X @ (2 * X + 1).T)(X), "is not symmetric"),
        (lambda X: Gaussian()(X), "Call adapt"),
        (lambda X: Gaussian(bandwidth=0.0), "must be positive"),
        (lambda X: KernelStack(["rbf"]).on(X[:, 0]), "expected a dense 2-D array"),
        (lambda X: KernelStack([LETTERS]).on([]), "X has no samples"),
        (lambda X: NamedKernel("linear")(X * 1e200), "'linear' returned NaN or infinite values"),
        (lambda X: Gaussian().adapt(X * 1e200), r"X has values up to .* Divide the features"),
        (lambda X: Gaussian(1.0)(X * 1e200), r"X has values up to .*, expected at most 1e\+150"),
        (lambda X: Gaussian(1.0)(X, X * 1e200), "Y has values up to"),
    ],
)
def test_bad_input_is_explained(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(make_data()[0])


def test_distances_of_many_bandwidths_are_no_similarity():
    assert Gaussian(1e-300)([[0.0]], [[1e100]])[0, 0] == 0


def test_names_and_banks_are_resolved_and_kernels_become_stacks():
    assert type(resolve_bank("per_feature_gaussian")) is PerFeatureGaussian
    assert type(resolve_bank("precomputed")) is Precomputed
    bank = PerFeatureGaussian(scales=(2.0,))
    assert resolve_bank(bank) is bank
    assert resolve_bank("rbf") == KernelStack((NamedKernel("rbf"),))
    assert resolve_bank(Gaussian()) == KernelStack((Gaussian(),))
    assert names_of(resolve_bank(cube)) == ["cube"]
    names = names_of(resolve_bank([Gaussian(), cube, "linear"]))
    assert names == ["gaussian", "cube", "linear"]
