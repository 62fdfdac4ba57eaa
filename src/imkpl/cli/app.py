"""All commands together."""

from __future__ import annotations

from typing import Annotated

import typer

from imkpl import __version__
from imkpl.cli.compare import compare
from imkpl.cli.demo import demo
from imkpl.cli.explain import explain
from imkpl.cli.fit import fit
from imkpl.cli.predict import predict
from imkpl.cli.report import report

HELP = """Classifiers that show their reasons: prototypes, features, and why for each row.

A first page from a table: imkpl fit data.csv --target class --report page.html

Exit codes: 0 done, 1 the input is at fault (one sentence says how), 2 wrong use of options,
3 a fault of imkpl, 130 stopped with Ctrl-C."""

# Names in files may look like markup, so nothing is marked up.
app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
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


for _command in (demo, fit, predict, explain, report, compare):
    _command.register(app)
