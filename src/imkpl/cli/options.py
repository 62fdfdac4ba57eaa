"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

DataArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(
        readable=False,
        help="A file .csv, .tsv, .parquet, .feather, .npz, .mat, .arff or .ts.",
        show_default=False,
    ),
]
ModelArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(readable=False, help="A file that imkpl fit wrote.", show_default=False),
]
TargetOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--target", help="The column with the classes.", show_default=False),
]
IdOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--id", help="The column that names the rows.", show_default=False),
]
SeparatorOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--separator",
        help="What stands between cells: a character, or tab, comma, semicolon, space, pipe.",
        show_default=False,
    ),
]
XKeyOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--x-key", help="The array of samples in .npz and .mat files.", show_default=False
    ),
]
YKeyOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--y-key", help="The array of labels in .npz and .mat files.", show_default=False),
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else.")
]
ForceOption: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace files that are already there.")
]
DebugOption: TypeAlias = Annotated[
    bool, typer.Option("--debug", help="Show where an error came from.")
]
