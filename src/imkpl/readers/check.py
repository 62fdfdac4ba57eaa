"""What to correct in a table before a fit: every function looks for one kind of mistake."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from imkpl._checks import quote
from imkpl._progress import announce
from imkpl.readers.column_roles import DATES, ID_NAME, as_texts, find_missing
from imkpl.readers.data_file import DataFile, Finding, count, list_names

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
# Cells that are counted at a time.
BLOCK = 2**20
# Numbers that people write for a missing value, and 0 where it lies far from all others.
CODES = {sign * float("9" * digits) for sign in (-1, 1) for digits in range(1, 6)} - {9.0}
FAR_FROM_ZERO = 0.2
TEXT_CODES = {
    *("unknown", "unk", "missing", "not available", "not done", "not known", "n.a.", "n.d.", "nd"),
    *(".", "..", "unbekannt", "keine angabe", "k.a.", "k. a."),
}
PERSON = re.compile(
    r"(?i:(pat|patient|subject|person|participant|proband|donor|animal|volunteer|individual|customer|"
    r"client|pseudonym|mrn)(s|in)?([ _.-]*(id|nr|no|number|code|name|key))?)"
)
# So many values of a text column must repeat, always in one class, to look like persons.
MIN_REPEATED = 5
STARTS_WITH_NUMBER = re.compile(r"[<>≤≥~=±]*\s*[+-]?[.,]?\d.*", re.DOTALL)
MOSTLY = 0.8
DATE_NAME = re.compile(r"(?i:.*(date|datum|day|tag|birth|dob).*)")
# Days since 1900, as spreadsheets store dates: 1954 to 2064.
SERIAL_DATES = (20_000, 60_000)
SHOWN = 3


def describe_columns(data: DataFile) -> list[dict[str, Any]]:
    """How every column of a training file is read, and how to say otherwise."""
    uses: list[dict[str, Any]] = []

    def add(name: str, role: str, values: str, change: str, n_missing: int = 0) -> None:
        use = {"name": name, "role": role, "values": values, "n_missing": n_missing}
        uses.append({**use, "change": change})

    add(data.target or "y", "target", _show_counts(data.y), "--target COLUMN")
    if data.id_column is not None:
        n_names = len(set(data.ids.tolist()))
        add(data.id_column, "row names", f"{n_names} different", "--id COLUMN")
    if data.group_column is not None:
        add(data.group_column, "groups", f"{len(set(data.groups.tolist()))} different", "")
    for name, cells in ({} if data.is_series else _list_columns(data.samples)).items():
        present = _drop_missing(cells)
        if cells.dtype == object:
            role, values, other = "categories", _show_counts(present), "numbers"
        else:
            # Whole numbers may be dates, of which every digit counts.
            digits = ".10g" if (np.mod(present, 1) == 0).all() else ".5g"
            values = f"{present.min():{digits}} to {present.max():{digits}}"
            role, other = "numbers", "categories"
        add(name, role, values, f"--{other} {shlex.quote(name)}", len(cells) - len(present))
    for name, reason in data.dropped.items():
        is_empty = reason.startswith(("always", "no values"))
        change = "" if is_empty else f"--categories {shlex.quote(name)}"
        add(name, "left out", reason, change)
    return uses


def find_problems(data: DataFile, frame: Any) -> tuple[Finding, ...]:
    """All findings about a file, the gravest first; `frame` has its columns as they were parsed."""
    target = data.target or "y"
    found = [*_find_variants(target, data.y, "Target", "class"), *_find_rare_classes(data, target)]
    found += _find_imbalance(data, target)
    if frame is not None:
        columns = _list_columns(data.samples)
        announce("check", f"looking for mistakes in {len(columns)} columns")
        codes = np.array([_encode(cells) for cells in columns.values()], dtype=np.int32)
        found += _find_giveaways(data, columns, codes)
        found += _find_persons(data, frame)
        found += _find_equal_rows(data, codes)
        found += _find_numbers_as_text(data, frame)
        for look in (_find_missing_codes, _find_variants, _find_counters, _find_number_dates):
            for name, cells in columns.items():
                found += look(name, cells)
        found += find_left_out(data.dropped)
    return tuple(found)


def _list_columns(samples: Any) -> dict[str, Any]:
    """The cells of every column; pandas takes long to select numbers one column at a time."""
    is_number = np.array([kind.kind in "iuf" for kind in samples.dtypes])
    numbers = iter(np.ascontiguousarray(samples.loc[:, is_number].to_numpy(np.float64).T))
    texts = (cells.to_numpy() for _, cells in samples.loc[:, ~is_number].items())
    kinds = zip(samples.columns, is_number.tolist(), strict=True)
    return {name: next(numbers if one else texts) for name, one in kinds}


def _encode(cells: Any) -> Any:
    """A number for every cell, the same for equal ones; those of numbers are in their order."""
    import pandas as pd

    if cells.dtype == object:
        return pd.factorize(cells, use_na_sentinel=False)[0]
    return np.unique(cells, return_inverse=True)[1]


def _drop_missing(cells: Any) -> Any:
    is_missing = find_missing(cells) if cells.dtype == object else np.isnan(cells)
    return cells[~is_missing] if is_missing.any() else cells


def find_baseline(y: Any) -> tuple[Any, int]:
    """The most frequent class and its number of rows."""
    (best,) = Counter(y.tolist()).most_common(1)
    return best


def _find_rare_classes(data: DataFile, target: str) -> Iterator[Finding]:
    rare = {name: n for name, n in Counter(data.y.tolist()).items() if n < MIN_CLASS_ROWS}
    if rare:
        listed = ", ".join(f"{quote(str(name))} ({n})" for name, n in list(rare.items())[:SHOWN])
        more = ", ..." if len(rare) > SHOWN else ""
        yield Finding(
            "rare classes",
            f"Target {quote(target)}: {count(len(rare), 'class')} with fewer than "
            f"{MIN_CLASS_ROWS} rows: {listed}{more}.",
            "Add rows, correct labels that are misspelt, or leave such rows out with --drop-rare.",
            (target,),
            tuple(str(name) for name in rare)[:SHOWN],
        )


def _find_imbalance(data: DataFile, target: str) -> Iterator[Finding]:
    counts = [one for one in Counter(data.y.tolist()).most_common() if one[1] >= MIN_CLASS_ROWS]
    if counts and counts[0][1] >= IMBALANCE * counts[-1][1]:
        (large, n_large), (small, n_small) = counts[0], counts[-1]
        yield Finding(
            "imbalance",
            f"Target {quote(target)}: {n_large} rows are {quote(str(large))} and only {n_small} "
            f"are {quote(str(small))}.",
            "If errors in the rare class matter as much as in all others, add --balanced.",
            (target,),
        )


def _find_giveaways(data: DataFile, columns: dict[str, Any], codes: Any) -> Iterator[Finding]:
    rows = np.linspace(0, len(data) - 1, min(len(data), MAX_ROWS)).astype(int)
    labels = np.unique(data.y[rows], return_inverse=True)[1]
    n_errors = len(rows) - np.bincount(labels).max()
    if n_errors < MANY_ERRORS:
        return
    is_text = np.array([cells.dtype == object for cells in columns.values()])
    size = max(1, BLOCK // len(rows))
    blocks = [slice(start, start + size) for start in range(0, len(is_text), size)]
    counted = [_count_errors(codes[one][:, rows], labels, is_text[one]) for one in blocks]
    for name, n_left in zip(columns, np.concatenate(counted).tolist(), strict=True):
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


def _count_errors(codes: Any, labels: Any, is_text: Any) -> Any:
    """Rows for which each column does not tell the class: by its categories, or by intervals."""
    (n_columns, n_rows), n_classes, n_codes = codes.shape, labels.max() + 1, codes.max() + 1
    own = codes + n_codes * np.arange(n_columns)[:, np.newaxis]
    # Only the classes that occur with a code are counted: a table of all would be huge.
    pairs, counts = np.unique(own * n_classes + labels, return_counts=True)
    owners, classes = np.divmod(pairs, n_classes)
    order = np.lexsort((classes, -counts, owners))
    winners = order[np.append(True, np.diff(owners) > 0)]
    places = owners[winners] // n_codes
    n_errors = n_rows - np.bincount(places, counts[winners], n_columns)
    n_found = np.bincount(places, minlength=n_columns)
    is_change = (np.diff(classes[winners]) != 0) & (np.diff(places) == 0)
    n_intervals = 1 + np.bincount(places[1:][is_change], minlength=n_columns)
    # A row among those of another class makes two more intervals.
    n_errors += np.where(is_text, 0, np.maximum(n_intervals - n_classes, 0) / 2)
    is_unfit = (n_found < 2) | (is_text & (n_found * ROWS_PER_CATEGORY > n_rows))
    return np.where(is_unfit, np.inf, n_errors)


def _find_persons(data: DataFile, frame: Any) -> Iterator[Finding]:
    if data.groups is not None:
        return
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        is_used = name in (data.target, data.id_column) or data.dropped.get(name) == DATES
        if is_used or dtype.kind == "b":
            continue
        is_named = PERSON.fullmatch(name) or ID_NAME.fullmatch(name)
        if dtype.kind in "iuf" and not is_named:
            continue
        texts = as_texts(frame[name])
        sizes = Counter(text for text in texts if text is not None)
        n_present = sum(sizes.values())
        repeated = {text for text, n in sizes.items() if n > 1}
        # Sites and batches have more rows each.
        if not repeated or len(sizes) * 10 < n_present:
            continue
        if not is_named:
            pairs = set(zip(texts.tolist(), data.y.tolist(), strict=True))
            n_labels = Counter(text for text, _ in pairs)
            has_one_class = all(n_labels[text] == 1 for text in repeated)
            if len(repeated) < MIN_REPEATED or not has_one_class or len(sizes) * 5 < n_present:
                continue
        shown = sorted(repeated, key=lambda text: (-sizes[text], text))[:SHOWN]
        yield Finding(
            "repeated persons",
            f"Column {quote(name)} has {len(sizes)} different values in {n_present} rows, such as "
            f"{quote(shown[0])} in {sizes[shown[0]]}: rows of the same person or sample?",
            f"Then keep them together when the accuracy is measured: --group {shlex.quote(name)}.",
            (name,),
            tuple(shown),
        )


def _find_equal_rows(data: DataFile, codes: Any) -> Iterator[Finding]:
    import pandas as pd

    rows = pd.Series([row.tobytes() for row in np.ascontiguousarray(codes.T)], dtype=object)
    is_copy = rows.duplicated().to_numpy()
    if not is_copy.any():
        return
    is_equal = rows.duplicated(keep=False).to_numpy()
    same_label = pd.DataFrame({"row": rows, "label": data.y}).duplicated(keep=False).to_numpy()
    is_first = (rows == rows[int(np.argmax(is_copy))]).to_numpy()
    n_copies, shown = int(is_copy.sum()), tuple(map(str, data.ids[is_first][:2].tolist()))
    # Rows of a few categories are equal by chance.
    is_odd = (codes.max() + 1) * 2 > len(data)
    verb = "repeats" if n_copies == 1 else "repeat"
    yield Finding(
        "equal rows",
        f"{count(n_copies, 'row')} {verb} the values of another, such as row {quote(shown[1])} "
        f"those of {quote(shown[0])}.",
        "Delete copies; rows that remain are kept together when the accuracy is measured.",
        examples=shown,
        needs_action=is_odd,
    )
    n_contradictions = int((is_equal & ~same_label).sum())
    if n_contradictions:
        first = tuple(str(one) for one in data.ids[is_equal & ~same_label][:SHOWN])
        yield Finding(
            "contradictions",
            f"{count(n_contradictions, 'row')} (first: {quote(first[0])}) have the values of a row "
            "of another class.",
            "Correct the class, or add a column that tells them apart.",
            examples=first,
            needs_action=is_odd,
        )


def _find_missing_codes(name: str, cells: Any) -> Iterator[Finding]:
    present = _drop_missing(cells)
    if present.dtype == object:
        texts = Counter(text for text in present if text.casefold() in TEXT_CODES)
    else:
        found = {present.min(), present.max()} & (CODES | {0.0})
        codes = [code for code in found if _is_apart(present, code)]
        texts = Counter({f"{code:g}": int((present == code).sum()) for code in codes})
    for text, n in texts.items():
        yield Finding(
            "missing codes",
            f"Column {quote(name)}: {quote(text)} in {count(n, 'cell')} looks like a code for a "
            "missing value.",
            f"If it is one, add --missing {shlex.quote(text)}.",
            (name,),
            (text,),
        )


def _is_apart(values: Any, code: float) -> bool:
    """Whether a number lies apart from all others, as a code does."""
    others = values[values != code]
    if others.size < 2 or (abs(code) < 999 and values.size - others.size < 2):
        return False
    low, high = others.min(), others.max()
    if code == 0:
        return bool(low > FAR_FROM_ZERO * (high - low) > 0)
    if code < 0 <= low:
        return True
    return bool((low - code if code < low else code - high) > high - low)


def _find_variants(
    name: str, cells: Any, what: str = "Column", kind: str = "category"
) -> Iterator[Finding]:
    """Texts that differ in case, spaces, hyphens or the encoding of accents only."""
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys([] if cells.dtype.kind in "iuf" else cells.tolist()):
        if isinstance(text, str):
            spelt = unicodedata.normalize("NFKC", text).casefold()
            # Signs are kept where they say something, as in CD4+ and CD4-.
            groups.setdefault(re.sub(r"[\s_]+|(?<=\w)-(?=\w)", "", spelt), []).append(text)
    for names in groups.values():
        if len(names) > 1:
            yield Finding(
                "variants",
                f"{what} {quote(name)}: {list_names(names)} look like one {kind} and count as "
                f"{len(names)}.",
                "Write them alike in the file.",
                (name,),
                tuple(names),
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
            shown = tuple(dict.fromkeys(starting))[:SHOWN]
            how = "left out" if name in data.dropped else "read as categories"
            yield Finding(
                "numbers as text",
                f"Column {quote(name)} is {how}, but its cells begin with numbers "
                f"({list_names(shown)}).",
                "Write one number into each cell, without text and in the same unit.",
                (name,),
                shown,
            )


def _find_counters(name: str, cells: Any) -> Iterator[Finding]:
    # The first two cells show it of most columns; a missing cell is not greater than another.
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
            tuple(f"{number:g}" for number in cells[:SHOWN]),
        )


def _find_number_dates(name: str, cells: Any) -> Iterator[Finding]:
    present = _drop_missing(cells)
    if present.dtype == object or present[0] % 1 != 0 or (np.mod(present, 1) != 0).any():
        return
    month, day = present // 100 % 100, present % 100
    is_written = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    is_written &= (present >= 19_000_000) & (present < 21_000_000)
    is_serial = (present >= SERIAL_DATES[0]) & (present < SERIAL_DATES[1])
    if is_written.all() or (DATE_NAME.fullmatch(name) and is_serial.all()):
        yield Finding(
            "dates",
            f"Column {quote(name)} looks like dates written as numbers, such as {present[0]:.0f}.",
            "Derive columns such as age, month or days between two dates, and leave it out: "
            f"--drop {shlex.quote(name)}.",
            (name,),
            tuple(f"{number:.0f}" for number in present[:SHOWN]),
        )


def find_left_out(dropped: Mapping[str, str]) -> Iterator[Finding]:
    """Columns that are not learned from, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in dropped.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield Finding(
            "dates" if reason == DATES else "left out",
            f"Column{'s' * (len(names) > 1)} {list_names(names)} left out: {reason}.",
            columns=tuple(names),
            needs_action=False,
        )


def _show_counts(values: Any) -> str:
    counts = Counter(str(value) for value in values.tolist()).most_common()
    listed = ", ".join(f"{name} ({n})" for name, n in counts[:SHOWN])
    return listed + (f" and {len(counts) - SHOWN} more" if len(counts) > SHOWN else "")
