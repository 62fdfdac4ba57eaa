"""Means of kernels over groups of columns, against the mean of the matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contracts.bank import check_bank
from imkpl import IMKPL, TimeSeriesIMKPL
from imkpl.kernels import Averaged, GlobalAlignment, KernelStack, PerFeatureGaussian
from imkpl.series import SeriesSet
from reference.kernels import per_feature_stack

GROUPS = {"a": [0, 2], "b": [1], "c": [3, 0, 1]}


def mean_of(stack, groups):
    return np.stack([stack[..., list(columns)].mean(axis=-1) for columns in groups.values()], -1)


def make_data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((23, 5)), rng.standard_normal((9, 5))


def make_series():
    rng = np.random.default_rng(1)
    return [
        SeriesSet.from_list([rng.standard_normal((4, 5 + i % 3)) for i in range(n)])
        for n in (13, 6)
    ]


def test_laws_of_means_of_kernels_per_feature():
    X, Y = make_data()
    bank = Averaged(PerFeatureGaussian(), GROUPS).adapt(X)

    def dense(A, B):
        return mean_of(per_feature_stack(A, A if B is None else B, X), GROUPS)

    check_bank(bank, X, Y, dense, rtol=1e-11)
    assert bank.kernel_columns is None
    assert bank.columns.tolist() == [0, 1, 2, 3]


def test_laws_of_means_of_alignment_kernels_and_of_their_tables():
    X, Y = make_series()
    inner = GlobalAlignment(differences=True, scales=(0.5, 2.0), length=6).adapt(X)
    bank = Averaged(inner, GROUPS).adapt(X)

    def dense(A, B):
        stack = np.stack([inner.evaluate(i, A, B) for i in range(inner.n_kernels)], -1)
        # Two widths of every channel side by side, then the same of the differences.
        return mean_of(stack.reshape(*stack.shape[:2], 2, 4, 2).mean(axis=(2, 4)), GROUPS)

    check_bank(bank, X, Y, dense, rtol=1e-9)
    table, packed = bank.tabulate(X)
    full = dense(X, None)

    def look_up(_, columns):
        return full if columns is None else full[:, columns]

    check_bank(table, packed, table.take(packed, [3, 1]), look_up, rtol=1e-9)
    assert table.kernel_names() == ["a", "b", "c"]


def test_kernels_without_unit_diagonal_keep_their_mean_norms():
    class Linear(PerFeatureGaussian):
        """x_l y_l for every feature l."""

        has_unit_diagonal = False

        def pairs(self, X, rows, columns, dtype=np.float64):
            return (X[rows] * X[columns]).astype(dtype)

        def diagonal(self, X):
            return X**2

        def select(self, indices):
            assert np.array_equal(indices, np.arange(3))
            return self

    X = make_data()[0][:, :3]
    bank = Averaged(Linear().adapt(X), {"a": [0, 1], "b": [2]}).adapt(X)
    assert_allclose(bank.diagonal(X), np.stack([(X[:, :2] ** 2).mean(axis=1), X[:, 2] ** 2], 1))


def test_groups_keep_their_names_order_and_kernels_when_some_are_selected():
    X, _ = make_data()
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
    bank = Averaged(GlobalAlignment(differences=True), {"first": [0, 1], "second": [2, 3]})
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
        Averaged(bank, groups).adapt(make_data()[0])


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="has no groups, expected at least one"):
        Averaged(PerFeatureGaussian(), {})
    with pytest.raises(ValueError, match=r"not known yet.*Call adapt\(X\) first"):
        Averaged(PerFeatureGaussian(), {"a": [0]}).combine([1.0], make_data()[0])
