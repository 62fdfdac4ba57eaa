"""Banks around another bank: its kernels rescaled, or averaged in groups."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import (
    BaseKernelBank,
    BaseWrapper,
    check_indices,
    check_pairs,
    check_sample_weight,
    count_samples,
)

# A sample whose squared norm is below it has none.
SMALLEST_SQUARE = 1e-290


@dataclass(frozen=True)
class Normalized(BaseWrapper):
    """Every kernel divided by the norms of its samples, ``K(x, y) / sqrt(K(x, x) K(y, y))``.

    Samples of zero norm are one and the same point of feature space. They get similarity 1 to
    themselves and to each other, 0 to every other sample; this keeps the kernel positive
    semi-definite. Where the wrapped bank has unit diagonals already, `adapt` returns that bank.

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

    _has_unit_diagonal = True

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> BaseKernelBank:
        """The wrapper of the adapted bank, or that bank where there is nothing to rescale."""
        bank = self.bank.adapt(X, sample_weight)
        return bank if bank._has_unit_diagonal else Normalized(bank)

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one rescaled kernel."""
        single = self.bank.select([index])
        left, left_zero = _invert_norms(single._diagonal(X)[:, 0])
        right, right_zero = left, left_zero
        if Y is not None:
            right, right_zero = _invert_norms(single._diagonal(Y)[:, 0])
        values = single.evaluate(0, X, Y) * np.outer(left, right) + np.outer(left_zero, right_zero)
        if Y is None:
            np.fill_diagonal(values, 1.0)
        return values

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """The rescaled kernels for the listed pairs only."""
        rows, columns = check_pairs(rows, columns)
        scale, is_zero = _invert_norms(self.bank._diagonal(X))
        values = self.bank.pairs(X, rows, columns) * (scale[rows] * scale[columns])
        values += is_zero[rows] & is_zero[columns]
        values[rows == columns] = 1.0
        return values.astype(dtype, copy=False)


class BaseLinear(BaseWrapper):
    """Kernels that are linear combinations of those of another bank."""

    @abstractmethod
    def _spread(self, weights: FloatArray) -> FloatArray:
        """Weights of these kernels as weights of the wrapped ones."""

    @abstractmethod
    def _gather(self, products: FloatArray) -> FloatArray:
        """Products with the wrapped kernels as products with these: the adjoint of `_spread`."""

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_l weights_l K_l(X, Y)`` of these kernels."""
        return self.bank.combine(self._spread(self._check_weights(weights)), X, Y)

    def _compare_new(self, weights: FloatArray, X: Any, Y: Any) -> FloatArray:
        return self.bank._compare_new(self._spread(weights), X, Y)

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``<K_l(X, Y), M>`` for every l: the adjoint of `combine`."""
        return self._gather(self.bank.contract(M, X, Y))

    def contract_rows(
        self, rows: Any, row_weights: ArrayLike, X: Any, mixes: Any = None
    ) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every l."""
        return self._gather(self.bank.contract_rows(rows, row_weights, X, mixes))

    def contract_pairs(
        self, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
    ) -> FloatArray:
        """``sum_p values_p K_l(x_rows[p], x_columns[p])`` for every l."""
        return self._gather(self.bank.contract_pairs(values, X, rows, columns))

    def _squared_norms(self, weights: ArrayLike, X: Any) -> FloatArray:
        return self.bank._squared_norms(self._spread(self._check_weights(weights)), X)

    def _mean_diagonal(self, shares: FloatArray, X: Any) -> FloatArray:
        return self._gather(self.bank._mean_diagonal(shares, X))


