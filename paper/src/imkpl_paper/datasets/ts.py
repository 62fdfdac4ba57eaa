"""Files of the UEA and UCR archives of time series."""

from __future__ import annotations

import pathlib

import numpy as np

from imkpl_paper._imkpl import FloatArray


def read_ts(path: pathlib.Path) -> tuple[list[FloatArray], list[str] | None]:
    """The series in a .ts file of the UEA and UCR archives, and their labels if it has any."""
    series: list[FloatArray] = []
    labels: list[str] = []
    is_data = is_labelled = False
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, given in enumerate(lines, start=1):  # noqa: B007
                line = given.strip()
                if not line or line[0] in "#%":
                    continue
                if is_data:
                    *channels, last = line.split(":")
                    series.append(_read_channels(channels if is_labelled else [*channels, last]))
                    labels.append(last.strip())
                    continue
                tag, *values = line.lower().split()
                is_true = values[:1] == ["true"]
                if tag[0] != "@" or (tag == "@timestamps" and is_true):
                    raise ValueError("expected a header up to @data, and no time stamps")
                is_labelled |= tag in ("@classlabel", "@targetlabel") and is_true
                is_data = tag == "@data"
    except ValueError as error:
        raise ValueError(
            f"{path.name} cannot be read as a .ts file (line {number}: {error}). "
            "Check its header and its rows."
        ) from error
    return series, labels if is_labelled else None


def _as_number(text: str) -> float:
    """The number in a text; unlike in Python, 1_0 is none."""
    if "_" in text:
        raise ValueError(f"could not convert string to float: {text.strip()!r}")
    return float(text)


def _read_channels(texts: list[str]) -> FloatArray:
    """The channels of a series; question marks are missing values."""
    channels = [
        [np.nan if cell.strip() == "?" else _as_number(cell) for cell in text.split(",")]
        for text in texts
    ]
    lengths = sorted({len(channel) for channel in channels})
    if len(lengths) != 1:
        found = " to ".join(map(str, lengths)) or "no"
        raise ValueError(f"channels of {found} time steps, expected the same number in each")
    return np.array(channels)
