"""Models behind a pipeline: their reasons in the names and units of the data given to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._base import BasePrototypeClassifier
from imkpl.estimators._training import row_labels
from imkpl.explanations import Explanation
from imkpl.tables import is_missing

# Restored numbers have as many digits; the last ones are rounding errors.
DIGITS = 12


def explain(model: Any, X: Any, *, render: Callable[[Any], Any] | None = None) -> Explanation:
    """Explain the decisions of a model, also of one at the end of a pipeline.

    The cards of a pipeline show the columns of X by their names and in their units, as far as
    columns of the model come from a single one of them: through scaling, encoding by one number,
    imputing and selecting, within a `ColumnTransformer` or not. Others, such as those of a
    `OneHotEncoder`, keep the names and values that the pipeline gives them.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted model, a pipeline with one as its last step, or a search for the best of these.
    X : samples
        Samples, in the form that was given to `fit`.
    render : callable, optional
        As for `explain` of a model.

    Returns
    -------
    Explanation
        To be printed, shown in a notebook, or turned into data frames and dicts.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import imkpl
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> pipeline = make_pipeline(StandardScaler(), imkpl.IMKPL(n_prototypes=3)).fit(X[1:], y[1:])
    >>> card = imkpl.explain(pipeline, X[:1]).card()
    >>> first = card.features[0]
    >>> bool(first["value"] == X[first["name"]][0])
    True
    """
    explanation: Explanation = find_model(model).explain(X, render=render)
    return explanation


def last_step(estimator: Any) -> Any:
    """The prototype model: of a pipeline the last step."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(last, BasePrototypeClassifier):
        return last
    given = f"the class {last.__name__}" if isinstance(last, type) else type(last).__name__
    where = "The last step of the pipeline" if last is not estimator else "The model"
    raise TypeError(
        f"{where} is {given}, expected a prototype model such as IMKPL, or a pipeline that ends "
        "with one. Pass IMKPL(), for example."
    )


def find_model(model: Any) -> Any:
    """The model that explains: of a pipeline the last step, which then reads what that does."""
    model = getattr(model, "best_estimator_", model)
    last = last_step(model)
    return last if last is model else PipelineModel(model)


