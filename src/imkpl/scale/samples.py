"""Dask arrays and data frames as samples: rows stay in their partitions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.sharded import Found, ShardedSamples
from imkpl.scale.cluster import DaskCluster, find_client
from imkpl.scale.dask import DaskBank


@dataclass(frozen=True, eq=False)
class PartSummary:
    """What is known of a partition here.

    Parameters
    ----------
    digests : array of shape (n_rows, 2)
        128 bits per row.
    low, high : array of shape (n_features,)
        The smallest and the largest value of every feature.
    bad_column : int or None
        The first column with NaN or infinity.
    """

    digests: Any
    low: FloatArray
    high: FloatArray
    bad_column: int | None


@dataclass(frozen=True, eq=False)
class DaskSamples(ShardedSamples):
    """Samples in the partitions of a Dask collection.

    Every pass computes the partitions that it needs anew, unless the collection was persisted.

    Parameters
    ----------
    cluster : DaskCluster
        Who computes.
    parts : tuple of Delayed
        The partitions.
    starts : int array of shape (n_parts + 1,)
        The first row of every partition, and the number of rows.
    all_digests : array of shape (n_rows, 2)
        Digests of all rows.
    varying_columns : int array
        The columns that vary.
    n_features : int
        The number of columns.
    rows : int array of shape (n_samples,)
        The rows in view.
    """

    cluster: DaskCluster = field(compare=False)
    parts: tuple[Any, ...] = field(compare=False)
    starts: IntArray = field(compare=False)
    all_digests: Any
    varying_columns: IntArray
    n_features: int
    rows: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples in view, and of features."""
        return int(self.rows.size), self.n_features

    @property
    def digests(self) -> Any:
        """Two numbers per sample, equal for equal samples and only for them."""
        return self.all_digests[self.rows]

    @property
    def varying(self) -> IntArray:
        """The columns that are not the same for all samples."""
        return self.varying_columns

    def distribute(self, bank: BaseKernelBank) -> BaseKernelBank:
        """The bank with long sums on the same cluster."""
        return bank if isinstance(bank, DaskBank) else DaskBank(bank, client=self.cluster.client)

    def __getitem__(self, indices: Any) -> Self:
        return replace(self, rows=self.rows[indices])

    def map(
        self, function: Callable[..., Any], *common: Any, per_row: Sequence[Any] = ()
    ) -> list[Found]:
        """A function of every partition that has samples in view, one task each."""
        owners = np.searchsorted(self.starts, self.rows, side="right") - 1
        order = np.argsort(owners, kind="stable")
        bounds = np.flatnonzero(np.diff(owners[order])) + 1
        groups = np.split(order, bounds) if order.size else []
        pieces = []
        for places in groups:
            owner = owners[places[0]]
            local = self.rows[places] - self.starts[owner]
            pieces.append((self.parts[owner], local, [values[places] for values in per_row]))
        found = self.cluster.map(OnRows(function), pieces, *common)
        return list(zip(groups, found, strict=True))


def read_dask(X: Any) -> DaskSamples:
    """A Dask array or data frame as samples, after one pass over its partitions."""
    cluster = DaskCluster(find_client())
    names = check_collection(X)
    parts = tuple(list_parts(X))
    summaries = cluster.map(_summarize, [(part,) for part in parts])
    for number, summary in enumerate(summaries):
        if summary.bad_column is not None:
            name = summary.bad_column if names is None else repr(names[summary.bad_column])
            raise ValueError(
                f"Partition {number} of X has NaN or infinity in column {name}, expected finite "
                "numbers. Impute missing values, or leave the column out."
            )
    lengths = [len(summary.digests) for summary in summaries]
    filled = [summary for summary in summaries if len(summary.digests)]
    if sum(lengths) < 2:
        raise ValueError(
            f"X has {sum(lengths)} samples in {len(parts)} partitions, expected at least 2. Check "
            "how they were selected."
        )
    low, high = (
        np.min([summary.low for summary in filled], axis=0),
        np.max([summary.high for summary in filled], axis=0),
    )
    return DaskSamples(
        cluster=cluster,
        parts=parts,
        starts=np.concatenate(([0], np.cumsum(lengths))),
        all_digests=np.concatenate([summary.digests for summary in summaries]),
        varying_columns=np.flatnonzero(low < high),
        n_features=low.size,
        rows=np.arange(sum(lengths)),
    )


def fetch_values(values: Any) -> Any:
    """A Dask collection of one number or name per sample, brought here."""
    return DaskCluster(find_client()).compute([values])[0]


def has_columns(X: Any) -> bool:
    """Whether a Dask collection is a data frame rather than an array."""
    return "dataframe" in type(X).__module__ or type(X).__module__.startswith("dask_expr")


def check_collection(X: Any) -> list[Any] | None:
    """Names of the columns of a Dask collection, or an error that says what was wrong."""
    is_frame = has_columns(X)
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


def list_parts(X: Any) -> list[Any]:
    """The partitions of a Dask collection, each with all columns."""
    if has_columns(X):
        return list(X.to_delayed())
    whole = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    return list(whole.to_delayed()[:, 0])


def as_block(part: Any) -> FloatArray:
    """A partition as an array of float64."""
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part, dtype=np.float64)
    # Cells that a data frame calls missing are refused as NaN.
    return np.ascontiguousarray(part.to_numpy(dtype=np.float64, na_value=np.nan))


def _summarize(part: Any) -> PartSummary:
    block = as_block(part)
    is_bad = ~np.isfinite(block).all(axis=0)
    # Adding zero turns -0 into 0.
    lines = b"".join(hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in block + 0.0)
    return PartSummary(
        digests=np.frombuffer(lines, dtype=np.uint64).reshape(-1, 2),
        low=block.min(axis=0, initial=np.inf),
        high=block.max(axis=0, initial=-np.inf),
        bad_column=int(np.argmax(is_bad)) if is_bad.any() else None,
    )


@dataclass(frozen=True, eq=False)
class OnRows:
    """A function of some rows of a partition.

    Parameters
    ----------
    function : function (block, *common, *per_row) -> result
        What to compute.
    """

    function: Callable[..., Any]

    @property
    def __name__(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, part: Any, local: IntArray, per_row: list[Any], *common: Any) -> Any:
        """Compute it."""
        return self.function(as_block(part)[local], *common, *per_row)
