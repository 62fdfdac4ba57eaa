"""Which reader a file needs."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from dataclasses import dataclass

from imkpl.readers import arrays, columnar, text, timeseries, weka
from imkpl.readers.data_file import InputError, RawFile
from imkpl.readers.options import ReadOptions

__all__ = ["ReadOptions", "parse_file"]

FORMATS = ".csv, .tsv, .parquet, .feather, .npz, .mat, .arff or .ts"


@dataclass(frozen=True)
class Format:
    """One kind of file.

    Parameters
    ----------
    parse : function (path, options) -> RawFile
        Reads it.
    is_text : bool
        Whether `separator` means something to it.
    has_keys : bool
        Whether `x_key` and `y_key` do.
    """

    parse: Callable[[pathlib.Path, ReadOptions], RawFile]
    is_text: bool = False
    has_keys: bool = False


TEXT = Format(text.parse_text, is_text=True)
BY_ENDING = {
    ".csv": TEXT,
    ".tsv": TEXT,
    ".tab": TEXT,
    ".txt": TEXT,
    ".parquet": Format(columnar.parse_parquet),
    ".pq": Format(columnar.parse_parquet),
    ".feather": Format(columnar.parse_feather),
    ".arrow": Format(columnar.parse_feather),
    ".npz": Format(arrays.parse_npz, has_keys=True),
    ".mat": Format(arrays.parse_mat, has_keys=True),
    ".arff": Format(weka.parse_arff),
    ".ts": Format(timeseries.parse_ts),
}
ADVICE = {
    ".xls": "Save the sheet as CSV in the spreadsheet program.",
    ".xlsx": "Save the sheet as CSV in the spreadsheet program.",
    ".ods": "Save the sheet as CSV in the spreadsheet program.",
    ".gz": "Unpack it first.",
    ".zip": "Unpack it first.",
    ".pkl": "Pickle files can run code and are never opened; save the data as Parquet or CSV.",
    ".pickle": "Pickle files can run code and are never opened; save the data as Parquet or CSV.",
    ".npy": "Save samples and labels together with numpy.savez(path, X=X, y=y).",
    ".imkpl": "That is the ending of a model; pass the data file here.",
}


def parse_file(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Read a file by its ending."""
    if path.is_dir():
        raise InputError(f"{path} is a folder, expected a file. Name a file in it.")
    if not path.exists():
        raise InputError(f"{path} is not there. Check the name and the folder.")
    ending = path.suffix.lower()
    kind = BY_ENDING.get(ending)
    if kind is None:
        found = f"ends in {ending}" if ending else "has no ending"
        advice = ADVICE.get(ending, "Convert it, or rename it if only the ending is wrong.")
        raise InputError(f"{path.name} {found}, expected {FORMATS}. {advice}")
    if options.separator is not None and not kind.is_text:
        raise InputError(
            f"--separator is for text files such as .csv, but {path.name} is none. Leave it out."
        )
    if (options.x_key or options.y_key) and not kind.has_keys:
        raise InputError(
            f"--x-key and --y-key are for .npz and .mat files, but {path.name} is none. Leave "
            "them out."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty, expected rows of data. Check how it was made.")
    return kind.parse(path, options)
