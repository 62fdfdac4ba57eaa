"""``imkpl explain``: the reasons for the classes of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from imkpl.cli.answering import Command
from imkpl.cli.applying import explain_rows, load_model, read_for_model
from imkpl.cli.options import (
    DataArgument,
    DebugOption,
    ForceOption,
    IdOption,
    JsonOption,
    ModelArgument,
    SeparatorOption,
    XKeyOption,
)
from imkpl.cli.outputs import check_ending, check_outputs, write_text
from imkpl.cli.show import as_json as to_json
from imkpl.cli.show import note, say, say_json
from imkpl.readers import DataFile, InputError, ReadOptions

EXAMPLES = """
imkpl explain m.imkpl new.csv
imkpl explain m.imkpl new.csv --id patient --row p17 --row p4
imkpl explain m.imkpl new.csv --out reasons.csv
imkpl explain m.imkpl new.csv --all --json
"""
SHOWN = 5


def _explain(
    model: ModelArgument,
    data: DataArgument,
    row: Annotated[
        list[str] | None,
        typer.Option("--row", help="Explain this row; may be repeated.", show_default=False),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help=f"Explain all rows, not only the first {SHOWN}.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write all rows, or those asked for: .csv has what every feature adds to the "
            "winning class's score through every prototype, .json everything.",
            show_default=False,
        ),
    ] = None,
    identifier: IdOption = None,
    separator: SeparatorOption = None,
    x_key: XKeyOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Say why rows get their classes: prototypes, training rows behind them, and features.

    Rows are asked for by their name (--id) or by their number from 1.
    """
    check_outputs([out], [model, data], force=force)
    check_ending("--out", out, (".csv", ".json"))
    estimator = load_model(model)
    rows = read_for_model(estimator, data, ReadOptions(None, identifier, separator, x_key))
    for text in rows.notes:
        note(text)
    chosen = choose_rows(rows, row or [], every=every or out is not None)
    explanation = explain_rows(estimator, chosen)
    answer = {
        "command": "explain",
        "model": str(model),
        "file": str(data),
        "notes": list(rows.notes),
        **explanation.to_dict(),
    }
    if out is not None:
        frame = None if out.suffix.lower() == ".json" else explanation.to_frame("contributions")
        text = to_json(answer) if frame is None else frame.to_csv(index=False, lineterminator="\n")
        write_text(out, text)
    if as_json:
        say_json(answer)
    elif out is not None:
        say(f"Reasons for {len(chosen)} rows written to {out}.")
    else:
        say(str(explanation))
        if len(chosen) < len(rows) and not row:
            say(f"\n... and {len(rows) - len(chosen)} more rows (--row NAME, --all)")


def choose_rows(data: DataFile, names: list[str], *, every: bool) -> DataFile:
    """The rows to explain."""
    if not names:
        return data if every else data.take(np.arange(min(SHOWN, len(data))))
    places = {str(name): place for place, name in enumerate(data.ids.tolist())}
    for name in names:
        if name not in places:
            shown = ", ".join(list(places)[:3])
            raise InputError(
                f"There is no row {name!r}; the rows are called {shown}, ... Name their column "
                "with --id, or number them from 1."
            )
    return data.take(np.array([places[name] for name in dict.fromkeys(names)]))


explain = Command("explain", _explain, EXAMPLES)
