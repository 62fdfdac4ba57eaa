"""Kernels computed on a Dask cluster, and samples that stay in the partitions of a collection."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from imkpl._progress import announce
from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank, GlobalAlignment
from imkpl.kernels.base import (
    BaseWrapper,
    check_indices,
    check_magnitude,
    check_pairs,
    check_rows,
    take_samples,
)
from imkpl.kernels.precomputed import PackedKernels, Tabulated
from imkpl.kernels.sharded import Found, ShardedSamples, join_ranges, summarize
from imkpl.series import SeriesSet

# Compiled loops of a process share its threads: tasks take turns, and each uses all threads.
_TURN = threading.Lock()
# Arguments travel in the graph, so that a task can be repeated elsewhere when its worker is lost.
# Dask warns about graphs above 10 MB and recommends scattering, which loses data with the worker.
NO_WARNING = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}


# Tasks


@dataclass(frozen=True, eq=False)
class Job:
    """A pure function and its last arguments, one node of the graph: sent to every worker once."""

    function: Callable[..., Any]
    common: tuple[Any, ...]


def make_tasks(
    function: Callable[..., Any],
    pieces: Sequence[tuple[Any, ...]],
    *common: Any,
    name: str | None = None,
) -> list[Any]:
    """One task ``function(*piece, *common)`` per piece; pieces may hold Delayed objects."""
    from dask.delayed import delayed

    key = f"{(name or function.__name__).strip('_')}-{uuid4().hex}"
    job, run = delayed(Job(function, common), name=f"job-{key}", traverse=False), delayed(_run)
    return [
        run(job, *piece, dask_key_name=f"{key}-{number}") for number, piece in enumerate(pieces)
    ]


def compute(client: Any, tasks: list[Any]) -> list[Any]:
    """Results of tasks or collections, brought to the client."""
    import dask

    with dask.config.set(NO_WARNING):
        futures = client.compute(tasks)
    found: list[Any] = client.gather(futures)
    return found


def _run(job: Job, *piece: Any) -> Any:
    with one_at_a_time():
        return job.function(*piece, *job.common)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait for other tasks of this process, then use all threads of the worker."""
    worker = find_worker()
    with _TURN, limited_threads(None if worker is None else worker.state.nthreads):
        yield


def find_worker() -> Any:
    """The worker that runs this task, None outside tasks."""
    try:
        from distributed import get_worker

        return get_worker()
    except (ImportError, ValueError):
        return None


def find_client(client: Any = None) -> Any:
    """The given client, or the current one."""
    try:
        from distributed import default_client
    except ImportError:
        raise ImportError(
            "Dask is not installed. Install it with pip install 'imkpl[dask]'."
        ) from None
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "There is no Dask client, expected one that is connected to a cluster. Start one: "
            "from dask.distributed import Client; client = Client()."
        ) from None


# Kernels


