"""``imkpl report``: a page about a model and some rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from imkpl.cli.answering import Command
from imkpl.cli.applying import as_samples, load_model, read_for_model
from imkpl.cli.fit import PAGES, require_report
from imkpl.cli.options import (
    DataArgument,
    DebugOption,
    ForceOption,
    IdOption,
    JsonOption,
    ModelArgument,
    SeparatorOption,
    TargetOption,
    XKeyOption,
    YKeyOption,
)
from imkpl.cli.outputs import check_ending, check_outputs
from imkpl.cli.show import note, say, say_json
from imkpl.readers import ReadOptions

EXAMPLES = """
imkpl report m.imkpl data.csv --target class --out page.html
imkpl report m.imkpl data.csv --target class --id patient --out page.html --title "Trial 2"
"""


def _report(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[Path, typer.Option("--out", help="Write the page (.html) here.")],
    target: TargetOption = None,
    title: Annotated[
        str | None, typer.Option("--title", help="The heading of the page.", show_default=False)
    ] = None,
    identifier: IdOption = None,
    separator: SeparatorOption = None,
    x_key: XKeyOption = None,
    y_key: YKeyOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Write a page that shows prototypes, features, and the reason for each decision.

    The page is one file that needs no network. Take rows that the model was not fitted to, else its
    accuracy says little.
    """
    check_outputs([out], [model, data], force=force)
    check_ending("--out", out, PAGES)
    require_report()
    from imkpl.report import write_report

    estimator = load_model(model)
    options = ReadOptions(target, identifier, separator, x_key, y_key)
    rows = read_for_model(estimator, data, options, needs_target=True)
    for text in rows.notes:
        note(text)
    samples = as_samples(estimator, rows)
    write_report(estimator, samples, rows.y, out, title=title or data.stem)
    accuracy = float(np.mean(estimator.predict(samples) == rows.y))
    if as_json:
        say_json(
            {
                "command": "report",
                "model": str(model),
                "file": str(data),
                "out": str(out),
                "notes": list(rows.notes),
                "rows": len(rows),
                "accuracy": accuracy,
            }
        )
    else:
        say(f"Report on {len(rows)} rows ({accuracy:.1%} right) written to {out}.")


report = Command("report", _report, EXAMPLES)
