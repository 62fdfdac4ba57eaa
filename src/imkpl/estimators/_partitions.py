"""Dask collections at the rim: read for `fit`, and answered part by part."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from imkpl.estimators._compat import wants_data_frame
from imkpl.estimators._sharded import group_sharded_rows  # noqa: F401
from imkpl.kernels import BaseKernelBank

Method = TypeVar("Method", bound=Callable[..., Any])


def is_partitioned(X: Any) -> bool:
    """Whether this is a Dask collection; Dask is not imported to find that out."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def read_partitions(estimator: Any, bank: BaseKernelBank, X: Any, y: Any) -> tuple[Any, Any]:
    """Partitioned samples and their labels, the samples left where they are."""
    if not bank.requires_vector_input:
        raise ValueError(
            f"The kernels of {type(bank).__name__} do not read rows of numbers, but Dask "
            "collections hold such rows, expected an array or a list for these kernels. Pass "
            "X.compute(), or use kernels='per_feature_gaussian'."
        )
    from imkpl.scale.samples import read_dask

    samples = read_dask(X)
    # Names of an earlier fit must not stay.
    vars(estimator).pop("feature_names_in_", None)
    estimator.n_features_in_ = samples.shape[1]
    names = getattr(X, "columns", None)
    if names is not None and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(list(names), dtype=object)
    return samples, in_memory(y)


def in_memory(values: Any) -> Any:
    """Labels, weights or names, brought here if they are partitioned."""
    if not is_partitioned(values):
        return values
    from imkpl.scale.samples import fetch_values

    return fetch_values(values)


def row_index(X: Any) -> Any:
    """The labels of the rows of a partitioned data frame, as a frame without columns."""
    index = getattr(X, "index", None)
    return None if index is None else in_memory(X[[]])


def refuse_partitions(X: Any, where: str) -> None:
    """Raise where partitioned samples cannot be used."""
    if is_partitioned(X):
        raise ValueError(
            f"{where} got a Dask collection, expected samples in memory. Pass X.compute(), of the "
            "samples that are wanted."
        )


def by_partition(method: Method) -> Method:
    """Answer a Dask collection lazily, every partition by the method itself."""

    @wraps(method)
    def answer(self: Any, X: Any, **options: Any) -> Any:
        if not is_partitioned(X):
            return method(self, X, **options)
        check_is_fitted(self)
        if not self._predictor.bank.requires_vector_input:
            refuse_partitions(X, f"{method.__name__} with kernels of other things than vectors")
        from imkpl.scale.lazy import answer_lazily, example_of

        # The number and the names of features are checked now, not when the answer is computed.
        validate_data(self, example_of(X), dtype=np.float64, reset=False)
        if method.__name__ == "transform" and wants_data_frame(self):
            raise ValueError(
                "transform got a Dask collection while set_output asks for a data frame, expected "
                "the default output: codes are sparse blocks. Use set_output(transform='default')."
            )
        return answer_lazily(self, method.__name__, X, options)

    return answer  # type: ignore[return-value]
