"""The training part as the model sees it: distinct samples with their weights."""

from __future__ import annotations

import hashlib
import pathlib
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from imkpl._progress import Progress, listening
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._partitions import group_sharded_rows
from imkpl.estimators._weights import combine_weights
from imkpl.kernels import BaseKernelBank, Normalized
from imkpl.kernels.alignment import cache_alignments
from imkpl.kernels.sharded import ShardedSamples
from imkpl.series import SeriesSet
from imkpl.tables import Table

# The folder in a checkpoint that keeps kernels between series.
ALIGNMENTS = "alignments"


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """Distinct samples of positive weight, and where they stand in the data given to `fit`.

    Equal samples of one class count as one sample with the sum of their weights, so that a weight
    of two is exactly a sample given twice and no sample is its own neighbour. The distinct samples
    are sorted, so that a fit does not depend on the order of the rows.

    Parameters
    ----------
    kept : int array of shape (n_distinct,)
        One row of the given data for every distinct sample, the first of its equals.
    inverse : int array of shape (n_given,)
        The distinct sample of every given row; -1 for rows of weight zero.
    labels : int array of shape (n_distinct,)
        Classes of the distinct samples.
    sample_weight : array of shape (n_distinct,)
        Their weights, times those of their classes.
    counts : array of shape (n_distinct,)
        How many equal samples each stands for: the sum of the weights that were given with them.
    whole : TrainingPart, optional
        Where these are landmarks, all distinct samples.
    """

    kept: IntArray
    inverse: IntArray
    labels: IntArray
    sample_weight: FloatArray
    counts: FloatArray
    whole: TrainingPart | None = None

    def expand_prototypes(self, prototypes: sp.csr_array) -> sp.csr_array:
        """Prototypes as mixes of the given rows."""
        shape = (prototypes.shape[0], self.inverse.size)
        parts = (prototypes.data, self.kept[prototypes.indices], prototypes.indptr)
        expanded = sp.csr_array(parts, shape=shape, copy=True)
        expanded.sort_indices()
        return expanded

    def expand_codes(self, codes: sp.csr_array) -> sp.csr_array:
        """One code per given row; empty for rows of weight zero."""
        is_used = self.inverse >= 0
        rows, columns = np.flatnonzero(is_used), self.inverse[is_used]
        shape = (self.inverse.size, self.kept.size)
        spread = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
        return sp.csr_array(spread @ codes)


def find_distinct(
    X: Any, labels: IntArray, counts: FloatArray, class_weight: FloatArray, *, merge: bool
) -> TrainingPart:
    """Leave out rows of weight zero, and merge equal rows of one class."""
    used = np.flatnonzero(counts > 0)
    if isinstance(X, ShardedSamples):
        first, group = group_sharded_rows(X[used], labels[used])
    elif isinstance(X, SeriesSet):
        first, group = _group_rows(_digest_series(X[used], labels[used]))
    elif isinstance(X, Table):
        # Missing cells are alike, but NaN are not; infinite numbers are none of a table's.
        cells = np.where(np.isnan(X.values), np.inf, X.values)
        first, group = _group_rows(np.column_stack([labels[used], cells[used]]))
    elif merge and isinstance(X, np.ndarray) and X.ndim == 2:
        first, group = _group_rows(np.column_stack([labels[used], X[used]]))
    else:
        first = group = np.arange(used.size)
    inverse = np.full(labels.size, -1)
    inverse[used] = group
    kept = used[first]
    totals = np.bincount(group, weights=counts[used], minlength=first.size).astype(np.float64)
    weights = combine_weights(totals, class_weight[labels[kept]])
    return TrainingPart(kept, inverse, labels[kept], weights, totals)


def _group_rows(table: Any) -> tuple[IntArray, IntArray]:
    """The first of equal rows, in sorted order, and the place of every row among them."""
    _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, group.ravel()


def _digest_series(series: SeriesSet, labels: IntArray) -> Any:
    """One line of text per series: equal for equal series of one class, and only for them."""
    # Adding zero turns -0 into 0; of the many NaN one is taken.
    values = np.where(np.isnan(series.values), np.nan, series.values + 0.0)
    plain = SeriesSet(values, series.starts)
    lines = [
        f"{label:09d}{one.shape[1]:09d}{hashlib.blake2b(one.tobytes(), digest_size=16).hexdigest()}"
        for one, label in zip(plain, labels, strict=True)
    ]
    return np.array(lines)


def tabulate_kernels(
    estimator: Any, bank: BaseKernelBank, samples: Any
) -> tuple[BaseKernelBank, Any]:
    """Bank and samples for the loop, with expensive kernels computed once."""

    def write(progress: Progress) -> None:
        sys.stderr.write(f"[{type(estimator).__name__}] {progress.source}: {progress.message}\n")

    folder = getattr(estimator, "checkpoint", None)
    if folder is not None:
        bank = cache_alignments(bank, pathlib.Path(folder) / ALIGNMENTS)
    with listening(write) if estimator.verbose else nullcontext():
        return bank._tabulate(samples)


def adapt_to_part(bank: BaseKernelBank, X: Any, part: TrainingPart) -> tuple[BaseKernelBank, Any]:
    """Kernels of unit diagonal with bandwidths learned on the training part, and its samples."""
    samples = bank._subset(X, part.kept)
    bank = bank.adapt(samples, part.sample_weight)
    return (bank if bank._has_unit_diagonal else Normalized(bank)), samples


def check_varying(is_varying: bool) -> None:
    """Raise unless the kernels tell training samples apart."""
    if not is_varying:
        raise ValueError(
            "All kernels are constant over the training samples, expected at least one that tells "
            "samples apart. Check that X has features that vary."
        )
