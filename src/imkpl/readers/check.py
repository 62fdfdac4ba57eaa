"""What to correct in a table before a fit: every function looks for one kind of mistake."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._checks import quote
from imkpl._progress import announce
from imkpl.readers.column_roles import (
    DATES,
    ID_NAME,
    MOSTLY,
    SHOWN,
    Finding,
    as_texts,
    find_missing,
    spell,
)
from imkpl.readers.formats import count, list_names
from imkpl.readers.logs import find_log

if TYPE_CHECKING:
    from imkpl.readers.read import DataFile

# Two rows of a class to learn from, and one to measure on.
MIN_CLASS_ROWS = 3
# Classes are imbalanced if the largest has this many times the rows of the smallest.
IMBALANCE = 4
# A column gives the classes away if it leaves this share of the baseline's errors, ...
FEW_ERRORS = 0.02
# ... which are at least so many, ...
MANY_ERRORS = 10
# ... and if its categories have this many rows on average.
ROWS_PER_CATEGORY = 5
# Rows that are looked at to find such columns.
MAX_ROWS = 20_000
# Numbers that people write for a missing value, and 0 where it lies far from all others.
CODES = {sign * float("9" * digits) for sign in (-1, 1) for digits in range(1, 6)} - {9.0} | {0.0}
FAR_FROM_ZERO = 0.2
# From this many further findings of a kind on, they are one.
MANY_ALIKE = 3
# Usual answers and stages, from little to much.
SCALES = (
    "strongly disagree,disagree,somewhat disagree,neutral,somewhat agree,agree,strongly agree",
    "very dissatisfied,dissatisfied,neutral,satisfied,very satisfied",
    "never,rarely,seldom,sometimes,often,usually,always",
    "none,no,minimal,mild,moderate,severe,very severe",
    "very low,low,medium,moderate,normal,high,very high",
    "very poor,poor,fair,average,good,very good,excellent",
    "tiny,small,medium,large,huge",
    "0,i,ia,ib,ii,iia,iib,iii,iiia,iiib,iiic,iv,v",
    "stage 0,stage i,stage ii,stage iii,stage iv",
    "grade 1,grade 2,grade 3,grade 4",
    "g1,g2,g3,g4",
)
PERSON = re.compile(
    r"(?i:(pat|patient|subject|person|participant|proband|donor|animal|volunteer|individual|customer|"
    r"client|pseudonym|mrn)(s|in)?([ _.-]*(id|nr|no|number|code|name|key))?)"
)
# Rows are suspected to be of few persons if for this share of them one other row, or a group of at
# most so many, is nearer by a factor than the next. Independent rows have such a gap rarely: with r
# others nearer, its chance is (1 / factor) to the power of r times the dimension.
GAP_SHARE, GAP_ROWS, PAIR_GAP, GAP = 0.7, 20, 3.0, 2.0
# Rows that are compared for that, and with how many; the fewest columns and the most.
MAX_COMPARED, MANY_ROWS, FEW_COLUMNS, MANY_COLUMNS = 1000, 5000, 3, 100
# A column that is constant in this number of successive rows, on average, may name persons.
ROWS_IN_TURN = 3
STARTS_WITH_NUMBER = re.compile(r"[<>≤≥~=±]*\s*[+-]?[.,]?\d.*", re.DOTALL)


def describe_columns(data: DataFile) -> list[dict[str, Any]]:
    """How every column of a training file is read, and how to say otherwise."""
    shown = _show_counts(data.y)
    if data.is_value:
        shown = f"{data.y.min():.5g} to {data.y.max():.5g}"
    uses = [(data.target, "target", shown, 0, "--target COLUMN")]
    for name, role, values in (
        (data.id_column, "row names", data.ids),
        (data.group_column, "groups", data.groups),
        (data.site_column, "sites", data.sites),
    ):
        if name is not None:
            uses.append((name, role, f"{len(set(values.tolist()))} different", 0, ""))
    if data.later is not None:
        shown = f"{int(np.sum(~data.later))} earlier, {int(np.sum(data.later))} later"
        uses.append((data.time_column, "times", shown, 0, ""))
    if hasattr(data.samples, "channel_names"):
        names = data.samples.channel_names
        values = zip(names, data.samples.values, strict=True)
        uses += [
            (name, "channel", f"{np.nanmin(one):.5g} to {np.nanmax(one):.5g}", 0, "")
            for name, one in values
        ]
    for name, column in data.samples.items() if data.is_table else ():
        cells = column.to_numpy()
        present = cells[~find_missing(cells)]
        if cells.dtype == object:
            role, shown, other = "categories", _show_counts(present), "numbers"
        else:
            # Whole numbers may be dates, of which every digit counts.
            digits = ".10g" if (np.mod(present, 1) == 0).all() else ".5g"
            shown = f"{present.min():{digits}} to {present.max():{digits}}"
            role, other = "numbers", "categories"
        n_missing = len(cells) - len(present)
        uses.append((name, role, shown, n_missing, f"--{other} {shlex.quote(name)}"))
    for name, reason in data.dropped.items():
        is_empty = reason.startswith(("always", "no values"))
        change = "" if is_empty else f"--categories {shlex.quote(name)}"
        uses.append((name, "left out", reason, 0, change))
    keys = ("name", "role", "values", "n_missing", "change")
    return [dict(zip(keys, use, strict=True)) for use in uses]


def find_problems(data: DataFile, frame: Any) -> tuple[Finding, ...]:
    """All findings about a file, the gravest first; `frame` has its columns as they were parsed."""
    columns = {name: cells.to_numpy() for name, cells in data.samples.items()}
    announce("check", f"looking for mistakes in {len(columns)} columns")
    codes = np.array([_encode(cells) for cells in columns.values()], dtype=np.int32)
    found = [
        *([] if data.is_value else _find_in_classes(data, columns, codes)),
        *find_log(data, columns, codes),
        *_find_persons(data, frame, columns, codes),
        *_find_equal_rows(data, codes),
        *_find_numbers_as_text(data, frame),
    ]
    present = {name: cells[~find_missing(cells)] for name, cells in columns.items()}
    for look in (_find_missing_codes, _find_variants, _find_counters, _find_number_dates):
        for name, cells in present.items():
            found += look(name, cells)
    for name, cells in present.items():
        if cells.dtype == object and not getattr(data.samples[name].dtype, "ordered", False):
            found += _find_order(name, cells)
    return (*found, *find_left_out(data.dropped))


def _find_in_classes(data: DataFile, columns: dict[str, Any], codes: Any) -> Iterator[Finding]:
    """Findings about classes."""
    yield from _find_variants(str(data.target), data.y, "Target", "class")
    yield from _find_uneven_classes(data.y, str(data.target))
    yield from _find_giveaways(data, columns, codes)


def join_alike(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Many findings of one kind as one."""
    kinds: dict[str, list[Finding]] = {}
    for one in findings:
        kinds.setdefault(one.kind, []).append(one)
    for first, *others in kinds.values():
        # Columns that are left out are listed by the reason.
        if len(others) < MANY_ALIKE or first.kind == "left out":
            yield from (first, *others)
            continue
        columns = tuple(dict.fromkeys(name for one in (first, *others) for name in one.columns))
        text = (
            f"{len(others) + 1} findings such as this one, in {list_names(columns)}: {first.text}"
        )
        yield replace(first, text=text, columns=columns)


