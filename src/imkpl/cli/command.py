"""What commands share: options, answers, what is printed, and errors that become one sentence.

Answers go to standard output, everything else to standard error.
"""

import inspect
import io
import json
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar
from rich.table import Table
from rich.text import Text

from imkpl import __version__
from imkpl._checks import printable
from imkpl._json import to_json
from imkpl._progress import Progress, listening
from imkpl._writing import check_target
from imkpl.cli import INTERRUPTED, INTERRUPTION
from imkpl.readers import InputError, ReadOptions
from imkpl.readers.formats import FORMATS, list_names
from imkpl.tables import NUMBERS_AS_TEXT

INPUT_ERROR, INTERNAL_ERROR = 1, 3
# Wider than any table, so that nothing is cut off.
ENDLESS = 10_000
# The second has the numbers of the page.
REPORT_ENDINGS = (".html", ".json")


@dataclass(frozen=True)
class Answer:
    """What a command returns: its answer for --json, and a line or what prints it."""

    values: dict[str, Any]
    text: str | Callable[[dict[str, Any]], None]
    exit_code: int = 0


@dataclass(frozen=True)
class Written:
    """Marks a parameter as a file that the command writes, with the endings that it may have."""

    endings: tuple[str, ...] = ()


def option(names: str, text: str, **more: Any) -> Any:
    """An option for typer: its names, and what --help says of it."""
    return typer.Option(..., *names.split(), help=text, **more)


def setting(default: Any, text: str, **more: Any) -> Any:
    """A field of a dataclass that becomes an option of the same name."""
    return field(default=default, metadata={"help": text, **more})


DataArgument: TypeAlias = Annotated[
    Path, typer.Argument(readable=False, help=f"A file {FORMATS}.", show_default=False)
]
ModelArgument: TypeAlias = Annotated[
    Path, typer.Argument(readable=False, help="A file that imkpl fit wrote.", show_default=False)
]
# What can be said about a file: fields of ReadOptions, and what --help says of them.
READING = {
    "target": "Column with the classes, or with values to predict.",
    "classify": "The target holds classes, however many numbers there are.",
    "regress": "The target holds values.",
    "id_column": "Column with the row names.",
    "group": "Column of persons, or of whatever several rows belong to. Their rows are never on "
    "both sides when the accuracy is measured.",
    "site": "Column of hospitals, scanners or other sites. Each is left out in turn, and judged by "
    "a model of the others.",
    "time": "Column of years or dates, for --after; with --series, of the time of steps.",
    "after": "Learn from rows before this time, and measure on the others.",
    "series": "Rows are time steps, and this column says of which trial: read trials as series.",
    "drop": "Leave out this column; may be repeated.",
    "categories": "Read this column as categories; may be repeated.",
    "numbers": "Read this column as numbers; may be repeated.",
    "transpose": "The file has a row per feature, named in its first column.",
    "labels": "A second file, with a row per sample: its name and its class.",
    "merge_spellings": "Texts that differ in case, spaces and hyphens only are one.",
    "ordered": "Categories with an order, such as stage=I,II,III; or a class, one by one in order.",
    "months": "Read this column of dates as months since the first; may be repeated.",
    "eligible": "Column of yes and no: which rows may be shown in prototypes.",
    "missing": "A cell that means missing, such as -999; may be repeated.",
    "not_measured": "The file lacks this column, which the model reads; may be repeated.",
    "by": "Measure each subgroup of rows with the same value in this column; may be repeated.",
    "separator": "Separator of cells: a character, or tab, comma, semicolon, space, pipe.",
}
NEW = ("id_column", "missing", "not_measured", "separator", "transpose", "labels")
# Parameters of these types become options: of a file to learn from, to measure on in subgroups, to
# measure on, and without classes.
TrainingFile: TypeAlias = Annotated[
    ReadOptions, tuple(name for name in READING if name not in ("by", "not_measured"))
]
MeasuredFile: TypeAlias = Annotated[ReadOptions, ("target", "by", *NEW)]
LabelledFile: TypeAlias = Annotated[ReadOptions, ("target", *NEW)]
NewFile: TypeAlias = Annotated[ReadOptions, NEW]
JsonOption: TypeAlias = Annotated[bool, option("--json", "Print one JSON object and nothing else.")]
ForceOption: TypeAlias = Annotated[bool, option("--force", "Replace existing files.")]
DebugOption: TypeAlias = Annotated[bool, option("--debug", "Show the traceback of an error.")]


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"imkpl {__version__}")
        raise typer.Exit


