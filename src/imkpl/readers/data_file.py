"""What is asked of a data file and what is read from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from imkpl._checks import quote
from imkpl.kernels import ParquetColumns
from imkpl.kernels.blocks import RowBlocks
from imkpl.series import SeriesSet

# Names listed in a message; the rest are counted.
MAX_NAMES = 8


class InputError(ValueError):
    """A file, or a request about one, that cannot be used.

    Its message says what was found, what was expected and what to do.

    Examples
    --------
    >>> from imkpl.readers import read_training_file
    >>> read_training_file("nowhere.csv")
    Traceback (most recent call last):
        ...
    imkpl.readers.data_file.InputError: nowhere.csv does not exist. Check the name and the folder.
    """


@dataclass(frozen=True)
class ReadOptions:
    """Everything about a file that should not be guessed.

    Parameters
    ----------
    target : str, optional
        Column of the class labels.
    id_column : str, optional
        Column of the row names.
    separator : str, optional
        Separator of cells in a text file: a character, or "tab", "comma", "semicolon", "space" or
        "pipe".
    group : str, optional
        Column that says which rows belong together, such as those of one person.
    eligible : str, optional
        Column of yes and no: which rows may be shown in prototypes.
    by : tuple of str
        Columns whose values divide the rows into subgroups, whatever else they are used for.
    drop : tuple of str
        Columns to leave out.
    categories, numbers : tuple of str
        Columns to read as categories, or as numbers.
    missing : tuple of str
        Cells that mean a missing value, such as "-999".
    known_names : tuple of str
        Columns that the file should have; a first line with one of them is a header.

    Examples
    --------
    >>> options = ReadOptions(target="diagnosis", drop=("name",), missing=("-999",))
    >>> options.target, options.group
    ('diagnosis', None)
    """

    target: str | None = None
    id_column: str | None = None
    separator: str | None = None
    group: str | None = None
    eligible: str | None = None
    by: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    known_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """Something about a data file that a person should know before fitting."""

    kind: str  # what it is about, such as "units" or "equal rows"
    text: str  # what was found, in a sentence
    advice: str = ""  # what to do about it
    columns: tuple[str, ...] = ()  # the columns concerned
    examples: tuple[str, ...] = ()  # some of the cells concerned
    needs_action: bool = True  # False if the file can be used as it is


@dataclass(frozen=True, eq=False)
class RawFile:
    """A parsed file, before anything is decided about its columns."""

    samples: Any  # pandas.DataFrame with all columns, or SeriesSet
    labels: Any = None  # classes of time series
    target: str | None = None  # column that the format marks as the target
    notes: tuple[str, ...] = ()
    style: tuple[str, str] = (",", ".")  # separator and decimal mark of a text file
    # Some columns of `samples`, with the characters or the whole numbers that are in the file.
    read_exact: Callable[[list[str]], Any] | None = None


@dataclass(frozen=True, eq=False)
class DataFile:
    """Samples and labels from a file, with notes on what was guessed."""

    samples: Any  # pandas.DataFrame of floats and texts, SeriesSet, or ParquetColumns
    y: Any  # class labels; None if there are none
    ids: Any  # row names: the values of a column, or numbers from 1
    target: str | None = None  # name of the target column
    notes: tuple[str, ...] = ()  # what was guessed, in sentences
    dropped: Mapping[str, str] = field(default_factory=dict)  # the reason for each column
    groups: Any = None  # which rows belong together
    eligible: Any = None  # which rows may be shown in prototypes
    subgroups: Mapping[str, Any] = field(default_factory=dict)  # texts in columns that divide rows
    id_column: str | None = None  # where `ids` come from
    group_column: str | None = None  # where `groups` come from
    findings: tuple[Finding, ...] = ()  # what deserves attention before a fit
    style: tuple[str, str] = (",", ".")  # separator and decimal mark of the file

    @property
    def is_series(self) -> bool:
        """Whether the samples are time series."""
        return isinstance(self.samples, SeriesSet)

    @property
    def is_on_disk(self) -> bool:
        """Whether the samples stay in their file."""
        return isinstance(self.samples, ParquetColumns)

    def in_memory(self) -> DataFile:
        """The same with a data frame, if the samples stay in their file."""
        if not self.is_on_disk:
            return self
        import pandas as pd

        rows = RowBlocks.of(self.samples)
        values, names = rows[np.arange(len(rows))], self.samples.feature_names
        return replace(self, samples=pd.DataFrame(values, index=self.ids, columns=names))

    def take(self, rows: Any) -> DataFile:
        """The same columns and notes for the rows at some places, or in a mask."""
        rows = np.arange(len(self))[rows]

        def cut(values: Any) -> Any:
            return None if values is None else values[rows]

        return replace(
            self,
            samples=getattr(self.samples, "iloc", self.samples)[rows],
            y=cut(self.y),
            ids=self.ids[rows],
            groups=cut(self.groups),
            eligible=cut(self.eligible),
            subgroups={name: texts[rows] for name, texts in self.subgroups.items()},
        )

    def hash_rows(self) -> Any:
        """A number per row, the same for equal rows; of time series, only within a process."""
        if self.is_series:
            # Adding zero makes the bytes of -0 and 0 equal.
            return np.array([hash((one.shape, (one + 0.0).tobytes())) for one in self.samples])
        from pandas.util import hash_pandas_object

        return hash_pandas_object(self.samples, index=False).to_numpy()

    def fingerprint(self) -> str:
        """A digest of all samples and classes in their order, without the row names."""
        total = hashlib.blake2b(digest_size=16)
        columns: Iterable[Any]
        if self.is_series:
            columns = [self.samples.values.ravel(), np.asarray(self.samples.starts)]
        elif self.is_on_disk:
            names = self.samples.feature_names
            columns = (self.samples[:, [place]].ravel() for place in range(len(names)))
            total.update(json.dumps(names).encode())
        else:
            columns = [cells.to_numpy() for _, cells in self.samples.items()]
            total.update(json.dumps([str(name) for name in self.samples.columns]).encode())
        for cells in chain(columns, [self.y]):
            if cells.dtype.kind in "iuf":
                # Adding zero turns -0 into 0, and of the many NaN one stays.
                numbers = np.where(np.isnan(cells), np.nan, cells + 0.0)
                total.update(numbers.astype("<f8").tobytes())
            else:
                texts = [None if one is None or one != one else str(one) for one in cells.tolist()]
                total.update(json.dumps(texts).encode())
        return total.hexdigest()

    def __len__(self) -> int:
        return len(self.samples)


def list_names(names: Sequence[Any]) -> str:
    """Quoted names, the first few of many."""
    shown = [quote(str(name)) for name in names[:MAX_NAMES]]
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def count(number: int, noun: str) -> str:
    """A number and its noun, such as "1 row" or "3 classes"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith(('s', 'x')) else 's'}"
