"""Where in time two series are alike: the expected alignment behind a kernel value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.kernels import _expectation_loops as loops
from imkpl.kernels.alignment import GlobalAlignment
from imkpl.kernels.channels import ChannelKernels
from imkpl.kernels.checks import check_indices
from imkpl.series import SeriesSet, read_series


@dataclass(frozen=True, eq=False)
class ExpectedAlignment:
    """How the alignments of two series share out their similarity over time.

    Parameters
    ----------
    similarity : float
        The normalised kernel.
    visits : array of shape (n_steps_x, n_steps_y)
        How likely an alignment passes each pair of steps, when alignments are drawn by their part
        in the kernel: the gradient of the log kernel by the logs of the local kernels. Between 0
        and 1, and every row and column sums to 1 or more.
    x_times, y_times : array of shape (n_steps_x,) and (n_steps_y,)
        Where the steps that were compared lie in the series, counted in their own steps. Missing
        ones are left out; resampled ones, and differences, lie in between.
    x_agreement, y_agreement : array of shape (n_steps_x,) and (n_steps_y,)
        What the local kernels of an alignment would multiply to if all steps agreed as well as
        this one does with those it is aligned to; between 0 and 1.
    """

    similarity: float
    visits: FloatArray
    x_times: FloatArray
    y_times: FloatArray
    x_agreement: FloatArray
    y_agreement: FloatArray

    @property
    def x_shares(self) -> FloatArray:
        """The share of every step of x in the agreement; they sum to one."""
        return _shares(self.x_agreement)

    @property
    def y_shares(self) -> FloatArray:
        """The share of every step of y in the agreement; they sum to one."""
        return _shares(self.y_agreement)


def expected_alignment(
    bank: GlobalAlignment, channel: int | str, x: Any, y: Any
) -> ExpectedAlignment:
    """Which time steps of two series one kernel aligns, and how well they agree.

    Parameters
    ----------
    bank : GlobalAlignment
        Adapted.
    channel : int or str
        Which kernel: its place in the bank, or its name among `kernel_names`.
    x, y : array of shape (n_channels, length)
        Two series with the channels that the bank reads.

    Returns
    -------
    ExpectedAlignment
        The alignment. It takes memory in proportion to the product of the lengths.

    Examples
    --------
    >>> x, y = np.array([[0.0, 0.0, 5.0, 0.0]]), np.array([[0.0, 5.0, 0.0, 0.0]])
    >>> bank = GlobalAlignment().adapt(np.stack([x, y]))
    >>> found = expected_alignment(bank, 0, x, y)
    >>> int(np.argmax(found.visits[2])), bool(np.all(found.visits.sum(axis=1) > 1 - 1e-12))
    (1, True)
    """
    index = _find_kernel(bank, channel)
    table = bank.select([index]).kernels
    if table is None:
        raise ValueError("The bank has no kernels. Call adapt(X) and use the bank it returns.")
    pair = [_read_one(series, name) for series, name in ((x, "x"), (y, "y"))]
    left, right = (table.prepare(0, series, np.float64)[0] for series in pair)
    local = _log_local(left, right, bank.triangular)
    visits = loops._visits(local, loops._log_alignments(local))
    similarity = bank.select([index]).evaluate(0, *pair)[0, 0]
    # Steps outside the band have the local kernel 0, and no alignment passes them.
    losses = np.where(visits > 0, local, 0.0) * visits
    agreements = []
    for axis in (1, 0):
        total = visits.sum(axis=axis)
        mean = losses.sum(axis=axis) / np.where(total > 0, total, 1.0)
        agreements.append(np.where(total > 0, np.exp(mean * total.size), 0.0))
    times = (_find_times(table, series) for series in pair)
    return ExpectedAlignment(float(similarity), visits, *times, *agreements)


def _find_kernel(bank: GlobalAlignment, channel: int | str) -> int:
    if not isinstance(channel, str):
        return int(check_indices([channel], bank.n_kernels)[0])
    names = bank.kernel_names()
    if channel not in names:
        raise ValueError(
            f"channel={channel!r} is none of the kernels {', '.join(names)}. Pass one of these "
            "names, or a kernel's place in the bank."
        )
    return names.index(channel)


def _read_one(series: Any, name: str) -> SeriesSet:
    if isinstance(series, SeriesSet):
        if len(series) == 1:
            return series
        raise ValueError(
            f"{name} has {len(series)} series, expected one. Take a single one with {name}[i]."
        )
    if np.ndim(series) != 2:
        raise ValueError(
            f"{name} has shape {np.shape(series)}, expected one series (n_channels, length). Use "
            "reshape(1, -1) for a single channel."
        )
    return read_series([series])


def _log_local(x: FloatArray, y: FloatArray, triangular: int | None) -> FloatArray:
    squares = np.zeros((x.shape[1], y.shape[1]))
    for own, other in zip(x, y, strict=True):
        squares += (own[:, np.newaxis] - other) ** 2
    log_e = -squares
    if triangular is not None:
        apart = np.abs(np.arange(x.shape[1])[:, np.newaxis] - np.arange(y.shape[1]))
        near = np.maximum(0.0, 1.0 - apart / triangular)
        log_e = log_e + np.log(near, out=np.full(near.shape, -np.inf), where=near > 0)
    return np.asarray(log_e - np.log(2.0 - np.exp(log_e)))


def _find_times(table: ChannelKernels, series: SeriesSet) -> FloatArray:
    """Where the steps that a kernel compares lie in a series."""
    values = series[0][list(table.channels[0])]
    if table.length is None:
        times = np.flatnonzero(~np.isnan(values).any(axis=0)).astype(np.float64)
    elif table.length == 1:
        times = np.array([(values.shape[1] - 1) / 2])
    else:
        times = np.linspace(0, values.shape[1] - 1, table.length)
    if table.is_difference[0] and times.size > 1:
        times = (times[1:] + times[:-1]) / 2
    return np.asarray(times)


def _shares(agreement: FloatArray) -> FloatArray:
    total = agreement.sum()
    # Where nothing agrees no step has more than another.
    if total > 0:
        return np.asarray(agreement / total)
    return np.full(agreement.shape, 1.0 / agreement.size)
