"""What an expert says about features and samples, read and checked for contradictions."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from imkpl._checks import quote
from imkpl._typing import BoolArray, IntArray
from imkpl.estimators._partitions import in_memory
from imkpl.kernels import Kernels
from imkpl.kernels.forms import Form


def read_eligible(eligible: Any, n_samples: int) -> BoolArray:
    """One boolean per sample."""
    flags = np.asarray(in_memory(eligible))
    if flags.dtype == object and all(isinstance(flag, bool | np.bool_) for flag in flags.flat):
        flags = flags.astype(bool)
    if flags.dtype != bool or flags.shape != (n_samples,):
        raise ValueError(
            f"eligible has type {flags.dtype} and shape {flags.shape}, expected one boolean for "
            f"each of the {n_samples} samples. For a list of row numbers use "
            f"eligible=np.isin(np.arange({n_samples}), rows)."
        )
    return flags.copy()


def check_eligible(is_eligible: BoolArray, labels: IntArray, classes: Any) -> None:
    """Raise if a class has no eligible sample."""
    counts = np.bincount(labels[is_eligible], minlength=classes.size)
    if counts.min() == 0:
        lost = quote(classes.tolist()[int(counts.argmin())])
        raise ValueError(
            f"Class {lost} has no eligible sample, expected at least one in every class: a "
            "prototype of it has to start somewhere. Allow one, or leave the class out."
        )


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
        """What is said about these kernels; None if nothing is."""
        if self.require is None and self.exclude is None:
            return None
        finder = FeatureFinder(kernels, form)
        required = finder.find(self.require, "require")
        excluded = finder.find(self.exclude, "exclude")
        both = np.flatnonzero(required & excluded)
        if both.size:
            raise ValueError(
                f"{finder.name(both[0])} is required and excluded, expected either or none. Take "
                "it out of require or of exclude."
            )
        allowed = np.flatnonzero(~excluded)
        if allowed.size == 0:
            raise ValueError(
                "exclude names every feature, expected at least one to learn from. Exclude fewer."
            )
        n_required = int(required.sum())
        if max_kernels is not None and max_kernels < n_required:
            raise ValueError(
                f"max_kernels={max_kernels}, but require takes {n_required} kernels, expected at "
                "least as many. Raise max_kernels, or require fewer."
            )
        return KernelLimits(allowed, required[allowed])


class FeatureFinder:
    """Finds the kernels of features, which are named or numbered.

    Where kernels read several features, kernels are named and numbered instead.
    """

    def __init__(self, kernels: Kernels, form: Form) -> None:
        self.names = kernels.kernel_names(form.names)
        self.columns, self.what = kernels.kernel_columns, "feature"
        if self.columns is None:
            self.columns, self.what = np.arange(kernels.n_kernels), "kernel"
            self.n_features, features = kernels.n_kernels, []
        else:
            self.n_features = form.n_features or 0
            features = [] if form.names is None else [str(name) for name in form.names]
        self.features = {name: place for place, name in enumerate(features)}

    def name(self, kernel: int) -> str:
        """A feature or kernel in an error message."""
        return f"{self.what.capitalize()} {quote(self.names[kernel])}"

    def find(self, listed: Any, where: str) -> BoolArray:
        """Which kernels belong to the features that are listed."""
        found = np.zeros(len(self.names), dtype=bool)
        listed = () if listed is None else listed
        if isinstance(listed, str | bytes | dict) or not np.iterable(listed):
            raise TypeError(
                f"{where} contains {quote(listed)}, expected a list. Put it in brackets."
            )
        for feature in listed:
            flags = self._find_one(feature, where)
            if where == "require" and not flags.any():
                raise ValueError(
                    f"{where} lists {quote(feature)}, which no kernel reads, expected features "
                    "that the kernels compare. Take it out, or use kernels that read it."
                )
            found |= flags
        return found

    def _find_one(self, feature: Any, where: str) -> BoolArray:
        if not isinstance(feature, bool) and isinstance(feature, Integral):
            if 0 <= int(feature) < self.n_features:
                return np.asarray(self.columns == feature)
            raise ValueError(
                f"{where} lists the number {feature}, expected 0 to {self.n_features - 1} for the "
                f"{self.n_features} {self.what}s. Count from 0, or use names."
            )
        if not isinstance(feature, str):
            raise TypeError(
                f"{where} lists {quote(feature)}, expected names or numbers of {self.what}s, such "
                f"as {where}={self.names[:1]!r}."
            )
        if feature in self.features:
            return np.asarray(self.columns == self.features[feature])
        if feature in self.names:
            return np.array([name == feature for name in self.names])
        known = [*self.features, *self.names]
        alike = difflib.get_close_matches(feature, known, n=1)
        hint = f"Did you mean {quote(alike[0])}?" if alike else f"One of them is {quote(known[0])}."
        raise ValueError(
            f"{where} lists {quote(feature)}, expected the name of a {self.what}. {hint}"
        )
