"""The training data as the model sees it: distinct samples with classes and weights."""

from __future__ import annotations

import copy
import re
import warnings
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from imkpl._checks import describe_lookalikes, quote
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._auto import choose_bank
from imkpl.estimators._compat import check_sample_weight
from imkpl.estimators._constraints import check_eligible, read_eligible
from imkpl.estimators._input import INPUT_ATTRIBUTES, SampleKind, kind_of, row_labels
from imkpl.estimators._partitions import in_memory
from imkpl.kernels import ArrayColumns, BaseKernelBank, Normalized
from imkpl.kernels.sharded import RowBlocks, ShardedSamples
from imkpl.model.twins import KernelEvidence

LABEL_TYPES = (str, bytes, Number, np.generic)
LABEL_FORMS = "expected one label per sample, such as [0, 1, 1] or ['a', 'b', 'b']"
# A sample that weighs less than this part of the heaviest asks for no prototype of its own.
NEGLIGIBLE = 1e-6
# Weights within these bounds are used unchanged; sums of larger ones may overflow.
SMALLEST, LARGEST = 1e-15, 1e15
# How numpy puts it when something else is converted to numbers.
NOT_NUMBERS = re.compile(r"could not convert string|float\(\) argument|setting an array element")


@dataclass(frozen=True, eq=False)
class ChannelWeights:
    """The weights of channels inside the kernels."""

    weights: FloatArray  # (n_channels,), sum to one
    found: KernelEvidence  # how sure it is that channels are more than chance


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Distinct samples of positive weight, and where they stand in the data given to `fit`.

    Equal samples of one class count as one sample with the sum of their weights, so that a weight
    of two is exactly a sample given twice and no sample is its own neighbour. The distinct samples
    are sorted, so that a fit does not depend on the order of the rows.
    """

    kind: SampleKind
    bank: BaseKernelBank  # of unit diagonal once adapted, or of unit norms on average
    X: Any  # all samples given, in the form that the bank reads
    y: Any  # their labels
    given_weight: FloatArray  # and weights
    ids: Any  # and names
    input: dict[str, Any]  # n_features_in_ and the like
    classes: Any
    kept: IntArray  # (n_distinct,) the first row of every distinct sample
    inverse: IntArray  # (n_given,) the distinct sample of every row; -1 for rows of weight zero
    labels: IntArray  # (n_distinct,) classes, counted from 0
    sample_weight: FloatArray  # (n_distinct,) weights times those of their classes
    counts: FloatArray  # (n_distinct,) the sum of the weights given
    samples: Any = None  # the distinct samples, once the bank is adapted
    whole: TrainingData | None = None  # all distinct samples, where these are landmarks
    given_eligible: BoolArray | None = None  # (n_given,) which rows may be shown; None for all
    is_eligible: BoolArray | None = None  # (n_distinct,)
    kernels: IntArray | None = None  # those that are not excluded; None for all
    is_required: BoolArray | None = None  # which of these must have a weight
    channels: ChannelWeights | None = None  # where kernels weigh channels

    @property
    def n_samples(self) -> int:
        """The number of samples that are learned from."""
        return int(self.labels.size)

    @property
    def has_landmarks(self) -> bool:
        """Whether some samples stand for all."""
        return self.whole is not None

    def expand_prototypes(self, prototypes: sp.csr_array) -> sp.csr_array:
        """Prototypes as mixes of the rows given to `fit`."""
        shape = (prototypes.shape[0], self.inverse.size)
        parts = (prototypes.data, self.kept[prototypes.indices], prototypes.indptr)
        expanded = sp.csr_array(parts, shape=shape, copy=True)
        expanded.sort_indices()
        return expanded

    def expand_codes(self, codes: sp.csr_array) -> sp.csr_array:
        """One code per row given to `fit`; empty for rows of weight zero."""
        is_used = self.inverse >= 0
        rows, columns = np.flatnonzero(is_used), self.inverse[is_used]
        shape = (self.inverse.size, self.kept.size)
        spread = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
        return sp.csr_array(spread @ codes)

    def count_prototypes(self, n_prototypes: int | None, sparsity: int) -> int:
        """How many prototypes to start with."""
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
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    eligible: ArrayLike | None = None,
) -> TrainingData:
    """Read what was given to `fit`; the estimator stays as it is."""
    bank = choose_bank(estimator.kernels, X, type(estimator).__name__)
    kind = kind_of(bank, X)
    y = in_memory(y)
    check_labels(y)
    # scikit-learn's checks set attributes; a copy takes them until the fit has succeeded.
    reader = copy.copy(estimator)
    for name in INPUT_ATTRIBUTES:
        vars(reader).pop(name, None)
    samples, y = kind.read_training(reader, X, y)
    check_classification_targets(y)
    learned = {name: vars(reader)[name] for name in INPUT_ATTRIBUTES if name in vars(reader)}
    weight = read_sample_weight(sample_weight, samples)
    class_weight = getattr(estimator, "class_weight", None)
    given = read_eligible(eligible, len(samples))
    ids = row_labels(X, len(samples))
    data = find_distinct(kind, bank, samples, y, weight, class_weight, ids, learned, given)
    if data.is_eligible is not None:
        check_eligible(data.is_eligible, data.labels, data.classes)
    return data


def find_distinct(
    kind: SampleKind,
    bank: BaseKernelBank,
    X: Any,
    y: Any,
    weight: FloatArray,
    class_weight: Any = None,
    ids: Any = None,
    learned: dict[str, Any] | None = None,
    is_eligible: BoolArray | None = None,
) -> TrainingData:
    """Leave out rows of weight zero, and merge equal rows of one class.

    Equal rows are eligible if one of them is, which then stands for all.
    """
    classes, labels = find_classes(y, weight)
    factors = find_class_weight(class_weight, classes, labels, weight)
    used = np.flatnonzero(weight > 0)
    first, group = kind.group(X, used, labels[used])
    inverse = np.full(labels.size, -1)
    inverse[used] = group
    if is_eligible is not None:
        order = np.lexsort((used, ~is_eligible[used], group))
        first = order[np.unique(group[order], return_index=True)[1]]
    kept: IntArray = used[first]
    counts = np.bincount(group, weights=weight[used], minlength=first.size).astype(np.float64)
    return TrainingData(
        kind=kind,
        bank=bank,
        X=X,
        y=y,
        given_weight=weight,
        ids=np.arange(labels.size) if ids is None else ids,
        input=learned or {},
        classes=classes,
        kept=kept,
        inverse=inverse,
        labels=labels[kept],
        sample_weight=combine_weights(counts, factors[labels[kept]]),
        counts=counts,
        given_eligible=is_eligible,
        is_eligible=None if is_eligible is None else is_eligible[kept],
    )


def adapt_kernels(data: TrainingData, *, in_parts: bool = False) -> TrainingData:
    """The data with kernels of unit norms, their bandwidths learned on the distinct samples.

    An array of which parts will be taken is not copied.
    """
    samples: Any = data.X
    if in_parts and data.bank.reads == "columns" and isinstance(samples, np.ndarray):
        samples = RowBlocks(np.arange(len(samples)), None, None, ArrayColumns(samples))
    is_sharded = isinstance(samples, ShardedSamples)
    samples = samples[data.kept] if is_sharded else data.bank._subset(samples, data.kept)
    bank = data.bank.adapt(samples, data.sample_weight)
    bank = bank if bank._has_unit_norms else Normalized(bank)
    return replace(data, bank=bank, samples=samples)


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
    return weight if largest <= LARGEST else weight / 10.0 ** np.floor(np.log10(largest))


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
