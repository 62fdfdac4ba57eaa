"""What is asked of a data file and what is read from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from imkpl._checks import quote
from imkpl.kernels import ParquetColumns
from imkpl.kernels.sharded import RowBlocks
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
    """Something about a data file that a person should know before fitting.

    Parameters
    ----------
    kind : str
        What it is about, such as "units" or "equal rows".
    text : str
        What was found, in a sentence.
    advice : str
        What to do about it.
    columns : tuple of str
        The columns concerned.
    examples : tuple of str
        Some of the cells concerned.
    needs_action : bool
        False if the file can be used as it is.

    Examples
    --------
    >>> found = Finding("units", "weight has 2 units", "Convert them to one.", columns=("weight",))
    >>> found.needs_action
    True
    """

    kind: str
    text: str
    advice: str = ""
    columns: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    needs_action: bool = True


@dataclass(frozen=True, eq=False)
class RawFile:
    """A parsed file, before anything is decided about its columns."""

    samples: Any  # pandas.DataFrame with all columns, or SeriesSet
    labels: Any = None  # classes of time series
    target: str | None = None  # column that the format marks as the target
    notes: tuple[str, ...] = ()
    style: tuple[str, str] = (",", ".")  # separator and decimal mark of a text file


@dataclass(frozen=True, eq=False)
class DataFile:
    r"""Samples and labels from a file, with notes on what was guessed.

    Parameters
    ----------
    samples : pandas.DataFrame, SeriesSet or ParquetColumns
        Columns of numbers (float) and of categories (text), indexed by the row names; time series;
        or the rows of a large file.
    y : array of shape (n_samples,) or None
        Class labels.
    ids : array of shape (n_samples,)
        Row names: the values of a column, or numbers from 1.
    target : str or None
        Name of the target column.
    notes : tuple of str
        What was guessed, in sentences.
    dropped : dict of str
        Reason for each column that was dropped.
    groups : array of shape (n_samples,), optional
        Which rows belong together.
    eligible : array of bool of shape (n_samples,), optional
        Which rows may be shown in prototypes.
    subgroups : dict of arrays of shape (n_samples,)
        Texts in the columns that divide the rows.
    id_column, group_column : str, optional
        Names of the columns that `ids` and `groups` come from.
    findings : tuple of Finding
        What deserves attention before a fit.
    style : pair of str
        Separator and decimal mark of the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from imkpl.readers import ReadOptions, read_training_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.csv")
    ...     _ = path.write_text("kg,legs,pet\n4,4,cat\n5,4,cat\n0.1,2,bird\n0.2,2,bird\n")
    ...     data = read_training_file(path, ReadOptions(target="pet"))
    >>> data.target, data.y.tolist(), list(data.samples)
    ('pet', ['cat', 'cat', 'bird', 'bird'], ['kg', 'legs'])
    """

    samples: Any
    y: Any
    ids: Any
    target: str | None = None
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    groups: Any = None
    eligible: Any = None
    subgroups: Mapping[str, Any] = field(default_factory=dict)
    id_column: str | None = None
    group_column: str | None = None
    findings: tuple[Finding, ...] = ()
    style: tuple[str, str] = (",", ".")

    @property
    def is_series(self) -> bool:
        """Whether the samples are time series."""
        return isinstance(self.samples, SeriesSet)

    @property
    def is_on_disk(self) -> bool:
        """Whether the samples stay in their file."""
        return isinstance(self.samples, ParquetColumns)

    def in_memory(self) -> DataFile:
        """Read samples that stay in their file.

        Returns
        -------
        DataFile
            The same with a data frame.
        """
        if not self.is_on_disk:
            return self
        import pandas as pd

        rows = RowBlocks(self.samples.rows, None, None, self.samples)
        values, names = rows.gather(np.arange(len(rows))), self.samples.feature_names
        return replace(self, samples=pd.DataFrame(values, index=self.ids, columns=names))

    def take(self, rows: Any) -> DataFile:
        """Select rows.

        Parameters
        ----------
        rows : array of int
            Positions of the rows.

        Returns
        -------
        DataFile
            The same columns and notes.
        """

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
        """Compute a number per row that is the same for equal rows.

        Returns
        -------
        array of shape (n_samples,)
            The numbers; those of time series differ from process to process.
        """
        if self.is_series:
            # Adding zero makes the bytes of -0 and 0 equal.
            return np.array([hash((one.shape, (one + 0.0).tobytes())) for one in self.samples])
        from pandas.util import hash_pandas_object

        return hash_pandas_object(self.samples, index=False).to_numpy()

    def fingerprint(self) -> str:
        """Compute a digest of all samples and classes in their order, without the row names.

        Returns
        -------
        str
            32 hexadecimal digits, the same on every machine.
        """
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
