"""What a kernel and a bank of kernels promise, and the checks that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, Self, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from imkpl._checks import LARGEST
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.columns import ColumnSource
from imkpl.kernels.sharded import ShardedSamples

# Maximum number of samples in a prototype, unless the user or the kernels say otherwise.
USUAL_SPARSITY = 10
# Copies of the data take at most this many MiB at a time.
LARGEST_COPY = 256.0
# Rows evaluated at a time by `pairs`: fixed, so that results are too.
PAIR_ROWS = 256
# Kernel values held at a time by `contract_pairs`.
PAIR_VALUES = 2**20

T = TypeVar("T")


class BaseKernel(ABC):
    """A similarity k(x, y) = <phi(x), phi(y)> between two samples, lifted to matrices.

    A kernel is a small immutable object. It holds parameters, never data.

    Examples
    --------
    A kernel of one's own needs `__call__`, here for one column:

    >>> class Laplace(BaseKernel):
    ...     def __call__(self, X, Y=None):
    ...         return np.exp(-abs(np.subtract.outer(X[:, 0], (X if Y is None else Y)[:, 0])))
    >>> Laplace()(np.array([[0.0], [np.log(2)]])).round(3)
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> Laplace().label
    'laplace'
    """

    @property
    def reads(self) -> str:
        """The samples it reads: "vectors" (rows of a numeric 2-D array) or "anything"."""
        return "vectors"

    @property
    def has_unit_diagonal(self) -> bool:
        """Whether k(x, x) = 1 for every x by construction."""
        return False

    @property
    def label(self) -> str:
        """The name shown to people."""
        return type(self).__name__.lower()

    @abstractmethod
    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of k between the samples of X and of Y."""

    def diagonal(self, X: Any) -> FloatArray:
        """The squared norms k(x, x) of the samples in feature space.

        Parameters
        ----------
        X : samples
            The samples.

        Returns
        -------
        array of shape (n_samples,)
            One number per sample.
        """
        n_samples = count_samples(X)
        if self.has_unit_diagonal:
            return np.broadcast_to(np.float64(1.0), (n_samples,))
        singles = (take_samples(X, np.array([i])) for i in range(n_samples))
        return np.array([self(x, x)[0, 0] for x in singles], dtype=np.float64)

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> BaseKernel:
        """Learn the data-dependent parameters from X; a kernel without any returns itself.

        Parameters
        ----------
        X : samples
            The training part.
        sample_weight : array of shape (n_samples,), optional
            An integer weight counts as that many copies of the sample.

        Returns
        -------
        BaseKernel
            A kernel with all parameters known.
        """
        return self


