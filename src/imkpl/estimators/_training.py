"""What was given to `fit`: distinct samples with classes and weights, and the kernels on them."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from imkpl._checks import describe_lookalikes, quote
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._compat import check_sample_weight
from imkpl.estimators._constraints import check_eligible, read_eligible
from imkpl.estimators._partitions import in_memory, is_partitioned, read_partitions
from imkpl.kernels import BaseKernelBank
from imkpl.kernels.forms import Form
from imkpl.model.permutation_test import KernelEvidence
from imkpl.tables import as_frame

LABEL_TYPES = (str, bytes, Number, np.generic)
LABEL_FORMS = "expected one label per sample, such as [0, 1, 1] or ['a', 'b', 'b']"
# A sample that weighs less than this part of the heaviest asks for no prototype of its own.
NEGLIGIBLE = 1e-6
# Weights within these bounds are used unchanged; sums of larger ones may overflow.
SMALLEST, LARGEST = 1e-15, 1e15
# How numpy puts it when something else is converted to numbers.
NOT_NUMBERS = re.compile(r"could not convert string|float\(\) argument|setting an array element")


@dataclass(frozen=True, eq=False)
class Given:
    """Samples, labels and weights as they were given to `fit`."""

    bank: BaseKernelBank
    samples: Any  # as the kernels read them
    form: Form
    y: Any
    weight: FloatArray
    ids: Any  # names of the samples
    is_eligible: BoolArray | None  # which may be shown; None for all


@dataclass(frozen=True, eq=False)
class ChannelWeights:
    """The weights of channels inside the kernels."""

    weights: FloatArray  # (n_channels,), sum to one
    evidence: KernelEvidence  # how sure it is that channels are more than chance


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Distinct samples of positive weight, and where they stand in the data given to `fit`.

    Equal samples of one class count as one sample with the sum of their weights, so that a weight
    of two is exactly a sample given twice and no sample is its own neighbour. The distinct samples
    are sorted, so that a fit does not depend on the order of the rows.
    """

    given: Given
    classes: Any
    rows: IntArray  # (n_samples,) the first row given of every sample
    group: IntArray  # (n_given,) the sample of every row; -1 for rows of weight zero
    labels: IntArray  # (n_samples,) classes, counted from 0
    sample_weight: FloatArray  # (n_samples,) weights times those of their classes
    multiplicity: FloatArray  # (n_samples,) the sum of the weights given
    is_eligible: BoolArray | None = None  # (n_samples,)

    @property
    def n_samples(self) -> int:
        """The number of samples that are learned from."""
        return int(self.labels.size)

    def take(self, samples: IntArray) -> TrainingData:
        """Some of the samples, in the same rows given; others have no group."""
        places = np.full(self.n_samples + 1, -1)
        places[samples] = np.arange(samples.size)
        return replace(
            self,
            rows=self.rows[samples],
            # A row of weight zero has the place -1, which stays -1.
            group=places[self.group],
            labels=self.labels[samples],
            sample_weight=self.sample_weight[samples],
            multiplicity=self.multiplicity[samples],
            is_eligible=None if self.is_eligible is None else self.is_eligible[samples],
        )

    def expand_prototypes(self, prototypes: sp.csr_array) -> sp.csr_array:
        """Prototypes as mixes of the rows given to `fit`."""
        shape = (prototypes.shape[0], self.group.size)
        parts = (prototypes.data, self.rows[prototypes.indices], prototypes.indptr)
        expanded = sp.csr_array(parts, shape=shape, copy=True)
        expanded.sort_indices()
        return expanded

    def expand_codes(self, codes: sp.csr_array) -> sp.csr_array:
        """One code per row given to `fit`; empty for rows of weight zero."""
        is_used = self.group >= 0
        rows, columns = np.flatnonzero(is_used), self.group[is_used]
        shape = (self.group.size, self.rows.size)
        spread = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
        return sp.csr_array(spread @ codes)

    def count_prototypes(self, n_prototypes: int | None, sparsity: int) -> int:
        """How many prototypes to start with, by the paper's rule or as it is said."""
        n_classes = self.classes.size
        if n_prototypes is None:
            heaviest = self.sample_weight.max()
            n_relevant = np.count_nonzero(self.sample_weight > NEGLIGIBLE * heaviest)
            return int(min(n_classes * sparsity, max(n_classes, n_relevant)))
        if n_prototypes < n_classes:
            raise ValueError(
                f"n_prototypes={n_prototypes}, expected at least one for each of the "
                f"{n_classes} classes. Raise it, or leave it out."
            )
        return int(min(n_prototypes, self.n_samples))


