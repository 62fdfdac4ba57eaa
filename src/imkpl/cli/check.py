"""``imkpl check``: what to correct in a table before a fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from imkpl.cli.command import INPUT_ERROR, Answer, DataArgument, TrainingFile
from imkpl.cli.output import echo, echo_note, echo_table, progress_bar
from imkpl.readers import read_training_file
from imkpl.readers.check import describe_columns, find_baseline
from imkpl.readers.data_file import DataFile, count

CHECK_EXAMPLES = """
imkpl check data.csv --target class
imkpl check data.csv --target class --missing -999 --categories ward
imkpl check visits.csv --target diagnosis --group patient --json
"""
# Columns on a screen; --json has all of them.
MAX_SHOWN = 40
# Findings of a kind on a screen.
MAX_ALIKE = 3


def check(data: DataArgument, options: TrainingFile) -> Answer:
    """Say how a file is read and what to correct in it, before a fit.

    Nothing is written. The exit code is 0 if there is nothing to do, 1 if there are findings or if
    the file cannot be read. imkpl fit takes the same options.
    """
    with progress_bar("reading"):
        read = read_training_file(data, options)
    label, n_rows = find_baseline(read.y)
    answer: dict[str, Any] = {
        "file": data,
        "notes": read.notes,
        "rows": len(read),
        "columns": describe_columns(read),
        "findings": [asdict(one) for one in read.findings],
        "baseline": {"class": label, "rows": n_rows, "accuracy": n_rows / len(read)},
    }
    has_task = any(one.needs_action for one in read.findings)
    return Answer(answer, _echo_check, INPUT_ERROR if has_task else 0)


def _echo_check(answer: dict[str, Any]) -> None:
    _echo_notes(answer["notes"], answer["findings"])
    if len(answer["columns"]) == 1:
        echo_note("Of time series, only the classes are checked.")
    head = ("column", "read as", "values", "missing", "to change it")
    rows = [
        (one["name"], one["role"], one["values"], one["n_missing"] or "", one["change"])
        for one in answer["columns"]
    ]
    echo_table(head, rows, MAX_SHOWN)
    for title, is_task in (("To do", True), ("Good to know", False)):
        findings = [one for one in answer["findings"] if one["needs_action"] == is_task]
        if findings:
            echo("", f"{title}:")
        for text, advice in _list_findings(findings):
            echo(f"* {text}")
            if advice:
                echo(f"  {advice}")
    n_tasks = sum(one["needs_action"] for one in answer["findings"])
    base = answer["baseline"]
    echo(
        "",
        f"Baseline to beat: {base['accuracy']:.1%} ({base['rows']} of {answer['rows']} rows are "
        f"{str(base['class'])!r}).",
        f"{count(n_tasks, 'finding')} to act on." if n_tasks else "Nothing to do.",
    )


def _echo_notes(notes: Iterable[str], findings: Iterable[dict[str, Any]]) -> None:
    """Print the notes that are not said again by findings."""
    said = {one["text"] for one in findings}
    for text in notes:
        if text not in said:
            echo_note(text)


def _list_findings(findings: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Text and advice of the first findings of every kind, and how many more there are."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for one in findings:
        kinds.setdefault(one["kind"], []).append(one)
    for found in kinds.values():
        yield from ((one["text"], one["advice"]) for one in found[:MAX_ALIKE])
        if len(found) > MAX_ALIKE:
            yield f"... and {len(found) - MAX_ALIKE} more of this kind (imkpl check --json).", ""


def echo_findings(data: DataFile) -> None:
    """Print, before a fit, how columns are read and what the check finds."""
    findings = [asdict(one) for one in data.findings if one.needs_action]
    _echo_notes(data.notes, findings)
    if not data.is_series:
        kinds = [] if data.is_on_disk else data.samples.dtypes
        n_text = sum(kind.kind not in "iuf" for kind in kinds)
        parts = [count(data.samples.shape[1] - n_text, "column") + " of numbers"]
        parts += [f"{n_text} of categories"] * (n_text > 0)
        parts += [f"{len(data.dropped)} left out"] * bool(data.dropped)
        echo_note(f"{', '.join(parts)} (listed by imkpl check).")
    for text, advice in _list_findings(findings):
        echo_note(f"{text} {advice}".strip())
