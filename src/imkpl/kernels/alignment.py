"""Global alignment kernels of time series, one per channel or group of channels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from imkpl._typing import FloatArray, IntArray
from imkpl.kernels.alignment_pairs import (
    align_cross,
    align_pairs,
    find_self_similarities,
)
from imkpl.kernels.alignment_table import tabulate_alignment
from imkpl.kernels.bandwidth import invert_roots
from imkpl.kernels.base import BaseKernelBank, Report
from imkpl.kernels.channels import (
    ChannelKernels,
    Groups,
    find_channels,
    find_length,
    prepare_channels,
    root_bandwidth,
)
from imkpl.kernels.checks import (
    check_indices,
    check_pairs,
    check_sample_indices,
    check_sample_weight,
)
from imkpl.kernels.tabulated import PackedKernels, Tabulated, unpack
from imkpl.kernels.wrapper import BaseWrapper
from imkpl.series import SeriesSet, read_series

DTYPES = ("float64", "float32")


@dataclass(frozen=True, eq=False)
class GlobalAlignment(BaseKernelBank):
    """A global alignment kernel on each channel alone, so that a weight is a channel's weight.

    The kernel of Cuturi (2007, 2011) sums over all alignments of two series what the local kernels
    along the alignment multiply to,
    ``A_ij = k_ij (A_i-1,j + A_i,j-1 + A_i-1,j-1)``, with ``k = e / (2 - e)`` and
    ``e = exp(-||x_i - y_j||**2 / (scale * bandwidth))``. It is divided by the roots of the
    self-similarities, so that every series has similarity 1 with itself. Series may have any
    lengths, and computations are safe for thousands of steps.

    A channel that is constant in the training part gets the constant kernel 1: it cannot separate
    anything, and a new value at prediction time is not penalised.

    Parameters
    ----------
    scales : tuple of float
        One kernel per channel and scale, all scales of a channel side by side.
    groups : mapping from names to channels, optional
        One kernel per group instead of one per channel; the squared distances of its channels,
        given by number or name, are summed. Give them one unit first.
    differences : bool
        Whether each channel, or group, gets further kernels that compare differences of successive
        steps, after resampling or without the missing ones.
    length : "auto", int or None
        Resample every series to so many steps, linearly. "auto" takes the mean length of the
        training part if lengths differ so much that they alone would lower the mean kernel by 5 %,
        and leaves series as they are otherwise. None never resamples: the kernel then
        compares lengths more than anything else.
    triangular : int, optional
        Width of the triangular kernel on time steps: a step is compared with those less than so
        many steps away, the less the farther. Faster, and series whose lengths differ by as much
        have similarity 0.
    bandwidth : float or array, optional
        ``2 sigma**2``, the squared width in squared units of the channels; learned from the
        training part when None. An array has one entry per channel or group, then one per
        difference.
    dtype : {"float64", "float32"}
        The numbers to compute with; in single precision kernels are right to about six digits.
    table_dtype : {"float64", "float32"}
        The numbers in which kernel values of the training part are kept during a fit.
    cache_dir : str, optional
        A folder that keeps kernel values of training parts, so that the next fit on the same series
        reads them and one that was killed is taken up again. It may be emptied at any time.
    kernels : ChannelKernels, optional
        Set by `adapt`.

    Notes
    -----
    Missing values are NaN. When series are resampled gaps are interpolated; otherwise a time step
    at which a channel (one of a group) is missing is left out of that kernel, which compares the
    observed subsequences. Either way a kernel compares functions of the series and stays positive
    semi-definite.

    Examples
    --------
    >>> X = SeriesSet.from_list([[[0.0, 1.0, 2.0]], [[0.0, 1.0, 1.0, 2.0]], [[2.0, 1.0, 0.0]]])
    >>> K = GlobalAlignment().adapt(X).evaluate(0, X)
    >>> bool(K[0, 1] > K[0, 2])
    True
    """

    scales: tuple[float, ...] = (1.0,)
    groups: Groups | None = None
    differences: bool = False
    length: int | str | None = "auto"
    triangular: int | None = None
    bandwidth: float | FloatArray | None = None
    dtype: str = "float64"
    table_dtype: str = "float64"
    cache_dir: str | None = None
    kernels: ChannelKernels | None = None

    def __post_init__(self) -> None:
        scales = np.asarray(self.scales, dtype=np.float64)
        _require(
            scales.ndim == 1 and scales.size > 0 and bool(np.all((scales > 0) & (scales < np.inf))),
            f"scales={self.scales}) must be a tuple of positive numbers, such as (0.5, 1.0, 2.0). "
            "Use (1.0,) for one kernel per channel",
        )
        _require(
            self.length == "auto" if isinstance(self.length, str) else _is_count(self.length),
            f"length={self.length!r}) must be a positive whole number, 'auto' or None. Use 'auto' "
            "to resample where lengths differ much",
        )
        _require(
            _is_count(self.triangular),
            f"triangular={self.triangular!r}) must be a positive whole number of time steps. Leave "
            "it out to compare all steps with each other",
        )
        _require(
            self.bandwidth is None or bool(np.all(np.asarray(self.bandwidth) > 0)),
            f"bandwidth={self.bandwidth}) must be positive. Leave it out to learn it from the "
            "training part",
        )
        _require(
            self.groups is None or len(self.groups) > 0,
            "groups={}) has no groups, expected at least one. Leave it out for one kernel per "
            "channel",
        )
        for name in ("dtype", "table_dtype"):
            _require(
                getattr(self, name) in DTYPES,
                f"{name}={getattr(self, name)!r}) must be 'float64' or 'float32'. Leave it out for "
                "double precision",
            )

    @property
    def n_kernels(self) -> int:
        """The number of base kernels; known after `adapt`."""
        return len(self._table.channels)

    @property
    def requires_vector_input(self) -> bool:
        """Never: samples are series."""
        return False

    @property
    def reads_series(self) -> bool:
        """Always: samples are series."""
        return True

    @property
    def has_unit_diagonal(self) -> bool:
        """Always: the kernels are normalised."""
        return True

    @property
    def columns(self) -> IntArray:
        """The sorted channels that the kernels read."""
        return np.unique(np.concatenate([np.empty(0, dtype=np.intp), *self._table.channels]))

    @property
    def kernel_columns(self) -> IntArray | None:
        """The channel that each kernel reads; None when a group has several."""
        if any(len(channels) > 1 for channels in self._table.channels):
            return None
        return np.array([channels[0] for channels in self._table.channels], dtype=np.intp)

    @property
    def widths(self) -> FloatArray:
        """``scale * bandwidth`` of every kernel; infinite for the constant kernel."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray((1.0 / self._table.rates) ** 2)

    @property
    def resampled_length(self) -> int | None:
        """The length to which series are brought; None when they stay as they are."""
        return self._table.length

    def adapt(self, X: Any, sample_weight: ArrayLike | None = None) -> GlobalAlignment:
        """The bank with a common length and a bandwidth for every channel of the training part."""
        series = X if isinstance(X, SeriesSet) else read_series(X)
        shares = check_sample_weight(sample_weight, len(series))
        table = self.kernels
        if table is not None and self.bandwidth is not None:
            return self
        if table is None:
            table = self._start_table(series)
        used = np.flatnonzero(shares)
        series, shares = series[used], shares[used]
        table = replace(table, length=find_length(series, self.length, shares))
        rates, centers = self._find_rates(table, series, shares)
        return replace(self, kernels=replace(table, rates=rates, centers=centers))

    def evaluate(self, index: int, X: Any, Y: Any = None) -> FloatArray:
        """The matrix of one base kernel."""
        chosen = int(check_indices([index], self.n_kernels)[0])
        left, right = self._check_samples(X, Y)
        if Y is None:
            single = self._table.at(np.array([chosen]))
            packed = tabulate_alignment(single, left, self._width, dtype=self.dtype)
            return unpack(packed.values[0], len(left))
        if self._table.rates[chosen] == 0:
            return np.ones((len(left), len(right)))
        parts = (self._prepare(chosen, left), self._prepare(chosen, right))
        return align_cross(*parts, self._width)

    def pairs(
        self, X: Any, rows: ArrayLike, columns: ArrayLike, dtype: DTypeLike = np.float64
    ) -> FloatArray:
        """``K_l(x_rows[p], x_columns[p])`` for the listed pairs p only."""
        series, _ = self._check_samples(X, None)
        rows, columns = check_pairs(rows, columns)
        check_sample_indices(rows, columns, len(series))
        used, places = np.unique(np.concatenate([rows, columns]), return_inverse=True)
        left, right = places[: rows.size], places[rows.size :]
        out = np.ones((rows.size, self.n_kernels), dtype=dtype)
        differ = np.flatnonzero(left != right)
        if differ.size == 0:
            return out
        series = series[used]
        for index in np.flatnonzero(self._table.rates):
            part = self._prepare(int(index), series)
            norms = find_self_similarities(part, self._width)
            out[differ, index] = align_pairs(
                part, part, left[differ], right[differ], self._width, (norms, norms)
            )
        return out

    def tabulate(self, X: Any, report: Report | None = None) -> tuple[Tabulated, PackedKernels]:
        """All kernels between the samples, computed once, and a bank that reads them."""
        series, _ = self._check_samples(X, None)
        packed = tabulate_alignment(
            self._table,
            series,
            self._width,
            dtype=self.dtype,
            table_dtype=self.table_dtype,
            cache_dir=self.cache_dir,
            report=report,
        )
        return Tabulated(np.arange(self.n_kernels), tuple(self.kernel_names())), packed

    def select(self, indices: ArrayLike) -> Self:
        """The bank of the listed kernels, in that order, still reading all channels."""
        return replace(self, kernels=self._table.at(check_indices(indices, self.n_kernels)))

    def on_columns(self, columns: ArrayLike) -> Self:
        """The same kernels, reading series that were cut down to the listed channels."""
        kept = np.asarray(columns, dtype=np.intp).tolist()
        missing = np.setdiff1d(self.columns, kept)
        if missing.size:
            raise ValueError(
                f"on_columns() lacks channel {missing[0]}, which a kernel reads. Keep all of the "
                "bank's `columns`, or select() the other kernels first."
            )
        channels = tuple(tuple(kept.index(c) for c in each) for each in self._table.channels)
        return replace(self, kernels=replace(self._table, channels=channels))

    def kernel_names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """The channel's or group's name, with difference and scale where there are several."""
        table, names = self._table, []
        for index, label in enumerate(table.labels):
            if feature_names is not None and not table.is_group[index]:
                label = str(feature_names[table.channels[index][0]])
            label = f"{label} (difference)" if table.is_difference[index] else label
            is_one = len(self.scales) == 1
            names.append(label if is_one else f"{label} (width x{table.scales[index]:g})")
        return names

    @property
    def _table(self) -> ChannelKernels:
        if self.kernels is None:
            raise ValueError(
                "The kernels of this GlobalAlignment are not known yet, because they depend on the "
                "training part. Call adapt(X) first and use the bank that it returns."
            )
        return self.kernels

    @property
    def _width(self) -> int:
        return 0 if self.triangular is None else int(self.triangular)

    def _prepare(self, index: int, series: SeriesSet) -> SeriesSet:
        return self._table.prepare(index, series, self.dtype)

    def _start_table(self, series: SeriesSet) -> ChannelKernels:
        channels, labels = find_channels(self.groups, series)
        n_kinds, n_scales = 1 + int(self.differences), len(self.scales)
        is_difference = np.repeat(np.arange(n_kinds) > 0, len(channels) * n_scales)
        return ChannelKernels(
            tuple(each for each in channels * n_kinds for _ in range(n_scales)),
            tuple(label for label in labels * n_kinds for _ in range(n_scales)),
            np.full(is_difference.size, self.groups is not None),
            is_difference,
            np.tile(np.asarray(self.scales, dtype=np.float64), len(channels) * n_kinds),
            np.zeros(is_difference.size),
            (),
            None,
        )

    def _find_rates(
        self, table: ChannelKernels, series: SeriesSet, shares: FloatArray
    ) -> tuple[FloatArray, tuple[tuple[float, ...], ...]]:
        """One over the width of every kernel, and what its values are measured from."""
        known: dict[tuple[tuple[int, ...], bool], tuple[float, tuple[float, ...]]] = {}
        found = []
        for channels, is_difference in zip(table.channels, table.is_difference, strict=True):
            source = (channels, bool(is_difference))
            if source not in known:
                part = prepare_channels(
                    series, channels, length=table.length, is_difference=source[1]
                )
                center = tuple(np.median(part.values.astype(np.float64), axis=1).tolist())
                known[source] = root_bandwidth(part, shares), center
            found.append(known[source])
        roots = np.array([root for root, _ in found])
        if self.bandwidth is not None:
            roots = np.sqrt(self._given_bandwidth(roots.size // len(self.scales)))
        return invert_roots(np.sqrt(table.scales) * roots), tuple(center for _, center in found)

    def _given_bandwidth(self, n_sources: int) -> FloatArray:
        given = np.asarray(self.bandwidth, dtype=np.float64)
        if given.shape not in ((), (n_sources,)):
            raise ValueError(
                f"GlobalAlignment(bandwidth=...) has shape {given.shape}, expected one number or "
                f"({n_sources},): one per channel or group, then one per difference. Leave it out "
                "to learn it."
            )
        return np.repeat(np.broadcast_to(given, (n_sources,)), len(self.scales))

    def _check_samples(self, X: Any, Y: Any) -> tuple[SeriesSet, SeriesSet]:
        # A set is taken as it is: channels that no kernel reads may hold anything.
        left = X if isinstance(X, SeriesSet) else read_series(X)
        right = Y if isinstance(Y, SeriesSet) else left if Y is None else read_series(Y)
        n_needed = int(self.columns.max(initial=-1)) + 1
        n_found = min(left.n_channels, right.n_channels)
        if n_found < n_needed:
            raise ValueError(
                f"The series have {n_found} channels, but a kernel reads channel {n_needed - 1}. "
                "Pass series with the channels of the training part."
            )
        return left, right


def cache_alignments(bank: BaseKernelBank, folder: str | os.PathLike[str]) -> BaseKernelBank:
    """The same kernels; tables of alignments keep their blocks on disk."""
    if isinstance(bank, GlobalAlignment) and bank.cache_dir is None:
        return replace(bank, cache_dir=os.fspath(folder))
    if isinstance(bank, BaseWrapper):
        return bank._around(cache_alignments(bank.bank, folder))
    return bank


def _is_count(value: Any) -> bool:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return value is None or (is_whole and bool(value > 0))


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ValueError(f"GlobalAlignment({problem}.")