def _find_order(name: str, present: Any) -> Iterator[Finding]:
    """Categories that are steps of a usual scale."""
    found = {str(cell).strip().casefold(): str(cell) for cell in set(present.tolist())}
    for scale in SCALES if len(found) > 2 else ():
        steps = [found[step] for step in scale.split(",") if step in found]
        if len(steps) == len(found):
            option = shlex.quote(f"{name}={','.join(steps)}")
            yield Finding(
                "order",
                f"Column {quote(name)} has categories with an order, which count as equal or not.",
                f"To compare them by their order: --ordered {option}.",
                (name,),
                needs_action=False,
            )
            return


def _encode(cells: Any) -> Any:
    """A number for every cell, the same for equal ones; those of numbers are in their order."""
    import pandas as pd

    if cells.dtype == object:
        return pd.factorize(cells, use_na_sentinel=False)[0]
    return np.unique(cells, return_inverse=True)[1]


def find_baseline(y: Any) -> tuple[Any, int]:
    """The most frequent class and its number of rows."""
    counts = Counter(y.tolist())
    return min(counts.items(), key=lambda one: (-one[1], str(one[0])))


def _find_uneven_classes(y: Any, target: str) -> Iterator[Finding]:
    """Classes that are too rare to be learned and measured, and those that are much rarer."""
    counts = Counter(y.tolist()).most_common()
    rare = [f"{quote(str(name))} ({n})" for name, n in counts if n < MIN_CLASS_ROWS]
    if rare:
        listed = ", ".join(rare[:SHOWN]) + ", ..." * (len(rare) > SHOWN)
        yield Finding(
            "rare classes",
            f"Target {quote(target)}: {count(len(rare), 'class')} with fewer than "
            f"{MIN_CLASS_ROWS} rows: {listed}.",
            "Add rows, correct labels that are misspelt, or leave such rows out.",
            (target,),
        )
    others = counts[: len(counts) - len(rare)]
    if others and others[0][1] >= IMBALANCE * others[-1][1]:
        (large, n_large), (small, n_small) = others[0], others[-1]
        yield Finding(
            "imbalance",
            f"Target {quote(target)}: {n_large} rows are {quote(str(large))} and only {n_small} "
            f"are {quote(str(small))}.",
            f"If it is worse to miss {quote(str(small))}, say how much worse, by --costs.",
            (target,),
        )


