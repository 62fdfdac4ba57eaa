"""What was read from a file, and what goes wrong with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from imkpl.series import SeriesSet

# A sentence lists so many names; the rest is counted.
MOST_NAMES = 8


class InputError(ValueError):
    """A file, or a request about one, that cannot be served.

    Its text says what was found, what was expected and what to do.
    """


@dataclass(frozen=True, eq=False)
class RawFile:
    """A file as its format gives it, before anything is decided about columns.

    Parameters
    ----------
    samples : pandas.DataFrame or SeriesSet
        All columns, or the series.
    labels : array of shape (n_samples,), optional
        Labels that the format keeps apart from the samples.
    target : str, optional
        The column that the format marks as the target.
    notes : tuple of str
        What was guessed, in sentences.
    split : pair of arrays, optional
        Rows to train on and rows to test on, where the file says so.
    """

    samples: Any
    labels: Any = None
    target: str | None = None
    notes: tuple[str, ...] = ()
    split: tuple[Any, Any] | None = None


@dataclass(frozen=True, eq=False)
class DataFile:
    """Samples and labels from a file, with what was guessed on the way.

    Parameters
    ----------
    samples : pandas.DataFrame or SeriesSet
        Columns of numbers (float) and of categories (text), with the names of the rows as index;
        or time series.
    y : array of shape (n_samples,) or None
        Class labels.
    ids : array of shape (n_samples,)
        What the rows are called: the values of a column, or their numbers from 1.
    target : str or None
        The name of the column of labels.
    notes : tuple of str
        What was guessed, in sentences.
    dropped : dict of str
        For every column that was left out, why.
    split : pair of arrays, optional
        Rows to train on and rows to test on, where the file says so.
    """

    samples: Any
    y: Any
    ids: Any
    target: str | None = None
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    split: tuple[Any, Any] | None = None

    @property
    def is_series(self) -> bool:
        """Whether the samples are time series."""
        return isinstance(self.samples, SeriesSet)

    def take(self, rows: Any) -> DataFile:
        """Some of the rows.

        Parameters
        ----------
        rows : array of int
            Which.

        Returns
        -------
        DataFile
            The same columns and notes, without a split.
        """
        samples = self.samples[rows] if self.is_series else self.samples.iloc[rows]
        y = None if self.y is None else self.y[rows]
        return replace(self, samples=samples, y=y, ids=self.ids[rows], split=None)

    def __len__(self) -> int:
        return len(self.samples)


def list_names(names: Sequence[Any]) -> str:
    """Names in quotes, the first few of many."""
    shown = [repr(str(name)) for name in names[:MOST_NAMES]]
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith(('s', 'x')) else 's'}"
