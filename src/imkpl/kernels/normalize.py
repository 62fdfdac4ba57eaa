"""Banks that rescale the kernels of another bank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray
from imkpl.kernels.base import BaseKernelBank, Report
from imkpl.kernels.blocks import count_samples
from imkpl.kernels.checks import check_indices, check_pairs, check_sample_weight
from imkpl.kernels.wrapper import BaseWrapper

# A sample whose squared norm is below it has none.
SMALLEST_SQUARE = 1e-290


@dataclass(frozen=True)
class Normalized(BaseWrapper):
    """Every kernel divided by the norms of its samples, ``K(x, y) / sqrt(K(x, x) K(y, y))``.

    Samples of zero norm are one and the same point of feature space. They get similarity 1 to
    themselves and to each other, 0 to every other sample; this keeps the kernel positive
    semi-definite. Where the wrapped bank has unit diagonals already, nothing is done.

    Parameters
    ----------
    bank : BaseKernelBank
        The bank whose kernels are rescaled.

    Examples
    --------
    >>> from imkpl.kernels import KernelStack
    >>> bank = Normalized(KernelStack(["linear"]))
    >>> bank.evaluate(0, np.array([[2.0, 0.0], [3.0, 0.0], [0.0, 5.0]]))
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    bank: BaseKernelBank

    @property
    def has_unit_diagonal(self) -> bool:
        """Always: that is what the wrapper is for."""
        return True

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> Normalized:
        """The wrapper of the adapted bank."""
        return Normalized(self.bank.adapt(X, sample_weight))

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one rescaled kernel."""
        if self.bank.has_unit_diagonal:
            return self.bank.evaluate(index, X, Y)
        single = self.bank.select([index])
        left, left_zero = _invert_norms(single.diagonal(X)[:, 0])
        right, right_zero = left, left_zero
        if Y is not None:
            right, right_zero = _invert_norms(single.diagonal(Y)[:, 0])
        values = single.evaluate(0, X, Y) * np.outer(left, right) + np.outer(left_zero, right_zero)
        if Y is None:
            np.fill_diagonal(values, 1.0)
        return values

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_l weights_l K_l(X, Y)`` of the rescaled kernels."""
        if self.bank.has_unit_diagonal:
            return self.bank.combine(weights, X, Y)
        return super().combine(weights, X, Y)

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``<K_l(X, Y), M>`` for every rescaled kernel: the adjoint of `combine`."""
        if self.bank.has_unit_diagonal:
            return self.bank.contract(M, X, Y)
        return super().contract(M, X, Y)

    def contract_rows(
        self, rows: Any, row_weights: ArrayLike, X: Any, mixes: Any = None
    ) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every rescaled kernel."""
        if self.bank.has_unit_diagonal:
            return self.bank.contract_rows(rows, row_weights, X, mixes)
        return super().contract_rows(rows, row_weights, X, mixes)

    def contract_pairs(
        self, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
    ) -> FloatArray:
        """``sum_p values_p K_l(x_rows[p], x_columns[p])`` for every rescaled kernel."""
        if self.bank.has_unit_diagonal:
            return self.bank.contract_pairs(values, X, rows, columns)
        return super().contract_pairs(values, X, rows, columns)

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """The rescaled kernels for the listed pairs only."""
        if self.bank.has_unit_diagonal:
            return self.bank.pairs(X, rows, columns, dtype)
        rows, columns = check_pairs(rows, columns)
        scale, is_zero = _invert_norms(self.bank.diagonal(X))
        values = self.bank.pairs(X, rows, columns) * (scale[rows] * scale[columns])
        values += is_zero[rows] & is_zero[columns]
        values[rows == columns] = 1.0
        return values.astype(dtype, copy=False)

    def tabulate(self, X: Any, report: Report | None = None) -> tuple[BaseKernelBank, Any]:
        """The table of the wrapped bank, where nothing has to be done to it."""
        return self.bank.tabulate(X, report) if self.bank.has_unit_diagonal else (self, X)

    def select(self, indices: ArrayLike) -> Self:
        """The wrapper of the listed kernels, in that order."""
        return replace(self, bank=self.bank.select(indices))

    def on_columns(self, columns: ArrayLike) -> Self:
        """The same kernels, reading data that was cut down to ``X[:, columns]``."""
        return replace(self, bank=self.bank.on_columns(columns))


def _invert_norms(diagonal: FloatArray) -> tuple[FloatArray, Any]:
    if np.any(diagonal < 0):
        raise ValueError(
            f"A kernel has K(x, x) = {diagonal.min():.3g} for some sample, expected 0 or more: it "
            "is not an inner product. Use a positive semi-definite kernel."
        )
    # Smaller squares have lost digits, and the product of two such inverses would be infinite.
    is_zero = diagonal < SMALLEST_SQUARE
    return np.where(is_zero, 0.0, 1.0 / np.sqrt(np.where(is_zero, 1.0, diagonal))), is_zero


