"""The command ``imkpl``: `fit` learns (check, fit, demo), `use` has all other commands.

`command` has what commands share (options, printing, errors and exit codes), and `models` what they
ask of a fitted model, and how accuracy is measured. This is the only home of typer and rich.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

__all__ = ["main"]

HELP = """Classifiers that show their reasons: prototypes, features, and why for each row.

What is wrong with a table: imkpl check data.csv --target class

A first page from it: imkpl fit data.csv --target class --report page.html

Exit codes: 0 done, 1 invalid input (one sentence says how) or findings of check,
2 wrong use of options, 3 an internal error of imkpl, 130 stopped with Ctrl-C."""
NEEDED = ("typer", "rich", "pandas", "jinja2")
INTERRUPTED = 130
INTERRUPTION = "Stopped with Ctrl-C. No file is incomplete."
# Moves to the start of the line, clears a progress bar and shows the cursor again.
RESET_LINE = "\r\x1b[K\x1b[?25h"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments after ``imkpl``; those of the shell by default.
    """
    with _stopping():
        for package in NEEDED:
            if find_spec(package) is None:
                sys.stderr.write(
                    f"The command line needs {package}, which is not installed. Install it with "
                    "pip install 'imkpl[cli]'.\n"
                )
                raise SystemExit(1)
        build_app()(args=None if arguments is None else list(arguments), prog_name="imkpl")


def build_app() -> typer.Typer:
    """All commands together."""
    from imkpl.cli import fit, use
    from imkpl.cli.command import add_command, create_app

    app = create_app(HELP)
    for command, examples in (
        (fit.demo, fit.DEMO_EXAMPLES),
        (fit.check, fit.CHECK_EXAMPLES),
        (fit.fit, fit.FIT_EXAMPLES),
        (fit.path, fit.PATH_EXAMPLES),
        (use.predict, use.PREDICT_EXAMPLES),
        (use.explain, use.EXPLAIN_EXAMPLES),
        (use.report, use.REPORT_EXAMPLES),
        (use.export, use.EXPORT_EXAMPLES),
        (use.inspect, use.INSPECT_EXAMPLES),
        (use.card, use.CARD_EXAMPLES),
    ):
        add_command(app, command, examples)
    return app


@contextlib.contextmanager
def _stopping() -> Iterator[None]:
    """Let Ctrl-C end the process with a sentence, also while packages are imported."""
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_usual or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(number: int, frame: FrameType | None) -> None:
    """Exit at once: an exception would be swallowed or replaced by imports and compiled code."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "imkpl._writing":
            # What writes files takes away those that are not complete.
            raise KeyboardInterrupt
        frame = frame.f_back
    # Not sys.stderr, which may be in the middle of a write.
    with contextlib.suppress(OSError):
        start = RESET_LINE if os.isatty(2) else ""
        os.write(2, f"{start}imkpl: {INTERRUPTION}\n".encode())
    os._exit(INTERRUPTED)
