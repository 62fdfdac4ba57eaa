"""All commands together."""

from __future__ import annotations

from typing import Annotated

import typer

from imkpl import __version__
from imkpl.cli import check, describe, fit, use
from imkpl.cli.command import add_command, create_app

app = create_app(
    """Classifiers that show their reasons: prototypes, features, and why for each row.

What is wrong with a table: imkpl check data.csv --target class

A first page from it: imkpl fit data.csv --target class --report page.html

Exit codes: 0 done, 1 invalid input (one sentence says how) or findings of check,
2 wrong use of options, 3 an internal error of imkpl, 130 stopped with Ctrl-C."""
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"imkpl {__version__}")
        raise typer.Exit


@app.callback()
def set_up(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Options before the command."""


for command, examples in (
    (fit.demo, fit.DEMO_EXAMPLES),
    (check.check, check.CHECK_EXAMPLES),
    (fit.fit, fit.FIT_EXAMPLES),
    (use.predict, use.PREDICT_EXAMPLES),
    (use.explain, use.EXPLAIN_EXAMPLES),
    (use.report, use.REPORT_EXAMPLES),
    (use.export, use.EXPORT_EXAMPLES),
    (describe.inspect, describe.INSPECT_EXAMPLES),
    (describe.card, describe.CARD_EXAMPLES),
):
    add_command(app, command, examples)
