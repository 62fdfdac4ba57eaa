"""The command ``imkpl``: `fit` (with demo) and `use` (predict, explain, report, compare).

`command` has what commands share (options, errors and exit codes), `output` what they print and
write. This is the only home of typer and rich.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]

NEEDED = ("typer", "rich", "pandas")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments after ``imkpl``; those of the shell by default.
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
