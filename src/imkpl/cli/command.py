"""What commands share: options, and errors that become one sentence and an exit code."""

from __future__ import annotations

import functools
import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from imkpl.cli import INTERRUPTED, INTERRUPTION
from imkpl.cli.output import echo_error, echo_note
from imkpl.readers import ReadOptions
from imkpl.readers.formats import FORMATS

INPUT_ERROR, INTERNAL_ERROR = 1, 3

DataArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(
        readable=False,
        help=f"A file {FORMATS}.",
        show_default=False,
    ),
]
ModelArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(readable=False, help="A file that imkpl fit wrote.", show_default=False),
]
TargetOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--target", help="Column with the classes.", show_default=False),
]
IdOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--id", help="Column with the row names.", show_default=False),
]
SeparatorOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--separator",
        help="Separator of cells: a character, or tab, comma, semicolon, space, pipe.",
        show_default=False,
    ),
]
GroupOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--group",
        help="Column of persons, or of whatever several rows belong to. Their rows are never on "
        "both sides when the accuracy is measured.",
        show_default=False,
    ),
]
DropOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--drop", help="Leave out this column; may be repeated.", show_default=False),
]
CategoriesOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--categories", help="Read this column as categories; may be repeated.", show_default=False
    ),
]
NumbersOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--numbers", help="Read this column as numbers; may be repeated.", show_default=False
    ),
]
MissingOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        help="A cell that means missing, such as -999; may be repeated.",
        show_default=False,
    ),
]
XKeyOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--x-key", help="Array of samples in .npz and .mat files.", show_default=False),
]
YKeyOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--y-key", help="Array of labels in .npz and .mat files.", show_default=False),
]
KeyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--key",
        help="File with the key of pseudonyms; fit --pseudonymise writes a new one if there is "
        "none. Without it, a key is used once and thrown away.",
        show_default=False,
    ),
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else.")
]
ForceOption: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
SpreadsheetOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="Put an apostrophe before cells of the .csv that a spreadsheet would run.",
    ),
]
DebugOption: TypeAlias = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error.")
]


def read_options(**given: Any) -> ReadOptions:
    """What the options of a command say about a file; those that can be repeated are lists."""
    for name in ("drop", "categories", "numbers", "missing"):
        given[name] = tuple(given.get(name) or ())
    return ReadOptions(**given)


def create_app(text: str) -> typer.Typer:
    """A command line without commands."""
    # Names in files may look like markup, so no markup is interpreted.
    return typer.Typer(
        help=text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


def add_command(app: typer.Typer, function: Callable[..., None], examples: str) -> None:
    """Add a function with typer's annotations and a parameter `debug` as a command."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        with handle_errors(debug=bool(kwargs.get("debug"))):
            function(*args, **kwargs)

    text = inspect.getdoc(function) or ""
    shown = "\n".join(f"  {line}" for line in examples.strip().splitlines())
    # The mark keeps typer from joining the lines.
    full = f"{text}\n\n\b\nExamples:\n{shown}"
    app.command(function.__name__, help=full, short_help=text.splitlines()[0])(run)


@contextmanager
def handle_errors(*, debug: bool) -> Iterator[None]:
    """Turn errors into a sentence and an exit code, and warnings into notes."""
    try:
        with _noted_warnings():
            yield
    # Whoever reads the output went away; typer knows how to end quietly.
    except (BrokenPipeError, typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        echo_error(INTERRUPTION)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            typer.echo(traceback.format_exc(), err=True)
        message, code = _describe(error, debug=debug)
        echo_error(message)
        raise typer.Exit(code) from None


@contextmanager
def _noted_warnings() -> Iterator[None]:
    for_developers = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        finally:
            shown = [one for one in caught if not issubclass(one.category, for_developers)]
            for text in dict.fromkeys(str(one.message) for one in shown):
                echo_note(text)


def _describe(error: Exception, *, debug: bool) -> tuple[str, int]:
    """Message and exit code of an error."""
    name, text = type(error).__name__, str(error)
    if isinstance(error, MemoryError):
        return "The data do not fit into memory. Use fewer rows or columns.", INPUT_ERROR
    # Errors of the system have a number; the name of the file says more.
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename} cannot be used: {error.strerror.lower()}.", INPUT_ERROR
    if isinstance(error, ValueError | OSError | ImportError):
        return text or name, INPUT_ERROR
    hint = "" if debug else " Run again with --debug to see where."
    shown = f"{name}: {text}" if text else name
    return f"This is an error in imkpl, not in your data ({shown}).{hint}", INTERNAL_ERROR
