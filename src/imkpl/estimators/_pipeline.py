"""Models behind a pipeline: their reasons in the names and units of the data given to it."""

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from imkpl._checks import quote
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._base import BasePrototypeModel
from imkpl.estimators._compat import input_places
from imkpl.estimators._input import row_labels
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


# Thresholds of 0 and 1, at which one class is always the answer.
EXTREME = 1e-12


def last_step(estimator: Any) -> Any:
    """The prototype model: of a pipeline the last step."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(last, BasePrototypeModel):
        return last
    where = "The last step of the pipeline" if last is not estimator else "The model"
    raise TypeError(
        f"{where} is {quote(last)}, expected a prototype model, or a pipeline that ends with one. "
        "Pass IMKPL(), for example."
    )


def find_model(model: Any) -> Any:
    """The model that explains: of a pipeline the last step, which then reads what that does."""
    model = at_threshold(getattr(model, "best_estimator_", model))
    last = last_step(model)
    return last if last is model else PipelineModel(model)


def at_threshold(model: Any) -> Any:
    """The model inside a threshold of scikit-learn, at the costs that give the same answers."""
    if not isinstance(model, FixedThresholdClassifier | TunedThresholdClassifierCV):
        return model
    check_is_fitted(model)
    if model.response_method == "decision_function":
        raise TypeError(
            f"{type(model).__name__} cuts decision_function, expected probabilities. Use "
            "response_method='predict_proba'."
        )
    threshold = getattr(model, "best_threshold_", getattr(model, "threshold", "auto"))
    threshold = 0.5 if threshold == "auto" else float(np.clip(threshold, EXTREME, 1 - EXTREME))
    pos_label = getattr(model, "pos_label", None)
    positive = model.classes_[1] if pos_label is None else pos_label
    inner = copy(model.estimator_)
    last = copy(last_step(inner)).set_params(costs={positive: (1 - threshold) / threshold})
    if isinstance(inner, Pipeline):
        inner.steps = [*inner.steps[:-1], (inner.steps[-1][0], last)]
        return inner
    return last


class PipelineModel:
    """The last step of a pipeline, which reads what the pipeline reads."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._steps, self._last = pipeline[:-1], pipeline[-1]
        check_is_fitted(self._last)
        n_given = getattr(pipeline, "n_features_in_", 0)
        given = getattr(pipeline, "feature_names_in_", [f"x{i}" for i in range(n_given)])
        self._columns: list[Column] = []
        try:
            self._steps.get_feature_names_out(given)
        # Where a step does not name what it makes, the names are those of the last step.
        except AttributeError:
            return
        columns = [Column(str(name), place) for place, name in enumerate(given)]
        self._columns = follow(self._steps, columns)
        names = [one.name if one.source is None else given[one.source] for one in self._columns]
        self.feature_names_in_ = np.array(names, dtype=object)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._last, name)

    def explain(self, X: Any, *, render: Callable[[Any], Any] | None = None) -> Explanation:
        """Why samples are classified as they are, in the names and units of X."""
        found: Explanation = self._last.explain(self._steps.transform(X), render=render)
        found = replace(found, sample_ids=row_labels(X, len(found)))
        kernels = self._last._predictor.kernels
        inputs, columns = kernels.input_columns, kernels.kernel_columns
        if not self._columns or inputs is None or columns is None:
            return found
        units = OriginalUnits(self._columns, inputs)
        rows = enumerate(np.asarray(X, dtype=object))
        return replace(
            found,
            units=units,
            feature_names=tuple(kernels.kernel_names(self.feature_names_in_)),
            column_names=tuple(str(self.feature_names_in_[column]) for column in inputs),
            shown=[units.restore(columns, found.cells(place) or [], row) for place, row in rows],
        )

    def read_new(self, X: Any) -> Any:
        """New samples, as the kernels read them."""
        return self._last.read_new(self._steps.transform(X))


@dataclass(frozen=True, eq=False)
class Column:
    """A column that a pipeline makes."""

    name: str
    source: int | None = None  # the column of X that it is; None if it is none, or of several
    steps: tuple[tuple[Any, int], ...] = ()  # what changed its unit, and its place there

    def restore(self, cell: Any, row: Any = None) -> Any:
        """A cell in the unit of its source, which is in this row of X, if that is known."""
        # Whether a cell is missing is in no unit.
        if self.source is None or isinstance(cell, bool):
            return cell
        known = row is not None or is_missing(cell)
        cell = cell if row is None else row[self.source]
        for step, place in () if known else reversed(self.steps):
            # Zero is a number that all transformers know.
            inputs = np.zeros((1, step.n_features_in_))
            inputs[0, place] = cell
            with warnings.catch_warnings():
                # Names were checked by the pipeline.
                warnings.simplefilter("ignore", UserWarning)
                cell = np.asarray(step.inverse_transform(inputs))[0, place]
        if is_missing(cell):
            return None
        cell = cell.item() if isinstance(cell, np.generic) else cell
        return float(f"{cell:.{DIGITS}g}") if isinstance(cell, float) else cell


@dataclass(frozen=True, eq=False)
class OriginalUnits:
    """Shows cells as they were before a pipeline."""

    made: list[Column]  # what the pipeline makes
    inputs: IntArray  # the columns of it that the model reads

    def restore(self, columns: IntArray, cells: list[Any], row: Any = None) -> list[Any]:
        """Cells of these columns in the units of the data given."""
        return [self.made[c].restore(cell, row) for c, cell in zip(columns, cells, strict=True)]

    def show_ranges(self, ranges: FloatArray) -> FloatArray:
        """Ranges of all columns that the model reads, in the units of the data given."""
        shown = [self.restore(self.inputs, ends) for ends in ranges.T.tolist()]
        ends = [[end if isinstance(end, float) else np.nan for end in one] for one in shown]
        # Some transformers turn the order around.
        return np.sort(np.array(ends).T, axis=1)


def follow(step: Any, columns: list[Column]) -> list[Column]:
    """The columns that a fitted transformer makes of these."""
    if isinstance(step, Pipeline):
        for _, one in step.steps:
            columns = follow(one, columns)
        return columns
    if step is None or isinstance(step, str):
        return columns
    names = [column.name for column in columns]
    labels = [str(label) for label in step.get_feature_names_out(names)]
    if isinstance(step, ColumnTransformer):
        made = [Column(label) for label in labels]
        for name, one, _ in step.transformers_:
            outputs = range(len(labels))[step.output_indices_[name]]
            if outputs:
                parts = follow(one, [columns[i] for i in input_places(step, name)])
                for place, part in zip(outputs, parts, strict=True):
                    made[place] = replace(part, name=labels[place])
        return made
    is_scaler = isinstance(step, OneToOneFeatureMixin) and hasattr(step, "inverse_transform")
    is_imputer = type(step).__module__.startswith("sklearn.impute")
    is_kept = is_imputer or hasattr(step, "get_support") or getattr(step, "func", step) is None
    # An output with the name of an input is that input.
    known = dict(zip(names, columns, strict=True)) if is_scaler or is_kept else {}
    made = [known.get(label, Column(label)) for label in labels]
    if is_scaler:
        made = [replace(one, steps=(*one.steps, (step, i))) for i, one in enumerate(made)]
    return made
