"""What was given to `fit`: distinct samples with classes and weights, and constraints."""

from __future__ import annotations

import difflib
import warnings
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from imkpl._checks import describe_lookalikes, quote, require, take_fields
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._compat import check_sample_weight
from imkpl.estimators._input import in_memory, is_partitioned, read_partitions, row_labels
from imkpl.kernels import BaseKernelBank, Kernels
from imkpl.kernels.base import USUAL_SPARSITY
from imkpl.kernels.forms import Form
from imkpl.model.permutation_test import KernelEvidence
from imkpl.model.problem import PER_SAMPLE
from imkpl.tables import is_missing

LABEL_TYPES = (str, bytes, Number, np.generic)
# A sample that weighs less than this part of the heaviest asks for no prototype of its own.
NEGLIGIBLE = 1e-6
# Weights within these bounds are used unchanged; sums of larger ones may overflow.
SMALLEST, LARGEST = 1e-15, 1e15
# A weight that counts samples is below this.
MOST_COPIES = 2**31


@dataclass(frozen=True, eq=False)
class Given:
    """Samples and labels as they were given to `fit`."""

    bank: BaseKernelBank
    samples: Any  # as the kernels read them
    form: Form
    y: Any
    ids: Any  # names of the samples
    is_eligible: BoolArray | None  # which may be shown; None for all
    n_groups: int | None = None  # how many groups of rows belong together; None if none were given


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
    multiplicity: FloatArray  # (n_samples,) how many samples given each stands for
    class_prior: FloatArray  # (n_classes,) the shares of the classes, without class weights
    class_weight: FloatArray  # (n_classes,)
    is_eligible: BoolArray | None = None  # (n_samples,)
    persons: IntArray | None = None  # (n_samples,) whom each belongs to; None if not given
    # (n_samples,) numeric targets: of ordered classes, or of quantile bins that stand for classes
    values: FloatArray | None = None
    places: FloatArray | None = None  # (n_classes,) the value of every class, if they are ordered

    @property
    def scale(self) -> tuple[float, float]:
        """The mean of the values and their standard deviation."""
        if self.values is None:
            return 0.0, 1.0
        weight = self.multiplicity
        mean = float(np.average(self.values, weights=weight))
        return mean, float(np.sqrt(np.average((self.values - mean) ** 2, weights=weight)))

    @property
    def standard_values(self) -> FloatArray | None:
        """The values in standard deviations from their mean, rounded so that no unit matters."""
        if self.values is None:
            return None
        mean, deviation = self.scale
        return np.round((self.values - mean) / deviation, 10)

    @property
    def unnamed_labels(self) -> IntArray:
        """The labels with classes numbered as they occur, whatever they are called."""
        _, first, labels = np.unique(self.labels, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[labels])

    def take(self, samples: IntArray) -> TrainingData:
        """Some of the samples, in the same rows given; others have no group."""
        places = np.full(self.labels.size + 1, -1)
        places[samples] = np.arange(samples.size)
        # A row of weight zero has the place -1, which stays -1.
        taken = take_fields(self, ("rows", *PER_SAMPLE), samples)
        return replace(self, group=places[self.group], **taken)

    def expand_prototypes(self, prototypes: sp.csr_array) -> sp.csr_array:
        """Prototypes as mixes of the rows given to `fit`."""
        shape = (prototypes.shape[0], self.group.size)
        parts = (prototypes.data, self.rows[prototypes.indices], prototypes.indptr)
        expanded = sp.csr_array(parts, shape=shape, copy=True)
        expanded.sort_indices()
        return expanded

    def expand_codes(self, codes: sp.csr_array) -> sp.csr_array:
        """One code per row given to `fit`; empty for rows of weight zero."""
        empty = sp.csr_array((1, codes.shape[1]))
        # Rows of weight zero have the place -1, the last.
        return sp.csr_array(sp.vstack([codes, empty], format="csr")[self.group])

    def count_prototypes(
        self, n_prototypes: int | None, sparsity: int | None, decision: str
    ) -> int | None:
        """The number of prototypes, as given or by the paper's rule; None: folds choose it."""
        n_classes = self.classes.size
        if n_prototypes is None:
            if decision == "votes":
                return None
            sparsity = sparsity or USUAL_SPARSITY
            heaviest = self.sample_weight.max()
            n_relevant = np.count_nonzero(self.sample_weight > NEGLIGIBLE * heaviest)
            return int(min(n_classes * sparsity, max(n_classes, n_relevant)))
        require(
            n_prototypes >= n_classes,
            f"n_prototypes={n_prototypes}, expected at least one for each of the {n_classes} "
            "classes. Raise it, or leave it out.",
        )
        return int(min(n_prototypes, self.labels.size))