@dataclass(frozen=True, eq=False)
class DaskBank(BaseWrapper):
    """The kernels of another bank, combined and contracted by the workers of a Dask cluster.

    Kernels of vectors are contracted by blocks of kernels; a task gets only the columns that its
    block reads. They are combined by blocks of kernels if there are more kernels than samples,
    otherwise by blocks of samples. Kernels of time series are computed by blocks of samples. The
    number of blocks does not depend on the cluster, and neither do the results, which equal those
    of the wrapped bank up to rounding. A task carries its arguments and can be repeated when a
    worker is lost. Inside a task, the wrapped bank computes.

    Parameters
    ----------
    bank : BaseKernelBank
        The kernels.
    client : distributed.Client, optional
        Client of the cluster; the current client if None.
    n_blocks : int
        Maximum number of tasks per sum.
    least_values : float
        Sums over fewer kernel values are computed locally, where they are faster. An alignment of
        two series counts as many values as pairs of time steps.

    Examples
    --------
    >>> from imkpl.kernels import PerFeatureGaussian
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0]])
    >>> bank = DaskBank(PerFeatureGaussian()).adapt(X)
    >>> bool(np.isclose(bank.combine([1.0, 0.0], X)[0, 1], np.exp(-2.0)))
    True
    """

    bank: BaseKernelBank
    client: Any = field(default=None, compare=False)
    n_blocks: int = 16
    least_values: float = 2**24

    def __post_init__(self) -> None:
        if not isinstance(self.bank, BaseKernelBank):
            raise ValueError(
                f"DaskBank(bank={self.bank!r}) got a {type(self.bank).__name__}, expected a bank "
                "from imkpl.kernels, such as PerFeatureGaussian(). Use resolve_bank() for a name."
            )
        if not self.n_blocks >= 1:
            raise ValueError(
                f"DaskBank(n_blocks={self.n_blocks}) must be at least 1. Leave it out for 16."
            )

    @property
    def _has_unit_diagonal(self) -> bool:
        return self.bank._has_unit_diagonal

    @property
    def _has_unit_norms(self) -> bool:
        return self.bank._has_unit_norms

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> DaskBank:
        """The wrapper of the adapted bank."""
        return replace(self, bank=self.bank.adapt(X, sample_weight))

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one base kernel."""
        chosen = int(check_indices([index], self.n_kernels)[0])
        return self.select([chosen]).combine([1.0], X, Y)

    def combine(self, weights: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``sum_l weights_l K_l(X, Y)``, one block of kernels or samples per task."""
        factors = self._check_weights(weights)
        used, shape = np.flatnonzero(factors), self._shape(X, Y)
        client = self._client_for(used.size * shape[0] * shape[1] * _cost(X))
        if client is None or used.size == 0:
            return self.bank.combine(factors, X, Y)
        is_square = Y is None
        needs_whole_samples = is_square and self.bank._columns is None
        if self.reads != "series" and (used.size > max(shape) or needs_whole_samples):
            blocks, shared = self._cut(used, X, Y)
            pieces = [(factors[block], *piece) for block, *piece in blocks]
            tasks = make_tasks(_combine_block, pieces, *shared)
            return np.asarray(compute(client, [_add_pairwise(tasks)])[0])
        live, (X, Y) = self._narrow(used, X, Y)
        if not is_square:
            pieces = [(factors[used], live, rows) for rows in self._split_samples(X, shape[0])]
            return np.concatenate(compute(client, make_tasks(_combine_block, pieces, Y)))
        bands = self._bands(shape[0])
        return _join_bands(
            bands, compute(client, make_tasks(_combine_band, bands, live, factors[used], X))
        )

    def contract(self, M: ArrayLike, X: Any, Y: Any = None) -> FloatArray:
        """``<K_l(X, Y), M>`` for every l, one block of kernels or samples per task."""
        matrix = self._check_matrix(M, X, Y)
        client = self._client_for(self.n_kernels * matrix.size * _cost(X))
        if client is None:
            return self.bank.contract(matrix, X, Y)
        if self.reads != "series":
            return np.concatenate(self._each_block(client, _contract_block, X, Y, matrix))
        if Y is None:
            # K_l is symmetric: entries above the diagonal count below it.
            folded = np.tril(matrix) + np.triu(matrix, 1).T
            bands = [(*band, folded[slice(*band), : band[1]]) for band in self._bands(len(matrix))]
            tasks = make_tasks(_contract_band, bands, self.bank, X)
        else:
            rows = self._split_samples(X, len(matrix))
            cuts = np.array_split(matrix, len(rows))
            pieces = [(self.bank, *piece) for piece in zip(rows, cuts, strict=True)]
            tasks = make_tasks(_contract_cross, pieces, Y)
        return np.asarray(np.sum(compute(client, tasks), axis=0))

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """``K_l(x_rows[p], x_columns[p])`` for the listed pairs, one block of kernels per task."""
        left, right = check_pairs(rows, columns)
        client = self._client_for(self.n_kernels * left.size * _cost(X))
        if client is None:
            return self.bank.pairs(X, left, right, dtype)
        return np.hstack(self._each_block(client, _pairs_of_block, X, None, left, right, dtype))

    def contract_pairs(
        self, values: ArrayLike, X: Any, rows: ArrayLike, columns: ArrayLike
    ) -> FloatArray:
        """``sum_p values_p K_l(x_rows[p], x_columns[p])``, one block of kernels per task."""
        left, right = check_pairs(rows, columns)
        client = self._client_for(self.n_kernels * left.size * _cost(X))
        if client is None:
            return self.bank.contract_pairs(values, X, left, right)
        sums = self._each_block(client, _sum_pairs_of_block, X, None, values, left, right)
        return np.concatenate(sums)

    def contract_rows(
        self, rows: Any, row_weights: ArrayLike, X: Any, mixes: Any = None
    ) -> FloatArray:
        """``sum_i row_weights_i r_i K_l r_i'`` for every l, one block of kernels per task."""
        rows, factors, mixes = check_rows(rows, row_weights, self._shape(X, None)[0], mixes)
        client = self._client_for(self.n_kernels * rows.nnz * 16)
        if client is None:
            return self.bank.contract_rows(rows, factors, X, mixes)
        sums = self._each_block(client, _contract_rows_of_block, X, None, rows, factors, mixes)
        return np.concatenate(sums)

    def _diagonal(self, X: Any) -> FloatArray:
        return self.bank._diagonal(X)

    def _tabulate(self, X: Any) -> tuple[BaseKernelBank, Any]:
        """The table of the wrapped bank; kernels of series are computed by blocks of pairs."""
        n_samples = self._shape(X, None)[0]
        client = self._client_for(self.n_kernels * n_samples**2 / 2 * _cost(X))
        if client is None or not (self.reads == "series" and self._has_unit_diagonal):
            table, samples = self.bank._tabulate(X)
            # A table of series is read, not computed.
            return (table if self.reads == "series" else replace(self, bank=table)), samples
        dtype = self.bank.table_dtype if isinstance(self.bank, GlobalAlignment) else "float64"
        tasks = make_tasks(_tabulate_band, self._bands(n_samples), self.bank, X, dtype)
        packed = PackedKernels(np.concatenate(compute(client, tasks), axis=1), n_samples)
        size = packed.values.size
        announce("kernels", f"100 % of {size}", size, size)
        return Tabulated(np.arange(self.n_kernels), tuple(self.kernel_names())), packed

    def _plain(self) -> BaseKernelBank:
        return self.bank._plain()

    def __getstate__(self) -> dict[str, Any]:
        # A client belongs to its process; another process uses its own current client.
        return {**vars(self), "client": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return replace(self, bank=copy.deepcopy(self.bank, memo))

    def _client_for(self, n_values: float) -> Any:
        """The client, or None for few values and inside tasks."""
        if n_values < self.least_values or find_worker() is not None:
            return None
        return find_client(self.client)

    def _narrow(self, kernels: IntArray, X: Any, Y: Any) -> tuple[BaseKernelBank, tuple[Any, Any]]:
        """The listed kernels, and samples cut down to the columns they read."""
        bank = self.bank.select(kernels)
        columns = bank._columns
        if columns is None:
            return bank, (X, Y)
        right = None if Y is None else Y[:, columns]
        return bank._on_columns(columns), (X[:, columns], right)

    def _cut(self, kernels: IntArray, X: Any, Y: Any) -> tuple[list[Any], tuple[Any, ...]]:
        """(kernels, bank, *samples) of every block, and samples that all blocks read."""
        blocks = np.array_split(kernels, min(self.n_blocks, kernels.size))
        if self.bank._columns is None:
            return [(block, self.bank.select(block)) for block in blocks], (X, Y)
        cuts = [(block, *self._narrow(block, X, Y)) for block in blocks]
        return [(block, bank, *samples) for block, bank, samples in cuts], ()

    def _each_block(
        self, client: Any, function: Callable[..., Any], X: Any, Y: Any, *common: Any
    ) -> list[Any]:
        """Apply a function to every block of kernels."""
        blocks, shared = self._cut(np.arange(self.n_kernels), X, Y)
        pieces = [tuple(piece) for _, *piece in blocks]
        return compute(client, make_tasks(function, pieces, *shared, *common))

    def _split_samples(self, X: Any, n_samples: int) -> list[Any]:
        blocks = np.array_split(np.arange(n_samples), min(self.n_blocks, n_samples))
        return [take_samples(X, block) for block in blocks]

    def _bands(self, n_samples: int) -> list[tuple[int, int]]:
        """Bands of rows with about as many entries below the diagonal each."""
        ends = n_samples * np.sqrt(np.arange(1, self.n_blocks + 1) / self.n_blocks)
        bounds = np.unique(np.concatenate(([0], ends.round().astype(np.intp)))).tolist()
        return list(pairwise(bounds))


def _cost(X: Any) -> float:
    """Cost of a kernel value, relative to kernels of numbers; alignments are expensive."""
    return float(np.mean(X.lengths)) ** 2 if isinstance(X, SeriesSet) else 1.0


def _add_pairwise(tasks: list[Any]) -> Any:
    """A task that sums the results of tasks, always in the same order."""
    while len(tasks) > 1:
        tasks = make_tasks(_add, list(zip(tasks[::2], tasks[1::2], strict=False))) + (
            tasks[-1:] if len(tasks) % 2 else []
        )
    return tasks[0]


def _add(left: FloatArray, right: FloatArray) -> FloatArray:
    return left + right


def _combine_block(weights: FloatArray, bank: BaseKernelBank, X: Any, Y: Any) -> FloatArray:
    return bank.combine(weights, X, Y)


def _contract_block(bank: BaseKernelBank, X: Any, Y: Any, matrix: FloatArray) -> FloatArray:
    return bank.contract(matrix, X, Y)


def _contract_cross(bank: BaseKernelBank, X: Any, matrix: FloatArray, Y: Any) -> FloatArray:
    return bank.contract(matrix, X, Y)


def _pairs_of_block(
    bank: BaseKernelBank, X: Any, Y: Any, rows: IntArray, columns: IntArray, dtype: DTypeLike
) -> FloatArray:
    return bank.pairs(X, rows, columns, dtype)


def _sum_pairs_of_block(
    bank: BaseKernelBank, X: Any, Y: Any, values: FloatArray, rows: IntArray, columns: IntArray
) -> FloatArray:
    return bank.contract_pairs(values, X, rows, columns)


def _contract_rows_of_block(
    bank: BaseKernelBank, X: Any, Y: Any, rows: Any, factors: FloatArray, mixes: Any
) -> FloatArray:
    return bank.contract_rows(rows, factors, X, mixes)


def _combine_band(
    first: int, last: int, bank: BaseKernelBank, weights: FloatArray, X: Any
) -> FloatArray:
    """Rows ``first:last`` of a combined kernel, up to the diagonal."""
    return bank.combine(weights, X[first:last], X[:last])


def _join_bands(bands: list[tuple[int, int]], found: list[FloatArray]) -> FloatArray:
    """A symmetric matrix from bands of its rows up to the diagonal."""
    total = np.zeros((bands[-1][1], bands[-1][1]), dtype=found[0].dtype)
    for (first, last), block in zip(bands, found, strict=True):
        total[first:last, :last] = block
    return np.asarray(np.tril(total) + np.tril(total, -1).T)


def _contract_band(
    first: int, last: int, matrix: FloatArray, bank: BaseKernelBank, X: Any
) -> FloatArray:
    return bank.contract(matrix, X[first:last], X[:last])


def _tabulate_band(
    first: int, last: int, bank: BaseKernelBank, X: Any, dtype: DTypeLike
) -> FloatArray:
    """Kernel values of rows ``first:last`` with all samples before them, row by row."""
    rows, columns = np.nonzero(np.arange(last) < np.arange(first, last)[:, np.newaxis])
    return np.ascontiguousarray(bank.pairs(X, rows + first, columns, dtype).T)


# Samples


@dataclass(frozen=True, eq=False)
class DaskSamples(ShardedSamples):
    """Samples in the partitions of a Dask collection.

    Every pass computes the partitions it needs again, unless the collection was persisted.
    """

    client: Any = field(compare=False)
    parts: tuple[Any, ...] = field(compare=False)  # Delayed partitions
    starts: IntArray = field(compare=False)  # first row of every partition, and number of rows

    def distribute(self, bank: BaseKernelBank) -> BaseKernelBank:
        """The same kernels, computed by the same cluster."""
        return bank if isinstance(bank, DaskBank) else DaskBank(bank, client=self.client)

    def map(
        self, function: Callable[..., Any], *common: Any, per_row: Sequence[Any] = ()
    ) -> list[Found]:
        """Apply a function to every partition with samples in view, one task each."""
        owners = np.searchsorted(self.starts, self.rows, side="right") - 1
        order = np.argsort(owners, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(owners[order])) + 1) if order.size else []
        pieces = []
        for places in groups:
            owner = owners[places[0]]
            local = self.rows[places] - self.starts[owner]
            pieces.append((self.parts[owner], local, [values[places] for values in per_row]))
        name = getattr(function, "__name__", type(function).__name__)
        tasks = make_tasks(_on_rows, pieces, function, *common, name=name)
        return list(zip(groups, compute(self.client, tasks), strict=True))


