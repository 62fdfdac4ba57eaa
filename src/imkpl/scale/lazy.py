"""Answers of a fitted model to Dask collections: computed partition by partition, when wanted."""

from __future__ import annotations

import copy
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from imkpl._typing import IntArray
from imkpl.scale.cluster import one_at_a_time
from imkpl.scale.samples import check_collection, has_columns


def example_of(X: Any) -> Any:
    """One made-up row of a Dask collection, with its columns."""
    names = check_collection(X)
    zeros = np.zeros((1, X.shape[1] if names is None else len(names)))
    return zeros if names is None else type(X._meta)(zeros, columns=X._meta.columns)


def answer_lazily(model: Any, method: str, X: Any, options: dict[str, Any]) -> Any:
    """What a method of a model says about a Dask collection."""
    from dask.delayed import delayed

    empty = _empty_answer(model, method, options)
    # Codes of the training samples are large, and no method needs them.
    light = copy.copy(model)
    vars(light).pop("codes_", None)
    sent = delayed(Answerer(light, method, options, empty), name=f"model-{uuid4().hex}")
    if has_columns(X):
        return X.map_partitions(_answer, sent, meta=empty)
    whole = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    return whole.map_blocks(
        _answer,
        sent,
        dtype=empty.dtype,
        meta=empty,
        drop_axis=1 if empty.ndim == 1 else None,
        chunks=None if empty.ndim == 1 else (whole.chunks[0], (empty.shape[1],)),
        name=f"{method}-{uuid4().hex}",
    )


class Answerer:
    """A method of a model, for one partition at a time.

    Parameters
    ----------
    model : estimator
        Fitted.
    method : str
        Which method.
    options : dict
        Its further arguments.
    empty : array
        The answer to no samples.
    """

    def __init__(self, model: Any, method: str, options: dict[str, Any], empty: Any) -> None:
        self.model, self.method, self.options, self.empty = model, method, options, empty

    def __call__(self, part: Any) -> Any:
        """Answer a partition."""
        if len(part) == 0:
            return self.empty
        with one_at_a_time():
            return getattr(self.model, self.method)(part, **self.options)


def _answer(part: Any, answerer: Answerer) -> Any:
    return answerer(part)


def _empty_answer(model: Any, method: str, options: dict[str, Any]) -> Any:
    """The answer to no samples: its type and its number of columns are those of every answer."""
    classes: IntArray = model.classes_
    if method == "predict":
        return np.empty(0, dtype=object if options.get("reject") else classes.dtype)
    if method == "transform":
        return sp.csr_array((0, model.prototypes_.shape[0]))
    if method == "reconstruction_error" or (method == "decision_function" and classes.size == 2):
        return np.empty(0)
    return np.empty((0, classes.size))