def read_training(
    bank: BaseKernelBank,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    eligible: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    *,
    class_weight: Any = None,
    ordered: Any = None,
    is_value: bool = False,
    owner: str = "IMKPL",
) -> TrainingData:
    """Read what was given to `fit`, leave out rows of weight zero, and merge equal ones."""
    y = in_memory(y)
    if not is_value:
        check_labels(y)
    read = bank.kind.read if not is_partitioned(X) else partial(read_partitions, bank)
    samples, form = read(X, Form(owner))
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    targets = column_or_1d(y, warn=True)
    check_consistent_length(samples, targets)
    if is_value:
        targets = read_values(targets)
    else:
        check_classification_targets(targets)
    weight = read_sample_weight(sample_weight, samples)
    n_given = len(samples)
    flags = None if eligible is None else read_eligible(eligible, n_given)
    persons = None if groups is None else read_groups(groups, n_given)
    n_groups = None if persons is None else int(persons.max()) + 1
    if n_groups == n_given:
        persons = None
    given = Given(bank, samples, form, targets, row_labels(X, n_given), flags, n_groups)

    used = np.flatnonzero(weight > 0)
    classes: Any
    labels: Any
    values: FloatArray | None = None
    places: FloatArray | None = None
    if is_value:
        classes, labels = find_bins(targets, weight)
        values = targets
        factors, kinds = np.ones(classes.size), np.unique(targets, return_inverse=True)[1]
    else:
        classes, labels = find_classes(targets, weight)
        factors = find_class_weight(class_weight, classes, labels, weight)
        places, kinds = find_places(ordered, y, classes), labels
        values = None if places is None else places[labels]
    if persons is not None:
        # Equal rows of two persons are two samples.
        kinds = np.unique(kinds * (n_groups or 1) + persons, return_inverse=True)[1]
    first, own = bank.kind.find_equal(samples, used, kinds[used])
    group = np.full(n_given, -1)
    group[used] = own
    if flags is not None:
        # Equal rows are eligible if one of them is, which then stands for all.
        order = np.lexsort((used, ~flags[used], own))
        first = order[np.unique(own[order], return_index=True)[1]]
        lost = np.setdiff1d(labels[used], labels[used][flags[used]])
        if lost.size:
            raise ValueError(
                f"Class {quote(classes.tolist()[lost[0]])} has no eligible sample, expected at "
                "least one in every class: a prototype of it has to start somewhere. Allow one, or "
                "leave the class out."
            )
    rows: IntArray = used[first]
    counts = in_samples(np.bincount(own, weight[used], first.size).astype(np.float64))
    return TrainingData(
        given=given,
        classes=classes,
        rows=rows,
        group=group,
        labels=labels[rows],
        sample_weight=in_samples(combine_weights(counts, factors[labels[rows]])),
        multiplicity=counts,
        class_prior=np.bincount(labels[used], weight[used]) / weight[used].sum(),
        class_weight=factors,
        is_eligible=None if flags is None else flags[rows],
        persons=None if persons is None else persons[rows],
        values=None if values is None else values[rows],
        places=places,
    )


def check_labels(y: Any) -> None:
    """Raise unless y is a list of labels that can be sorted."""
    # scikit-learn has words for these.
    if y is None or hasattr(y, "toarray"):
        return
    expected = "expected one label per sample, such as [0, 1, 1] or ['a', 'b', 'b']"
    try:
        labels = np.asarray(y)
    except (TypeError, ValueError):
        labels = np.asarray(None)
    if labels.ndim == 0:
        raise TypeError(
            f"y is of type {type(y).__name__}, {expected}. Pass a list or an array of numbers or "
            "of text."
        )
    is_mixed = labels.dtype == object and labels.ndim == 1
    kinds = {type(label): label for label in labels.tolist()} if is_mixed else {}
    is_finite = labels.dtype.kind != "f" or np.isfinite(labels).all()
    if not is_finite or np.ma.is_masked(y) or any(map(is_missing, kinds.values())):
        raise ValueError(
            f"y contains missing or infinite labels, {expected}. Leave out samples whose class is "
            "not known."
        )
    n_text = sum(issubclass(kind, str) for kind in kinds)
    is_label = all(issubclass(kind, LABEL_TYPES) for kind in kinds) and n_text in (0, len(kinds))
    if labels.dtype.kind in "mM" or not is_label:
        names = " and ".join(sorted(kind.__name__ for kind in kinds)) or labels.dtype
        raise ValueError(
            f"y holds labels of type {names}, expected numbers or text, which have an order. Use "
            "[str(label) for label in y]."
        )


