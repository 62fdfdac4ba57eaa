"""Samples in parts without a cluster: the parts are slices of an array."""

from typing import ClassVar

import numpy as np

from imkpl.kernels.sharded import RowBlocks


class CutArray:
    """An array cut at given rows."""

    def __init__(self, array, cuts):
        self.array, self.shape = array, array.shape
        self.starts = [0, *cuts]

    def row_blocks(self, wanted):
        for start, end in zip(self.starts, [*self.starts[1:], len(self.array)], strict=True):
            if np.any((wanted >= start) & (wanted < end)):
                yield start, self.array[start:end]


class LocalShards(RowBlocks):
    """Rows of a cut array; records how many numbers each pass brings back."""

    sizes: ClassVar[list[int]] = []

    def map(self, *arguments, **options):
        found = super().map(*arguments, **options)
        arrays = [result for _, result in found if isinstance(result, np.ndarray)]
        self.sizes.append(sum(array.size for array in arrays))
        return found


def cut_rows(array, cuts):
    """An array in parts."""
    shards = LocalShards(np.arange(len(array)), None, None, CutArray(array, cuts)).summarized()
    LocalShards.sizes.clear()
    return shards
