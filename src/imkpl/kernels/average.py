"""One kernel per group of columns: the mean of the kernels of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.base import BaseKernelBank, Report
from imkpl.kernels.checks import check_indices
from imkpl.kernels.wrapper import BaseWrapper


@dataclass(frozen=True, eq=False)
class Averaged(BaseWrapper):
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
        # Plain lists, so that a bank can be saved whatever it was made with.
        plain = {str(name): list(columns) for name, columns in self.groups.items()}
        object.__setattr__(self, "groups", plain)

    @property
    def n_kernels(self) -> int:
        """The number of groups; known after `adapt`."""
        return int(self._shares.shape[0])

    @property
    def has_unit_diagonal(self) -> bool:
        """Whether the averaged kernels have unit diagonals: so has their mean."""
        return self.bank.has_unit_diagonal

    @property
    def kernel_columns(self) -> IntArray | None:
        """None, because a group has several columns."""
        return None

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

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_g weights_g K_g(X, Y)``, from the kernels of the bank."""
        return self.bank.combine(self._check_weights(weights) @ self._shares, X, Y)

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``<K_g(X, Y), M>`` for every group: the adjoint of `combine`."""
        return np.asarray(self._shares @ self.bank.contract(M, X, Y))

    def contract_rows(
        self, rows: Any, row_weights: ArrayLike, X: Any, mixes: Any = None
    ) -> FloatArray:
        """``sum_i row_weights_i r_i K_g r_i'`` for every group."""
        return np.asarray(self._shares @ self.bank.contract_rows(rows, row_weights, X, mixes))

    def contract_pairs(
        self, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
    ) -> FloatArray:
        """``sum_p values_p K_g(x_rows[p], x_columns[p])`` for every group."""
        return np.asarray(self._shares @ self.bank.contract_pairs(values, X, rows, columns))

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """The means for the listed pairs only."""
        return np.asarray(self.bank.pairs(X, rows, columns) @ self._shares.T, dtype=dtype)

    def diagonal(self, X: Any) -> FloatArray:
        """``K_g(x, x)`` for every sample and group."""
        if self.has_unit_diagonal:
            return super().diagonal(X)
        return np.asarray(self.bank.diagonal(X) @ self._shares.T)

    def tabulate(self, X: Any, report: Report | None = None) -> tuple[BaseKernelBank, Any]:
        """The means over the table of the bank."""
        table, samples = self.bank.tabulate(X, report)
        return replace(self, bank=table), samples

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

    def on_columns(self, columns: ArrayLike) -> Self:
        """The same kernels, reading data that was cut down to ``X[:, columns]``."""
        return replace(self, bank=self.bank.on_columns(columns))

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The names of the groups."""
        del feature_names
        return list(self._names)

    @property
    def _shares(self) -> Any:
        if self.shares is None:
            raise ValueError(
                "The kernels of this Averaged are not known yet, because they depend on the "
                "training part. Call adapt(X) first and use the bank that it returns."
            )
        return self.shares

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