def create_app(text: str) -> typer.Typer:
    """A command line without commands."""
    # Names in files may look like markup, so no markup is interpreted.
    app = typer.Typer(
        help=text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )

    @app.callback()
    def set_up(
        version: Annotated[
            bool, option("--version", "Show the version.", callback=_show_version, is_eager=True)
        ] = False,
    ) -> None:
        """Options before the command."""

    return app


def add_command(app: typer.Typer, function: Callable[..., Answer | None], examples: str) -> None:
    """Add a function with typer's annotations as a command with --debug.

    A parameter whose type is a dataclass becomes an option for each of its fields. A command that
    writes files has --force, and one that returns an answer has --json.
    """
    signature = inspect.signature(function, eval_str=True)
    groups = {name: _list_options(one) for name, one in signature.parameters.items()}
    outputs = {name: one for name in groups if (one := _find_output(signature.parameters[name]))}
    common: dict[str, Any] = {"force": ForceOption} if outputs else {}
    common |= {"as_json": JsonOption} if signature.return_annotation is not None else {}
    common |= {"debug": DebugOption}
    options = [one for group in groups.values() for one in group]
    options += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in common.items()
    ]

    def run(**given: Any) -> None:
        asked = {name: given.pop(name) for name in common}
        with handle_errors(debug=asked["debug"]):
            paths = {name: one for name, one in given.items() if isinstance(one, Path)}
            written = {one: paths.pop(name) for name, one in outputs.items() if name in paths}
            _check_outputs(written, paths.values(), force=asked.get("force", False))
            for name, group in groups.items():
                if [one.name for one in group] != [name]:
                    said = {one.name: given.pop(one.name) for one in group}
                    given[name] = _build(signature.parameters[name].annotation, said)
            answer = function(**given)
            if answer is None:
                return
            if asked["as_json"]:
                echo_json({"command": function.__name__, **answer.values})
            elif isinstance(answer.text, str):
                echo(answer.text)
            else:
                answer.text(answer.values)
            if answer.exit_code:
                raise typer.Exit(answer.exit_code)

    # This is what typer reads.
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in options}
    text = inspect.getdoc(function) or ""
    shown = "\n".join(f"  {line}" for line in examples.strip().splitlines())
    # The mark keeps typer from joining the lines.
    full = f"{text}\n\n\b\nExamples:\n{shown}"
    app.command(function.__name__, help=full, short_help=text.splitlines()[0])(run)


def _find_output(parameter: inspect.Parameter) -> tuple[str, tuple[str, ...]] | None:
    """The option and the endings of a parameter that names a file to write."""
    marks: tuple[Any, ...] = getattr(parameter.annotation, "__metadata__", ())
    written = [mark for mark in marks if isinstance(mark, Written)]
    return (marks[0].param_decls[0], written[0].endings) if written else None


def _list_options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """The options that a parameter of a command stands for."""
    kind = getattr(parameter.annotation, "__origin__", parameter.annotation)
    if not is_dataclass(kind):
        return [parameter.replace(kind=parameter.KEYWORD_ONLY)]
    hints, known = get_type_hints(kind), {one.name: one for one in fields(kind)}
    found = []
    for name in getattr(parameter.annotation, "__metadata__", [known])[0]:
        one = known[name]
        more = dict(one.metadata) or {"help": READING[name]}
        is_list = one.default == ()
        if hints[name] == str | None:
            # Of several, an option that takes one would keep the last.
            is_list, more["metavar"] = True, "<str>"
        hint: Any = list[str] | None if is_list else hints[name]
        found.append(
            parameter.replace(
                name=name,
                kind=parameter.KEYWORD_ONLY,
                default=None if is_list else one.default,
                annotation=Annotated[hint, typer.Option(..., _flag(name), **more)],
            )
        )
    return found


def _flag(name: str) -> str:
    """The option for a field of a dataclass."""
    return f"--{name.removesuffix('_column').replace('_', '-')}"