class PipelineModel:
    """The last step of a pipeline, which reads what the pipeline reads."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._last = pipeline, pipeline.steps[-1][1]
        check_is_fitted(self._last)
        given = getattr(pipeline, "feature_names_in_", None)
        n_given = getattr(pipeline, "n_features_in_", self._last.n_features_in_)
        self._given = [f"x{i}" for i in range(n_given)] if given is None else [*map(str, given)]
        self._trace = trace(pipeline[:-1], self._given, self._last.n_features_in_)
        sources = zip(self._trace.labels, self._trace.sources, strict=True)
        names = [label if source is None else self._given[source] for label, source in sources]
        self.feature_names_in_ = np.array(names, dtype=object)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._last, name)

    @property
    def kernel_names_(self) -> list[str]:
        """The names of the kernels with those of the columns replaced."""
        last, columns = self._last, self._last._kernel_columns
        if columns is None:
            return list(last.kernel_names_)
        before = getattr(last, "feature_names_in_", [f"x{i}" for i in range(last.n_features_in_)])
        return [
            f"{self.feature_names_in_[column]}{name.removeprefix(str(before[column]))}"
            for name, column in zip(last.kernel_names_, columns.tolist(), strict=True)
        ]

    def explain(self, X: Any, *, render: Callable[[Any], Any] | None = None) -> Explanation:
        """Why samples are classified as they are, in the names and units of X."""
        found: Explanation = self._last.explain(self._transform(X), render=render)
        names, kernels = self.kernel_names_, self._last._predictor.kernels
        found = replace(
            found,
            sample_ids=row_labels(X, len(found)),
            feature_names=tuple(names[i] for i in np.flatnonzero(self._last.kernel_weights_)),
        )
        inputs, columns = kernels.input_columns, kernels.kernel_columns
        if inputs is None or columns is None:
            return found
        given = np.asarray(X, dtype=object)
        return replace(
            found,
            units=OriginalUnits(self._trace, inputs),
            column_names=tuple(str(self.feature_names_in_[column]) for column in inputs),
            shown=[
                self._trace.show(columns, found.cells(place) or [], row)
                for place, row in enumerate(given)
            ],
        )

    def _transform(self, X: Any) -> Any:
        return self._pipeline[:-1].transform(X)

    def read_new(self, X: Any) -> Any:
        return self._last.read_new(self._transform(X))


@dataclass(frozen=True, eq=False)
class OriginalUnits:
    """Shows cells as they were before a pipeline."""

    trace: Trace
    columns: IntArray  # the columns that the model reads

    def restore(self, columns: IntArray, cells: list[Any]) -> list[Any]:
        """Cells of these columns in the units of the data given."""
        outputs = np.full((1, len(self.trace.labels)), None, dtype=object)
        for column, cell in zip(columns, cells, strict=True):
            # Whether a cell is missing comes after the cell.
            if outputs[0, column] is None and not is_missing(cell) and not isinstance(cell, bool):
                outputs[0, column] = cell
        return self.trace.show(columns, cells, self.trace.undo(outputs)[0])

    def show_ranges(self, ranges: FloatArray) -> FloatArray:
        """Ranges of all columns that the model reads, in the units of the data given."""
        shown = [self.restore(self.columns, ends.tolist()) for ends in ranges.T]
        ends = [[end if isinstance(end, float) else np.nan for end in one] for one in shown]
        # Some transformers turn the order around.
        return np.sort(np.array(ends).T, axis=1)


def _as_cell(value: Any) -> Any:
    """A cell as a Python object; None if it is missing."""
    if is_missing(value):
        return None
    value = value.item() if isinstance(value, np.generic) else value
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


@dataclass(frozen=True, eq=False)
class Trace:
    """Where the outputs of a transformer come from."""

    labels: list[str]  # names of the outputs
    sources: list[int | None]  # the input that each is, in whatever unit; None for all others
    undo: Callable[[Any], Any]  # from rows of outputs to rows of inputs; None for what is unknown

    def show(self, columns: IntArray, cells: list[Any], inputs: Any) -> list[Any]:
        """Cells of these outputs as they are in a row of inputs, where they come from one."""
        sources = [self.sources[column] for column in columns.tolist()]
        return [
            # Whether a cell is missing is in no unit.
            cell if source is None or isinstance(cell, bool) else _as_cell(inputs[source])
            for source, cell in zip(sources, cells, strict=True)
        ]


def trace(step: Any, names: list[str], n_outputs: int | None = None) -> Trace:
    """The trace of a fitted transformer with inputs of these names."""
    n_inputs = len(names)
    if step is None or isinstance(step, str) or getattr(step, "func", step) is None:
        return Trace(names, list(range(n_inputs)), _KEEP)
    if isinstance(step, Pipeline) and hasattr(step, "get_feature_names_out"):
        found = trace(None, names)
        steps = [one for _, one in step.steps]
        for one, after in zip(steps, [*steps[1:], None], strict=True):
            n_outputs = getattr(after, "n_features_in_", n_outputs)
            part = trace(one, found.labels, n_outputs)
            before = [None if source is None else found.sources[source] for source in part.sources]
            found = Trace(part.labels, before, partial(_undo_steps, [found.undo, part.undo]))
        return found
    labels = [f"x{i}" for i in range(n_outputs or 0)]
    if hasattr(step, "get_feature_names_out"):
        labels = [str(label) for label in step.get_feature_names_out(names)]
    sources: list[Any] = [None] * len(labels)
    if isinstance(step, ColumnTransformer):
        return _trace_columns(step, names, labels)
    if isinstance(step, OneToOneFeatureMixin) and hasattr(step, "inverse_transform"):
        return Trace(labels, list(range(n_inputs)), partial(_invert, step))
    if hasattr(step, "get_support"):
        sources = np.flatnonzero(step.get_support()).tolist()
    elif type(step).__module__.startswith("sklearn.impute"):
        sources = [names.index(label) if label in names else None for label in labels]
    known = [place for place, source in enumerate(sources) if source is not None]
    parts = [(known, [sources[place] for place in known], _KEEP)]
    return Trace(labels, sources, partial(_undo_columns, parts, n_inputs))


def _trace_columns(step: ColumnTransformer, names: list[str], labels: list[str]) -> Trace:
    sources: list[int | None] = [None] * len(labels)
    parts = []
    for name, one, columns in step.transformers_:
        places, outputs = _find_places(columns, names), step.output_indices_[name]
        part = trace(None if one == "passthrough" else one, [names[i] for i in places])
        if one != "drop" and len(part.labels) == outputs.stop - outputs.start:
            sources[outputs] = [None if i is None else places[i] for i in part.sources]
            parts.append((outputs, places, part.undo))
    return Trace(labels, sources, partial(_undo_columns, parts, len(names)))


def _find_places(columns: Any, names: list[str]) -> list[int]:
    """Columns by name, place, slice or mask as places."""
    if isinstance(columns, slice):
        ends = [names.index(e) if isinstance(e, str) else e for e in (columns.start, columns.stop)]
        last = 1 if isinstance(columns.stop, str) else 0
        return list(range(len(names)))[slice(ends[0], ends[1] + last if last else ends[1])]
    listed = np.atleast_1d(np.asarray(columns))
    if listed.dtype.kind == "b":
        return np.flatnonzero(listed).tolist()
    return [names.index(one) if isinstance(one, str) else int(one) for one in listed.tolist()]


def _undo_steps(steps: list[Callable[[Any], Any]], outputs: Any) -> Any:
    for undo in reversed(steps):
        outputs = undo(outputs)
    return outputs


_KEEP = partial(_undo_steps, [])


def _undo_columns(parts: Any, n_inputs: int, outputs: Any) -> Any:
    inputs = np.full((len(outputs), n_inputs), None, dtype=object)
    for own, places, undo in parts:
        inputs[:, places] = undo(outputs[:, own])
    return inputs


def _invert(step: Any, outputs: Any) -> Any:
    is_known = np.array([[cell is not None for cell in row] for row in outputs])
    with warnings.catch_warnings():
        # Names were checked by the pipeline.
        warnings.simplefilter("ignore", UserWarning)
        # Zero is a number that all transformers know.
        inputs = step.inverse_transform(np.where(is_known, outputs, 0.0).astype(np.float64))
    found = np.asarray(inputs, dtype=object)
    found[~is_known] = None
    return found
