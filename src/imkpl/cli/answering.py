"""How a command ends: with an answer, or with one sentence and an exit code."""

from __future__ import annotations

import functools
import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer

from imkpl.cli.show import complain, note

INPUT_AT_FAULT, IMKPL_AT_FAULT, INTERRUPTED = 1, 3, 130


@dataclass(frozen=True)
class Command:
    """A function to be run from a shell.

    Parameters
    ----------
    name : str
        What it is called there.
    function : function
        With annotations of typer, and a parameter `debug`.
    examples : str
        What to type, one line each.
    """

    name: str
    function: Callable[..., None]
    examples: str

    def register(self, app: typer.Typer) -> None:
        """Add the command to an app."""
        text = inspect.getdoc(self.function) or ""
        shown = "\n".join(f"  {line}" for line in self.examples.strip().splitlines())
        # The mark keeps the help's lines as they are.
        full = f"{text}\n\n\b\nExamples:\n{shown}"
        app.command(self.name, help=full, short_help=text.splitlines()[0])(self._answering())

    def _answering(self) -> Callable[..., None]:
        @functools.wraps(self.function)
        def run(*args: Any, **kwargs: Any) -> None:
            with ending_well(debug=bool(kwargs.get("debug"))):
                self.function(*args, **kwargs)

        return run


@contextmanager
def ending_well(*, debug: bool) -> Iterator[None]:
    """Turn errors into a sentence and an exit code, warnings into notes."""
    try:
        with _noted_warnings():
            yield
    # What reads the output went away; typer knows how to end quietly.
    except (BrokenPipeError, typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        complain("Stopped with Ctrl-C. No file was left half written.")
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, OSError, ImportError) as error:
        _show_trace(debug=debug)
        complain(_as_sentence(error))
        raise typer.Exit(INPUT_AT_FAULT) from None
    except MemoryError:
        _show_trace(debug=debug)
        complain("The data do not fit into memory. Use fewer rows or columns.")
        raise typer.Exit(INPUT_AT_FAULT) from None
    except Exception as error:
        _show_trace(debug=debug)
        hint = "" if debug else " Run again with --debug to see where."
        complain(f"This is a fault of imkpl, not of your data ({_name(error)}).{hint}")
        raise typer.Exit(IMKPL_AT_FAULT) from None


@contextmanager
def _noted_warnings() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        finally:
            said = dict.fromkeys(str(one.message) for one in caught if _is_for_users(one.category))
            for text in said:
                note(text)


def _is_for_users(category: type[Warning]) -> bool:
    return not issubclass(category, DeprecationWarning | PendingDeprecationWarning | FutureWarning)


def _show_trace(*, debug: bool) -> None:
    if debug:
        typer.echo(traceback.format_exc(), err=True)


def _as_sentence(error: Exception) -> str:
    """Errors of the system get the name of the file in front, not a number."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename} cannot be used: {error.strerror.lower()}."
    return str(error) or type(error).__name__


def _name(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
