"""What a report is about: a model, held-out samples and, if given, the training data."""

import hashlib
import json
import platform
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from imkpl import __version__
from imkpl._checks import shorten
from imkpl._typing import BoolArray, IntArray
from imkpl._writing import digest
from imkpl.estimators._input import row_labels
from imkpl.estimators._pipeline import find_model
from imkpl.explanations import Explanation
from imkpl.explanations.case_card import Comparison, find_doubts
from imkpl.explanations.exports import to_label
from imkpl.kernels import Kernels
from imkpl.model.predictor import Predictor

# Samples that quantiles are estimated from, and characters of a setting.
MOST_SAMPLES, LONGEST_SETTING = 4000, 300
# Letters and digits that are written from the right, as Unicode calls their kinds.
FROM_THE_RIGHT = {"R", "AL", "AN"}


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples as the kernels read them, and their labels if known."""

    given: Any  # all columns
    kernels: Kernels  # between these and the support
    ids: Any  # what the user calls them
    labels: list[Any] | None


@dataclass(frozen=True, eq=False)
class Values:
    """Cells by which features are described."""

    whose: str
    labels: list[Any]
    cells: list[list[Any]]  # one row per sample, one cell per feature

    def of_class(self, feature: int, label: Any) -> list[Any]:
        """The values of a feature in the samples of a class, without missing cells."""
        pairs = zip(self.cells, self.labels, strict=True)
        values = [cells[feature] for cells, owner in pairs if owner == label]
        return [value for value in values if value is not None and value == value]


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model, held-out samples with their explanation, and perhaps the training data."""

    model: Any
    explanation: Explanation
    held_out: Samples
    train: Samples | None

    @property
    def predictor(self) -> Predictor:
        """The fitted model below the estimator."""
        return self.explanation.evidence.predictor

    @cached_property
    def kind(self) -> str:
        """What the kernels read: "columns", "series", "similarities" or "objects"."""
        word = self.predictor.kernels.input_kind
        if word in ("series", "similarities"):
            return word
        return "columns" if self.features.has_cells else "objects"

    @cached_property
    def classes(self) -> list[Any]:
        """Class labels as built-in objects."""
        return [to_label(label) for label in self.explanation.classes]

    @cached_property
    def predicted(self) -> list[Any]:
        """Predicted labels of the held-out samples."""
        return [self.classes[place] for place in self.explanation.winners]

    @cached_property
    def doubts(self) -> Any:
        """How far to trust each answer about the held-out samples, in a word."""
        return find_doubts(self.explanation, self.features)

    @cached_property
    def right(self) -> BoolArray | None:
        """Whether each held-out sample is classified correctly; None without labels."""
        if self.held_out.labels is None:
            return None
        pairs = zip(self.predicted, self.held_out.labels, strict=True)
        return np.array([found == label for found, label in pairs], dtype=bool)

    @property
    def features(self) -> Comparison:
        """What cases are compared by: columns, or kernels that read more than one value."""
        return self.explanation.comparison

    @cached_property
    def values(self) -> Values | None:
        """The values of some samples: of training samples if they are known."""
        if self.kind != "columns":
            return None
        whose, samples = "training cases", self.train
        if samples is None or samples.labels is None:
            whose, samples = "held-out cases", self.held_out
        labels = samples.labels
        if labels is None:
            whose, labels = "held-out cases, by predicted class", self.predicted
        rows = choose_evenly(labels, MOST_SAMPLES)
        cells = [self.features.cells(samples.kernels, int(row)) for row in rows]
        return Values(whose, [labels[row] for row in rows], cells)

    def find_places(self, labels: list[Any]) -> IntArray:
        """The index of every label in the classes; -1 for one that the model does not know."""
        known = {label: place for place, label in enumerate(self.classes)}
        return np.array([known.get(label, -1) for label in labels])