def read_training(
    bank: BaseKernelBank,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    eligible: ArrayLike | None = None,
    *,
    class_weight: Any = None,
    owner: str = "IMKPL",
) -> TrainingData:
    """Read what was given to `fit`, leave out rows of weight zero, and merge equal ones."""
    y = in_memory(y)
    check_labels(y)
    if is_partitioned(X):
        samples, form = read_partitions(bank, X, Form(owner))
    else:
        samples, form = bank.kind.read(X, Form(owner))
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    targets = column_or_1d(y, warn=True)
    check_consistent_length(samples, targets)
    check_classification_targets(targets)
    weight = read_sample_weight(sample_weight, samples)
    n_given = len(samples)
    flags = None if eligible is None else read_eligible(eligible, n_given)
    given = Given(bank, samples, form, targets, weight, row_labels(X, n_given), flags)

    classes, labels = find_classes(targets, weight)
    factors = find_class_weight(class_weight, classes, labels, weight)
    used = np.flatnonzero(weight > 0)
    first, own = bank.kind.find_equal(samples, used, labels[used])
    group = np.full(n_given, -1)
    group[used] = own
    if flags is not None:
        # Equal rows are eligible if one of them is, which then stands for all.
        order = np.lexsort((used, ~flags[used], own))
        first = order[np.unique(own[order], return_index=True)[1]]
    rows: IntArray = used[first]
    is_eligible = None if flags is None else flags[rows]
    if is_eligible is not None:
        check_eligible(is_eligible, labels[rows], classes)
    counts = np.bincount(own, weights=weight[used], minlength=first.size).astype(np.float64)
    return TrainingData(
        given=given,
        classes=classes,
        rows=rows,
        group=group,
        labels=labels[rows],
        sample_weight=combine_weights(counts, factors[labels[rows]]),
        multiplicity=counts,
        is_eligible=is_eligible,
    )


def row_labels(X: Any, n_samples: int) -> Any:
    """What the user calls the samples: the index of a data frame, else their numbers."""
    if is_partitioned(X):
        # The index of a partitioned data frame is fetched as that of a frame without columns.
        X = in_memory(X[[]]) if hasattr(X, "index") else None
    frame: Any = as_frame(X)
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


def check_labels(y: Any) -> None:
    """Raise unless y is a list of labels that can be sorted."""
    if y is None or hasattr(y, "toarray"):
        return
    is_listed = hasattr(y, "__len__") or hasattr(y, "__array__")
    if isinstance(y, str | bytes | dict | set | frozenset) or not is_listed:
        raise TypeError(f"y is of type {type(y).__name__}, {LABEL_FORMS}. Pass a list or an array.")
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError(
            f"y has {np.ma.count_masked(y)} masked labels, {LABEL_FORMS}. Leave out samples whose "
            "class is not known."
        )
    try:
        labels = np.asarray(y)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y cannot be read as a list of labels, {LABEL_FORMS}. Labels must be numbers or text, "
            "not lists."
        ) from error
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        what = "NaN" if np.isnan(labels).any() else "infinity"
        raise ValueError(
            f"Input y contains {what}, {LABEL_FORMS}. Leave out samples whose class is not known."
        )
    if labels.dtype.kind in "mM":
        raise ValueError(
            f"y holds labels of type {labels.dtype}, expected numbers or text. Use [str(label) for "
            "label in y]."
        )
    if labels.dtype != object or labels.ndim != 1:
        return
    distinct = {type(label): label for label in labels.tolist()}
    if any(label is None or label != label for label in distinct.values()):
        raise ValueError(
            f"y contains missing labels (None or NaN), {LABEL_FORMS}. Leave out samples whose "
            "class is not known."
        )
    others = [kind.__name__ for kind in distinct if not issubclass(kind, LABEL_TYPES)]
    if others:
        raise ValueError(
            f"y holds labels of type {others[0]}, expected numbers or text. Use [str(label) for "
            "label in y]."
        )
    is_text = [issubclass(kind, str) for kind in distinct]
    if any(is_text) and not all(is_text):
        kinds = " and ".join(sorted(kind.__name__ for kind in distinct))
        raise ValueError(
            f"y mixes labels of types {kinds}, which have no common order, expected one type. Use "
            "[str(label) for label in y]."
        )


