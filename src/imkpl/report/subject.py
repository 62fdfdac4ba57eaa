"""What a report is about: a model, samples that it has not seen, and what it makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from imkpl._typing import IntArray
from imkpl.explanations import Explanation
from imkpl.explanations.cells import as_plain_label, read_cells
from imkpl.kernels import BaseKernelBank


@dataclass(frozen=True, eq=False)
class Samples:
    """Some samples and, where known, their classes.

    Parameters
    ----------
    given : samples
        In the form that the kernels read, with all columns.
    live : samples
        Cut down to the columns that the model reads.
    labels : list or None
        Class labels as plain objects.
    """

    given: Any
    live: Any
    labels: list[Any] | None


@dataclass(frozen=True, eq=False)
class Subject:
    """A model with held-out samples, its decisions on them, and perhaps the training part.

    Parameters
    ----------
    model : estimator
        Fitted.
    explanation : Explanation
        Of all held-out samples.
    held_out : Samples
        These.
    train : Samples, optional
        What the model was fitted to.
    """

    model: Any
    explanation: Explanation
    held_out: Samples
    train: Samples | None

    @property
    def bank(self) -> BaseKernelBank:
        """The kernels of positive weight."""
        return self.explanation.evidence.predictor.bank

    @property
    def classes(self) -> list[Any]:
        """Labels of the classes that the model knows, as plain objects."""
        return [as_plain_label(label) for label in self.explanation.classes]

    @property
    def n_held_out(self) -> int:
        """How many samples the model is shown here."""
        return len(self.explanation)

    @property
    def kind(self) -> str:
        """What the kernels read: "columns", "series", "similarities" or "objects"."""
        if self.bank.reads == "series":
            return "series"
        if self.bank.reads == "similarities":
            return "similarities"
        support = self.explanation.evidence.predictor.samples
        cells = read_cells(self.explanation.evidence.predictor, support, 0)
        return "objects" if cells is None else "columns"

    @property
    def right(self) -> IntArray | None:
        """1 for a sample classified as its label says, else 0; None without labels."""
        if self.held_out.labels is None:
            return None
        found = [as_plain_label(label) for label in self.explanation.predicted]
        return np.array([a == b for a, b in zip(found, self.held_out.labels, strict=True)], int)


def read_subject(model: Any, X: Any, y: Any, train: tuple[Any, Any] | None) -> Subject:
    """Explain held-out samples, and check that labels and training part belong to them."""
    if not callable(getattr(model, "explain", None)):
        raise TypeError(
            f"A report describes a prototype model such as IMKPL, got {type(model).__name__}. For "
            "a pipeline pass its last step, and samples that went through the steps before it."
        )
    explanation = model.explain(X)
    n_samples = len(explanation)
    held_out = _read_samples(model, X, _read_labels(y, n_samples, "y", "samples in X"))
    if train is None:
        return Subject(model, explanation, held_out, None)
    if not isinstance(train, tuple | list) or len(train) != 2:
        raise ValueError(
            "train must be the pair (X_train, y_train) that the model was fitted to. Leave it out "
            "for a report without the training part."
        )
    given = _read_samples(model, train[0], None)
    n_expected, n_train = int(model.prototypes_.shape[1]), len(given.live)
    if n_train != n_expected:
        raise ValueError(
            f"train has {n_train} samples, but the model was fitted to {n_expected}. Pass the X "
            "and y of fit, or leave train out."
        )
    labels = _read_labels(train[1], n_train, "the y of train", "training samples")
    return Subject(model, explanation, held_out, Samples(given.given, given.live, labels))


def choose_evenly(labels: list[Any], most: int) -> IntArray:
    """At most so many rows, of every class its share, evenly spaced within it.

    Examples
    --------
    >>> choose_evenly(["a"] * 6 + ["b"] * 2, 4).tolist()
    [1, 3, 5, 7]
    """
    if len(labels) <= most:
        return np.arange(len(labels))
    names = np.array([str(label) for label in labels], dtype=object)
    # Rows sorted by class, then every n-th: a class gets its share of them.
    order = np.argsort(names, kind="stable")
    places = (2 * np.arange(most) + 1) * len(labels) // (2 * most)
    return np.asarray(np.sort(order[places]))


def _read_samples(model: Any, X: Any, labels: list[Any] | None) -> Samples:
    given, columns = model._read_new(X), model._predictor.columns
    return Samples(given, given if columns is None else given[:, columns], labels)


def _read_labels(y: Any, n_expected: int, name: str, of: str) -> list[Any] | None:
    if y is None:
        return None
    labels = [as_plain_label(label) for label in np.asarray(y, dtype=object).ravel()]
    if len(labels) != n_expected:
        raise ValueError(
            f"There are {len(labels)} labels in {name} for {n_expected} {of}, expected one each. "
            "Check that both were split in the same way."
        )
    return labels
