"""What a bank of kernels promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.blocks import count_samples, take_samples
from imkpl.kernels.checks import check_matrix, check_rows, check_weights, join_mixes
from imkpl.kernels.input_forms import InputForms
from imkpl.kernels.listed_pairs import evaluate_pairs, sum_pairs

# Told how much is done, and of how much.
Report: TypeAlias = Callable[[float, float], None]


class BaseKernelBank(InputForms, ABC):
    """Many base kernels K_l, used as one linear operator and its adjoint.

    ``combine(a) = sum_l a_l K_l`` and ``contract(M)_l = <K_l, M>`` satisfy
    ``<combine(a), M> = a . contract(M)``. Nothing of size n_kernels x n_samples x n_samples is ever
    built. A bank holds parameters, never data, and every method returns new objects.

    A new bank needs `n_kernels`, `adapt`, `evaluate`, `select` and `kernel_names`; the rest
    follows from `evaluate`, one kernel at a time. Override what can be done faster.
    """

    @property
    @abstractmethod
    def n_kernels(self) -> int:
        """The number of base kernels; known after `adapt`."""

    @property
    def has_unit_diagonal(self) -> bool:
        """Whether K_l(x, x) = 1 for every x and l by construction."""
        return False

    @property
    def columns(self) -> IntArray | None:
        """The sorted input columns that the kernels read; None when they read everything."""
        return None

    @property
    def kernel_columns(self) -> IntArray | None:
        """The one input column that each kernel reads; None when kernels read several."""
        return None

    @abstractmethod
    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> BaseKernelBank:
        """The bank whose data-dependent parameters are learned from X.

        Parameters
        ----------
        X : samples
            The training part.
        sample_weight : array of shape (n_samples,), optional
            An integer weight counts as so many copies of the sample.

        Returns
        -------
        BaseKernelBank
            A bank with all parameters known.
        """

    @abstractmethod
    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one base kernel.

        Parameters
        ----------
        index : int
            Which kernel.
        X : samples
            The rows of the result.
        Y : samples, optional
            The columns, in the form that `take` returns; those of X by default, and then the
            result is exactly symmetric.

        Returns
        -------
        array of shape (n_samples_X, n_samples_Y)
            K_index(X, Y).
        """

    @abstractmethod
    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order, still reading full-width X.

        Parameters
        ----------
        indices : array of shape (n_selected,)
            Which kernels.

        Returns
        -------
        BaseKernelBank
            The smaller bank.
        """

    @abstractmethod
    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """One name per kernel.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names of the input columns.

        Returns
        -------
        list of str
            Of length n_kernels.
        """

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_l weights_l K_l(X, Y)``; kernels of zero weight are never evaluated.

        Parameters
        ----------
        weights : array of shape (n_kernels,)
            The coefficients.
        X : samples
            The rows of the result.
        Y : samples, optional
            The columns, in the form that `take` returns; those of X by default, and then the
            result is exactly symmetric.

        Returns
        -------
        array of shape (n_samples_X, n_samples_Y)
            The combined kernel.
        """
        weights = self._check_weights(weights)
        total = np.zeros(self._shape(X, Y))
        for index in np.flatnonzero(weights):
            total += weights[index] * self.evaluate(int(index), X, Y)
        return total

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``<K_l(X, Y), M>`` for every l: the adjoint of `combine`.

        Parameters
        ----------
        M : array of shape (n_samples_X, n_samples_Y)
            The matrix, dense; it need not be symmetric.
        X : samples
            The rows.
        Y : samples, optional
            The columns, in the form that `take` returns; those of X by default.

        Returns
        -------
        array of shape (n_kernels,)
            One inner product per kernel.
        """
        matrix = self._check_matrix(M, X, Y)
        products = [np.vdot(self.evaluate(i, X, Y), matrix) for i in range(self.n_kernels)]
        return np.array(products, dtype=np.float64)

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """``K_l(x_rows[p], x_columns[p])`` for the listed pairs p only.

        Parameters
        ----------
        X : samples
            The samples that the indices point to.
        rows, columns : array of shape (n_pairs,)
            The two samples of each pair.
        dtype : dtype
            Type of the result; the arithmetic is in float64.

        Returns
        -------
        array of shape (n_pairs, n_kernels)
            The kernel values.
        """
        return evaluate_pairs(self, X, rows, columns, dtype)

    def contract_rows(
        self,
        rows: Any,
        row_weights: ArrayLike,
        X: Any,
        mixes: Any = None,
    ) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every l, the r_i being rows over the samples.

        It is ``contract(rows' diag(row_weights) rows, X)``, and here it is computed so.

        Parameters
        ----------
        rows : sparse array of shape (n_rows, n_samples) or (n_rows, n_samples + n_mixes)
            The rows r_i.
        row_weights : array of shape (n_rows,)
            A factor for each row, of any sign.
        X : samples
            The samples that the columns of `rows` point to.
        mixes : sparse array of shape (n_mixes, n_samples), optional
            Mixes of samples that many rows share. The last n_mixes columns of `rows` then count
            mixes instead of samples, ``r = rows[:, :n_samples] + rows[:, n_samples:] @ mixes``.

        Returns
        -------
        array of shape (n_kernels,)
            One sum per kernel.
        """
        rows, factors, mixes = check_rows(rows, row_weights, self._shape(X, None)[0], mixes)
        whole = join_mixes(rows, mixes)
        return self.contract((whole.T @ (whole * factors[:, np.newaxis])).toarray(), X)

    def contract_pairs(
        self, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
    ) -> FloatArray:
        """``sum_p values_p K_l(x_rows[p], x_columns[p])`` for every l.

        Parameters
        ----------
        values : array of shape (n_pairs,)
            A factor for each pair.
        X : samples
            The samples that the indices point to.
        rows, columns : array of shape (n_pairs,)
            The two samples of each pair; a pair may be listed more than once.

        Returns
        -------
        array of shape (n_kernels,)
            One sum per kernel.
        """
        return sum_pairs(self, values, X, rows, columns)

    def diagonal(self, X: Any) -> FloatArray:
        """``K_l(x, x)`` for every sample and kernel.

        Parameters
        ----------
        X : samples
            The samples.

        Returns
        -------
        array of shape (n_samples, n_kernels)
            The squared norms in feature space; a read-only broadcast of ones, without memory of
            its own, where every kernel has a unit diagonal.
        """
        n_samples = count_samples(X)
        if self.has_unit_diagonal:
            return np.broadcast_to(np.float64(1.0), (n_samples, self.n_kernels))
        everyone = np.arange(n_samples)
        return self.pairs(X, everyone, everyone)

    def take(self, X: Any, indices: ArrayLike) -> Any:
        """The listed samples of X in the form that `Y` accepts.

        Parameters
        ----------
        X : samples
            The samples.
        indices : array of shape (n_taken,)
            Which samples.

        Returns
        -------
        samples
            ``combine(w, X, take(X, i))`` is ``combine(w, X)[:, i]``.
        """
        return take_samples(X, np.asarray(indices, dtype=np.intp))

    def subset(self, X: Any, indices: ArrayLike) -> Any:
        """The data cut down to the listed samples, in the form that `X` accepts.

        Parameters
        ----------
        X : samples
            The training part.
        indices : array of shape (n_taken,)
            Which samples.

        Returns
        -------
        samples
            ``combine(w, subset(X, i))`` is ``combine(w, X)[np.ix_(i, i)]``.
        """
        return take_samples(X, np.asarray(indices, dtype=np.intp))

    def in_single_precision(self) -> Self:
        """The same kernels, combined in single precision where the bank can do that faster.

        Returns
        -------
        BaseKernelBank
            A bank whose `combine` is right to 1e-6; the bank itself where it cannot.
        """
        return self

    def within_memory(self, working_memory: float) -> Self:
        """The same kernels, with smaller blocks of data, where the bank makes such blocks.

        Parameters
        ----------
        working_memory : float
            Memory for them, in MiB. Results do not depend on it.

        Returns
        -------
        BaseKernelBank
            A bank that never uses more than it did.
        """
        return self

    def tabulate(self, X: Any, report: Report | None = None) -> tuple[BaseKernelBank, Any]:
        """A bank and samples with the same kernels, expensive ones evaluated once for a whole fit.

        Parameters
        ----------
        X : samples
            The training part.
        report : function (done, total) -> None, optional
            Told about the progress.

        Returns
        -------
        bank, samples : BaseKernelBank and samples
            As many kernels, and the training part in the form that they read.
        """
        return self, X

    def plain(self) -> BaseKernelBank:
        """The same kernels without what serves a fit only, such as a cluster.

        Returns
        -------
        BaseKernelBank
            A bank that can be kept, and used anywhere.
        """
        return self

    def on_columns(self, columns: ArrayLike) -> Self:
        """The same kernels, reading data that was cut down to ``X[:, columns]``.

        Parameters
        ----------
        columns : array of shape (n_columns,)
            The columns that are left, each one that the kernels read among them.

        Returns
        -------
        BaseKernelBank
            The bank for the narrower data.
        """
        raise ValueError(
            f"on_columns() got {np.size(columns)} columns, but the kernels of "
            f"{type(self).__name__} read every column. Keep X whole; the property `columns` is "
            "None for such a bank."
        )

    def _shape(self, X: Any, Y: Any) -> tuple[int, int]:
        n_rows = count_samples(X)
        return n_rows, n_rows if Y is None else count_samples(Y)

    def _check_weights(self, weights: ArrayLike) -> FloatArray:
        return check_weights(weights, self.n_kernels)

    def _check_matrix(self, M: ArrayLike, X: Any, Y: Any) -> FloatArray:
        return check_matrix(M, self._shape(X, Y))
