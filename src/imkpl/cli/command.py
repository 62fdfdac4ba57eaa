"""What commands share: options, and errors that become one sentence and an exit code."""

from __future__ import annotations

import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from imkpl.cli import INTERRUPTED, INTERRUPTION
from imkpl.cli.output import echo_error, echo_note
from imkpl.readers import InputError, ReadOptions
from imkpl.readers.data_file import list_names
from imkpl.readers.formats import FORMATS

INPUT_ERROR, INTERNAL_ERROR = 1, 3


def option(names: str, text: str, **more: Any) -> Any:
    """An option for typer: its names, and what --help says of it."""
    return typer.Option(*names.split(), help=text, **more)


def _optional(kind: Any, name: str, text: str) -> Any:
    return Annotated[kind | None, option(name, text)]


DataArgument: TypeAlias = Annotated[
    Path, typer.Argument(readable=False, help=f"A file {FORMATS}.", show_default=False)
]
ModelArgument: TypeAlias = Annotated[
    Path, typer.Argument(readable=False, help="A file that imkpl fit wrote.", show_default=False)
]


# What can be said about a file: fields of ReadOptions, and their options.
READING: dict[str, Any] = {
    # A list, because of several targets an option that takes one would keep the last.
    "target": Annotated[
        list[str] | None, option("--target", "Column with the classes.", metavar="<str>")
    ],
    "id_column": _optional(str, "--id", "Column with the row names."),
    "group": _optional(
        str,
        "--group",
        "Column of persons, or of whatever several rows belong to. Their rows are never on both "
        "sides when the accuracy is measured.",
    ),
    "drop": _optional(list[str], "--drop", "Leave out this column; may be repeated."),
    "categories": _optional(
        list[str], "--categories", "Read this column as categories; may be repeated."
    ),
    "numbers": _optional(list[str], "--numbers", "Read this column as numbers; may be repeated."),
    "eligible": _optional(
        str, "--eligible", "Column of yes and no: which rows may be shown in prototypes."
    ),
    "missing": _optional(
        list[str],
        "--missing",
        "A cell that means missing, such as -999; may be repeated.",
    ),
    "by": _optional(
        list[str],
        "--by",
        "Measure each subgroup of rows with the same value in this column; may be repeated.",
    ),
    "separator": _optional(
        str,
        "--separator",
        "Separator of cells: a character, or tab, comma, semicolon, space, pipe.",
    ),
}
NEW = ("id_column", "missing", "separator")
# Parameters of these types become options: of a file to learn from, to measure on in subgroups, to
# measure on, and without classes.
TrainingFile: TypeAlias = Annotated[ReadOptions, tuple(name for name in READING if name != "by")]
MeasuredFile: TypeAlias = Annotated[ReadOptions, ("target", "by", *NEW)]
LabelledFile: TypeAlias = Annotated[ReadOptions, ("target", *NEW)]
NewFile: TypeAlias = Annotated[ReadOptions, NEW]
JsonOption: TypeAlias = Annotated[bool, option("--json", "Print one JSON object and nothing else.")]
ForceOption: TypeAlias = Annotated[bool, option("--force", "Replace existing files.")]
SpreadsheetOption: TypeAlias = Annotated[
    bool,
    option(
        "--spreadsheet-safe",
        "Put an apostrophe before cells of the .csv that a spreadsheet would run.",
    ),
]
DebugOption: TypeAlias = Annotated[bool, option("--debug", "Show the traceback of an error.")]


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
    """Add a function with typer's annotations as a command with --debug.

    A parameter whose type is a dataclass becomes an option for each of its fields.
    """
    signature = inspect.signature(function, eval_str=True)
    groups = {name: _list_options(one) for name, one in signature.parameters.items()}
    debug = inspect.Parameter(
        "debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=DebugOption
    )
    options = [one for group in groups.values() for one in group] + [debug]

    def run(*, debug: bool, **given: Any) -> None:
        with handle_errors(debug=debug):
            for name, group in groups.items():
                if [one.name for one in group] != [name]:
                    asked = {one.name: given.pop(one.name) for one in group}
                    given[name] = _build(signature.parameters[name].annotation, asked)
            function(**given)

    # This is what typer reads.
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in options}
    text = inspect.getdoc(function) or ""
    shown = "\n".join(f"  {line}" for line in examples.strip().splitlines())
    # The mark keeps typer from joining the lines.
    full = f"{text}\n\n\b\nExamples:\n{shown}"
    app.command(function.__name__, help=full, short_help=text.splitlines()[0])(run)


def _list_options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """The options that a parameter of a command stands for."""
    kind = getattr(parameter.annotation, "__origin__", parameter.annotation)
    if not is_dataclass(kind):
        return [parameter.replace(kind=parameter.KEYWORD_ONLY)]
    hints = READING if kind is ReadOptions else get_type_hints(kind, include_extras=True)
    wanted = getattr(parameter.annotation, "__metadata__", [hints])[0]
    defaults = {one.name: None if one.default == () else one.default for one in fields(kind)}
    return [
        parameter.replace(
            name=name, default=defaults[name], annotation=hints[name], kind=parameter.KEYWORD_ONLY
        )
        for name in wanted
    ]


def _build(annotation: Any, asked: dict[str, Any]) -> Any:
    """A dataclass of what the options say; those that can be repeated are tuples."""
    if "target" in asked:
        targets = asked.pop("target") or [None]
        asked["target"] = targets[0]
        if len(targets) > 1:
            raise InputError(
                f"--target is given {len(targets)} times ({list_names(targets)}), expected one "
                "column. Fit a model for each, with --drop for the others."
            )
    kind = getattr(annotation, "__origin__", annotation)
    return kind(
        **{k: tuple(v) if isinstance(v, list) else v for k, v in asked.items() if v is not None}
    )


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