def _find_giveaways(data: DataFile, columns: dict[str, Any], codes: Any) -> Iterator[Finding]:
    rows = np.linspace(0, len(data) - 1, min(len(data), MAX_ROWS)).astype(int)
    labels = np.unique(data.y[rows], return_inverse=True)[1]
    n_errors = len(rows) - np.bincount(labels).max()
    if n_errors < MANY_ERRORS:
        return
    for (name, cells), column in zip(columns.items(), codes, strict=True):
        n_left = _count_errors(column[rows], labels, is_text=cells.dtype == object)
        if n_left <= FEW_ERRORS * n_errors:
            right = len(rows) - int(np.ceil(n_left))
            where = f"all {right} rows" if n_left == 0 else f"{right} of {len(rows)} rows"
            yield Finding(
                "gives the target away",
                f"Column {quote(name)} alone tells the class in {where}.",
                "If it is derived from the class, or not known before it, leave it out: "
                f"--drop {shlex.quote(name)}.",
                (name,),
            )


def _count_errors(codes: Any, labels: Any, *, is_text: bool) -> float:
    """Rows for which a column does not tell the class: by its categories, or by intervals."""
    n_rows, n_classes = len(codes), int(labels.max()) + 1
    # Only the classes that occur with a code are counted: a table of all would be huge.
    pairs, counts = np.unique(codes.astype(np.int64) * n_classes + labels, return_counts=True)
    owners, classes = np.divmod(pairs, n_classes)
    order = np.lexsort((classes, -counts, owners))
    winners = order[np.append(True, np.diff(owners) > 0)]
    if winners.size < 2 or (is_text and winners.size * ROWS_PER_CATEGORY > n_rows):
        return np.inf
    n_errors = n_rows - int(counts[winners].sum())
    n_intervals = 1 + int(np.count_nonzero(np.diff(classes[winners])))
    # A row among those of another class makes two more intervals.
    return n_errors + (0 if is_text else max(n_intervals - n_classes, 0) / 2)


def _find_persons(
    data: DataFile, frame: Any, columns: dict[str, Any], codes: Any
) -> Iterator[Finding]:
    """Rows that may be of the same persons: by the name of a column, else by what rows hold."""
    if data.groups is not None:
        return
    others = (data.target, data.id_column, data.site_column, data.time_column)
    named = list(_find_named_persons(data, frame, others))
    yield from named
    if named:
        return
    for place in _find_turns(codes)[:1]:
        name = list(columns)[place]
        yield Finding(
            "repeated persons",
            f"Column {quote(name)} has {codes[place].max() + 1} different values, each in rows "
            "that follow one another: rows of the same person or sample?",
            f"Then say so, or chance will look like evidence: --group {shlex.quote(name)}.",
            (name,),
        )
        return
    numbers = [cells for cells in columns.values() if cells.dtype != object]
    alike = _find_alike(numbers)
    if alike.size:
        listed = list_names([str(name) for name in data.ids[alike[:SHOWN]].tolist()])
        yield Finding(
            "repeated persons",
            f"Most rows have a few others that are far more like them than the rest, such as "
            f"{listed}: rows of the same person or sample?",
            "Then add a column that names it, or chance will look like evidence: --group COLUMN.",
        )