def _on_rows(
    part: Any, local: IntArray, per_row: list[Any], function: Callable[..., Any], *common: Any
) -> Any:
    return function(_as_block(part)[local], *common, *per_row)


def read_dask(X: Any) -> DaskSamples:
    """A Dask array or data frame as samples, after one pass over its partitions."""
    client, names = find_client(), check_collection(X)
    parts = tuple(X.to_delayed()) if _is_frame(X) else tuple(_whole_rows(X).to_delayed()[:, 0])
    summaries = compute(client, make_tasks(_summarize, [(part,) for part in parts]))
    for number, (_, _, bad) in enumerate(summaries):
        if bad.size:
            name = bad[0] if names is None else repr(names[bad[0]])
            raise ValueError(
                f"Partition {number} of X has NaN or infinity in column {name}, expected finite "
                "numbers. Impute missing values, or leave the column out."
            )
    digests, ranges, _ = zip(*summaries, strict=True)
    starts = np.cumsum([0, *(len(part) for part in digests)])
    n_rows = int(starts[-1])
    if n_rows < 2:
        raise ValueError(
            f"X has {n_rows} samples in {len(parts)} partitions, expected at least 2. Check how "
            "they were selected."
        )
    joined = join_ranges(ranges)
    check_magnitude(float(np.abs(joined).max()))
    return DaskSamples(
        client=client,
        parts=parts,
        starts=starts,
        all_digests=np.concatenate(digests),
        all_ranges=joined,
        rows=np.arange(n_rows),
    )


