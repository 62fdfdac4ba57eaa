"""Checks of arrays that raise a sentence: what was wrong, what was expected, how to fix it."""

from __future__ import annotations

import numpy as np

from imkpl._typing import FloatArray


def check_lengths(found: int, expected: int, what: str, other: str) -> None:
    """Raise unless two counts agree.

    Parameters
    ----------
    found, expected : int
        The two counts.
    what, other : str
        What they count.
    """
    if found != expected:
        raise ValueError(
            f"There are {found} {what} but {expected} {other}, expected as many of each. Pass "
            "arrays that belong to the same samples."
        )


def check_nonnegative(values: FloatArray, name: str) -> None:
    """Raise unless all values are finite and not negative.

    Parameters
    ----------
    values : array
        The values.
    name : str
        What they are called.
    """
    # A comparison with NaN is false, so that NaN is caught as well.
    if not np.all((values >= 0) & (values < np.inf)):
        raise ValueError(
            f"Some {name} are negative, NaN or infinite, expected finite values of 0 or more. "
            "Take them from a fitted model as they are."
        )
