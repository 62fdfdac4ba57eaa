"""What an expert says about features and samples, read and checked for contradictions."""

from __future__ import annotations

import difflib
from numbers import Integral
from typing import Any

import numpy as np

from imkpl._checks import quote
from imkpl._typing import BoolArray, IntArray
from imkpl.estimators._partitions import in_memory
from imkpl.kernels import BaseKernelBank


def read_eligible(eligible: Any, n_samples: int) -> BoolArray | None:
    """One boolean per sample; None if all may be shown."""
    if eligible is None:
        return None
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


def find_kernels(
    estimator: Any, bank: BaseKernelBank, learned: dict[str, Any], *, has_limit: bool = True
) -> tuple[IntArray | None, BoolArray | None]:
    """The kernels that are not excluded, and which of them are required; None without either.

    `has_limit` is whether `max_kernels` is about these kernels.
    """
    if estimator.require is None and estimator.exclude is None:
        return None, None
    finder = FeatureFinder(bank, learned)
    required = finder.find(estimator.require, "require")
    excluded = finder.find(estimator.exclude, "exclude")
    both = np.flatnonzero(required & excluded)
    if both.size:
        raise ValueError(
            f"{finder.name(both[0])} is required and excluded, expected either or none. Take it "
            "out of require or of exclude."
        )
    kept = np.flatnonzero(~excluded)
    if kept.size == 0:
        raise ValueError(
            "exclude names every feature, expected at least one to learn from. Exclude fewer."
        )
    if has_limit:
        _check_room(estimator, int(required.sum()))
    return kept, required[kept]


class FeatureFinder:
    """Finds the kernels of features, which are named or numbered.

    Where kernels read several features, kernels are named and numbered instead.
    """

    def __init__(self, bank: BaseKernelBank, learned: dict[str, Any]) -> None:
        names = learned.get("feature_names_in_")
        self.names = bank.kernel_names(names)
        self.columns, self.what = bank.kernel_columns, "feature"
        if self.columns is None:
            self.columns, self.what = np.arange(bank.n_kernels), "kernel"
            self.n_features, features = bank.n_kernels, []
        else:
            self.n_features = int(learned.get("n_features_in_", learned.get("n_channels_in_", 0)))
            features = [] if names is None else [str(name) for name in names]
        self.features = {name: place for place, name in enumerate(features)}

    def name(self, kernel: int) -> str:
        """A feature or kernel in an error message."""
        return f"{self.what.capitalize()} {quote(self.names[kernel])}"

    def find(self, listed: Any, where: str) -> BoolArray:
        """Which kernels belong to the features that are listed."""
        found = np.zeros(len(self.names), dtype=bool)
        for feature in _as_list(listed, where):
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


def check_required(data: Any, varying: IntArray) -> None:
    """Raise if a required kernel of the training data is not among those that vary."""
    if data.is_required is None:
        return
    lost = np.setdiff1d(data.kernels[data.is_required], varying)
    if lost.size:
        name = data.bank.kernel_names(data.input.get("feature_names_in_"))[lost[0]]
        raise ValueError(
            f"{quote(name)} is required, but it is constant over the training samples, expected "
            "one that tells samples apart. Take it out of require, or add samples."
        )


def _check_room(estimator: Any, n_required: int) -> None:
    """Raise if the limit on kernels leaves no room for those that are required."""
    limits = getattr(estimator, "max_kernels", None)
    # "lp" has no limit, and a search over sizes has several, or none yet.
    if getattr(estimator, "weight_rule", None) == "lp" or limits is None or isinstance(limits, str):
        return
    smallest = int(np.min(limits))
    if smallest < n_required:
        raise ValueError(
            f"max_kernels={smallest}, but require takes {n_required} kernels, expected at least as "
            "many. Raise max_kernels, or require fewer."
        )


def _as_list(value: Any, where: str) -> list[Any]:
    """What a parameter lists; nothing for None."""
    if value is None:
        return []
    if isinstance(value, str | bytes | dict) or not np.iterable(value):
        raise TypeError(f"{where} contains {quote(value)}, expected a list. Put it in brackets.")
    return list(value)