def _summarize(part: Any) -> tuple[Any, FloatArray, IntArray]:
    return summarize(_as_block(part))


def _as_block(part: Any) -> FloatArray:
    """A partition as an array of float64; missing cells of a data frame become NaN."""
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part, dtype=np.float64)
    return np.ascontiguousarray(part.to_numpy(dtype=np.float64, na_value=np.nan))


def fetch_values(values: Any) -> Any:
    """A Dask collection with one value per sample, brought to the client."""
    return compute(find_client(), [values])[0]


def check_collection(X: Any) -> list[Any] | None:
    """Column names of a Dask collection of numbers; raises for other collections."""
    is_frame = _is_frame(X)
    if X.ndim != 2:
        raise ValueError(
            f"X is a Dask collection of {X.ndim} dimensions, expected 2: (n_samples, n_features). "
            "Use reshape((-1, 1)) or to_frame() for a single feature."
        )
    if not is_frame and not isinstance(X._meta, np.ndarray):
        raise ValueError(
            f"The chunks of X are of type {type(X._meta).__name__}, expected NumPy arrays. Use "
            "X.map_blocks(lambda chunk: chunk.toarray()) for sparse ones."
        )
    kinds = [dtype.kind for dtype in X.dtypes] if is_frame else [X.dtype.kind]
    wrong = [place for place, kind in enumerate(kinds) if kind not in "biuf"]
    if wrong:
        name = f"Column {X.columns[wrong[0]]!r}" if is_frame else "The array"
        dtype = X.dtypes.iloc[wrong[0]] if is_frame else X.dtype
        raise ValueError(
            f"{name} has type {dtype}, expected numbers: on a cluster kernels read numeric columns "
            "only. Encode it first, or leave it out."
        )
    return list(X.columns) if is_frame else None


