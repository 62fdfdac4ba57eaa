"""What X is: the kernels that read it, the names of its samples, and collections of Dask."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from imkpl._checks import quote, require
from imkpl._progress import announce
from imkpl.estimators._compat import wants_data_frame
from imkpl.kernels import BaseKernelBank, resolve_bank
from imkpl.kernels.forms import Form, densify
from imkpl.kernels.sources import as_source
from imkpl.series import SeriesSet
from imkpl.tables import Table, as_cells, as_frame, warn_of_text

Method = TypeVar("Method", bound=Callable[..., Any])

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
    """The name of the kernels for X, and why."""
    if is_partitioned(X) or as_source(X) is not None:
        return NUMBERS
    if sp.issparse(X):
        return "per_word", "a sparse matrix"
    if isinstance(X, SeriesSet) or _lists_series(X):
        return SERIES
    if isinstance(X, Table):
        return CELLS
    frame = as_frame(densify(X))
    if frame is not None:
        if not all(dtype.is_numeric() for dtype in frame.schema.values()):
            return CELLS
        return _look_at_numbers(np.asarray(frame.to_numpy(), dtype=np.float64))
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
    if array.ndim == 3:
        _refuse_kernel_values(array)
        return SERIES
    if array.ndim == 2 and array.dtype.kind in "OUSMm":
        return CELLS
    return _look_at_numbers(array)


def _lists_series(X: Any) -> bool:
    """Whether samples are arrays or frames of two axes, or arrays of unequal length."""
    is_list = isinstance(X, list | tuple) or getattr(X, "dtype", None) == np.dtype(object)
    if not is_list or getattr(X, "ndim", 1) != 1:
        return False
    shapes = {getattr(one, "shape", ()) for one in X}
    n_axes = {len(shape) for shape in shapes}
    return n_axes == {2} or (n_axes == {1} and len(shapes) > 1)


def _look_at_numbers(values: Any) -> Choice:
    """The kernels for a table of numbers; where some are missing, for cells."""
    if values.ndim != 2 or values.dtype.kind not in "biuf" or values.size == 0:
        return NUMBERS
    smallest = values.min()
    if np.isnan(smallest):
        return CELLS
    share_absent = 1 - np.count_nonzero(values) / values.size
    is_sparse = values.shape[1] >= FEWEST_WORDS and share_absent > SHARE_ABSENT
    if smallest >= 0 and is_sparse and np.array_equal(values, np.floor(values)):
        return "per_word", "counts that are mostly 0"
    _refuse_kernel_values(values)
    return NUMBERS


def _refuse_kernel_values(values: Any) -> None:
    """Raise if these are symmetric in their first two axes."""
    if values.size == 0 or not values.shape[0] == values.shape[1] > 2:
        return
    if np.allclose(values, values.swapaxes(0, 1), rtol=1e-9, atol=0.0):
        raise ValueError(
            f"X has shape {values.shape} and is symmetric, like kernel values between samples, but "
            "kernels='auto' expected samples. Use kernels='precomputed' for kernel values, and "
            "name the kernels if these are samples, such as kernels='per_feature_gaussian'."
        )


def row_labels(X: Any, n_samples: int) -> Any:
    """What the user calls the samples: the index of a pandas object, else their numbers."""
    if is_partitioned(X):
        # The index of a partitioned data frame is fetched as that of a frame without columns.
        X = in_memory(X[[]]) if hasattr(X, "index") else None
    index: Any = getattr(X, "obs_names", getattr(X, "index", None))
    # Frames of series have several rows for each.
    if getattr(index, "nlevels", 1) > 1 and len(index) != n_samples:
        index = index.get_level_values(0).unique()
    # A list has a method of that name.
    if not hasattr(index, "nlevels") or len(index) != n_samples:
        return np.arange(n_samples)
    labels = list(index)
    if all(type(label) is int for label in labels):
        return np.array(labels)
    return np.array([str(label) for label in labels], dtype=object)


def is_partitioned(X: Any) -> bool:
    """Whether this is a Dask collection; does not import Dask."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def in_memory(values: Any) -> Any:
    """Labels, weights or names; those of a Dask collection are fetched."""
    if not is_partitioned(values):
        return values
    from imkpl.scale import fetch_values

    return fetch_values(values)


def read_partitions(bank: BaseKernelBank, X: Any, form: Form) -> tuple[Any, Form]:
    """The samples of a Dask collection, which stay in their partitions, and their form."""
    require(
        bank.kind.input_kind in ("vectors", "columns"),
        f"The kernels of {type(bank).__name__} do not read rows of numbers, which Dask collections "
        "hold, expected an array or a list. Pass X.compute(), or use "
        "kernels='per_feature_gaussian'.",
    )
    from imkpl.scale import read_dask

    samples = read_dask(X)
    return samples, form.learn(samples.shape[1], getattr(X, "columns", None))


def refuse_partitions(X: Any, where: str) -> None:
    """Raise an error if X is a Dask collection."""
    require(
        not is_partitioned(X),
        f"{where} got a Dask collection, expected samples in memory. Pass X.compute() of them.",
    )


def by_partition(method: Method) -> Method:
    """Make a method answer Dask collections lazily, partition by partition; a decorator."""

    @wraps(method)
    def answer(self: Any, X: Any, **options: Any) -> Any:
        if not is_partitioned(X):
            return method(self, X, **options)
        check_is_fitted(self)
        if self._predictor.kernels.input_kind not in ("vectors", "columns"):
            refuse_partitions(X, f"{method.__name__} with kernels that do not read vectors")
        from imkpl.scale import answer_lazily, example_of

        # The number and the names of features are checked now, not when the answer is computed.
        validate_data(self, example_of(X), dtype=np.float64, reset=False)
        require(
            method.__name__ != "transform" or not wants_data_frame(self),
            "transform got a Dask collection while set_output asks for a data frame, expected the "
            "default output: codes are sparse blocks. Use set_output(transform='default').",
        )
        return answer_lazily(self, method.__name__, X, options)

    return answer  # type: ignore[return-value]
