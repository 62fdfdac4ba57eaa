"""``kernels="auto"``: the kernels that read a user's samples, found by looking at them."""

from __future__ import annotations

import warnings
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from imkpl._checks import quote
from imkpl._progress import announce
from imkpl.estimators._partitions import is_partitioned
from imkpl.kernels import BaseKernelBank, resolve_bank
from imkpl.kernels.forms import densify
from imkpl.kernels.sources import as_source
from imkpl.series import SeriesSet
from imkpl.tables import Table, as_cells, as_frame, warn_of_text

# Whole numbers of 0 or more in at least this many columns, more than this share of them 0, are
# counts: of words, of genes, of what was bought. Where fewer are 0, or columns are few, it may well
# be a likeness that two samples both lack something.
FEWEST_WORDS = 100
SHARE_ABSENT = 0.9

# The name of the kernels, and why they were chosen.
Choice = tuple[str, str]
NUMBERS: Choice = "per_feature_gaussian", "columns of numbers"
CELLS: Choice = "per_column", "columns with text, categories or missing cells"
SERIES: Choice = "per_view", "time series"


def is_auto(kernels: Any) -> bool:
    """Whether the kernels depend on the samples."""
    return isinstance(kernels, str) and kernels == "auto"


def choose_bank(kernels: Any, X: Any, owner: str) -> BaseKernelBank:
    """The bank that `kernels` stands for; "auto" looks at X and says what it took."""
    if is_auto(kernels):
        kernels, reason = look_at(X)
        announce(owner, f"kernels='{kernels}' for {reason}")
    bank = resolve_bank(kernels)
    if bank.kind.input_kind == "tables" and not is_partitioned(X):
        warn_of_text(X)
    return bank


def look_at(X: Any) -> Choice:
    """The name of the kernels for X, and why.

    Examples
    --------
    >>> look_at([[1.5, 2.0], [0.0, 1.0], [2.5, 3.0]])
    ('per_feature_gaussian', 'columns of numbers')
    >>> look_at([[1.5, "a"], [None, "b"]])
    ('per_column', 'columns with text, categories or missing cells')
    >>> look_at(sp.csr_array([[0, 2, 0], [1, 0, 0]]))
    ('per_word', 'a sparse matrix')
    >>> look_at(np.zeros((5, 2, 20)))
    ('per_view', 'time series')
    """
    if is_partitioned(X) or as_source(X) is not None:
        return NUMBERS
    if sp.issparse(X):
        return "per_word", "a sparse matrix"
    if isinstance(X, SeriesSet):
        return SERIES
    is_list = isinstance(X, list | tuple) or getattr(X, "dtype", None) == np.dtype(object)
    if is_list and getattr(X, "ndim", 1) == 1:
        shapes = {getattr(one, "shape", ()) for one in X}
        n_axes = {len(shape) for shape in shapes}
        # Arrays or frames of two axes, or arrays of one axis and unequal length.
        if n_axes == {2} or (n_axes == {1} and len(shapes) > 1):
            return SERIES
    if isinstance(X, Table):
        return CELLS
    frame = as_frame(densify(X))
    if frame is not None:
        if not all(dtype.is_numeric() for dtype in frame.schema.values()):
            return CELLS
        if not frame.implementation.is_pandas():
            return _look_at_numbers(np.asarray(frame.to_numpy(), dtype=np.float64))
        return _look_at_numbers(nw.to_native(frame).to_numpy(dtype=np.float64, na_value=np.nan))
    # What cannot be an array is refused by whoever reads it, in words of its own.
    try:
        array = np.asarray(as_cells(X) if isinstance(X, np.ma.MaskedArray) else X)
    except (TypeError, ValueError):
        return NUMBERS
    if array.ndim == 1 and array.size and isinstance(array.tolist()[0], str):
        raise ValueError(
            f"X is a list of texts, the first is {quote(str(array[0]))}, expected numbers or cells "
            "in rows. Count words first, with CountVectorizer from "
            "sklearn.feature_extraction.text, or pass kernels that compare texts."
        )
    if array.ndim == 3 and array.size and _is_symmetric(array[:, :, 0]):
        raise ValueError(
            f"X has shape {array.shape} and is symmetric in its first two axes, like kernel values "
            "between samples, but kernels='auto' expected samples. Use kernels='precomputed' for "
            "kernel values, and kernels='global_alignment' for time series."
        )
    if array.ndim == 3:
        return SERIES
    if array.ndim == 2 and array.dtype.kind in "OUSMm":
        return CELLS
    return _look_at_numbers(array)


def _look_at_numbers(values: Any) -> Choice:
    if values.ndim != 2 or values.dtype.kind not in "biuf" or values.size == 0:
        return NUMBERS
    smallest = values.min()
    if np.isnan(smallest):
        return CELLS
    n_absent = values.size - np.count_nonzero(values)
    is_sparse = values.shape[1] >= FEWEST_WORDS and n_absent > SHARE_ABSENT * values.size
    if smallest >= 0 and is_sparse and np.array_equal(values, np.floor(values)):
        return "per_word", "counts that are mostly 0"
    if _is_symmetric(values):
        warnings.warn(
            f"X has shape {values.shape} and is symmetric, like kernel values between samples, but "
            "kernels='auto' reads rows as samples. Use kernels='precomputed' for kernel values, "
            "and kernels='per_feature_gaussian' if these are samples.",
            stacklevel=2,
        )
    return NUMBERS


def _is_symmetric(matrix: Any) -> bool:
    is_square = matrix.shape[0] == matrix.shape[1] > 2
    return bool(is_square and np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0))