@dataclass(frozen=True, eq=False)
class VarianceNormalized(BaseWrapper):
    """Every kernel divided by its variance in feature space over the training part.

    ``s_l = 1 / (mean_i K_l(x_i, x_i) - mean_ij K_l(x_i, x_j))``. Kernels that are nearly constant
    reconstruct everything and say nothing; after the division all kernels have variance 1. Those
    that are constant get scale 0, so that they are never evaluated.

    Parameters
    ----------
    bank : BaseKernelBank
        The bank whose kernels are rescaled.
    max_samples : int
        At most so many samples, evenly spaced, are used to measure the variance.
    floor : float
        A variance below this share of mean_i K_l(x_i, x_i) counts as constant.
    scales : array of shape (n_kernels,), optional
        The factors s_l, set by `adapt`.

    Examples
    --------
    >>> from imkpl.kernels import PerFeatureGaussian
    >>> X = np.array([[0.0, 7.0], [1.0, 7.0]])
    >>> bank = VarianceNormalized(PerFeatureGaussian()).adapt(X)
    >>> bool(np.isclose(bank.scales[0], 2 / (1 - np.exp(-2.0)))), float(bank.scales[1])
    (True, 0.0)
    """

    bank: BaseKernelBank
    max_samples: int = 1000
    floor: float = 1e-3
    scales: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.max_samples < 2:
            raise ValueError(
                f"VarianceNormalized(max_samples={self.max_samples}) must be at least 2: one "
                "sample has no variance. Leave it out for 1000."
            )

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> VarianceNormalized:
        """The wrapper of the adapted bank, with the scales measured on X."""
        return replace(self, bank=self.bank.adapt(X, sample_weight)).measure(X, sample_weight)

    def measure(self, X: Any, sample_weight: ArrayLike | None = None) -> VarianceNormalized:
        """The wrapper of the same kernels, with the scales measured on X.

        Unlike `adapt` it leaves the parameters of the kernels as they are, so that they may have
        been learned on other samples.

        Parameters
        ----------
        X : samples
            The samples over which kernels get a variance of one.
        sample_weight : array of shape (n_samples,), optional
            An integer weight counts as so many copies of the sample.

        Returns
        -------
        VarianceNormalized
            A bank with all parameters known.
        """
        bank = self.bank
        shares = check_sample_weight(sample_weight, count_samples(X))
        # Samples of weight zero must not use up places among the max_samples.
        chosen = np.flatnonzero(shares)
        if chosen.size > self.max_samples:
            places = np.linspace(0, chosen.size - 1, self.max_samples).round().astype(np.intp)
            chosen = chosen[places]
        if chosen.size < shares.size:
            X, shares = bank.subset(X, chosen), shares[chosen] / shares[chosen].sum()
        norms = shares @ bank.diagonal(X)
        variances = norms - bank.contract_rows(shares[np.newaxis], [1.0], X)
        is_constant = variances <= self.floor * norms
        scales = np.where(is_constant, 0.0, 1.0 / np.where(is_constant, 1.0, variances))
        return replace(self, scales=scales)

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one rescaled kernel."""
        return np.asarray(self._factors[index] * self.bank.evaluate(index, X, Y))

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_l weights_l s_l K_l(X, Y)``; constant kernels are never evaluated."""
        return self.bank.combine(self._check_weights(weights) * self._factors, X, Y)

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``s_l <K_l(X, Y), M>`` for every l: the adjoint of `combine`."""
        return np.asarray(self._factors * self.bank.contract(M, X, Y))

    def contract_rows(
        self, rows: Any, row_weights: ArrayLike, X: Any, mixes: Any = None
    ) -> FloatArray:
        """``s_l sum_i row_weights_i r_i K_l r_i'`` for every l."""
        return np.asarray(self._factors * self.bank.contract_rows(rows, row_weights, X, mixes))

    def contract_pairs(
        self, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
    ) -> FloatArray:
        """``s_l sum_p values_p K_l(x_rows[p], x_columns[p])`` for every l."""
        return np.asarray(self._factors * self.bank.contract_pairs(values, X, rows, columns))

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """The rescaled kernels for the listed pairs only."""
        values = self.bank.pairs(X, rows, columns, dtype)
        values *= self._factors.astype(values.dtype)
        return values

    def diagonal(self, X: Any) -> FloatArray:
        """``s_l K_l(x, x)`` for every sample and kernel."""
        if self.bank.has_unit_diagonal:
            return np.broadcast_to(self._factors, (count_samples(X), self.n_kernels))
        return np.asarray(self._factors * self.bank.diagonal(X))

    def tabulate(self, X: Any, report: Report | None = None) -> tuple[BaseKernelBank, Any]:
        """The wrapper around the table of the wrapped bank."""
        table, samples = self.bank.tabulate(X, report)
        return replace(self, bank=table), samples

    def select(self, indices: ArrayLike) -> Self:
        """The wrapper of the listed kernels, in that order, with their scales."""
        chosen = check_indices(indices, self.n_kernels)
        return replace(self, bank=self.bank.select(chosen), scales=self._factors[chosen])

    def on_columns(self, columns: ArrayLike) -> Self:
        """The same kernels, reading data that was cut down to ``X[:, columns]``."""
        return replace(self, bank=self.bank.on_columns(columns))

    @property
    def _factors(self) -> FloatArray:
        if self.scales is None:
            raise ValueError(
                "The scales of this VarianceNormalized are not known yet. Call adapt(X) with the "
                "training part and use the bank that it returns."
            )
        return self.scales
