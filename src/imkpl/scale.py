"""Fits and predictions on a Dask cluster: kernels of its workers, samples in partitions."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import add
from typing import Any, Self
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._checks import import_extra, require
from imkpl._progress import announce
from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank, Kernels, base
from imkpl.kernels.base import WrappedKernels, check_pairs, check_rows
from imkpl.kernels.forms import check_magnitude
from imkpl.kernels.normalize import BaseWrapper
from imkpl.kernels.sources import BlockSamples, Found, join_ranges, summarize

__all__ = ["DaskBank"]

# Compiled loops of a process share its threads: tasks take turns, and each uses all threads.
_TURN = threading.Lock()
# Arguments travel in the graph, so that a task can be repeated elsewhere when its worker is lost.
# Dask warns about graphs above 10 MB and recommends scattering, which loses data with the worker.
NO_WARNING = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
# The most tasks of a sum. Sums over fewer kernel values are computed locally, where they are
# faster; an alignment of two series counts as many values as pairs of time steps.
N_BLOCKS, LEAST_VALUES = 16, 2**24


# Tasks


def make_tasks(
    function: Callable[..., Any], pieces: Sequence[tuple[Any, ...]], *common: Any, name: str = ""
) -> list[Any]:
    """One task ``function(*piece, *common)`` per piece; pieces may hold Delayed objects."""
    # Without Dask or a client, it says what to do.
    find_client()
    from dask.delayed import delayed

    key = f"{(name or function.__name__).strip('_')}-{uuid4().hex}"
    # What all tasks share is one node of the graph, sent to every worker once.
    job, run = delayed((function, common), name=f"job-{key}", traverse=False), delayed(_run)
    return [run(job, *piece, dask_key_name=f"{key}-{n}") for n, piece in enumerate(pieces)]


def compute(tasks: list[Any]) -> list[Any]:
    """Results of tasks or collections, brought to the current client."""
    import dask

    client = find_client()
    with dask.config.set(NO_WARNING):
        futures = client.compute(tasks)
    return list(client.gather(futures))


def _run(job: tuple[Callable[..., Any], tuple[Any, ...]], *piece: Any) -> Any:
    function, common = job
    with one_at_a_time():
        return function(*piece, *common)


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


def find_client() -> Any:
    """The current client."""
    distributed = import_extra("distributed", "dask", "A cluster needs")
    try:
        return distributed.default_client()
    except ValueError:
        raise ValueError(
            "There is no Dask client, expected one that is connected to a cluster. Start one: "
            "from dask.distributed import Client; client = Client()."
        ) from None


# Kernels


@dataclass(frozen=True, eq=False)
class DaskBank(BaseWrapper):
    """The kernels of another bank, combined and contracted by the workers of a Dask cluster.

    Kernels are contracted by blocks of kernels; a task gets only the columns that its block reads.
    They are combined by blocks of kernels if there are more kernels than samples, otherwise by
    blocks of samples. Kernels of time series are computed once for a fit, by blocks of samples. The
    number of blocks does not depend on the cluster, and neither do the results, which equal those
    of the bank up to rounding. A task carries its arguments and can be repeated when a worker is
    lost. Inside a task, and where there are few values to sum, the kernels compute on the spot.

    Parameters
    ----------
    bank : BaseKernelBank
        The kernels.

    Examples
    --------
    >>> from imkpl.kernels import PerFeatureGaussian
    >>> kernels = DaskBank(PerFeatureGaussian()).on(np.array([[0.0, 1.0], [2.0, 1.0]]))
    >>> bool(np.isclose(kernels.combine([1.0, 0.0])[0, 1], np.exp(-2.0)))
    True
    """

    def __post_init__(self) -> None:
        require(
            isinstance(self.bank, BaseKernelBank),
            f"DaskBank got {self.bank!r}, expected a bank from imkpl.kernels, such as "
            "PerFeatureGaussian(). Use resolve_bank() for a name.",
        )

    def around(self, kernels: Kernels) -> DaskKernels:
        return DaskKernels(kernels)


@dataclass(frozen=True, eq=False)
class DaskKernels(WrappedKernels):
    """Kernels whose sums are computed by the workers of a cluster, block by block."""

    has_unit_diagonal = base.inside("has_unit_diagonal")
    has_unit_norms = base.inside("has_unit_norms")
    diagonal = base.inside("diagonal")
    local = base.inside("local")

    def evaluate(self, index: int) -> FloatArray:
        return np.asarray(self.select([index]).combine([1.0]))

    def combine(self, weights: ArrayLike) -> FloatArray:
        factors, (n_rows, n_columns) = self.check_weights(weights), self.shape
        used = np.flatnonzero(factors)
        if is_small(used.size * n_rows * n_columns * self.value_cost) or used.size == 0:
            return self.kernels.combine(factors)
        if not self.is_square or used.size > n_rows:
            blocks, whole = self._cut(used)
            pieces = [(part, (factors[block],)) for block, part in blocks]
            tasks = make_tasks(_call, pieces, whole, "combine", name="combine")
            return np.asarray(compute([_add_pairwise(tasks)])[0])
        bands, live = _find_bands(n_rows), self.kernels.select(used)
        live = live if live.input_columns is None else live.narrowed()
        found = compute(make_tasks(_combine_band, bands, live, factors[used]))
        total = np.zeros(self.shape, dtype=found[0].dtype)
        for (first, last), block in zip(bands, found, strict=True):
            total[first:last, :last] = block
        return np.asarray(np.tril(total) + np.tril(total, -1).T)

    def contract(self, M: ArrayLike) -> FloatArray:
        matrix = self.check_matrix(M)
        return self._by_blocks(matrix.size * self.value_cost, "contract", matrix)

    def pairs(
        self, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        left, right = check_pairs(rows, columns, self.shape[0])
        n_values = left.size * self.value_cost
        return self._by_blocks(n_values, "pairs", left, right, dtype, axis=1)

    def contract_pairs(self, values: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> FloatArray:
        left, right = check_pairs(rows, columns, self.shape[0])
        n_values = left.size * self.value_cost
        return self._by_blocks(n_values, "contract_pairs", values, left, right)

    def contract_rows(self, rows: Any, row_weights: ArrayLike, mixes: Any = None) -> FloatArray:
        rows, factors, mixes = check_rows(rows, row_weights, self.shape[0], mixes)
        # A pair of samples in a row costs about as much as a value of a kernel of numbers.
        return self._by_blocks(16 * rows.nnz, "contract_rows", rows, factors, mixes)

    def tabulated(self) -> Kernels:
        if self.value_cost == 1.0:
            return self
        if isinstance(self.kernels, WrappedKernels):
            return self.kernels.around(self.around(self.kernels.kernels).tabulated())
        n_samples = self.shape[0]
        if is_small(self.n_kernels * n_samples**2 / 2 * self.value_cost):
            return self.kernels.tabulated()
        tasks = make_tasks(_tabulate_band, _find_bands(n_samples), self.kernels)
        values = np.concatenate(compute(tasks), axis=1)
        announce("kernels", f"100% of {values.size}", values.size, values.size)
        return self.kernels.as_table(values)

    def around(self, kernels: Kernels) -> Self:
        gathered = kernels.kernels if isinstance(kernels, DaskKernels) else kernels
        return replace(self, kernels=gathered)

    def _by_blocks(self, n_values: float, method: str, *common: Any, axis: int = 0) -> FloatArray:
        """A method of the kernels that reads `n_values` of each, one block per task."""
        if is_small(self.n_kernels * n_values):
            return np.asarray(getattr(self.kernels, method)(*common))
        blocks, whole = self._cut(np.arange(self.n_kernels))
        pieces = [(part, ()) for _, part in blocks]
        tasks = make_tasks(_call, pieces, whole, method, *common, name=method)
        return np.concatenate(compute(tasks), axis=axis)

    def _cut(self, kernels: IntArray) -> tuple[list[tuple[IntArray, Any]], Kernels | None]:
        """Blocks of kernels on the columns that they read, or places among kernels sent once."""
        blocks = np.array_split(kernels, min(N_BLOCKS, kernels.size))
        if self.input_columns is None:
            return [(block, block) for block in blocks], self.kernels
        return [(block, self.kernels.select(block).narrowed()) for block in blocks], None


def is_small(n_values: float) -> bool:
    """Whether a sum is computed in this process: if it has few values, and inside a task."""
    return n_values < LEAST_VALUES or find_worker() is not None


def _find_bands(n_samples: int) -> list[tuple[int, int]]:
    """Bands of rows with about as many entries below the diagonal each."""
    ends = n_samples * np.sqrt(np.arange(N_BLOCKS + 1) / N_BLOCKS)
    return list(pairwise(np.unique(ends.round().astype(np.intp)).tolist()))


def _add_pairwise(tasks: list[Any]) -> Any:
    """A task that sums the results of tasks, always in the same order."""
    while len(tasks) > 1:
        sums = make_tasks(add, list(zip(tasks[::2], tasks[1::2], strict=False)))
        tasks = sums + tasks[2 * len(sums) :]
    return tasks[0]


def _call(part: Any, own: tuple[Any, ...], whole: Kernels | None, method: str, *common: Any) -> Any:
    """A method of a block of kernels, or of those with its numbers."""
    kernels = part if whole is None else whole.select(part)
    return getattr(kernels, method)(*own, *common)


def _combine_band(first: int, last: int, kernels: Kernels, weights: FloatArray) -> FloatArray:
    """Rows ``first:last`` of a combined kernel, up to the diagonal."""
    return kernels.between(np.arange(first, last), np.arange(last)).combine(weights)


def _tabulate_band(first: int, last: int, kernels: Kernels) -> FloatArray:
    """Kernel values of rows ``first:last`` with all samples before them, row by row."""
    rows, columns = np.nonzero(np.arange(last) < np.arange(first, last)[:, np.newaxis])
    return np.ascontiguousarray(kernels.pairs(rows + first, columns).T)


# Samples


@dataclass(frozen=True, eq=False)
class DaskSamples(BlockSamples):
    """Samples in the partitions of a Dask collection, computed by every pass or persisted."""

    parts: tuple[Any, ...]  # Delayed partitions
    starts: IntArray  # first row of every partition, and number of rows

    def distribute(self, kernels: Kernels) -> Kernels:
        return DaskKernels(kernels)

    def map(
        self, function: Callable[..., Any], *common: Any, per_row: Sequence[Any] = ()
    ) -> list[Found]:
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
        return list(zip(groups, compute(tasks), strict=True))


def _on_rows(
    part: Any, local: IntArray, per_row: list[Any], function: Callable[..., Any], *common: Any
) -> Any:
    return function(_as_block(part)[local], *common, *per_row)


def read_dask(X: Any) -> DaskSamples:
    """A Dask array or data frame as samples, after one pass over its partitions."""
    names = check_collection(X)
    parts = tuple(X.to_delayed()) if _is_frame(X) else tuple(_whole_rows(X).to_delayed()[:, 0])
    summaries = compute(make_tasks(_summarize, [(part,) for part in parts]))
    for number, (_, _, bad) in enumerate(summaries):
        wrong = [column if names is None else names[column] for column in bad]
        require(
            not wrong,
            f"Partition {number} of X has NaN or infinity in column {wrong[:1]}, expected finite "
            "numbers. Impute missing values, or leave the column out.",
        )
    digests, ranges, _ = zip(*summaries, strict=True)
    starts = np.cumsum([0, *map(len, digests)])
    rows = np.arange(starts[-1])
    require(
        rows.size >= 2,
        f"X has {rows.size} samples in {len(parts)} partitions, expected at least 2. Check how "
        "they were selected.",
    )
    joined = join_ranges(ranges)
    check_magnitude(float(np.abs(joined).max()))
    return DaskSamples(rows, np.concatenate(digests), joined, parts, starts)


def _summarize(part: Any) -> tuple[Any, FloatArray, IntArray]:
    return summarize(_as_block(part))


def _as_block(part: Any) -> FloatArray:
    """A partition as an array of float64; missing cells of a data frame become NaN."""
    is_frame = not isinstance(part, np.ndarray)
    values = part.to_numpy(dtype=np.float64, na_value=np.nan) if is_frame else part
    return np.ascontiguousarray(values, dtype=np.float64)


def fetch_values(values: Any) -> Any:
    """A Dask collection with one value per sample, brought to the client."""
    return compute([values])[0]


def check_collection(X: Any) -> list[Any] | None:
    """Column names of a Dask collection of numbers; raises for other collections."""
    is_frame = _is_frame(X)
    require(
        X.ndim == 2,
        f"X is a Dask collection of {X.ndim} dimensions, expected 2: (n_samples, n_features). Use "
        "reshape((-1, 1)) or to_frame() for a single feature.",
    )
    require(
        is_frame or isinstance(X._meta, np.ndarray),
        f"The chunks of X are of type {type(X._meta).__name__}, expected NumPy arrays. Use "
        "X.map_blocks(lambda chunk: chunk.toarray()) for sparse ones.",
    )
    dtypes = X.dtypes.items() if is_frame else [("X", X.dtype)]
    for name, dtype in dtypes:
        require(
            dtype.kind in "biuf",
            f"Column {name!r} has type {dtype}, expected numbers: on a cluster kernels read "
            "numeric columns only. Encode it first, or leave it out.",
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

    # Tells Dask the type and the number of columns.
    empty = getattr(model, method)(example_of(X), **options)[:0]
    # Codes of the training samples are large, and no method needs them.
    light = copy.copy(model)
    vars(light).pop("codes_", None)
    question = light, method, options, empty
    sent = delayed(question, name=f"model-{uuid4().hex}", traverse=False)
    if _is_frame(X):
        # A frame of one partition is fused with its task, which then may have one input only.
        return X.map_partitions(_answer, question if X.npartitions == 1 else sent, meta=empty)
    whole, name = _whole_rows(X), f"{method}-{uuid4().hex}"
    axes: dict[str, Any] = {"chunks": (whole.chunks[0], empty.shape[1:])}
    axes = axes if empty.ndim == 2 else {"drop_axis": 1}
    return whole.map_blocks(_answer, sent, dtype=empty.dtype, meta=empty, name=name, **axes)


def _answer(part: Any, question: tuple[Any, str, dict[str, Any], Any]) -> Any:
    model, method, options, empty = question
    if len(part) == 0:
        return empty
    with one_at_a_time():
        return getattr(model, method)(part, **options)
