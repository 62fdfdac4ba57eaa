"""Wishes: what an expert says about features and samples, read and checked for contradictions."""

from __future__ import annotations

import difflib
from numbers import Integral
from typing import Any

import numpy as np

from imkpl._checks import quote
from imkpl._typing import BoolArray, FloatArray, IntArray
from imkpl.estimators._partitions import in_memory
from imkpl.kernels import BaseKernelBank
from imkpl.model.wishes import KernelWishes, SampleWishes

# The parameters and the metadata of `fit` that are wishes.
FEATURE_WISHES = ("require", "exclude", "groups")
SAMPLE_WISHES = ("eligible", "pin", "ban")


def read_sample_wishes(wishes: dict[str, Any], n_samples: int) -> SampleWishes | None:
    """One boolean per sample and wish; None if there are no wishes."""
    if all(value is None for value in wishes.values()):
        return None
    read = {}
    for name in SAMPLE_WISHES:
        value = in_memory(wishes.get(name))
        default = np.full(n_samples, name == "eligible")
        flags = default if value is None else np.asarray(value)
        if flags.dtype == object and all(isinstance(flag, bool | np.bool_) for flag in flags.flat):
            flags = flags.astype(bool)
        if flags.dtype != bool or flags.shape != (n_samples,):
            raise ValueError(
                f"{name} has type {flags.dtype} and shape {flags.shape}, expected one boolean for "
                f"each of the {n_samples} samples. For a list of row numbers use "
                f"{name}=np.isin(np.arange({n_samples}), rows)."
            )
        read[name] = flags.copy()
    found = SampleWishes(*(read[name] for name in SAMPLE_WISHES))
    _refuse(found.is_pinned & found.is_banned, "pinned and banned", "either or none")
    _refuse(found.is_pinned & ~found.is_eligible, "pinned but not eligible", "pinned ones eligible")
    return found


def name_wishes(wishes: SampleWishes | None) -> dict[str, BoolArray] | None:
    """What `fit` was asked for, by the names of its parameters."""
    return None if wishes is None else dict(zip(SAMPLE_WISHES, wishes.arrays, strict=True))


def check_sample_wishes(
    wishes: SampleWishes, weight: FloatArray, labels: IntArray, classes: Any
) -> None:
    """Raise if a class has no sample that may be shown, or a pinned sample does not count."""
    _refuse(wishes.is_pinned & (weight <= 0), "pinned but has the weight 0", "a positive weight")
    for flags, what in (
        (wishes.is_eligible, "eligible sample"),
        (wishes.may_be_centre, "eligible sample that is not banned"),
    ):
        counts = np.bincount(labels[flags & (weight > 0)], minlength=classes.size)
        if counts.min() == 0:
            lost = quote(classes.tolist()[int(counts.argmin())])
            raise ValueError(
                f"Class {lost} has no {what}, expected at least one in every class: a prototype of "
                "it has to start somewhere. Allow one, or leave the class out."
            )


def merge_wishes(
    wishes: SampleWishes, used: IntArray, group: IntArray
) -> tuple[IntArray, SampleWishes]:
    """The row that stands for every group of equal rows, and what is wished of the group.

    It is the first that is pinned, else that may be a centre, else that is eligible: whatever is
    shown of a group was allowed. A group is banned if all its eligible rows are.
    """
    pinned, centre, eligible = (
        flags[used] for flags in (wishes.is_pinned, wishes.may_be_centre, wishes.is_eligible)
    )
    order = np.lexsort((used, ~eligible, ~centre, ~pinned, group))
    first = order[np.unique(group[order], return_index=True)[1]]
    merged = SampleWishes(eligible[first], pinned[first], eligible[first] & ~centre[first])
    return used[first], merged