def _build(annotation: Any, asked: dict[str, Any]) -> Any:
    """A dataclass of what the options say; those that can be repeated are tuples."""
    kind, given = getattr(annotation, "__origin__", annotation), {}
    for one in fields(kind):
        value = asked.get(one.name)
        if isinstance(value, list) and one.default != ():
            if len(value) > 1:
                # The others are columns like any other, of which a model would learn.
                more = "Fit a model for each, with --drop for the others."
                raise InputError(
                    f"{_flag(one.name)} is given {len(value)} times ({list_names(value)}), "
                    f"expected it once. {more if one.name == 'target' else 'Keep one of them.'}"
                )
            value = value[0] if value else None
        if value is not None:
            given[one.name] = tuple(value) if isinstance(value, list) else value
    return kind(**given)


def _check_outputs(
    outputs: Mapping[tuple[str, tuple[str, ...]], Path], inputs: Iterable[Path], *, force: bool
) -> None:
    """Raise before a long fit if a result, by its option and endings, could not be written."""
    taken = {path.resolve() for path in inputs}
    for (flag, endings), path in outputs.items():
        if path.resolve() in taken:
            raise InputError(
                f"{path} is already read or written by this command. Choose another name."
            )
        check_target(path)
        if path.exists() and not force:
            raise InputError(
                f"{path} already exists. Choose another name, or replace it with --force."
            )
        taken.add(path.resolve())
        if endings and path.suffix.lower() not in endings:
            raise InputError(
                f"{flag} is {path.name}, expected a name that ends in {' or '.join(endings)}."
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
            _write(sys.stderr, *(f"| {line}" for line in traceback.format_exc().splitlines()))
        message, code = _describe(error, debug=debug)
        echo_error(message)
        raise typer.Exit(code) from None


@contextmanager
def _noted_warnings() -> Iterator[None]:
    for_developers = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        # Of files, imkpl check says it, and --categories asks for it.
        warnings.filterwarnings("ignore", NUMBERS_AS_TEXT)
        try:
            yield
        finally:
            shown = [one for one in caught if not issubclass(one.category, for_developers)]
            echo_note(*dict.fromkeys(" ".join(str(one.message).split()) for one in shown))


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


def echo(*lines: str) -> None:
    """Print lines of the answer, an empty one by default."""
    _write(sys.stdout, *(lines or [""]))


def echo_note(*texts: str) -> None:
    """Print what was guessed or noticed."""
    _write(sys.stderr, *(f"note: {text}" for text in texts))


def echo_error(text: str) -> None:
    """Print what went wrong, in one line."""
    _write(sys.stderr, f"imkpl: {' '.join(text.split())}")


def echo_json(answer: dict[str, Any]) -> None:
    """Print the whole answer as one JSON object."""
    sys.stdout.write(format_json(answer))


def format_json(answer: dict[str, Any]) -> str:
    """An answer as JSON, in ASCII without control characters."""
    text = json.dumps(to_json(answer), indent=1, allow_nan=False) + "\n"
    return text.replace("\x7f", "\\u007f")


def _write(stream: Any, *lines: str) -> None:
    """Write lines; a line break within one, which is part of a name, is escaped."""
    text = "".join(f"{printable(line)}\n" for line in lines)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, errors="replace").decode(encoding))


def echo_table(
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    most: int | None = None,
    more: str = " (see --json)",
) -> None:
    """Print the first rows of a table; columns of numbers are aligned to the right."""
    cells = rows[:most]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, name in enumerate(head):
        is_number = all(not isinstance(row[place], str) for row in cells)
        table.add_column(Text(printable(name)), justify="right" if is_number else "left")
    for row in cells:
        table.add_row(*(Text(printable(cell)) for cell in row))
    # Drawn into a string first: the width of a terminal must not cut names.
    drawn = io.StringIO()
    Console(file=drawn, width=ENDLESS, color_system=None, legacy_windows=False).print(table)
    echo(*(line.rstrip() for line in drawn.getvalue().rstrip().splitlines()))
    if len(rows) > len(cells):
        echo(f"... and {len(rows) - len(cells)} more{more}")


@contextmanager
def progress_bar(title: str) -> Iterator[None]:
    """Show what the block announces as progress bars, if standard error is a terminal."""
    console = Console(file=sys.stderr)
    times = TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *times)
    with ProgressBar(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        # One bar per source: the folds, and the fit under way.
        tasks: dict[str, TaskID] = {}

        def show(progress: Progress) -> None:
            if progress.source not in tasks:
                tasks[progress.source] = bar.add_task(title, total=None)
            bar.update(
                tasks[progress.source],
                description=f"{title}: {printable(progress.message)}",
                total=progress.total,
                completed=progress.done,
            )

        with listening(show):
            yield
