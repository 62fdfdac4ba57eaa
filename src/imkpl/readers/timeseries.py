"""Files in the .ts format of the UEA and UCR archives."""

from __future__ import annotations

import pathlib

import numpy as np

from imkpl.readers.data_file import InputError, RawFile, count
from imkpl.readers.options import ReadOptions
from imkpl.series import read_series


def parse_ts(path: pathlib.Path, options: ReadOptions) -> RawFile:
    """Read time series and their labels."""
    try:
        from aeon.datasets import load_from_ts_file
    except ImportError as error:
        raise InputError(
            "Files in the .ts format are read by aeon, which is not installed. Install it with "
            "pip install 'imkpl[series]'."
        ) from error
    try:
        loaded = load_from_ts_file(str(path))
    except Exception as error:
        raise InputError(
            f"{path.name} cannot be read as a .ts file ({error}). Check its header and its rows."
        ) from error
    X, labels = loaded if isinstance(loaded, tuple) else (loaded, None)
    series = read_series(X)
    if labels is not None and len(labels) != len(series):
        labels = None
    note = f"{path.name}: {len(series)} time series of {count(series.n_channels, 'channel')}."
    return RawFile(series, None if labels is None else np.asarray(labels), notes=(note,))