class BaseKernelBank(ABC):
    """Many base kernels K_l, used as one linear operator and its adjoint.

    ``combine(a) = sum_l a_l K_l`` and ``contract(M)_l = <K_l, M>`` satisfy
    ``<combine(a), M> = a . contract(M)``. Nothing of size n_kernels x n_samples x n_samples is ever
    built. A bank holds parameters, never data, and every method returns new objects.

    A new bank needs `n_kernels`, `adapt`, `evaluate`, `select` and `kernel_names`; the rest
    follows from `evaluate`, one kernel at a time. Override what can be done faster.

    Examples
    --------
    The operator and its adjoint, for the bank of one kernel per feature:

    >>> from imkpl.kernels import PerFeatureGaussian
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [3.0, 5.0]])
    >>> bank = PerFeatureGaussian().adapt(X)
    >>> bank.kernel_names(["width", "height"])
    ['width', 'height']
    >>> a, M = np.array([0.3, 0.7]), np.ones((3, 3))
    >>> bool(np.isclose(np.sum(bank.combine(a, X) * M), a @ bank.contract(M, X)))
    True
    """

    @property
    def reads(self) -> str:
        """The kind of samples that the bank reads.

        "vectors" are rows of a numeric 2-D array; "columns" are the same, but the bank reads X by
        ``X[:, columns]`` alone, so that X may be a column source on disk; "tables" and "series" are
        what `read_table` and `read_series` read; "words" are sparse rows or numbers that are mostly
        0; "similarities" are kernel values with all training samples; "anything" is not checked.
        """
        return "vectors"

    @property
    @abstractmethod
    def n_kernels(self) -> int:
        """The number of base kernels; known after `adapt`."""

    @property
    def kernel_columns(self) -> IntArray | None:
        """The one input column that each kernel reads; None when kernels read several."""
        return None

    @abstractmethod
    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """Name every kernel.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names of the input columns.

        Returns
        -------
        list of str
            One name per kernel.
        """

    @abstractmethod
    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> BaseKernelBank:
        """Learn the data-dependent parameters from X.

        Parameters
        ----------
        X : samples
            The training part.
        sample_weight : array of shape (n_samples,), optional
            An integer weight counts as that many copies of the sample.

        Returns
        -------
        BaseKernelBank
            A bank with all parameters known.
        """

    @abstractmethod
    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """Compute the matrix of one base kernel.

        Parameters
        ----------
        index : int
            Which kernel.
        X : samples
            The rows of the result.
        Y : samples, optional
            The columns of the result; those of X by default, and then it is exactly symmetric.

        Returns
        -------
        array of shape (n_samples_X, n_samples_Y)
            K_index(X, Y).
        """

    @abstractmethod
    def select(self, indices: ArrayLike) -> Self:
        """Keep the listed kernels, in that order; the bank still reads full-width X.

        Parameters
        ----------
        indices : array of shape (n_selected,)
            Which kernels.

        Returns
        -------
        BaseKernelBank
            The smaller bank.
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
            The columns of the result; those of X by default, and then it is exactly symmetric.

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
            The rows of the kernels.
        Y : samples, optional
            The columns of the kernels; those of X by default.

        Returns
        -------
        array of shape (n_kernels,)
            One inner product per kernel.
        """
        matrix = self._check_matrix(M, X, Y)
        products = [np.vdot(self.evaluate(i, X, Y), matrix) for i in range(self.n_kernels)]
        return np.array(products, dtype=np.float64)

    def contract_rows(
        self, rows: Any, row_weights: ArrayLike, X: Any, mixes: Any = None
    ) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every l, the r_i being rows over the samples.

        It is ``contract(rows' diag(row_weights) rows, X)``.

        Parameters
        ----------
        rows : sparse array of shape (n_rows, n_samples) or (n_rows, n_samples + n_mixes)
            The rows r_i.
        row_weights : array of shape (n_rows,) or (n_rows, n_sums)
            A factor for each row, of any sign; or several, for as many sums.
        X : samples
            The samples that the columns of `rows` point to.
        mixes : sparse array of shape (n_mixes, n_samples), optional
            Mixes of samples that many rows share. The last n_mixes columns of `rows` then count
            mixes instead of samples, ``r = rows[:, :n_samples] + rows[:, n_samples:] @ mixes``.

        Returns
        -------
        array of shape (n_kernels,) or (n_kernels, n_sums)
            One sum per kernel, or several.
        """
        rows, factors, mixes = check_rows(rows, row_weights, self._shape(X, None)[0], mixes)
        if factors.ndim == 2:
            parts = [(np.flatnonzero(one), one) for one in factors.T]
            return np.stack(
                [self.contract_rows(rows[used], one[used], X, mixes) for used, one in parts], axis=1
            )
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
        rows, columns = check_pairs(rows, columns, self._shape(X, None)[0])
        factors = check_pair_values(values, rows.size)
        # Neighbouring pairs share their rows, which `pairs` evaluates together.
        order = np.argsort(rows, kind="stable")
        step = max(1, PAIR_VALUES // max(1, self.n_kernels))
        products = np.zeros(self.n_kernels)
        for start in range(0, rows.size, step):
            chosen = order[start : start + step]
            products += factors[chosen] @ self.pairs(X, rows[chosen], columns[chosen])
        return products

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
        # Cut out of the matrices of the samples that occur in some pairs.
        rows, columns = check_pairs(rows, columns)
        out = np.empty((rows.size, self.n_kernels), dtype=dtype)
        order = np.argsort(rows, kind="stable")
        left, row_positions = np.unique(rows[order], return_inverse=True)
        for start in range(0, left.size, PAIR_ROWS):
            chosen = (row_positions >= start) & (row_positions < start + PAIR_ROWS)
            right, column_positions = np.unique(columns[order[chosen]], return_inverse=True)
            block = take_samples(X, left[start : start + PAIR_ROWS])
            others = self._take(X, right)
            for index in range(self.n_kernels):
                values = self.evaluate(index, block, others)
                out[order[chosen], index] = values[row_positions[chosen] - start, column_positions]
        return out

    # Hooks between the library's own parts, with working defaults. A bank of your own needs none
    # of them; override one where it can be done faster or where samples need another treatment.

    @property
    def _has_unit_diagonal(self) -> bool:
        """Whether K_l(x, x) = 1 for every x and l by construction."""
        return False

    @property
    def _has_unit_norms(self) -> bool:
        """Whether K_l(x, x) is 1 on average over the training part; then nothing is rescaled."""
        return self._has_unit_diagonal

    @property
    def _most_kernels(self) -> int | None:
        """How many kernels a model keeps at most unless the user says so; None for any number."""
        return None

    @property
    def _default_sparsity(self) -> int | None:
        """How many samples a prototype is made of unless the user says so; None for any number."""
        return USUAL_SPARSITY

    @property
    def _columns(self) -> IntArray | None:
        """The sorted input columns that the kernels read; None when they read everything."""
        return None

    def _by_channel(self) -> BaseKernelBank | None:
        """A bank by which channels are weighed, a kernel for each; None when they are not."""
        return None

    def _weigh(self, weights: FloatArray) -> Self:
        """The bank with these weights of its channels, to be adapted."""
        raise ValueError(f"The kernels of {type(self).__name__} have no weights inside.")

    def _on_columns(self, columns: ArrayLike) -> Self:
        """The same kernels, reading data that was cut down to ``X[:, columns]``."""
        raise ValueError(
            f"_on_columns() got {np.size(columns)} columns, but the kernels of "
            f"{type(self).__name__} read every column. Keep X whole; the property `_columns` is "
            "None for such a bank."
        )

    def _diagonal(self, X: Any) -> FloatArray:
        """``K_l(x, x)``, shape (n_samples, n_kernels); a read-only broadcast where all are 1."""
        n_samples = count_samples(X)
        if self._has_unit_diagonal:
            return np.broadcast_to(np.float64(1.0), (n_samples, self.n_kernels))
        everyone = np.arange(n_samples)
        return self.pairs(X, everyone, everyone)

    def _squared_norms(self, weights: ArrayLike, X: Any) -> FloatArray:
        """``sum_l weights_l K_l(x, x)`` of every sample."""
        if self._has_unit_diagonal:
            return np.full(count_samples(X), self._check_weights(weights).sum())
        return np.asarray(self._diagonal(X) @ self._check_weights(weights))

    def _mean_diagonal(self, shares: FloatArray, X: Any) -> FloatArray:
        """``K_l(x, x)`` of every kernel on average; `shares` of the samples sum to one."""
        if self._has_unit_diagonal:
            return np.ones(self.n_kernels)
        return np.asarray(shares @ self._diagonal(X))

    def _take(self, X: Any, indices: ArrayLike) -> Any:
        """Samples as `Y`: ``combine(w, X, _take(X, i))`` is ``combine(w, X)[:, i]``."""
        return take_samples(X, np.asarray(indices, dtype=np.intp))

    def _subset(self, X: Any, indices: ArrayLike) -> Any:
        """Samples as `X`: ``combine(w, _subset(X, i))`` is ``combine(w, X)[np.ix_(i, i)]``."""
        return take_samples(X, np.asarray(indices, dtype=np.intp))

    def _compare_new(self, weights: FloatArray, X: Any, Y: Any) -> FloatArray:
        """`combine` for new samples; few of them without compiled loops, the same to 1e-12."""
        return self.combine(weights, X, Y)

    def _compare_mixes(self, X: Any, Y: Any, mixes: Any) -> FloatArray:
        """``sum_j mixes_mj K_l(x, y_j)``, of shape (n_samples_X, n_mixes, n_kernels)."""
        singles = (self.select([kernel]) for kernel in range(self.n_kernels))
        values = [(mixes @ bank._compare_new(np.ones(1), X, Y).T).T for bank in singles]
        return np.stack(values, axis=2)

    def _with_mixes(self, X: Any, mixes: Any) -> Any:
        """The samples and mixes of them, for kernels that are linear in the samples.

        ``pairs(_with_mixes(X, M), i, n + m)`` is ``sum_j M_mj pairs(X, i, j)``; rows of the mixes
        sum to one.
        """
        raise ValueError(
            f"_with_mixes() got {np.shape(mixes)[0]} mixes, but the kernels of "
            f"{type(self).__name__} are not linear in the samples. Use contract_rows()."
        )

    def _tabulate(self, X: Any) -> tuple[BaseKernelBank, Any]:
        """Bank and samples of the same kernels, expensive ones evaluated once for a whole fit."""
        return self, X

    def _in_single_precision(self) -> Self:
        """The same kernels, with a `combine` that is faster and right to 1e-6 where possible."""
        return self

    def _plain(self) -> BaseKernelBank:
        """The same kernels without a cluster: a bank that can be kept, and used anywhere."""
        return self

    def _shape(self, X: Any, Y: Any) -> tuple[int, int]:
        n_rows = count_samples(X)
        return n_rows, n_rows if Y is None else count_samples(Y)

    def _check_weights(self, weights: ArrayLike) -> FloatArray:
        array = np.asarray(weights, dtype=np.float64)
        if array.shape != (self.n_kernels,):
            raise ValueError(
                f"weights have shape {array.shape}, expected ({self.n_kernels},): one number per "
                "kernel. Select kernels first with select(), or pass zeros for those left out."
            )
        return array

    def _check_matrix(self, M: ArrayLike, X: Any, Y: Any) -> FloatArray:
        array, shape = np.asarray(M, dtype=np.float64), self._shape(X, Y)
        if array.shape != shape:
            raise ValueError(
                f"M has shape {array.shape}, expected {shape}: one row per sample of "
                "X and one column per sample of Y. Pass the matrix that belongs to these samples."
            )
        return array

    def _require_adapted(self, found: T | None) -> T:
        if found is None:
            raise ValueError(
                f"The kernels of this {type(self).__name__} are not known yet, because they depend "
                "on the training part. Call adapt(X) first and use the bank that it returns."
            )
        return found


class KernelTable:
    """A data class whose arrays and tuples have one entry per kernel."""

    def at(self, indices: IntArray) -> Self:
        """The listed kernels in that order."""
        found = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, tuple):
                value = tuple(value[i] for i in indices)
            found[field.name] = value[indices] if isinstance(value, np.ndarray) else value
        return type(self)(**found)


class BaseWrapper(BaseKernelBank):
    """A bank whose kernels read the same samples, in the same form, as those of `bank`."""

    bank: BaseKernelBank

    @property
    def reads(self) -> str:
        """The samples that the wrapped bank reads."""
        return self.bank.reads

    @property
    def n_kernels(self) -> int:
        """The number of base kernels."""
        return self.bank.n_kernels

    @property
    def kernel_columns(self) -> IntArray | None:
        """The one input column that each kernel reads; None when kernels read several."""
        return self.bank.kernel_columns

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The names that the wrapped bank gives."""
        return self.bank.kernel_names(feature_names)

    def select(self, indices: ArrayLike) -> Self:
        """The wrapper of the listed kernels, in that order."""
        return self._around(self.bank.select(indices))

    @property
    def _most_kernels(self) -> int | None:
        return self.bank._most_kernels

    @property
    def _default_sparsity(self) -> int | None:
        return self.bank._default_sparsity

    @property
    def _columns(self) -> IntArray | None:
        return self.bank._columns

    def _by_channel(self) -> BaseKernelBank | None:
        each = self.bank._by_channel()
        return None if each is None else self._around(each)

    def _weigh(self, weights: FloatArray) -> Self:
        return self._around(self.bank._weigh(weights))

    def _on_columns(self, columns: ArrayLike) -> Self:
        return self._around(self.bank._on_columns(columns))

    def _take(self, X: Any, indices: ArrayLike) -> Any:
        return self.bank._take(X, indices)

    def _subset(self, X: Any, indices: ArrayLike) -> Any:
        return self.bank._subset(X, indices)

    def _with_mixes(self, X: Any, mixes: Any) -> Any:
        return self.bank._with_mixes(X, mixes)

    def _tabulate(self, X: Any) -> tuple[BaseKernelBank, Any]:
        table, samples = self.bank._tabulate(X)
        return self._around(table), samples

    def _in_single_precision(self) -> Self:
        return self._around(self.bank._in_single_precision())

    def _plain(self) -> BaseKernelBank:
        return self._around(self.bank._plain())

    def _shape(self, X: Any, Y: Any) -> tuple[int, int]:
        return self.bank._shape(X, Y)

    def _around(self, bank: BaseKernelBank) -> Self:
        # Every wrapper is a data class, which type checkers cannot know here.
        changed: Self = replace(self, bank=bank)  # type: ignore[type-var]
        return changed


def count_samples(X: Any) -> int:
    """The number of samples of an array or a sequence."""
    shape = getattr(X, "shape", None)
    return int(len(X) if shape is None else shape[0])


def take_samples(X: Any, indices: IntArray) -> Any:
    """The listed samples of an array (or anything with a shape), or of a sequence.

    Those that lie in parts are gathered.
    """
    if isinstance(X, ShardedSamples):
        return X.gather(indices)
    if getattr(X, "shape", None) is None:
        return [X[int(i)] for i in indices]
    return X[indices]


def block_rows(n_bytes_per_row: float, budget: float) -> int:
    """The number of rows that fit into a memory budget in MiB, at least one."""
    return max(1, int(budget * 2**20 / max(n_bytes_per_row, 1.0)))


def iterate_blocks(
    n_rows: int, n_bytes_per_row: float, budget: float | None = None
) -> Iterator[slice]:
    """Slices that cover `n_rows` rows in order, each within a memory budget in MiB.

    By default the budget is scikit-learn's `working_memory`, `LARGEST_COPY` at most.
    """
    if budget is None:
        from sklearn import get_config

        budget = min(LARGEST_COPY, get_config()["working_memory"])
    step = block_rows(n_bytes_per_row, budget)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def check_vectors(X: Any, name: str = "X") -> FloatArray:
    """X as a 2-D array of numbers, not copied, or an error that says what was wrong."""
    # Of samples on other machines a bank asks for no more than their number here.
    if isinstance(X, ColumnSource | ShardedSamples):
        return cast(FloatArray, X)
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has {array.ndim} dimensions and type {array.dtype}, expected a dense 2-D "
            "array of numbers (n_samples, n_features). Use toarray() on a sparse matrix, "
            "reshape(-1, 1) on a single feature."
        )
    return array


