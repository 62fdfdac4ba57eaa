"""Whether the rows of a new file are like those of training: gaps, units, categories, spread."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._checks import quote
from imkpl.readers.column_roles import Finding, find_missing
from imkpl.readers.formats import count, list_names

if TYPE_CHECKING:
    from imkpl.readers.read import DataFile

LEVELS = np.linspace(0, 1, 21)
# Two samples of one distribution differ by more than this, over the root of their size, in one of
# a thousand tests; smaller differences than the second do not matter, however sure they are.
CRITICAL, LEAST_SHIFT = 1.95, 0.2
# A column is in another unit if its numbers, divided by a factor from here on, fit.
LEAST_FACTOR = 2.0
# A factor that is as near as this to a power of ten is called by it.
NEARLY = 0.15


def describe_distributions(frame: Any) -> dict[str, Any]:
    """Quantiles of columns of numbers, and counts of categories."""
    found: dict[str, Any] = {}
    for name, column in frame.items():
        cells = column.to_numpy()
        present = cells[~find_missing(cells)]
        if cells.dtype.kind not in "iuf":
            counts = Counter(str(cell) for cell in present.tolist())
            found[name] = {"n": len(present), "counts": dict(counts)}
        elif present.size:
            found[name] = {"n": len(present), "quantiles": np.quantile(present, LEVELS).tolist()}
    return found


def find_gaps(
    data: DataFile, weights: Mapping[str, float], missing: Any, most: float
) -> Iterator[Finding]:
    """Columns that are not in the file, and rows that get no answer."""
    if data.dropped:
        share = sum(weights.get(name, 0.0) for name in data.dropped)
        options = " ".join(f"--not-measured {shlex.quote(name)}" for name in data.dropped)
        yield Finding(
            "missing columns",
            f"The file lacks {count(len(data.dropped), 'column')} that the model reads, "
            f"{list_names(list(data.dropped))}, with {share:.0%} of the weight.",
            f"Correct the names; if they were not measured, add {options}.",
            tuple(data.dropped),
        )
    n_refused = int(np.sum(missing > most))
    if n_refused:
        yield Finding(
            "no answer",
            f"{count(n_refused, 'row')} of {len(data)} lack more than {most:.0%} of the weight.",
            "They get no answer. Fill their cells, or add --max-missing 1 to predict.",
        )


def find_shifts(data: DataFile, known: Mapping[str, Any]) -> Iterator[Finding]:
    """Columns whose cells are not those of training."""
    for name, cells in data.samples.items():
        present = cells.to_numpy()[~find_missing(cells.to_numpy())]
        if name in known and present.size:
            look = _compare_counts if "counts" in known[name] else _compare_numbers
            yield from look(str(name), present, known[name])


def _compare_counts(name: str, present: Any, known: Any) -> Iterator[Finding]:
    found, old = Counter(str(cell) for cell in present.tolist()), known["counts"]
    new = {cell: n for cell, n in found.items() if cell not in old}
    if new:
        yield Finding(
            "unknown categories",
            f"Column {quote(name)}: {list_names(list(new))} in {count(sum(new.values()), 'row')} "
            f"did not occur in training, where there were {list_names(list(old))}.",
            "They are like no training row. Correct them if they are spelt otherwise.",
            (name,),
        )
    shares = [(found[cell] / len(present), n / known["n"], cell) for cell, n in old.items()]
    gap, here, there, cell = max((abs(a - b), a, b, cell) for a, b, cell in shares)
    if gap > find_limit(len(present), known["n"]):
        text = f"{quote(cell)} in {here:.0%} of the rows, in training in {there:.0%}."
        yield _describe_shift(name, text)


def _compare_numbers(name: str, present: Any, known: Any) -> Iterator[Finding]:
    quantiles = np.array(known["quantiles"])
    gap, limit = measure_gap(present, quantiles), find_limit(len(present), known["n"])
    if gap <= limit:
        return
    low, middle, high = np.min(present), np.median(present), np.max(present)
    text = (
        f"{low:.4g} to {high:.4g} (median {middle:.4g}), in training {quantiles[0]:.4g} to "
        f"{quantiles[-1]:.4g} (median {np.median(quantiles):.4g})."
    )
    factor = middle / np.median(quantiles) if quantiles[0] >= 0 and low >= 0 < middle else 1.0
    is_unit = 0 < factor < np.inf and max(factor, 1 / factor) >= LEAST_FACTOR
    if is_unit and measure_gap(present / factor, quantiles) <= max(limit, gap / 2):
        power = 10.0 ** round(np.log10(factor))
        factor = power if abs(factor / power - 1) < NEARLY else factor
        size = f"{factor:.3g} times as large" if factor > 1 else f"{1 / factor:.3g} times less"
        advice = "Convert the column, if it is in another unit."
        yield Finding("units", f"Column {quote(name)} is about {size}: {text}", advice, (name,))
        return
    yield _describe_shift(name, text)


def _describe_shift(name: str, text: str) -> Finding:
    advice = "Find out why these rows differ before you trust answers about them."
    return Finding("shifted", f"Column {quote(name)}: {text}", advice, (name,))


def measure_gap(values: Any, quantiles: Any) -> float:
    """The largest difference of two distribution functions, at quantiles of the second."""
    ordered = np.sort(values)
    below, up_to = (np.searchsorted(ordered, quantiles, side) for side in ("left", "right"))
    n = len(values)
    return float(max(np.max(below / n - LEVELS), np.max(LEVELS - up_to / n)))


def find_limit(n: int, m: int) -> float:
    """The difference up to which two samples of one distribution may well differ."""
    return max(LEAST_SHIFT, CRITICAL * float(np.sqrt(1 / n + 1 / max(m, 1))))
