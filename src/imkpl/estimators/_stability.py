"""Stability: which kernels, and prototypes where, refits on subsamples choose again."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from html import escape
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import column_or_1d

from imkpl._checks import printable
from imkpl._json import to_json
from imkpl._progress import announce
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._compat import safe_split
from imkpl.estimators._partitions import refuse_partitions
from imkpl.estimators._pipeline import last_step
from imkpl.explanations.exports import Columns, choose_frame, list_some, to_label
from imkpl.measures import selection_stability
from imkpl.series import read_series

# A prototype's region is this part of its class.
REGION = 0.1
# A refit draws at least so many samples of a class: prototypes are made of similar samples.
FEWEST_SAMPLES = 2
FEWEST_REFITS = 2
# Kernels that a summary names, and from what share of refits on they are chosen often.
MOST_NAMED, OFTEN = 12, 0.5


@dataclass(frozen=True, eq=False)
class Stability:
    """What refits to parts of the data choose again.

    Returned by :func:`stability`. Print it for a summary, or convert it to data frames and dicts.

    Parameters
    ----------
    reference : estimator
        The estimator fitted to all samples; prototypes are numbered as in it.
    n_repeats : int
        The number of refits.
    train_size : float
        The part of the samples of each class that a refit is given.
    n_samples : int
        The number of all samples.
    n_kernels : int
        The number of kernels to choose from.
    kernel_frequencies : dict of float
        By name, the share of refits that give a kernel a weight, most frequent first; kernels that
        no refit chooses are left out.
    kernel_weights : dict of float
        The mean weight of the same kernels over all refits.
    kernel_index : float
        Nogueira's index of the kernels chosen: 1 for always the same, about 0 for random choices;
        NaN if every refit chooses all kernels. See :func:`imkpl.measures.selection_stability`.
    kernel_interval : tuple (float, float)
        Its 95 % confidence interval.
    prototype_frequencies : array of shape (n_prototypes,)
        The share of refits that have a prototype in the region of each prototype of `reference`.
    prototype_controls : array of shape (n_prototypes,)
        The same share for random samples of each class, as many as the refits have prototypes.
    prototype_index : float
        How much of the way from random samples to always the regions are found again, as Cohen's
        kappa: ``(f - c) / (1 - c)`` for the means f of frequencies and c of controls. NaN if random
        samples always find the regions, too.

    Examples
    --------
    >>> import numpy as np
    >>> from imkpl import IMKPL, stability
    >>> X, y = np.r_[0:8.0, 20:28.0][:, None], np.repeat(["low", "high"], 8)
    >>> found = stability(IMKPL(n_prototypes=2), X, y, n_repeats=2)
    >>> found.kernel_frequencies
    {'x0': 1.0}
    """

    reference: Any
    n_repeats: int
    train_size: float
    n_samples: int
    n_kernels: int
    kernel_frequencies: dict[str, float]
    kernel_weights: dict[str, float]
    kernel_index: float
    kernel_interval: tuple[float, float]
    prototype_frequencies: FloatArray
    prototype_controls: FloatArray
    prototype_index: float

    def to_dict(self) -> dict[str, Any]:
        """Convert to dicts, lists, numbers and strings.

        Returns
        -------
        dict
            "n_repeats", "train_size", "n_samples"; "kernels" with "index", "interval", the number
            "n" of kernels to choose from and "frequencies"; "prototypes" with "index" and
            "regions". Ready for JSON; what is not defined is None.
        """
        kernels, prototypes = (
            [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            for columns in (self._kernels(), self._prototypes())
        )
        found: dict[str, Any] = to_json(
            {
                "n_repeats": self.n_repeats,
                "train_size": self.train_size,
                "n_samples": self.n_samples,
                "kernels": {
                    "index": self.kernel_index,
                    "interval": self.kernel_interval,
                    "n": self.n_kernels,
                    "frequencies": kernels,
                },
                "prototypes": {
                    "index": self.prototype_index,
                    "frequency": self.prototype_frequencies.mean(),
                    "control": self.prototype_controls.mean(),
                    "regions": prototypes,
                },
            }
        )
        return found

    def to_frame(self, part: str = "kernels", *, backend: str = "pandas") -> Any:
        """Convert to a data frame.

        Parameters
        ----------
        part : {"kernels", "prototypes"}
            One row per kernel that was chosen at least once, or per prototype of `reference`.
        backend : {"pandas", "polars", "pyarrow"}
            Library of the data frame.

        Returns
        -------
        data frame
            A frame of that library.
        """
        views = {"kernels": self._kernels, "prototypes": self._prototypes}
        return choose_frame(views, part, backend)

    def _kernels(self) -> Columns:
        return {
            "kernel": list(self.kernel_frequencies),
            "frequency": list(self.kernel_frequencies.values()),
            "weight": list(self.kernel_weights.values()),
        }

    def _prototypes(self) -> Columns:
        model = last_step(self.reference)
        # The sample with the largest part stands for the prototype.
        main = np.asarray(model.prototypes_.argmax(axis=1)).ravel()
        names = model.support_ids_[np.searchsorted(model.support_, main)]
        return {
            "prototype": list(range(main.size)),
            "class": [to_label(label) for label in model.prototype_classes_],
            "sample": [to_label(name) for name in names],
            "frequency": self.prototype_frequencies.tolist(),
            "control": self.prototype_controls.tolist(),
        }

    def __str__(self) -> str:
        name = type(last_step(self.reference)).__name__
        kernels = f"every refit chooses all {self.n_kernels}."
        if not np.isnan(self.kernel_index):
            low, high = self.kernel_interval
            n_chosen = sum(self.kernel_frequencies.values())
            kernels = (
                f"Nogueira's index {self.kernel_index:.2f} (95 % interval {low:.2f} to {high:.2f}; "
                f"1 always the same, 0 random), {n_chosen:.1f} of {self.n_kernels} chosen on "
                "average."
            )
        named: dict[str, list[str]] = {"always": [], "often": [], "seldom": []}
        for kernel, share in self.kernel_frequencies.items():
            word = "always" if share == 1 else "often" if share >= OFTEN else "seldom"
            named[word].append(kernel if share == 1 else f"{kernel} ({share:.0%})")
        listed = {word: list_some(names, MOST_NAMED) for word, names in named.items() if names}
        lists = [printable(f"  {word}: {names}") for word, names in listed.items()]
        found, by_chance = self.prototype_frequencies.mean(), self.prototype_controls.mean()
        index = "" if np.isnan(self.prototype_index) else f"index {self.prototype_index:.2f}; "
        return "\n".join(
            [
                f"Stability of {name} over {self.n_repeats} refits to {self.train_size:.0%} of "
                f"{self.n_samples} samples:",
                f"Kernels: {kernels}",
                *lists,
                f"Prototypes: {index}{found:.0%} of their regions are found again, by as many "
                f"random samples {by_chance:.0%}.",
            ]
        )

    def __repr__(self) -> str:
        return (
            f"Stability({self.n_repeats} refits, kernel_index={self.kernel_index:.3f}, "
            f"prototype_index={self.prototype_index:.3f})"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def stability(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    n_repeats: int = 10,
    train_size: float = 0.8,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Stability:
    """Measure which kernels, and prototypes where, refits to parts of the data choose again.

    The estimator is fitted to all samples, and again to random parts of them that keep the shares
    of the classes. Kernels count as chosen if they have a weight. Prototypes are compared by where
    they are: the *region* of a prototype of the first fit is the tenth of its class, among the
    samples of a refit, that is most similar to it. The refit finds the region again if it has a
    prototype of that class whose most similar sample is in the region. As many random samples of
    the class are the control.

    Parameters
    ----------
    estimator : estimator
        An IMKPL or ISKPL, fitted or not, or a pipeline that ends in one. It is cloned and stays as
        it is.
    X : array-like of shape (n_samples, n_features)
        Training samples, in the form that `fit` reads.
    y : array-like of shape (n_samples,)
        Class labels.
    n_repeats : int, default=10
        The number of refits, at least 2.
    train_size : float, default=0.8
        The part of the samples of each class that a refit is given, between 0 and 1; at least two
        samples of each class.
    random_state : int, RandomState instance or None, default=0
        Draws the parts.
    n_jobs : int, default=None
        The number of refits at the same time, in processes.

    Returns
    -------
    Stability
        To be printed, given to `report`, or turned into data frames and dicts.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL, stability
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = stability(IMKPL(n_prototypes=6, max_kernels=4), X, y, n_repeats=3)
    >>> found.kernel_frequencies["proline"]
    1.0
    """
    last_step(estimator)
    _check_numbers(n_repeats, train_size)
    refuse_partitions(X, "stability()")
    rng = check_random_state(random_state)
    announce("stability", "fitting to all samples", 0, n_repeats)
    reference = clone(estimator).fit(X, y)
    model = last_step(reference)
    similarities = _find_similarities(reference, X)
    # Frames of series have several rows for each.
    samples = read_series(X) if model._predictor.kernels.input_kind == "series" else X
    y = column_or_1d(y)
    classes, labels = np.unique(y, return_inverse=True)
    parts = [_draw_part(labels, train_size, rng) for _ in range(n_repeats)]
    if parts[0].size == labels.size:
        raise ValueError(
            f"train_size={train_size} of {labels.size} samples leaves none out, expected a part of "
            "them. Lower it, or add samples."
        )
    refits: list[tuple[dict[str, float], IntArray]] = []
    for refit in Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_refit)(clone(estimator), samples, y, part) for part in parts
    ):
        refits.append(refit)
        announce("stability", f"refit {len(refits)} of {n_repeats}", len(refits), n_repeats)
    owners = np.searchsorted(classes, model.prototype_classes_)
    searches = [
        _search_regions(similarities[part], labels[part], owners, nearest)
        for part, (_, nearest) in zip(parts, refits, strict=True)
    ]
    found, by_chance = np.mean(searches, axis=0)
    chance = float(by_chance.mean())
    names = list(dict.fromkeys(name for weights, _ in refits for name in weights))
    table = np.array([[weights.get(name, 0.0) for name in names] for weights, _ in refits])
    index, interval = selection_stability(table)
    frequencies, means = (table > 0).mean(axis=0), table.mean(axis=0)
    order = [int(i) for i in np.lexsort((-means, -frequencies)) if frequencies[i] > 0]
    return Stability(
        reference=reference,
        n_repeats=int(n_repeats),
        train_size=float(train_size),
        n_samples=int(labels.size),
        n_kernels=len(names),
        kernel_frequencies={names[i]: float(frequencies[i]) for i in order},
        kernel_weights={names[i]: float(means[i]) for i in order},
        kernel_index=index,
        kernel_interval=interval,
        prototype_frequencies=found,
        prototype_controls=by_chance,
        prototype_index=np.nan if chance == 1 else float((found.mean() - chance) / (1 - chance)),
    )


def _check_numbers(n_repeats: Any, train_size: Any) -> None:
    if not isinstance(n_repeats, Integral) or n_repeats < FEWEST_REFITS:
        raise ValueError(
            f"n_repeats={n_repeats!r}, expected a whole number of at least {FEWEST_REFITS}: "
            "stability compares refits with each other. Raise it."
        )
    if not isinstance(train_size, Real) or not 0 < float(train_size) < 1:
        raise ValueError(
            f"train_size={train_size!r}, expected a number between 0 and 1, the part of the "
            "samples that a refit is given. Use 0.8, for example."
        )


def _draw_part(labels: IntArray, train_size: float, rng: Any) -> IntArray:
    """The same part of every class, without replacement."""
    drawn = []
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        size = max(round(train_size * own.size), FEWEST_SAMPLES)
        drawn.append(rng.permutation(own)[:size])
    return np.sort(np.concatenate(drawn))


def _refit(estimator: Any, X: Any, y: Any, part: IntArray) -> tuple[dict[str, float], IntArray]:
    """The weights by kernel, and for each prototype the most similar sample of its class."""
    X, y = safe_split(estimator, X, y, part)
    model = last_step(estimator.fit(X, y))
    similarities = _find_similarities(estimator, X)
    similarities[y[:, np.newaxis] != model.prototype_classes_] = -np.inf
    weights: dict[str, float] = {}
    seen: Counter[str] = Counter()
    for name, weight in zip(model.kernel_names_, model.kernel_weights_.tolist(), strict=True):
        seen[name] += 1
        # Several kernels may have the same name.
        weights[name if seen[name] == 1 else f"{name} ({seen[name]})"] = weight
    return weights, similarities.argmax(axis=0)


def _find_similarities(reference: Any, X: Any) -> FloatArray:
    """Similarities of all samples to the prototypes."""
    model = last_step(reference)
    X = reference[:-1].transform(X) if isinstance(reference, Pipeline) else X
    return np.asarray(model._predictor.compare(model.read_new(X)))


def _search_regions(
    similarities: FloatArray, labels: IntArray, owners: IntArray, chosen: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Whether chosen samples are in the regions of prototypes, and the chance of random ones.

    Similarities are those of a part of the samples, with these labels, to prototypes of the classes
    `owners`. The random samples are as many of each class as the chosen ones.
    """
    found, by_chance = np.zeros(owners.size), np.zeros(owners.size)
    for index, owner in enumerate(owners):
        of_class = np.sort(similarities[labels == owner, index])
        least = of_class[-math.ceil(REGION * of_class.size)]
        candidates = similarities[chosen[labels[chosen] == owner], index]
        found[index] = np.any(candidates >= least)
        # One random sample after the other is outside, without replacement.
        drawn = np.arange(min(candidates.size, of_class.size))
        outside = np.maximum(np.searchsorted(of_class, least) - drawn, 0)
        by_chance[index] = 1 - np.prod(outside / (of_class.size - drawn))
    return found, by_chance