@dataclass(frozen=True, eq=False)
class VarianceNormalized(BaseLinear):
    """Every kernel divided by its variance in feature space over the training part.

    ``s_l = 1 / (mean_i K_l(x_i, x_i) - mean_ij K_l(x_i, x_j))``. Kernels that are nearly constant
    reconstruct everything and say nothing; after the division all kernels have variance 1. Those
    that are constant get scale 0, so that they are never evaluated.

    Parameters
    ----------
    bank : BaseKernelBank
        The bank whose kernels are rescaled.
    max_samples : int
        Maximum number of samples, evenly spaced, over which the variance is measured.
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
        return replace(self, bank=self.bank.adapt(X, sample_weight))._measure(X, sample_weight)

    def _measure(self, X: Any, sample_weight: ArrayLike | None = None) -> VarianceNormalized:
        """The wrapper with scales measured on X; the kernels keep what they learned elsewhere."""
        bank = self.bank
        shares = check_sample_weight(sample_weight, count_samples(X))
        # Samples of weight zero must not use up places among the max_samples.
        chosen = np.flatnonzero(shares)
        if chosen.size > self.max_samples:
            places = np.linspace(0, chosen.size - 1, self.max_samples).round().astype(np.intp)
            chosen = chosen[places]
        if chosen.size < shares.size:
            X, shares = bank._subset(X, chosen), shares[chosen] / shares[chosen].sum()
        norms = bank._mean_diagonal(shares, X)
        variances = norms - bank.contract_rows(shares[np.newaxis], [1.0], X)
        is_constant = variances <= self.floor * norms
        scales = np.where(is_constant, 0.0, 1.0 / np.where(is_constant, 1.0, variances))
        return replace(self, scales=scales)

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one rescaled kernel."""
        return np.asarray(self._factors[index] * self.bank.evaluate(index, X, Y))

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """The rescaled kernels for the listed pairs only."""
        values = self.bank.pairs(X, rows, columns, dtype)
        values *= self._factors.astype(values.dtype)
        return values

    def _diagonal(self, X: Any) -> FloatArray:
        if self.bank._has_unit_diagonal:
            return np.broadcast_to(self._factors, (count_samples(X), self.n_kernels))
        return np.asarray(self._factors * self.bank._diagonal(X))

    def select(self, indices: ArrayLike) -> Self:
        """The wrapper of the listed kernels, in that order, with their scales."""
        chosen = check_indices(indices, self.n_kernels)
        return replace(self, bank=self.bank.select(chosen), scales=self._factors[chosen])

    def _spread(self, weights: FloatArray) -> FloatArray:
        return weights * self._factors

    def _gather(self, products: FloatArray) -> FloatArray:
        return np.asarray((self._factors * products.T).T)

    @property
    def _factors(self) -> FloatArray:
        return self._require_adapted(self.scales)


