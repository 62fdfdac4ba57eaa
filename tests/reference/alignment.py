"""The global alignment kernel in log space, and by summing over all alignments."""

from itertools import combinations, pairwise

import numpy as np


def log_local(x, y, bandwidth):
    """log of e / (2 - e), shape (length_x, length_y); x and y are (n_channels, length)."""
    squares = ((x[:, :, None] - y[:, None, :]) ** 2).sum(axis=0)
    log_e = -squares / bandwidth
    return log_e - np.log(2 - np.exp(log_e))


def log_alignment(local):
    """log A(n, m) of log local kernels, anti-diagonal by anti-diagonal."""
    n, m = local.shape
    before = np.full(n + 1, -np.inf)
    last = before.copy()
    for total in range(n + m - 1):
        rows = np.arange(max(0, total - m + 1), min(n, total + 1))
        now = np.full(n + 1, -np.inf)
        # Entry i + 1 is cell (i, total - i); entry 0 is the row before the first.
        sums = np.logaddexp(np.logaddexp(last[rows], last[rows + 1]), before[rows])
        now[rows + 1] = (0.0 if total == 0 else sums) + local[rows, total - rows]
        before, last = last, now
    return last[n]


def log_long_alignment(x, y):
    """log A(n, m) of two long series of one channel, bandwidth 1, without a matrix.

    In two parts, the second a whole number.
    """
    n, m = x.size, y.size
    # Entry i + 1 is cell (i, total - i); the empty alignment stands before the first cell.
    before, last, now = (np.full(n + 1, -np.inf) for _ in range(3))
    before[0], taken = 0.0, 0.0
    for total in range(n + m - 1):
        first, end = max(0, total - m + 1), min(n, total + 1)
        if total % 16 == 1:
            # Logarithms of thousands would have few digits behind the point. Whole numbers are
            # taken off without rounding.
            whole = np.floor(last.max())
            before, last, taken = before - whole, last - whole, taken + whole
        squares = (x[first:end] - y[total - end + 1 : total - first + 1][::-1]) ** 2
        parts = last[first:end], last[first + 1 : end + 1], before[first:end]
        top = np.maximum(np.maximum(parts[0], parts[1]), parts[2])
        sums = top + np.log(sum(np.exp(part - top) for part in parts))
        now[:] = -np.inf
        now[first + 1 : end + 1] = sums - squares - np.log(2 - np.exp(-squares))
        before, last, now = last, now, before
    return last[n], taken


def alignment_kernel(x, y, bandwidth):
    """The normalised kernel of two series (n_channels, length)."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    cross, left, right = (
        log_alignment(log_local(a, b, bandwidth)) for a, b in ((x, y), (x, x), (y, y))
    )
    return np.exp(cross - (left + right) / 2)


def alignment_stack(kernels, X, Y):
    """The dense stack of kernels between series, each read from its prepared channels."""
    layers = []
    for kernel in kernels.each:
        left = prepared(kernel, kernels.length, X)
        right = left if Y is None else prepared(kernel, kernels.length, Y)
        if kernel.rate == 0:
            layers.append(np.ones((len(left), len(right))))
            continue
        bandwidth = kernel.rate**-2
        layers.append([[alignment_kernel(x, y, bandwidth) for y in right] for x in left])
    return np.moveaxis(np.array(layers), 0, -1)


def prepared(kernel, length, series):
    """Resampled, cut to observed steps, differenced: from the words of the documentation."""
    result = []
    for one in series:
        part = np.asarray(one, dtype=np.float64)[list(kernel.channels)]
        if length is not None:
            times = np.linspace(0, part.shape[1] - 1, length)
            seen = [np.flatnonzero(~np.isnan(row)) for row in part]
            part = np.array(
                [np.interp(times, s, row[s]) for s, row in zip(seen, part, strict=True)]
            )
        part = part[:, ~np.isnan(part).any(axis=0)]
        is_aligned = kernel.view in ("values", "differences")
        units = np.ones(len(part)) if is_aligned else kernel.units
        rows = [
            factor * np.asarray(VIEWS[kernel.view](row / unit))
            for row, unit, factor in zip(part, units, kernel.factors, strict=True)
        ]
        result.append(np.array(rows) if is_aligned else np.concatenate(rows)[:, np.newaxis])
    return result


def differences(row):
    return [b - a for a, b in pairwise(row)] if row.size > 1 else [0.0]


def trend(row):
    return [np.polyfit(np.linspace(0, 1, row.size), row, 1)[0] if row.size > 1 else 0.0]


def spectrum(row):
    n, times, found = row.size, np.arange(row.size), np.full(12, 1e-6)
    for k in range(1, min(12, n // 2) + 1):
        found[k - 1] += abs(np.mean(row * np.exp(-2j * np.pi * k * times / n))) ** 2
    return np.log(found)


def autocorrelation(row):
    row = row - row.mean()
    found = np.zeros(10)
    for lag in range(1, min(11, row.size)):
        found[lag - 1] = row[lag:] @ row[:-lag] / max(row @ row, 1e-300)
    return found


def patterns(row):
    found = []
    for share in (1, 2, 4, 8):
        gap = max(1, row.size // (9 * share))
        places = np.clip(np.arange(row.size) + gap * np.arange(-4, 5)[:, None], 0, row.size - 1)
        for chosen in combinations(range(9), 3):
            height = row[places[list(chosen)]].mean(axis=0) - row[places].mean(axis=0)
            found += [np.mean(height > threshold) for threshold in (-0.05, 0.05)]
    return np.array(found)


VIEWS = {
    "values": lambda row: row,
    "differences": differences,
    "level": lambda row: [np.mean(row)],
    "trend": trend,
    "spread": lambda row: [np.log(np.std(row) + 1e-3)],
    "spectrum": spectrum,
    "distribution": lambda row: np.quantile(row, np.linspace(0.05, 0.95, 10)),
    "autocorrelation": autocorrelation,
    "patterns": patterns,
}


def all_alignments(n, m):
    """Every path of cells from (0, 0) to (n - 1, m - 1)."""
    if (n, m) == (1, 1):
        return [[(0, 0)]]
    steps = [(n - 1, m), (n, m - 1), (n - 1, m - 1)]
    return [[*p, (n - 1, m - 1)] for a, b in steps if a > 0 and b > 0 for p in all_alignments(a, b)]