def _is_frame(X: Any) -> bool:
    return "dataframe" in type(X).__module__ or type(X).__module__.startswith("dask_expr")


def _whole_rows(X: Any) -> Any:
    """A Dask array whose chunks have all columns."""
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


# Predictions


def example_of(X: Any) -> Any:
    """One row of zeros with the columns of a Dask collection."""
    names = check_collection(X)
    zeros = np.zeros((1, X.shape[1] if names is None else len(names)))
    return zeros if names is None else type(X._meta)(zeros, columns=X._meta.columns)


def answer_lazily(model: Any, method: str, X: Any, options: dict[str, Any]) -> Any:
    """A method of a fitted model as a lazy Dask array, one chunk per partition."""
    from dask.delayed import delayed

    empty = _empty_answer(model, method, options)
    # Codes of the training samples are large, and no method needs them.
    light = copy.copy(model)
    vars(light).pop("codes_", None)
    answer = _Answer(light, method, options, empty)
    sent = delayed(answer, name=f"model-{uuid4().hex}", traverse=False)
    if _is_frame(X):
        # A frame of one partition is fused with its task, which then may have one input only.
        return X.map_partitions(_answer, answer if X.npartitions == 1 else sent, meta=empty)
    whole = _whole_rows(X)
    return whole.map_blocks(
        _answer,
        sent,
        dtype=empty.dtype,
        meta=empty,
        drop_axis=1 if empty.ndim == 1 else None,
        chunks=None if empty.ndim == 1 else (whole.chunks[0], (empty.shape[1],)),
        name=f"{method}-{uuid4().hex}",
    )


@dataclass(frozen=True, eq=False)
class _Answer:
    model: Any
    method: str
    options: dict[str, Any]
    empty: Any  # answer to no samples


def _answer(part: Any, answer: _Answer) -> Any:
    if len(part) == 0:
        return answer.empty
    with one_at_a_time():
        return getattr(answer.model, answer.method)(part, **answer.options)


def _empty_answer(model: Any, method: str, options: dict[str, Any]) -> Any:
    """The answer to no samples, which tells Dask the type and the number of columns."""
    classes: IntArray = model.classes_
    if method == "predict":
        return np.empty(0, dtype=object if options.get("reject") else classes.dtype)
    if method == "transform":
        return sp.csr_array((0, model.prototypes_.shape[0]))
    if method == "reconstruction_error" or (method == "decision_function" and classes.size == 2):
        return np.empty(0)
    return np.empty((0, classes.size))