def read_sample_weight(sample_weight: ArrayLike | None, X: Any) -> FloatArray:
    """Sample weights as a new array, ones by default."""
    try:
        weight = np.array(check_sample_weight(in_memory(sample_weight), X, dtype=np.float64))
    except (TypeError, ValueError) as error:
        if NOT_NUMBERS.search(str(error)) is None:
            raise
        raise ValueError(
            "sample_weight cannot be read as numbers, expected one number of 0 or more per sample. "
            "Leave it out to give all samples the same weight."
        ) from error
    if weight.min() < 0:
        raise ValueError(
            f"sample_weight contains negative values, the smallest is {weight.min():g}, expected 0 "
            "or more. Give a sample that should not count the weight 0."
        )
    # Sums of huge weights would overflow; a power of ten keeps the proportions and reads well.
    largest = weight.max()
    if largest <= LARGEST:
        return weight
    scaled = weight / 10.0 ** np.floor(np.log10(largest))
    # No class is lost to rounding.
    return np.where(weight > 0, np.maximum(scaled, np.finfo(np.float64).tiny), 0.0)


def find_classes(y: Any, sample_weight: FloatArray) -> tuple[Any, IntArray]:
    """The classes of the samples that count, and every sample's place among them."""
    is_used = sample_weight > 0
    labels = np.full(sample_weight.size, -1)
    classes, labels[is_used] = np.unique(y[is_used], return_inverse=True)
    if classes.size == 0:
        raise ValueError(
            "All sample weights are zero, expected samples of at least 2 classes with positive "
            "weight. Leave sample_weight out to give all samples the same weight."
        )
    if classes.size == 1:
        raise ValueError(
            f"There are samples of one class only, {quote(classes.tolist()[0])}, expected at least "
            "2 classes with samples of positive weight. Add samples of another class."
        )
    counts = np.bincount(labels[is_used])
    totals = np.bincount(labels[is_used], sample_weight[is_used])
    # A weight of two is a sample given twice, so a single row of it is not a single sample.
    is_alone = (counts == 1) & (totals <= 1)
    if is_alone.any():
        raise ValueError(
            f"Class {quote(classes[is_alone].tolist()[0])} has one sample, expected at least 2 in "
            "every class: a prototype is made of similar samples of one class. Add samples of that "
            "class, or leave it out."
        )
    lookalikes = describe_lookalikes(classes.tolist())
    if lookalikes:
        warnings.warn(lookalikes, stacklevel=2)
    return classes, labels


def find_class_weight(
    class_weight: Any, classes: Any, labels: IntArray, sample_weight: FloatArray
) -> FloatArray:
    """The weight of every class."""
    is_used = labels >= 0
    factors = compute_class_weight(
        class_weight,
        classes=classes,
        y=classes[labels[is_used]],
        sample_weight=sample_weight[is_used],
    )
    is_right = (factors > 0) & (factors < np.inf)
    if not np.all(is_right):
        wrong = np.flatnonzero(~is_right)[0]
        raise ValueError(
            f"class_weight gives class {quote(classes.tolist()[wrong])} the weight "
            f"{factors[wrong]:g}, expected positive numbers. Leave the samples of a class out if "
            "it should not count."
        )
    return np.asarray(factors)


def combine_weights(counts: FloatArray, factors: FloatArray) -> FloatArray:
    """The products of both, scaled to a range in which their sums do not overflow.

    Examples
    --------
    >>> combine_weights(np.array([1.0, 3.0]), np.array([2.0, 1.0]))
    array([2., 3.])
    >>> combine_weights(np.array([1.0, 1.0, 1.0]), np.array([1e200, 1e199, 1.0])).round(15)
    array([1.e+00, 1.e-01, 1.e-15])
    """
    with np.errstate(over="ignore", under="ignore"):
        products = counts * factors
        if np.all((products >= SMALLEST) & (products <= LARGEST)):
            return products
        sizes = np.log(counts) + np.log(factors)
        shares = np.exp(sizes - sizes.max(initial=-np.inf))
        return np.asarray(np.maximum(shares, SMALLEST))