def check_magnitude(largest: float, name: str = "X") -> None:
    """Refuse numbers whose squared differences may overflow."""
    if largest > LARGEST:
        raise ValueError(
            f"{name} has values up to {largest:.3g}, expected at most {LARGEST:.0e}: "
            "squared distances overflow. Divide the features by their standard deviations."
        )


def check_sample_weight(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Sample weights that sum to one, uniform by default."""
    if sample_weight is None:
        return np.full(n_samples, 1.0 / max(n_samples, 1))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,) or np.any(weights < 0) or not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"sample_weight has shape {weights.shape} and sum {weights.sum()}, expected "
            f"{n_samples} non-negative numbers with a positive sum. Leave it out to weigh all "
            "samples alike."
        )
    return np.asarray(weights / weights.sum())


def check_pairs(
    rows: ArrayLike, columns: ArrayLike, n_samples: int | None = None
) -> tuple[IntArray, IntArray]:
    """Two index arrays of one length; with `n_samples`, none points outside the samples."""
    left = np.ascontiguousarray(rows, dtype=np.intp)
    right = np.ascontiguousarray(columns, dtype=np.intp)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(
            f"rows have shape {left.shape} and columns {right.shape}, expected two lists of one "
            "length. Pass the first and the second sample of every pair."
        )
    # Compiled loops do not check bounds.
    smallest = min(left.min(initial=0), right.min(initial=0))
    largest = max(left.max(initial=-1), right.max(initial=-1))
    if n_samples is not None and (smallest < 0 or largest >= n_samples):
        raise ValueError(
            f"Pairs point to samples {smallest} to {largest}, but X has {n_samples} samples. "
            "Indices count from 0 to n_samples - 1."
        )
    return left, right


def check_pair_values(values: ArrayLike, n_pairs: int) -> FloatArray:
    """One number per pair, or an error that says what was wrong."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != (n_pairs,):
        raise ValueError(
            f"values have shape {array.shape}, expected ({n_pairs},): one number per pair. Pass "
            "as many values as there are rows and columns."
        )
    return array


def check_rows(
    rows: Any, row_weights: ArrayLike, n_samples: int, mixes: Any = None
) -> tuple[sp.csr_array, FloatArray, sp.csr_array | None]:
    """Sparse rows over the samples with their weights, or an error that says what was wrong."""
    mixes = None if mixes is None else _check_csr(mixes, n_samples, "mixes")
    n_mixes = 0 if mixes is None else int(mixes.shape[0])
    checked = _check_csr(rows, n_samples + n_mixes, "rows")
    factors = np.ascontiguousarray(row_weights, dtype=np.float64)
    if factors.ndim not in (1, 2) or len(factors) != checked.shape[0]:
        raise ValueError(
            f"row_weights have shape {factors.shape}, expected ({checked.shape[0]},): one number "
            "per row. Pass ones to count all rows alike."
        )
    return checked, factors, mixes


def join_mixes(rows: sp.csr_array, mixes: sp.csr_array | None) -> sp.csr_array:
    """Rows over the samples alone, with the mixes written out."""
    if mixes is None:
        return rows
    n_samples = mixes.shape[1]
    return sp.csr_array(rows[:, :n_samples] + rows[:, n_samples:] @ mixes)


def _check_csr(array: Any, n_columns: int, name: str) -> sp.csr_array:
    shape = np.shape(array)
    if len(shape) != 2 or shape[1] != n_columns:
        raise ValueError(
            f"{name} have shape {shape}, expected {n_columns} columns: one per sample of X, and "
            "in rows one more per mix. Pass a sparse array that belongs to these samples."
        )
    checked = sp.csr_array(array, dtype=np.float64)
    smallest, largest = checked.indices.min(initial=0), checked.indices.max(initial=-1)
    if smallest < 0 or largest >= n_columns:
        raise ValueError(
            f"{name} point to columns {smallest} to {largest}, but there are {n_columns}. Build "
            "the sparse array with indices from 0 to n_columns - 1."
        )
    return checked


def check_indices(indices: ArrayLike, n_kernels: int) -> IntArray:
    """Kernel indices as an array of int, or an error that says what was wrong."""
    array = np.atleast_1d(np.asarray(indices))
    chosen = array.astype(np.intp)
    if array.dtype == bool or np.any(chosen != array):
        raise ValueError(
            f"kernel indices have type {array.dtype}, expected integers. Turn a mask into indices "
            "with numpy.flatnonzero."
        )
    if np.any((chosen < 0) | (chosen >= n_kernels)):
        raise ValueError(
            f"kernel indices run from {chosen.min()} to {chosen.max()}, expected 0 to "
            f"{n_kernels - 1}. Choose among the kernels that the bank has."
        )
    return chosen


def require_columns(needed: IntArray, n_found: int, word: str = "column") -> None:
    """Refuse samples without a column that a kernel reads."""
    last = int(needed.max(initial=-1))
    if n_found <= last:
        raise ValueError(
            f"The samples have {n_found} {word}s, but a kernel reads {word} {last}. Pass samples "
            f"with the {word}s of the training part."
        )


def find_columns(needed: IntArray, kept: ArrayLike, word: str = "column") -> IntArray:
    """Where the columns that kernels read stand among those that are kept."""
    kept = np.asarray(kept, dtype=np.intp)
    missing = np.setdiff1d(needed, kept)
    if missing.size:
        raise ValueError(
            f"The columns that are kept lack {word} {missing[0]}, which a kernel reads. Keep all "
            "that the kernels read, or select() the other kernels first."
        )
    order = np.argsort(kept, kind="stable")
    return np.asarray(order[np.searchsorted(kept, needed, sorter=order)])
