"""``imkpl predict``: the classes of new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
from imkpl.cli.show import note, say, say_json, say_table
from imkpl.readers import DataFile, ReadOptions

EXAMPLES = """
imkpl predict m.imkpl new.csv
imkpl predict m.imkpl new.csv --id patient --out classes.csv
imkpl predict m.imkpl new.csv --reject --json
"""
SHOWN = 20


def _predict(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write all rows here (.csv or .json).", show_default=False),
    ] = None,
    reject: Annotated[
        bool, typer.Option("--reject", help="Give no class to rows unlike anything seen.")
    ] = False,
    identifier: IdOption = None,
    separator: SeparatorOption = None,
    x_key: XKeyOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Classify the rows of a file: class, probability of every class, novelty.

    Columns are found by name: columns that the model does not know are ignored, those that it
    knows and does not look at may be missing. Novelty is 0 for a row like those seen in training
    and 1 for one like nothing.
    """
    check_outputs([out], [model, data], force=force)
    check_ending("--out", out, (".csv", ".json"))
    estimator = load_model(model)
    rows = read_for_model(estimator, data, ReadOptions(None, identifier, separator, x_key))
    for text in rows.notes:
        note(text)
    answer = describe_predictions(estimator, rows, reject=reject)
    answer.update(model=str(model), file=str(data), out=None if out is None else str(out))
    if out is not None:
        write_text(out, to_json(answer) if out.suffix.lower() == ".json" else _as_csv(answer))
    if as_json:
        say_json(answer)
    else:
        say_predictions(answer)


def describe_predictions(model: Any, data: DataFile, *, reject: bool) -> dict[str, Any]:
    """Classes, probabilities and novelty of rows."""
    found = explain_rows(model, data)
    names = [str(label) for label in found.classes]
    predicted = np.array(found.predicted, dtype=object)
    if reject:
        predicted[found.is_novel] = None
    rows = [
        {
            "id": data.ids[row],
            "prediction": predicted[row],
            "probabilities": dict(zip(names, found.probabilities[row].tolist(), strict=True)),
            "novelty": float(found.novelty[row]),
            "is_novel": bool(found.is_novel[row]),
        }
        for row in range(len(data))
    ]
    return {
        "command": "predict",
        "notes": list(data.notes),
        "classes": list(found.classes),
        "novelty_threshold": float(found.novelty_threshold),
        "rows": rows,
    }


def say_predictions(answer: dict[str, Any]) -> None:
    """Print the first rows of what `describe_predictions` found."""
    rows = answer["rows"]
    cells = [
        [
            str(row["id"]),
            _show_class(row["prediction"]),
            f"{max(row['probabilities'].values()):.0%}",
            f"{row['novelty']:.2f}",
            "unlike anything seen" if row["is_novel"] else "",
        ]
        for row in rows[:SHOWN]
    ]
    if answer["out"] is None:
        say_table(("row", "class", "probability", "novelty", ""), cells)
        if len(rows) > SHOWN:
            say(f"... and {len(rows) - SHOWN} more; --out classes.csv writes all")
    else:
        say(f"{len(rows)} rows written to {answer['out']}.")
    n_novel = sum(row["is_novel"] for row in rows)
    if n_novel:
        verb = "are" if n_novel > 1 else "is"
        say(
            f"{n_novel} of {len(rows)} rows {verb} unlike anything seen in training (novelty above "
            f"{answer['novelty_threshold']:.2f})."
        )


def _show_class(label: Any) -> str:
    return "(none)" if label is None else str(label)


def _as_csv(answer: dict[str, Any]) -> str:
    import pandas as pd

    names = [str(label) for label in answer["classes"]]
    table: dict[str, list[Any]] = {
        "id": [row["id"] for row in answer["rows"]],
        "prediction": [row["prediction"] for row in answer["rows"]],
    }
    for name in names:
        table[f"probability {name}"] = [row["probabilities"][name] for row in answer["rows"]]
    table["novelty"] = [row["novelty"] for row in answer["rows"]]
    table["is_novel"] = [row["is_novel"] for row in answer["rows"]]
    text: str = pd.DataFrame(table).to_csv(index=False, lineterminator="\n")
    return text


predict = Command("predict", _predict, EXAMPLES)