def read_values(y: Any) -> FloatArray:
    """Targets that are numbers."""
    expected = "expected one finite number per sample"
    try:
        values = np.array(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y cannot be read as numbers ({error}), {expected}. Use IMKPL for classes."
        ) from error
    require(
        np.isfinite(values).all(),
        f"Input y contains NaN or infinity, {expected}. Leave out samples whose target is not "
        "known.",
    )
    return values


# Quantile bins of values, which stand for classes where kernels are chosen and prototypes start,
# and the samples that each has at least, if there are more than two bins.
BINS, LEAST_IN_BIN = 5, 4


def find_bins(values: FloatArray, sample_weight: FloatArray) -> tuple[IntArray, IntArray]:
    """Quantile bins, numbered from the lowest, and the bin of every sample; -1 without weight."""
    is_used = sample_weight > 0
    known, places = np.unique(values[is_used], return_inverse=True)
    if known.size < 2:
        only = f"one value only, {known[0]:g}" if known.size else "no value"
        raise ValueError(
            f"y has {only}, expected at least 2 among samples of positive weight: there is "
            "nothing to predict."
        )
    totals = np.bincount(places, sample_weight[is_used])
    # Half of what has the same value is below it.
    shares = (np.cumsum(totals) - 0.5 * totals) / totals.sum()
    n_bins = int(np.clip(np.count_nonzero(is_used) // LEAST_IN_BIN, 2, min(BINS, known.size)))
    bins = np.floor(np.round(shares * n_bins, 9))
    if np.ptp(bins) == 0:
        # One value has nearly all of the weight: the others are above it, or below.
        largest = np.argmax(totals)
        bins = np.sign(np.arange(known.size) - largest)
    found = np.unique(bins, return_inverse=True)[1]
    labels = np.full(values.size, -1)
    labels[is_used] = found[places]
    return np.arange(found.max() + 1), labels


def find_places(ordered: Any, y: Any, classes: Any) -> FloatArray | None:
    """The place of every class in an order, or in that of a pandas categorical, if there is one."""
    dtype = getattr(y, "dtype", None)
    if ordered is None and getattr(dtype, "ordered", False):
        ordered = dtype.categories  # type: ignore[union-attr]
    if ordered is None:
        return None
    order, labels = np.asarray(ordered).tolist(), classes.tolist()
    is_right = len(set(order)) == len(order) and set(labels) <= set(order)
    require(
        is_right,
        f"ordered is {', '.join(map(quote, order[:10]))}, expected each of the classes "
        f"{', '.join(map(quote, labels[:10]))} once, from the lowest to the highest. Correct the "
        "list.",
    )
    return np.array([order.index(label) for label in labels], dtype=np.float64)


def read_sample_weight(sample_weight: ArrayLike | None, X: Any) -> FloatArray:
    """Sample weights as a new array, ones by default."""
    try:
        options = {"dtype": np.float64, "ensure_non_negative": True, "copy": True}
        weight = check_sample_weight(in_memory(sample_weight), X, **options)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight cannot be used ({error}), expected one finite number of 0 or more per "
            "sample. Give a sample that should not count the weight 0."
        ) from error
    # Sums of huge weights would overflow.
    largest = weight.max()
    if largest <= LARGEST:
        return np.asarray(weight)
    # No class is lost to rounding.
    return np.where(weight > 0, np.maximum(weight / largest, np.finfo(np.float64).tiny), 0.0)


def find_classes(y: Any, sample_weight: FloatArray) -> tuple[Any, IntArray]:
    """The classes of the samples that count, and every sample's place among them."""
    is_used = sample_weight > 0
    labels = np.full(sample_weight.size, -1)
    classes, labels[is_used] = np.unique(y[is_used], return_inverse=True)
    if classes.size < 2:
        only = f"one class only, {quote(classes.tolist()[0])}" if classes.size else "no class"
        raise ValueError(
            f"There are samples of {only}, expected at least 2 classes with samples of positive "
            "weight. Add samples of another class, or leave sample_weight out."
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
    for label, factor in zip(classes.tolist(), factors, strict=True):
        require(
            0 < factor < np.inf,
            f"class_weight gives class {quote(label)} the weight {factor:g}, expected positive "
            "numbers. Leave the samples of a class out if it should not count.",
        )
    return np.asarray(factors)


def in_samples(weight: FloatArray) -> FloatArray:
    """Weights as counts if these are multiples of one or whole, else relative to the median."""
    unit, whole = weight.min(), weight.round()
    is_far = weight.max() / MOST_COPIES > unit
    if is_far or not np.allclose(weight / unit, (weight / unit).round(), rtol=1e-9, atol=0.0):
        is_counted = np.array_equal(weight, whole) and whole.max() < MOST_COPIES
        unit = np.gcd.reduce(whole.astype(np.int64)) if is_counted else np.median(weight)
    # Sums of weights must not overflow.
    return np.asarray(weight / max(unit, weight.max() / LARGEST))


def combine_weights(counts: FloatArray, factors: FloatArray) -> FloatArray:
    """The products of both, scaled to a range in which their sums do not overflow."""
    with np.errstate(over="ignore", under="ignore"):
        products = counts * factors
        if np.all((products >= SMALLEST) & (products <= LARGEST)):
            return products
        sizes = np.log(counts) + np.log(factors)
        return np.asarray(np.maximum(np.exp(sizes - sizes.max()), SMALLEST))


def read_eligible(eligible: Any, n_samples: int) -> BoolArray:
    """One boolean per sample."""
    flags = np.asarray(in_memory(eligible))
    if flags.dtype == object and all(isinstance(flag, bool | np.bool_) for flag in flags.flat):
        flags = flags.astype(bool)
    require(
        flags.dtype == bool and flags.shape == (n_samples,),
        f"eligible has type {flags.dtype} and shape {flags.shape}, expected one boolean for each "
        f"of the {n_samples} samples. For a list of row numbers use "
        f"eligible=np.isin(np.arange({n_samples}), rows).",
    )
    return flags.copy()


def check_named(name: str, given: Any, classes: Any, decision: str) -> list[Any]:
    """The classes, unless `given` names others, or does not go with the decision."""
    labels: list[Any] = classes.tolist()
    require(
        decision == "votes",
        f"{name}: expected decision='votes', but it is {decision!r}. Leave out one of the two.",
    )
    for label in given:
        require(
            label in labels,
            f"{name} names the class {quote(label)}, expected some of the classes "
            f"{', '.join(quote(one) for one in labels[:10])}. Correct the name.",
        )
    return labels


def read_costs(costs: Any, classes: Any, decision: str) -> FloatArray:
    """The logarithm of what it costs to miss every class, the cheapest being 0."""
    found = np.zeros(classes.size)
    if costs is None:
        return found
    labels = check_named("costs", costs, classes, decision)
    for label, cost in costs.items():
        is_number = isinstance(cost, Number) and not isinstance(cost, bool)
        require(
            is_number and 0 < cost < np.inf,
            f"costs gives class {quote(label)} the cost {cost!r}, expected a positive number: how "
            "many times as bad it is to miss it. Use 1 for a class that is as the others.",
        )
        found[labels.index(label)] = np.log(float(cost))
    return np.asarray(found - found.min())


def read_prevalence(prevalence: Any, prior: FloatArray, classes: Any, decision: str) -> FloatArray:
    """How frequent every class is in use; those not named share the rest as they do in training."""
    if prevalence is None:
        return prior
    labels, found = check_named("prevalence", prevalence, classes, decision), prior.copy()
    shares = [prevalence.get(label) for label in labels]
    named = np.array([share is not None for share in shares])
    given = [share for share in shares if share is not None]
    is_number = all(isinstance(one, Number) and not isinstance(one, bool) for one in given)
    whole = float(sum(given)) if is_number else np.nan
    is_whole = np.isclose(whole, 1.0) if named.all() else whole < 1
    require(
        is_number and is_whole and all(0 < one < 1 for one in given),
        f"prevalence is {prevalence!r}, expected shares between 0 and 1 that leave something to "
        "the classes that are not named, or sum to 1. Correct the numbers.",
    )
    found[named] = given
    found[~named] *= (1 - whole) / max(prior[~named].sum(), np.finfo(float).tiny)
    return np.asarray(found / found.sum())


def read_groups(groups: Any, n_samples: int) -> IntArray:
    """The number of every sample's group, from 0."""
    names = np.asarray(in_memory(groups))
    expected = f"expected one name or number for each of the {n_samples} samples"
    require(
        names.shape == (n_samples,),
        f"groups has shape {names.shape}, {expected}. Pass the column that tells whom rows belong "
        "to.",
    )
    listed = names.tolist()
    if any(map(is_missing, listed)):
        raise ValueError(
            f"groups has no name in row {[is_missing(one) for one in listed].index(True)}, "
            f"{expected}. Give a row that belongs to nobody else a name of its own."
        )
    # Numbered as they occur, so that names of several types need no order.
    numbers = {name: place for place, name in enumerate(dict.fromkeys(listed))}
    require(
        len(numbers) > 1,
        f"groups has one name only, {quote(listed[0])}, {expected} and at least 2 groups. Leave "
        "groups out if rows are independent.",
    )
    return np.array([numbers[name] for name in listed], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class KernelLimits:
    """Which kernels may be chosen, and which of these must have a weight."""

    allowed: IntArray  # places of kernels that are not excluded
    is_required: BoolArray | None  # (n_allowed,); None if nothing is required

    def check_varying(self, kernels: Kernels, form: Form, varying: IntArray) -> None:
        """Raise if a required kernel is not among those that vary."""
        required = self.allowed[[] if self.is_required is None else self.is_required]
        lost = np.setdiff1d(required, varying)
        if lost.size:
            name = kernels.kernel_names(form.names)[lost[0]]
            raise ValueError(
                f"{quote(name)} is required, but it is constant over the training samples, "
                "expected one that tells samples apart. Take it out of require, or add samples."
            )


@dataclass(frozen=True)
class Constraints:
    """The features that must have a weight, and those that must have none."""

    require: Any = None
    exclude: Any = None

    def find(self, kernels: Kernels, form: Form, max_kernels: int | None) -> KernelLimits | None:
        """The warning about these kernels; None if there is none."""
        if self.require is None and self.exclude is None:
            return None
        required = find_kernels(self.require, "require", kernels, form)
        excluded = find_kernels(self.exclude, "exclude", kernels, form)
        both = np.flatnonzero(required & excluded)
        if both.size:
            name = kernels.kernel_names(form.names)[both[0]]
            raise ValueError(
                f"{quote(name)} is required and excluded, expected either or none. Take it out of "
                "require or of exclude."
            )
        allowed = np.flatnonzero(~excluded)
        require(
            allowed.size,
            "exclude names every feature, expected at least one to learn from. Exclude fewer.",
        )
        n_required = int(required.sum())
        require(
            max_kernels is None or max_kernels >= n_required,
            f"max_kernels={max_kernels}, but require takes {n_required} kernels, expected at least "
            "as many. Raise max_kernels, or require fewer.",
        )
        return KernelLimits(allowed, required[allowed])


def find_kernels(listed: Any, where: str, kernels: Kernels, form: Form) -> BoolArray:
    """Which kernels read the features that are listed; where they read several, which these are."""
    names, columns = kernels.kernel_names(form.names), kernels.kernel_columns
    what, n_known = "features", form.n_features or 0
    features = [] if form.names is None else [str(name) for name in form.names]
    if columns is None:
        what, n_known, features, columns = "kernels", len(names), [], np.arange(len(names))
    found = np.zeros(len(names), dtype=bool)
    for feature in () if listed is None else listed:
        own = None
        if feature in features:
            own = columns == features.index(feature)
        elif feature in names:
            own = np.array([name == feature for name in names])
        elif not isinstance(feature, bool) and isinstance(feature, Integral):
            own = columns == feature if 0 <= int(feature) < n_known else None
        if own is None or (where == "require" and not own.any()):
            alike = difflib.get_close_matches(str(feature), [*features, *names], n=1)
            raise ValueError(
                f"{where} lists {quote(feature)}, expected names of {what} that kernels read, or "
                f"numbers from 0 to {n_known - 1}. Did you mean {quote((alike or names)[0])}?"
            )
        found |= own
    return found
