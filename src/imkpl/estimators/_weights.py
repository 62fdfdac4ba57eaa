"""How much each sample counts: sample weights times class weights."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.class_weight import compute_class_weight

from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._compat import check_sample_weight
from imkpl.estimators._partitions import in_memory

# A sample that weighs less than this part of the heaviest asks for no prototype of its own.
NEGLIGIBLE = 1e-6
# Weights within these bounds are taken as they are; sums of larger ones may overflow, also in
# single precision.
SMALLEST, LARGEST = 1e-15, 1e15
# How numpy puts it when something else is made numbers.
NOT_NUMBERS = re.compile(r"could not convert string|float\(\) argument|setting an array element")


def read_sample_weight(sample_weight: ArrayLike | None, X: Any) -> FloatArray:
    """Sample weights as a new array, ones by default."""
    try:
        weight = np.array(check_sample_weight(in_memory(sample_weight), X, dtype=np.float64))
    except (TypeError, ValueError) as error:
        if NOT_NUMBERS.search(str(error)) is None:
            raise
        raise ValueError(
            "sample_weight cannot be read as numbers, expected one number of 0 or more per sample. "
            "Leave it out to count all samples alike."
        ) from error
    if weight.min() < 0:
        raise ValueError(
            f"sample_weight contains negative values, the smallest is {weight.min():g}, expected 0 "
            "or more. Give a sample that should not count the weight 0."
        )
    with np.errstate(over="ignore"):
        total = weight.sum()
    # A power of two keeps their shares; sums of huge weights would be infinite.
    return weight if total < np.inf else weight * 2.0**-64


def find_classes(y: Any, sample_weight: FloatArray) -> tuple[Any, IntArray]:
    """The classes of the samples that count, and every sample's place among them."""
    is_used = sample_weight > 0
    labels = np.full(sample_weight.size, -1)
    classes, labels[is_used] = np.unique(y[is_used], return_inverse=True)
    if classes.size == 0:
        raise ValueError(
            "All sample weights are zero, expected samples of at least 2 classes with positive "
            "weight. Leave sample_weight out to count all samples alike."
        )
    if classes.size == 1:
        raise ValueError(
            f"There are samples of one class only, {classes.tolist()[0]!r}, expected at least 2 "
            "classes with samples of positive weight. Add samples of another class."
        )
    counts = np.bincount(labels[is_used])
    totals = np.bincount(labels[is_used], sample_weight[is_used])
    # A weight of two is a sample given twice, so a single row of it is not a single sample.
    is_alone = (counts == 1) & (totals <= 1)
    if is_alone.any():
        raise ValueError(
            f"Class {classes[is_alone].tolist()[0]!r} has one sample, expected at least 2 in every "
            "class: a prototype is made of similar samples of one class. Add samples of that "
            "class, or leave it out."
        )
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
    if not np.all((factors > 0) & (factors < np.inf)):
        wrong = np.flatnonzero(~((factors > 0) & (factors < np.inf)))[0]
        raise ValueError(
            f"class_weight gives class {classes.tolist()[wrong]!r} the weight {factors[wrong]:g}, "
            "expected positive numbers. Leave the samples of a class out if it should not count."
        )
    return np.asarray(factors)


def combine_weights(counts: FloatArray, factors: FloatArray) -> FloatArray:
    """The products of both, brought into a range in which sums of them are numbers.

    Examples
    --------
    >>> combine_weights(np.array([1.0, 3.0]), np.array([2.0, 1.0]))
    array([2., 3.])
    >>> combine_weights(np.array([1e200, 1e200, 1.0]), np.array([1e200, 1e199, 1.0])).round(15)
    array([1.e+00, 1.e-01, 1.e-15])
    """
    with np.errstate(over="ignore", under="ignore"):
        products = counts * factors
        if np.all((products >= SMALLEST) & (products <= LARGEST)):
            return products
        sizes = np.log(counts) + np.log(factors)
        shares = np.exp(sizes - sizes.max(initial=-np.inf))
        return np.asarray(np.maximum(shares, SMALLEST))


def count_relevant(sample_weight: FloatArray) -> int:
    """The number of samples whose weight is not negligible beside the heaviest."""
    return int(np.count_nonzero(sample_weight > NEGLIGIBLE * sample_weight.max()))
