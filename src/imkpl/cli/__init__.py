"""The command ``imkpl``: one module per command, which parses, calls one function and prints.

What commands share is in `show` (what is printed), `outputs` (files that are written), `answering`
(errors and exit codes), `options`, `learning` (fit and measure) and `applying` (models and data for
them). This is the only home of typer and rich.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]

NEEDED = ("typer", "rich", "pandas")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``imkpl``; by default what the shell gave.
    """
    for package in NEEDED:
        if find_spec(package) is None:
            sys.stderr.write(
                f"The command line needs {package}, which is not installed. Install it with "
                "pip install 'imkpl[cli]'.\n"
            )
            raise SystemExit(1)
    from imkpl.cli.app import app

    app(args=None if arguments is None else list(arguments), prog_name="imkpl")