def read_subject(model: Any, X: Any, y: Any, train: tuple[Any, Any] | None) -> Subject:
    """Explain the held-out samples, and check that labels and training data belong to the model."""
    model = find_model(model)
    explanation = model.explain(X)
    labels = _read_labels(y, len(explanation), "y", "samples in X")
    evidence, ids = explanation.evidence, explanation.sample_ids
    held_out = Samples(evidence.samples, evidence.kernels, ids, labels)
    if train is None:
        return Subject(model, explanation, held_out, None)
    if not isinstance(train, tuple | list) or len(train) != 2:  # type: ignore[redundant-expr]
        raise ValueError(
            "train must be the pair (X_train, y_train) that the model was fitted to. Leave it out "
            "for a report without the training data."
        )
    given = model.read_new(train[0])
    kernels = evidence.predictor.kernels.cross(given)
    n_expected, n_train = int(model.prototypes_.shape[1]), kernels.shape[0]
    if n_train != n_expected:
        raise ValueError(
            f"train has {n_train} samples, but the model was fitted to {n_expected}. Pass the X "
            "and y of fit, or leave train out."
        )
    labels = _read_labels(train[1], n_train, "the y of train", "training samples")
    trained = Samples(given, kernels, row_labels(train[0], n_train), labels)
    return Subject(model, explanation, held_out, trained)


def _read_labels(y: Any, n_expected: int, name: str, of: str) -> list[Any] | None:
    if y is None:
        return None
    labels = [to_label(label) for label in np.asarray(y, dtype=object).ravel()]
    if len(labels) != n_expected:
        raise ValueError(
            f"There are {len(labels)} labels in {name} for {n_expected} {of}, expected one each. "
            "Check that both were split in the same way."
        )
    return labels


def choose_evenly(labels: list[Any], most: int) -> IntArray:
    """Up to `most` rows, evenly spaced within classes, which keep their shares."""
    if len(labels) <= most:
        return np.arange(len(labels))
    names = np.array([str(label) for label in labels], dtype=object)
    # Sort the rows by class and take every n-th.
    order = np.argsort(names, kind="stable")
    places = (2 * np.arange(most) + 1) * len(labels) // (2 * most)
    return np.asarray(np.sort(order[places]))