def _find_named_persons(data: DataFile, frame: Any, others: tuple[Any, ...]) -> Iterator[Finding]:
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        is_used = name in others or data.dropped.get(name) == DATES
        is_named = PERSON.fullmatch(name) or ID_NAME.fullmatch(name)
        if is_used or dtype.kind == "b" or not is_named:
            continue
        sizes = Counter(text for text in as_texts(frame[name]) if text is not None)
        shown, n_most = min(sizes.items(), key=lambda one: (-one[1], one[0]), default=("", 0))
        # Sites and batches have more rows each; the name of a person says enough.
        is_person = bool(PERSON.fullmatch(name)) and len(sizes) > 1
        if n_most > 1 and (is_person or sizes.total() <= 10 * len(sizes)):
            yield Finding(
                "repeated persons",
                f"Column {quote(name)} has {len(sizes)} different values in {sizes.total()} rows, "
                f"such as {quote(shown)} in {n_most}: rows of the same person or sample?",
                f"Then say so, or chance will look like evidence: --group {shlex.quote(name)}.",
                (name,),
            )


def _find_turns(codes: Any) -> Any:
    """Columns whose values each fill rows that follow one another, in a file not sorted by them."""
    steps, n_values = np.diff(codes, axis=1), codes.max(axis=1) + 1
    n_turns = 1 + np.count_nonzero(steps, axis=1)
    is_sorted = (steps >= 0).all(axis=1) | (steps <= 0).all(axis=1)
    is_long = codes.shape[1] >= ROWS_IN_TURN * n_turns
    few = (n_values > FEW_COLUMNS) & (n_turns <= 1.1 * n_values)
    return np.flatnonzero(few & is_long & ~is_sorted)


def _find_alike(columns: list[Any]) -> Any:
    """A row and those far nearer to it than the next, if most rows have such others; else none."""
    from scipy.spatial import KDTree

    some = np.linspace(0, len(columns) - 1, min(len(columns), MANY_COLUMNS)).astype(int)
    columns = [columns[place][:MANY_ROWS].astype(float) for place in some]
    columns = [cells for cells in columns if np.isfinite(cells).all() and np.ptp(cells) > 0]
    if len(columns) < FEW_COLUMNS:
        return np.empty(0, dtype=int)
    X = np.column_stack([(cells - cells.mean()) / cells.std() for cells in columns])
    first = np.sort(np.unique(X, axis=0, return_index=True)[1])
    n_neighbors = min(GAP_ROWS + 2, first.size)
    if n_neighbors < 3:
        return np.empty(0, dtype=int)
    some = first[np.linspace(0, first.size - 1, min(first.size, MAX_COMPARED)).astype(int)]
    distances, places = KDTree(X[first]).query(X[some], n_neighbors)
    least = np.full(n_neighbors - 2, GAP)
    least[0] = PAIR_GAP
    is_gap = distances[:, 2:] > least * distances[:, 1:-1]
    has_gap = is_gap.any(axis=1)
    if has_gap.mean() <= GAP_SHARE:
        return np.empty(0, dtype=int)
    row = int(np.argmax(has_gap))
    return np.sort(first[places[row, : int(np.argmax(is_gap[row])) + 2]])


def _find_equal_rows(data: DataFile, codes: Any) -> Iterator[Finding]:
    import pandas as pd

    rows = pd.Series([row.tobytes() for row in np.ascontiguousarray(codes.T)], dtype=object)
    is_copy = rows.duplicated().to_numpy()
    if not is_copy.any():
        return
    is_first = (rows == rows[int(np.argmax(is_copy))]).to_numpy()
    n_copies, (first, second) = int(is_copy.sum()), data.ids[is_first][:2].tolist()
    n_others = int((is_copy & ~pd.DataFrame({"row": rows, "label": data.y}).duplicated()).sum())
    verb = "repeats" if n_copies == 1 else "repeat"
    yield Finding(
        "equal rows",
        f"{count(n_copies, 'row')} {verb} the values of another, such as row {quote(str(second))} "
        f"those of {quote(str(first))}{f', {n_others} with another class' if n_others else ''}.",
        "Delete copies; rows that remain are kept together when the accuracy is measured.",
        # Rows of a few categories are equal by chance.
        needs_action=(codes.max() + 1) * 2 > len(data),
    )