@dataclass(frozen=True, eq=False)
class Averaged(BaseLinear):
    """A kernel per group of columns, the mean of all kernels that read a column of the group.

    A weight is then the weight of a group: of a joint with its three coordinates, of a sensor with
    its channels, of the features of one origin. Every column is still compared on its own, with
    its own bandwidth, where a kernel on the whole group would compare all columns at once.

    Parameters
    ----------
    bank : BaseKernelBank
        A bank whose kernels read one column each, such as `PerFeatureGaussian` or
        `GlobalAlignment`. Several kernels of a column, such as those of several widths or of
        differences, all belong to its group.
    groups : mapping from names to sequences of int
        The columns (of series: the channels) of every group. A column may be in several groups or
        in none.
    names : tuple of str, optional
        Set by `adapt`.
    shares : CSR array of shape (n_groups, n_kernels of the bank), optional
        Set by `adapt`: the part that every kernel has in every mean.

    Examples
    --------
    >>> from imkpl.kernels import PerFeatureGaussian
    >>> X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 5.0]])
    >>> bank = Averaged(PerFeatureGaussian(), {"first two": [0, 1], "last": [2]}).adapt(X)
    >>> bank.kernel_names()
    ['first two', 'last']
    >>> each = bank.bank.pairs(X, [0], [1])[0]
    >>> bool(np.isclose(bank.pairs(X, [0], [1])[0, 0], (each[0] + each[1]) / 2))
    True
    """

    bank: BaseKernelBank
    groups: Mapping[str, Sequence[int]]
    names: tuple[str, ...] | None = None
    shares: Any = None

    def __post_init__(self) -> None:
        if not self.groups:
            raise ValueError(
                f"Averaged(groups={self.groups!r}) has no groups, expected at least one. Leave "
                "Averaged out for one kernel per column."
            )
        # Lists, so that a bank can be saved whatever it was made with.
        lists = {str(name): list(columns) for name, columns in self.groups.items()}
        object.__setattr__(self, "groups", lists)

    @property
    def n_kernels(self) -> int:
        """The number of groups; known after `adapt`."""
        return int(self._shares.shape[0])

    @property
    def kernel_columns(self) -> IntArray | None:
        """The column of each group; None when one has several."""
        columns = [self.groups[name] for name in self._names]
        return None if any(len(c) > 1 for c in columns) else np.array(columns, dtype=np.intp)[:, 0]

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> Averaged:
        """The means of the adapted kernels."""
        bank = self.bank.adapt(X, sample_weight)
        if self.shares is not None:
            return replace(self, bank=bank)
        chosen = [_find_kernels(bank, name, columns) for name, columns in self.groups.items()]
        used = np.unique(np.concatenate(chosen))
        shares = sp.lil_array((len(chosen), used.size))
        for group, kernels in enumerate(chosen):
            shares[group, np.searchsorted(used, kernels)] = 1.0 / kernels.size
        return replace(self, bank=bank.select(used), names=self._names, shares=shares.tocsr())

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The mean of the matrices of one group."""
        chosen = int(check_indices([index], self.n_kernels)[0])
        return self.bank.combine(self._shares[[chosen]].toarray()[0], X, Y)

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """The means for the listed pairs only."""
        return np.asarray(self.bank.pairs(X, rows, columns) @ self._shares.T, dtype=dtype)

    def select(self, indices: ArrayLike) -> Self:
        """The listed groups, in that order, around the kernels that they need."""
        chosen = check_indices(indices, self.n_kernels)
        shares = self._shares[chosen]
        used = np.unique(shares.indices)
        return replace(
            self,
            bank=self.bank.select(used),
            names=tuple(self._names[group] for group in chosen),
            shares=shares[:, used],
        )

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The names of the groups."""
        return list(self._names)

    @property
    def _has_unit_diagonal(self) -> bool:
        return self.bank._has_unit_diagonal

    @property
    def _has_unit_norms(self) -> bool:
        return self.bank._has_unit_norms

    def _diagonal(self, X: Any) -> FloatArray:
        if self._has_unit_diagonal:
            return super()._diagonal(X)
        return np.asarray(self.bank._diagonal(X) @ self._shares.T)

    def _spread(self, weights: FloatArray) -> FloatArray:
        return np.asarray(weights @ self._shares)

    def _gather(self, products: FloatArray) -> FloatArray:
        return np.asarray(self._shares @ products)

    @property
    def _shares(self) -> Any:
        return self._require_adapted(self.shares)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.groups) if self.names is None else self.names


def _find_kernels(bank: BaseKernelBank, name: str, columns: Sequence[int]) -> IntArray:
    """The kernels that read one of the columns."""
    read = bank.kernel_columns
    if read is None:
        raise ValueError(
            f"Averaged() got a {type(bank).__name__} whose kernels read several columns, expected "
            "one column each. Leave its own groups out, or pass a GlobalAlignment or "
            "PerFeatureGaussian."
        )
    wanted = np.asarray(columns)
    is_list = wanted.ndim == 1 and wanted.size > 0 and wanted.dtype.kind in "iu"
    if not is_list or not np.isin(wanted, read).all():
        raise ValueError(
            f"Group {name!r} lists the columns {list(columns)}, expected numbers of columns from 0 "
            f"to {read.max(initial=0)}, and at least one. Correct `groups`."
        )
    return np.flatnonzero(np.isin(read, wanted))


def _invert_norms(diagonal: FloatArray) -> tuple[FloatArray, Any]:
    if np.any(diagonal < 0):
        raise ValueError(
            f"A kernel has K(x, x) = {diagonal.min():.3g} for some sample, expected 0 or more: it "
            "is not an inner product. Use a positive semi-definite kernel."
        )
    # Smaller squares have lost digits, and the product of two such inverses would be infinite.
    is_zero = diagonal < SMALLEST_SQUARE
    return np.where(is_zero, 0.0, 1.0 / np.sqrt(np.where(is_zero, 1.0, diagonal))), is_zero