def find_kernel_wishes(
    estimator: Any, bank: BaseKernelBank, learned: dict[str, Any], *, has_limit: bool = True
) -> tuple[IntArray | None, KernelWishes | None]:
    """The kernels that are not excluded, None for all, and what is wished of them.

    `has_limit` is whether `max_kernels` is about these kernels.
    """
    given = {name: getattr(estimator, name, None) for name in FEATURE_WISHES}
    if all(value is None for value in given.values()):
        return None, None
    finder = FeatureFinder(bank, learned)
    required = finder.find(given["require"], "require")
    excluded = finder.find(given["exclude"], "exclude")
    both = np.flatnonzero(required & excluded)
    if both.size:
        raise ValueError(
            f"{finder.name(both[0])} is required and excluded, expected either or none. Take it "
            "out of require or of exclude."
        )
    groups = np.full(bank.n_kernels, -1)
    for number, members in enumerate(_listed(given["groups"], "groups")):
        flags = finder.find(members, "groups")
        if np.any(flags & (groups >= 0)):
            twice = np.flatnonzero(flags & (groups >= 0))[0]
            raise ValueError(
                f"{finder.name(twice)} is in two groups, expected one at most. Join the groups."
            )
        if np.any(flags & excluded) and not np.all(excluded[flags]):
            lost = np.flatnonzero(flags & excluded)[0]
            raise ValueError(
                f"{finder.name(lost)} is excluded, but others of its group are not: a group enters "
                "or stays out as a whole. Exclude the whole group, or take it out of the group."
            )
        groups[flags] = number
        if required[flags].any():
            required |= flags
    kept = np.flatnonzero(~excluded)
    if kept.size == 0:
        raise ValueError(
            "exclude names every feature, expected at least one to learn from. Exclude fewer."
        )
    wishes = KernelWishes(required[kept], groups[kept])
    _check_room(estimator, wishes, has_limit)
    return kept, wishes


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

    def find(self, wished: Any, where: str) -> BoolArray:
        """Which kernels belong to the features that are listed."""
        found = np.zeros(len(self.names), dtype=bool)
        for feature in _listed(wished, where):
            flags = self._find_one(feature, where)
            if where != "exclude" and not flags.any():
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
    if data.kernel_wishes is None:
        return
    lost = np.setdiff1d(data.kernels[data.kernel_wishes.is_required], varying)
    if lost.size:
        name = data.bank.kernel_names(data.input.get("feature_names_in_"))[lost[0]]
        raise ValueError(
            f"{quote(name)} is required, but it is constant over the training samples, expected "
            "one that tells samples apart. Take it out of require, or add samples."
        )


def _check_room(estimator: Any, wishes: KernelWishes, has_limit: bool) -> None:
    """Raise if the limit on kernels leaves no room, or the weight rule cannot keep groups."""
    if getattr(estimator, "weight_rule", None) == "lp":
        if np.any(wishes.groups >= 0):
            raise ValueError(
                "weight_rule='lp' keeps one kernel, which leaves no room for groups, expected "
                "'margin'. Leave weight_rule out."
            )
        return
    limits = getattr(estimator, "max_kernels", None) if has_limit else None
    if limits is None or isinstance(limits, str):
        return
    smallest = int(np.min(limits))
    if smallest < wishes.n_least:
        raise ValueError(
            f"max_kernels={smallest}, but require and the largest of groups take "
            f"{wishes.n_least} kernels, expected at least as many. Raise max_kernels, or wish less."
        )


def _listed(value: Any, where: str) -> list[Any]:
    """A list of wishes, empty for None."""
    if value is None:
        return []
    if isinstance(value, str | bytes | dict) or not np.iterable(value):
        raise TypeError(
            f"{where} contains {quote(value)}, expected a list"
            f"{' of lists' if where == 'groups' else ''}. Put it in brackets."
        )
    return list(value)


def _refuse(is_wrong: BoolArray, what: str, expected: str) -> None:
    if is_wrong.any():
        raise ValueError(
            f"Sample {int(np.flatnonzero(is_wrong)[0])} is {what}, expected {expected}. Change "
            f"eligible, pin or ban; there are {int(is_wrong.sum())} such samples."
        )