def _find_missing_codes(name: str, present: Any) -> Iterator[Finding]:
    found = set() if present.dtype == object else {present.min(), present.max()} & CODES
    for code in found:
        if _is_apart(present, code):
            n_cells = count(int((present == code).sum()), "cell")
            yield Finding(
                "missing codes",
                f"Column {quote(name)}: '{code:g}' in {n_cells} looks like a code for a missing "
                "value.",
                f"If it is one, add --missing {code:g}.",
                (name,),
            )


def _is_apart(values: Any, code: float) -> bool:
    """Whether a number lies apart from all others, as a code does."""
    others = values[values != code]
    if others.size < 2 or (abs(code) < 999 and values.size - others.size < 2):
        return False
    low, high = others.min(), others.max()
    if code == 0:
        # Counts begin with 1.
        return bool(low > 1 and low > FAR_FROM_ZERO * (high - low) > 0)
    return bool(code < 0 <= low or max(low - code, code - high) > high - low)


def _find_variants(
    name: str, cells: Any, what: str = "Column", kind: str = "category"
) -> Iterator[Finding]:
    """Texts that differ in case, spaces, hyphens or the encoding of accents only."""
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys([] if cells.dtype.kind in "iuf" else cells.tolist()):
        if isinstance(text, str):
            groups.setdefault(spell(text), []).append(text)
    for names in groups.values():
        if len(names) > 1:
            yield Finding(
                "variants",
                f"{what} {quote(name)}: {list_names(names)} look like one {kind} and count as "
                f"{len(names)}.",
                "Write them alike in the file, or add --merge-spellings.",
                (name,),
            )


def _find_numbers_as_text(data: DataFile, frame: Any) -> Iterator[Finding]:
    texts = [name for name, dtype in data.samples.dtypes.items() if dtype.kind not in "iuf"]
    for name in [*texts, *(name for name, reason in data.dropped.items() if "differ" in reason)]:
        if frame[name].dtype.kind in "iufb":
            continue
        present = [text for text in as_texts(frame[name]) if text is not None]
        starting = [text for text in present if STARTS_WITH_NUMBER.fullmatch(text)]
        n_distinct = len(set(present))
        if len(starting) >= MOSTLY * len(present) and n_distinct > max(10, len(present) / 10):
            shown = list_names(list(dict.fromkeys(starting))[:SHOWN])
            how = "left out" if name in data.dropped else "read as categories"
            yield Finding(
                "numbers as text",
                f"Column {quote(name)} is {how}, but its cells begin with numbers ({shown}).",
                "Write one number into each cell, without text and in the same unit.",
                (name,),
            )


def _find_counters(name: str, cells: Any) -> Iterator[Finding]:
    # The first two cells show it of most columns.
    if cells.dtype == object or len(cells) < MANY_ERRORS or not cells[0] < cells[1]:
        return
    if (np.diff(cells) > 0).all() and (np.mod(cells, 1) == 0).all():
        yield Finding(
            "identifier",
            f"Column {quote(name)} has whole numbers that rise from row to row, as the numbers of "
            "cases do.",
            f"If they name the rows, add --id {shlex.quote(name)}; to leave them out, "
            f"--drop {shlex.quote(name)}.",
            (name,),
        )


def _find_number_dates(name: str, present: Any) -> Iterator[Finding]:
    if present.dtype == object or (np.mod(present, 1) != 0).any():
        return
    month, day = present // 100 % 100, present % 100
    is_written = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    is_written &= (present >= 19_000_000) & (present < 21_000_000)
    if is_written.all():
        yield Finding(
            "dates",
            f"Column {quote(name)} looks like dates written as numbers, such as {present[0]:.0f}.",
            "Derive columns such as age, month or days between two dates, and leave it out: "
            f"--drop {shlex.quote(name)}.",
            (name,),
        )


def find_left_out(dropped: Mapping[str, str]) -> Iterator[Finding]:
    """Columns that are not learned from, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in dropped.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield Finding(
            "left out",
            f"Column{'s' * (len(names) > 1)} {list_names(names)} left out: {reason}.",
            columns=tuple(names),
            needs_action=False,
        )


def _show_counts(values: Any) -> str:
    counts = Counter(str(value) for value in values.tolist()).most_common()
    listed = ", ".join(f"{name} ({n})" for name, n in counts[:SHOWN])
    return listed + (f" and {len(counts) - SHOWN} more" if len(counts) > SHOWN else "")
