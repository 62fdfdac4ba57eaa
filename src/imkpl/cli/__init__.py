"""The command ``imkpl``: `check`, `fit` (with demo), `use` (predict, explain, report, export) and
`describe` (inspect, card).

`command` has what commands share (options, errors and exit codes), `models` what they ask of a
fitted model, `measure` how accuracy is measured, and `output` what they print and write. This is
the only home of typer and rich.
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

__all__ = ["main"]

NEEDED = ("typer", "rich", "pandas")
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
        from imkpl.cli.app import app

        app(args=None if arguments is None else list(arguments), prog_name="imkpl")


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
    """Raise KeyboardInterrupt within a command, and exit at once where that would go wrong.

    An exception during an import or a compilation may be swallowed, replaced by an ImportError, or
    end in a crash, because C code called Python. Nothing is written there, so nothing needs to be
    tidied up.
    """
    is_command = is_import = False
    while frame is not None:
        is_command |= frame.f_globals.get("__name__") == "imkpl.cli.command"
        is_import |= frame.f_code.co_filename.startswith("<frozen importlib")
        is_import |= str(frame.f_globals.get("__name__")).startswith(("numba.", "llvmlite."))
        frame = frame.f_back
    if is_command and not is_import:
        raise KeyboardInterrupt
    # Not sys.stderr, which may be in the middle of a write.
    with contextlib.suppress(OSError):
        start = RESET_LINE if os.isatty(2) else ""
        os.write(2, f"{start}imkpl: {INTERRUPTION}\n".encode())
    os._exit(INTERRUPTED)
