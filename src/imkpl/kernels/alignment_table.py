"""All alignment kernels of a training part, computed once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from imkpl._typing import IntArray
from imkpl.kernels.alignment_pairs import align_triangle, find_self_similarities
from imkpl.kernels.base import Report
from imkpl.kernels.cache import BlockCache, fingerprint
from imkpl.kernels.channels import ChannelKernels
from imkpl.kernels.tabulated import PackedKernels
from imkpl.series import SeriesSet

# Cells of alignments in a block, some seconds of work: what is reported, and kept in a cache.
BLOCK_CELLS = 2**31
# Pairs in a block at most, for the memory of their indices.
BLOCK_PAIRS = 2**22
# Changes whenever the same series would give other kernel values.
ALIGNMENT_VERSION = "global alignment 2"


def tabulate_alignment(
    table: ChannelKernels,
    series: SeriesSet,
    width: int,
    *,
    dtype: str = "float64",
    table_dtype: str = "float64",
    cache_dir: str | None = None,
    report: Report | None = None,
) -> PackedKernels:
    """All alignment kernels between some series, in blocks that a cache may keep."""
    n_samples, n_kernels = len(series), len(table.channels)
    values = np.ones((n_kernels, n_samples * (n_samples - 1) // 2), dtype=table_dtype)
    cache = None if cache_dir is None else BlockCache(cache_dir)
    # The constant kernel is 1.
    varying, n_done = np.flatnonzero(table.rates), 0
    for index in varying:
        part, norms = table.prepare(int(index), series, dtype), None
        key = fingerprint(ALIGNMENT_VERSION, width, table_dtype, part.values, part.starts)
        for first, last in split_rows(part.lengths):
            block = values[index, first * (first - 1) // 2 : last * (last - 1) // 2]
            name = f"{key}-{first}-{last}"
            if cache is None or not cache.read_into(block, name):
                norms = find_self_similarities(part, width) if norms is None else norms
                block[:] = align_triangle(part, width, norms, first, last)
                if cache is not None:
                    cache.write(block, name)
            n_done += block.size
            if report is not None:
                report(n_done, varying.size * values.shape[1])
    return PackedKernels(values, n_samples)


def split_rows(lengths: IntArray) -> Iterator[tuple[int, int]]:
    """Rows of a triangle, some seconds of work at a time."""
    before = np.concatenate(([0.0], np.cumsum(lengths)[:-1]))
    first, total = 0, 0.0
    for row, n_cells in enumerate(lengths * before):
        is_full = total + n_cells > BLOCK_CELLS or (row - first) * row > BLOCK_PAIRS
        if row > first and is_full:
            yield first, row
            first, total = row, 0.0
        total += float(n_cells)
    yield first, int(lengths.size)
