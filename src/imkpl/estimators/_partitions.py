"""Samples in the partitions of Dask collections: read for `fit`, grouped, and answered lazily."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from imkpl.estimators._compat import wants_data_frame
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.forms import Form

Method = TypeVar("Method", bound=Callable[..., Any])


def is_partitioned(X: Any) -> bool:
    """Whether this is a Dask collection; does not import Dask."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def in_memory(values: Any) -> Any:
    """Labels, weights or names; those of a Dask collection are fetched."""
    if not is_partitioned(values):
        return values
    from imkpl.scale.dask import fetch_values

    return fetch_values(values)


def read_partitions(bank: BaseKernelBank, X: Any, form: Form) -> tuple[Any, Form]:
    """The samples of a Dask collection, which stay in their partitions, and their form."""
    if bank.kind.input_kind not in ("vectors", "columns"):
        raise ValueError(
            f"The kernels of {type(bank).__name__} do not read rows of numbers, but Dask "
            "collections hold such rows, expected an array or a list for these kernels. Pass "
            "X.compute(), or use kernels='per_feature_gaussian'."
        )
    from imkpl.scale.dask import read_dask

    samples = read_dask(X)
    return samples, form.learn(samples.shape[1], getattr(X, "columns", None))


def refuse_partitions(X: Any, where: str) -> None:
    """Raise an error if X is a Dask collection."""
    if is_partitioned(X):
        raise ValueError(
            f"{where} got a Dask collection, expected samples in memory. Pass X.compute() of the "
            "samples you need."
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
        from imkpl.scale.dask import answer_lazily, example_of

        # The number and the names of features are checked now, not when the answer is computed.
        validate_data(self, example_of(X), dtype=np.float64, reset=False)
        if method.__name__ == "transform" and wants_data_frame(self):
            raise ValueError(
                "transform got a Dask collection while set_output asks for a data frame, expected "
                "the default output: codes are sparse blocks. Use set_output(transform='default')."
            )
        return answer_lazily(self, method.__name__, X, options)

    return answer  # type: ignore[return-value]
