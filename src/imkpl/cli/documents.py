"""Documents for people who do not run commands: ``imkpl card`` and ``imkpl letter``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from imkpl._archive import write_file
from imkpl.cli.command import (
    DataArgument,
    ForceOption,
    JsonOption,
    KeyOption,
    MeasuredFile,
    ModelArgument,
    NewFile,
    option,
)
from imkpl.cli.output import check_ending, check_outputs, echo, echo_json, echo_note, progress_bar
from imkpl.cli.records import describe_model, read_again, read_key, say_wishes
from imkpl.cli.use import as_samples, choose_rows, explain_rows, load_model, read_for_model
from imkpl.readers import DataFile, InputError, ReadOptions

CARD_EXAMPLES = """
imkpl card m.imkpl
imkpl card m.imkpl data.csv --by sex --by site --output card.html
imkpl card m.imkpl new.csv --target class --output card.md
"""
LETTER_EXAMPLES = """
imkpl letter m.imkpl new.csv --row 3
imkpl letter m.imkpl new.csv --id patient --row p17 --output letter.html
"""
DOCUMENT_ENDINGS = (".md", ".html")
OutputOption = Annotated[
    Path | None,
    option(
        "--output --out",
        "Write it here: .html to print, or .md to edit. Without it, it is printed.",
    ),
]


def card(
    model: ModelArgument,
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Rows with classes to measure on: the file of the fit, of which only held-out "
            "rows are taken, or new ones.",
            show_default=False,
        ),
    ] = None,
    *,
    options: MeasuredFile,
    out: OutputOption = None,
    key: KeyOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a model card: purpose, data, figures by class and subgroup, records inside, limits.

    All figures are those of imkpl inspect and of the page; what only people know is left to fill
    in. Without data, the card has what the model file says.
    """
    check_outputs([out], [model, data, key], force=force)
    check_ending("--output", out, DOCUMENT_ENDINGS)
    from imkpl.report import summarize
    from imkpl.report.card import build_card

    contents = {"file": model.name, **describe_model(model, records=False)}
    page = None
    if data is None and options != ReadOptions():
        raise InputError("--by and --target name columns of a file, but there is none. Add a file.")
    if data is not None:
        estimator = load_model(model)
        rows, train, title = _read_rows(estimator, data, options, key)
        pair = None if train is None else (as_samples(estimator, train), train.y)
        with progress_bar("measuring"):
            page = summarize(
                estimator,
                as_samples(estimator, rows),
                rows.y,
                train=pair,
                by=rows.subgroups,
                title=title,
            )
    document = build_card(contents, say_wishes(contents), page)
    _write(document.to_markdown(), document.to_html(), out, "card", model, as_json=as_json)


def _read_rows(
    model: Any, path: Path, options: ReadOptions, key: Path | None
) -> tuple[DataFile, DataFile | None, str]:
    """Rows to measure on, the training rows if they are in the file, and what the first are."""
    origin = getattr(model, "provenance_", None) or {}
    if "reading" in origin and origin["is_pseudonymised"] and key is None:
        echo_note(f"Without --key, {path.name} cannot be told from the file of the fit.")
    elif "reading" in origin:
        try:
            whole = read_again(path, origin, None if key is None else read_key(key), by=options.by)
        except InputError:
            # Another file.
            pass
        else:
            is_test = np.isin(np.arange(len(whole)), origin["held_out_rows"])
            train = whole.take(np.flatnonzero(~is_test))
            if is_test.any():
                rows = whole.take(np.flatnonzero(is_test))
                return rows, train, f"the {len(rows)} held-out rows of {path.name}"
            return train, train, f"the rows of {path.name}, from which it has learned"
    rows = read_for_model(
        model,
        path,
        replace(options, target=options.target or origin.get("target")),
        needs_target=True,
    )
    return rows, None, f"the {len(rows)} rows of {path.name}"


def letter(
    model: ModelArgument,
    data: DataArgument,
    row: Annotated[str, option("--row", "The row to write about, by name or number.")],
    options: NewFile,
    out: OutputOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a letter about one decision, in plain words: one page for whom it concerns.

    It says what was answered, how sure the model is, which earlier cases decided, what spoke for
    and against, what would change the answer, what the model cannot know, and whom to ask, to be
    filled in. Other cases are neither named nor shown.
    """
    check_outputs([out], [model, data], force=force)
    check_ending("--output", out, DOCUMENT_ENDINGS)
    estimator = load_model(model)
    chosen = choose_rows(read_for_model(estimator, data, options), [row], every=False)
    origin = getattr(estimator, "provenance_", None) or {}
    measured = origin.get("folds") or origin.get("held_out")
    card = explain_rows(estimator, chosen).card(0)
    text, page = (card.letter(kind, measured=measured) for kind in ("text", "html"))
    _write(text, page, out, "letter", model, as_json=as_json)


def _write(
    text: str, page: str, out: Path | None, command: str, model: Path, *, as_json: bool
) -> None:
    """Write a document, or print its text."""
    if out is not None:
        write_file(out, (page if out.suffix.lower() == ".html" else text).encode())
    if as_json:
        where = None if out is None else str(out)
        echo_json({"command": command, "model": str(model), "out": where, "text": text})
    elif out is None:
        echo(text.rstrip())
    else:
        echo(f"{command.capitalize()} written to {out}. Fill in its blanks.")