def choose_rows(subject: Subject, most: int) -> IntArray:
    """Held-out samples: errors first, up to half; the others evenly spaced within classes."""
    labels, right = subject.held_out.labels, subject.right
    if labels is None or right is None:
        return choose_evenly([str(place) for place in subject.explanation.winners], most)
    if len(labels) <= most:
        return np.arange(len(labels))
    wrong, others = np.flatnonzero(~right), np.flatnonzero(right)
    wrong = wrong[choose_evenly([labels[row] for row in wrong], max(most // 2, most - others.size))]
    others = others[choose_evenly([labels[row] for row in others], most - wrong.size)]
    return np.asarray(np.sort(np.concatenate([wrong, others])))


def describe_size(subject: Subject) -> dict[str, Any]:
    """How many prototypes, samples and features the model keeps."""
    model = subject.model
    columns, weights = subject.predictor.kernels.kernel_columns, model.kernel_weights_
    kept, total = int(np.count_nonzero(weights)), weights.size
    word = "channel" if subject.kind == "series" else "feature"
    if hasattr(model, "channel_evidence_"):
        kept, total = int(np.count_nonzero(model.feature_importances_)), model.n_features_in_
    elif columns is None:
        word = "kernel"
    else:
        kept, total = np.unique(columns).size, model.n_features_in_
    return {
        "n_prototypes": int(model.prototypes_.shape[0]),
        "prototypes_per_class": model.prototypes_.shape[0] / len(model.classes_),
        "samples_per_prototype": model.prototypes_.nnz / model.prototypes_.shape[0],
        "n_support": int(model.support_.size),
        "n_train": int(model.prototypes_.shape[1]),
        "n_features": int(total),
        "n_features_kept": kept,
        "feature_word": word,
    }


def describe_repeats(subject: Subject) -> dict[str, Any] | None:
    """Duplicates within the training data, and held-out samples that occur in it."""
    if subject.train is None:
        return None
    kernels = subject.predictor.kernels
    train, held_out = (kernels.keys(one.given) for one in (subject.train, subject.held_out))
    if train is None or held_out is None:
        return None
    owners: dict[bytes, list[int]] = {}
    for row, key in enumerate(train):
        owners.setdefault(key, []).append(row)
    labels = subject.train.labels or [None] * len(train)
    repeated = [rows for rows in owners.values() if len(rows) > 1]
    leaked = [row for row, key in enumerate(held_out) if key in owners]
    return {
        "n_repeated": sum(len(rows) - 1 for rows in repeated),
        "n_conflicting": sum(len({str(labels[row]) for row in rows}) > 1 for rows in repeated),
        "n_leaked": len(leaked),
        "leaked": leaked,
    }


def describe_provenance(subject: Subject) -> dict[str, Any]:
    """Settings, versions, fingerprints of the data and the time."""
    settings = subject.model.get_params(deep=False)
    parts = (("held-out", subject.held_out), ("training", subject.train))
    return {
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "estimator": type(subject.model).__name__,
        "settings": [
            {"name": name, "value": shorten(repr(settings[name]), LONGEST_SETTING)}
            for name in sorted(settings)
        ],
        "versions": find_versions(),
        "fingerprint": fingerprint_model(subject.model),
        "data": [{"part": part, **find_fingerprint(subject, one)} for part, one in parts if one],
    }


def find_versions() -> dict[str, str]:
    """The versions of Python and of the libraries that a fit depends on."""
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"imkpl": __version__, "python": platform.python_version(), **libraries}


def fingerprint_model(model: Any) -> str:
    """What tells a model from others: what it reads, its weights and its prototypes."""
    mixes = [model.prototypes_, model.contrasts_]
    arrays = [model.kernel_weights_, *(part for one in mixes for part in (one.indices, one.data))]
    # Names of samples may be of any kind.
    labels = getattr(model, "classes_", np.empty(0)).tolist()
    names = [*model.kernel_names_, *labels, *model.support_ids_.tolist()]
    numbers = [np.asarray(one, dtype="<f8").tobytes() for one in arrays]
    return digest(json.dumps([str(name) for name in names]).encode(), *numbers).hex()


def find_fingerprint(subject: Subject, samples: Samples) -> dict[str, Any]:
    """The SHA-256 of samples and labels, whatever held them, their shape, and what it covers."""
    kernels, covers = samples.kernels, "all values"
    keys = kernels.keys(samples.given)
    if keys is None and subject.kind == "similarities":
        keys = [np.ascontiguousarray(samples.given, dtype="<f8").tobytes()]
    elif keys is None:
        covers = "the columns that the model reads"
        keys = kernels.keys()
    if keys is None:
        covers = "nothing: the samples are objects"
        return {"shape": [len(samples.given)], "sha256": None, "covers": covers}
    shape = [int(size) for size in samples.given.shape]
    lengths = sorted({len(key) for key in keys})
    digest = hashlib.sha256(f"{json.dumps(shape)}\n".encode())
    for key in keys:
        # Keys of different lengths are told apart by them.
        digest.update(key if len(lengths) == 1 else f"{len(key)}\n".encode() + key)
    if samples.labels is not None:
        digest.update(json.dumps(samples.labels, default=str).encode() + b"\n")
        covers += " and labels"
    return {"shape": shape, "sha256": digest.hexdigest(), "covers": covers}


def isolate(name: Any) -> Any:
    """A name to put into a sentence whose writing direction does not reach the words around it."""
    if any(unicodedata.bidirectional(character) in FROM_THE_RIGHT for character in str(name)):
        return f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"
    return name
