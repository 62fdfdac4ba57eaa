"""Reading the user's samples: vectors, similarities, or whatever the kernels compare."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from imkpl.estimators._labels import check_labels
from imkpl.estimators._partitions import (
    in_memory,
    is_partitioned,
    read_partitions,
    refuse_partitions,
    row_index,
)
from imkpl.estimators._tables import plain_words, read_new_table, read_training_table
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.columns import as_columns, check_width
from imkpl.series import SeriesSet, read_series
from imkpl.tables import as_frame


def read_training(estimator: Any, bank: BaseKernelBank, X: Any, y: ArrayLike) -> tuple[Any, Any]:
    """Samples and labels given to `fit`, in the form that the bank reads."""
    y = in_memory(y)
    check_labels(y)
    is_parts = is_partitioned(X)
    reads_columns = bank.columns_suffice and not is_parts
    source = as_columns(X, largest_copy()) if reads_columns else None
    if is_parts:
        X, y = read_partitions(estimator, bank, X, y)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
    elif source is not None:
        X, y = source, column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        estimator.n_features_in_ = source.shape[1]
        if source.feature_names is not None:
            estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
    elif bank.requires_vector_input:
        with plain_words(X):
            order = _find_order(bank)
            X, y = validate_data(
                estimator, X, y, dtype=np.float64, order=order, ensure_min_samples=2
            )
    elif bank.reads_tables:
        X, y = read_training_table(estimator, X, y)
    elif bank.reads_similarities:
        shape = np.shape(X)
        if len(shape) not in (2, 3) or shape[0] != shape[1] or 0 in shape:
            raise ValueError(
                f"The training similarities have shape {shape}, expected (n_train, n_train) or "
                "(n_train, n_train, n_kernels). Fit on similarities between training samples; the "
                "kernels belong on the last axis (numpy.moveaxis(K, 0, -1))."
            )
        X, y = validate_data(estimator, X, y, dtype="numeric", allow_nd=True)
        estimator._n_stacked = _count_stacked(shape)
    elif bank.reads_series:
        X, y = read_series(X), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        estimator.n_features_in_ = estimator.n_channels_in_ = X.n_channels
        if X.channel_names is not None:
            estimator.feature_names_in_ = np.array(X.channel_names, dtype=object)
        else:
            # Names of an earlier fit must not stay.
            vars(estimator).pop("feature_names_in_", None)
    else:
        X, y = _as_sequence(X), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
    check_classification_targets(y)
    return X, y


def read_new(estimator: Any, bank: BaseKernelBank, X: Any) -> Any:
    """New samples, checked against what `fit` has seen."""
    refuse_partitions(X, "This method")
    source = as_columns(X, largest_copy()) if bank.columns_suffice else None
    if source is not None:
        check_width(source, estimator.n_features_in_)
        return source
    if bank.requires_vector_input:
        with plain_words(X):
            order = _find_order(bank)
            return validate_data(estimator, X, dtype=np.float64, order=order, reset=False)
    if bank.reads_tables:
        return read_new_table(estimator, X)
    if bank.reads_series:
        return _check_channels(estimator, read_series(X))
    if not bank.reads_similarities:
        return _as_sequence(X)
    shape, n_train, n_stacked = np.shape(X), estimator.n_features_in_, estimator._n_stacked
    is_stack = len(shape) in (2, 3) and shape[1] == n_train
    if not is_stack or _count_stacked(shape) != n_stacked:
        raise ValueError(
            f"The similarities have shape {shape}, expected (n_samples, {n_train}, {n_stacked}): "
            "those of new samples to all training samples, in all kernels. Pass "
            "K[numpy.ix_(new, train)], with the kernels on the last axis."
        )
    return validate_data(estimator, X, dtype="numeric", allow_nd=True, reset=False)


def row_labels(X: Any, n_samples: int) -> Any:
    """What the user calls the samples: the index of a data frame, else their numbers."""
    frame: Any = as_frame(row_index(X) if is_partitioned(X) else X)
    if frame is None:
        frame = nw.from_native(X, pass_through=True, series_only=True)
    known = isinstance(frame, nw.DataFrame | nw.Series)
    index = nw.maybe_get_index(frame) if known else None
    if index is not None and index.nlevels > 1 and len(index) != n_samples:
        index = index.get_level_values(0).unique()
    if index is None or len(index) != n_samples:
        return np.arange(n_samples)
    labels = list(index)
    if all(type(label) is int for label in labels):
        return np.array(labels)
    return np.array([str(label) for label in labels], dtype=object)


def largest_copy() -> float:
    """The size in bytes up to which data is copied to memory: scikit-learn's working memory."""
    return float(get_config()["working_memory"]) * 2**20


def _find_order(bank: BaseKernelBank) -> str | None:
    """The order in memory; products of matrices round differently in another one."""
    return None if bank.columns_suffice else "C"


def _count_stacked(shape: tuple[int, ...]) -> int:
    """The number of kernels in a stack; a matrix is one."""
    return shape[2] if len(shape) == 3 else 1


def _check_channels(estimator: Any, series: SeriesSet) -> SeriesSet:
    """Series with the channels that `fit` has seen, in that order."""
    expected = estimator.n_channels_in_
    if series.n_channels != expected:
        raise ValueError(
            f"The series have {series.n_channels} channels, but {type(estimator).__name__} was "
            f"fitted to {expected}. Pass the channels of the training part, in their order."
        )
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and series.channel_names not in (None, tuple(names)):
        raise ValueError(
            f"The channels are named {', '.join(series.channel_names or ())}, expected "
            f"{', '.join(names)} as in the training part. Bring them into that order."
        )
    return series


def _as_sequence(X: Any) -> Any:
    """X itself, but the values of a series: its index must not decide what X[i] is."""
    series = nw.from_native(X, pass_through=True, series_only=True)
    samples = series.to_numpy() if isinstance(series, nw.Series) else X
    if len(samples) == 0:
        raise ValueError("X has no samples, expected at least one. Check how it was selected.")
    return samples
