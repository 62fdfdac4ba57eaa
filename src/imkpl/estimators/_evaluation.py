"""Measures of models: scorers, stability over refits, and the path over numbers of features."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from imkpl._checks import list_some, printable, require
from imkpl._json import Described
from imkpl._progress import announce
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._compat import safe_split
from imkpl.estimators._imkpl import IMKPL
from imkpl.estimators._input import refuse_partitions
from imkpl.estimators._pipeline import find_model, last_step
from imkpl.estimators._training import TrainingData, read_groups
from imkpl.explanations.exports import to_label
from imkpl.kernels.base import take_samples
from imkpl.kernels.forms import blank_column
from imkpl.measures import discrimination_score, interpretability_score, selection_stability
from imkpl.series import read_series

# A prototype's region is this part of its class.
REGION = 0.1
# The part of a class that a refit is given, and the least: prototypes are made of similar samples.
TRAIN_SIZE, FEWEST_DRAWN = 0.8, 2
# Kernels that a summary of stability names, and features that a row of a path names.
MOST_NAMED, MOST_ENTERED = 12, 6
# A path tries as many features as the model keeps by itself, half of them, a quarter, and so on.
N_SIZES = 5
# Samples on which kernels of features are compared with each other.
MOST_ALIGNED = 300
# A class needs one sample to test on, and two to learn from.
FEWEST_SPLIT = 3


def interpretability_scorer(estimator: Any, X: Any = None, y: ArrayLike | None = None) -> float:
    """IP of a fitted estimator; it depends on the prototypes alone.

    A prototype that is a single sample has IP 100: look at the number of samples per prototype and
    of prototypes per class as well. Prototypes of baselines have coefficients of any sign: their
    sizes count, scaled to unit norm.

    Parameters
    ----------
    estimator : IMKPL, ISKPL or a baseline
        Fitted.
    X, y : ignored
        Part of a scorer's signature.

    Returns
    -------
    float
        IP between 0 and 100.
    """
    check_is_fitted(estimator)
    # Columns are classes in the place of samples: purity and sums of coefficients are the same.
    return float(interpretability_score(estimator.class_shares_, estimator.classes_))


def discrimination_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """DR of the codes of X over all prototypes; codes of any sign count by their size.

    Parameters
    ----------
    estimator : IMKPL, ISKPL or a baseline with codes
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Samples, those of a test set in the paper.
    y : array-like of shape (n_samples,)
        Their classes.

    Returns
    -------
    float
        DR between 0 and 100.
    """
    codes, owners = estimator.transform(X), estimator.prototype_classes_
    return float(discrimination_score(abs(codes), y, owners))


@dataclass(frozen=True, eq=False)
class Stability(Described):
    """What refits to parts of the data choose again.

    Returned by :func:`stability`. Print it for a summary, or convert it to dicts.

    Parameters
    ----------
    model : estimator
        The estimator fitted to all samples; prototypes are numbered as in it.
    n_repeats, n_samples : int
        The number of refits, and of all samples.
    kernels : dict
        "index" is Nogueira's (:func:`imkpl.measures.selection_stability`): 1 for always the same
        kernels, about 0 for random choices, NaN if every refit chooses all. "interval" is its 95 %
        confidence interval, "n" the number of kernels to choose from. "frequencies" has a dict for
        each "kernel" that was ever chosen, most frequent first: the "frequency" of refits that give
        it a weight, and its mean "weight".
    prototypes : dict
        "regions" has a dict for each "prototype", its "class" and its main "sample": the
        "frequency" of refits that have a prototype in its region, and that of random samples of
        its class, as many as these have ("control"). "frequency" f and "control" c are their means.
        "index" is how much of the way from random samples to always they are found again, as
        Cohen's kappa, ``(f - c) / (1 - c)``; NaN if random samples always find them, too.
    train_size : float
        The part of each class that refits are given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from imkpl import IMKPL, stability
    >>> X, y = load_iris(return_X_y=True)
    >>> found = stability(IMKPL(n_prototypes=3), X, y, n_repeats=2)
    >>> found.n_repeats, found.kernels["n"], len(found.prototypes["regions"])
    (2, 4, 3)
    """

    model: Any
    n_repeats: int
    n_samples: int
    kernels: dict[str, Any]
    prototypes: dict[str, Any]
    train_size: float = TRAIN_SIZE

    def __repr__(self) -> str:
        kernels, prototypes = self.kernels, self.prototypes
        choice = f"every refit chooses all {kernels['n']}."
        if not np.isnan(kernels["index"]):
            low, high = kernels["interval"]
            n_chosen = sum(one["frequency"] for one in kernels["frequencies"])
            choice = (
                f"Nogueira's index {kernels['index']:.2f} (95% interval {low:.2f} to {high:.2f}; "
                f"1 always the same, 0 random), {n_chosen:.1f} of {kernels['n']} chosen on average."
            )
        named = [f"{one['kernel']} ({one['frequency']:.0%})" for one in kernels["frequencies"]]
        index = "" if np.isnan(prototypes["index"]) else f"index {prototypes['index']:.2f}; "
        return "\n".join(
            [
                f"Stability of {type(last_step(self.model)).__name__} over {self.n_repeats} "
                f"refits to {self.train_size:.0%} of {self.n_samples} samples:",
                f"Kernels: {choice}",
                printable(f"  most often {list_some(named, MOST_NAMED)}"),
                f"Prototypes: {index}{prototypes['frequency']:.0%} of their regions are found "
                f"again, by as many random samples {prototypes['control']:.0%}.",
            ]
        )


def stability(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    n_repeats: int = 10,
    random_state: Any = 0,
) -> Stability:
    """Measure which kernels, and prototypes where, refits to parts of the data choose again.

    The estimator is fitted to all samples, and again to random parts, 80 % of the samples of each
    class. Kernels count as chosen if they have a weight. Prototypes are compared by where
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
    groups : array-like of shape (n_samples,), optional
        Whom samples belong to, for `fit`: parts have whole groups.
    n_repeats : int, default=10
        The number of refits, at least 2.
    random_state : int, RandomState instance or None, default=0
        Draws the parts.

    Returns
    -------
    Stability
        To be printed, given to `report`, or turned into dicts.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL, stability
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = stability(IMKPL(n_prototypes=6, max_kernels=4), X, y, n_repeats=3)
    >>> [one["frequency"] for one in found.kernels["frequencies"] if one["kernel"] == "proline"]
    [1.0]
    """
    require(
        n_repeats >= 2,
        f"n_repeats={n_repeats}, expected at least 2 refits, which are compared. Raise it.",
    )
    whole, samples = _fit_to_all(estimator, X, y, groups, "stability")
    rng, y = check_random_state(random_state), column_or_1d(y)
    classes, labels = np.unique(y, return_inverse=True)
    owners = np.arange(labels.size) if groups is None else read_groups(groups, labels.size)
    parts = [_draw_part(labels, owners, rng) for _ in range(n_repeats)]
    require(
        parts[0].size < labels.size,
        f"{TRAIN_SIZE:.0%} of each class are all of the {labels.size} samples, expected some that "
        "are left out. Add samples.",
    )
    model, similarities = last_step(whole), _find_similarities(whole, X)
    owners = np.searchsorted(classes, model.prototype_classes_)
    chosen: list[dict[str, float]] = []
    searches = []
    for done, part in enumerate(parts, start=1):
        weights, nearest = _refit(clone(estimator), samples, y, groups, part)
        chosen.append(weights)
        searches.append(_search_regions(similarities[part], labels[part], owners, nearest))
        announce("stability", f"refit {done} of {n_repeats}", done, n_repeats)
    names = list(dict.fromkeys(name for weights in chosen for name in weights))
    table = np.array([[weights.get(name, 0.0) for name in names] for weights in chosen])
    index, interval = selection_stability(table)
    shares, means = (table > 0).mean(axis=0), table.mean(axis=0)
    order = [i for i in np.lexsort((-means, -shares)) if shares[i] > 0]
    frequencies = [
        {"kernel": names[i], "frequency": float(shares[i]), "weight": float(means[i])}
        for i in order
    ]
    # The sample with the largest part stands for the prototype.
    main = np.asarray(model.prototypes_.argmax(axis=1)).ravel()
    main = model.support_ids_[np.searchsorted(model.support_, main)]
    found, by_chance = np.mean(searches, axis=0)
    regions = [
        {
            "prototype": i,
            "class": to_label(model.prototype_classes_[i]),
            "sample": to_label(main[i]),
            "frequency": float(found[i]),
            "control": float(by_chance[i]),
        }
        for i in range(main.size)
    ]
    mean, chance = float(found.mean()), float(by_chance.mean())
    kappa = np.nan if chance == 1 else (mean - chance) / (1 - chance)
    return Stability(
        model=whole,
        n_repeats=n_repeats,
        n_samples=int(labels.size),
        kernels={"index": index, "interval": interval, "n": len(names), "frequencies": frequencies},
        prototypes={"index": kappa, "frequency": mean, "control": chance, "regions": regions},
    )


def _fit_to_all(estimator: Any, X: Any, y: Any, groups: Any, caller: str) -> tuple[Any, Any]:
    """The estimator fitted to all samples, and these in a form that can be divided."""
    last_step(estimator)
    refuse_partitions(X, f"{caller}()")
    announce(caller, "fitting to all samples")
    whole = clone(estimator).fit(X, y, **_name_groups(estimator, groups))
    # Frames of series have several rows for each.
    is_series = last_step(whole)._predictor.kernels.input_kind == "series"
    return whole, read_series(X) if is_series else X


def _name_groups(estimator: Any, groups: Any) -> dict[str, Any]:
    """The groups as `fit` of a model, or of a pipeline, takes them."""
    if groups is None:
        return {}
    is_pipeline = isinstance(estimator, Pipeline)
    return {f"{estimator.steps[-1][0]}__groups" if is_pipeline else "groups": groups}


def _draw_part(labels: IntArray, owners: IntArray, rng: Any) -> IntArray:
    """The same part of every class, without replacement, in whole groups."""
    drawn = []
    _, first = np.unique(owners, return_index=True)
    for label in np.unique(labels):
        own = owners[first[labels[first] == label]]
        size = max(round(TRAIN_SIZE * own.size), FEWEST_DRAWN)
        drawn.append(rng.permutation(own)[:size])
    return np.flatnonzero(np.isin(owners, np.concatenate(drawn)))


def _refit(
    estimator: Any, X: Any, y: Any, groups: Any, part: IntArray
) -> tuple[dict[str, float], IntArray]:
    """The weights by kernel, and for each prototype the most similar sample of its class."""
    X, y = safe_split(estimator, X, y, part)
    own = None if groups is None else np.asarray(groups)[part]
    model = last_step(estimator.fit(X, y, **_name_groups(estimator, own)))
    similarities = _find_similarities(estimator, X)
    similarities[y[:, np.newaxis] != model.prototype_classes_] = -np.inf
    # Kernels of the same name count as one.
    weights: Counter[str] = Counter()
    for name, weight in zip(model.kernel_names_, model.kernel_weights_.tolist(), strict=True):
        weights[name] += weight
    return dict(weights), similarities.argmax(axis=0)


def _find_similarities(estimator: Any, X: Any) -> FloatArray:
    """Similarities of all samples to the prototypes."""
    model = find_model(estimator)
    return np.asarray(model._predictor.compare(model.read_new(X)).similarities)


def _search_regions(
    similarities: FloatArray, labels: IntArray, owners: IntArray, chosen: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Whether chosen samples are in the regions of prototypes of classes, and random ones are."""
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


@dataclass(frozen=True, eq=False)
class FeaturePath(Described):
    """What models with few and with many features are worth on left-out samples.

    Returned by :func:`path`. Print it, convert it to a dict, or draw it with
    :class:`imkpl.plots.PathDisplay`. Kernels count as features, as by default each reads one.

    Parameters
    ----------
    sizes : int array of shape (n_sizes,)
        The largest number of features of each model, ascending.
    split_scores : array of shape (n_sizes, n_splits)
        The accuracy of each on the left-out samples of every split.
    features : tuple of tuples of str
        The features of each when it is fitted to all samples.
    model : estimator
        The one of the chosen size, fitted to all samples.
    panel : tuple of dict
        Every feature, as it came in: its name ("feature"), the "size" of the first model that has
        it, its "evidence", the other feature of that model that it is most alike ("like", and how
        much: "alike", the centred alignment of their kernels, from 0 to 1), and its "price".
    missing : tuple of dict
        Of the features of the chosen model: the "accuracy" in the folds where the "feature" is
        missing, and its "standard_error"; the "substitute" that most folds take if they are fitted
        without it, and the accuracy of those fits ("with_substitute"). Largest weight first.
    have : tuple of str
        Features that every model has.
    prices : mapping of str to float, optional
        What features cost.

    Examples
    --------
    >>> scores = [[0.7, 0.8], [0.9, 0.9]]
    >>> found = FeaturePath([1, 2], scores, (("age",), ("age", "dose")), None)
    >>> found.chosen, found.entered
    (2, [['age'], ['dose']])
    """

    sizes: IntArray
    split_scores: FloatArray
    features: tuple[tuple[str, ...], ...]
    model: Any
    panel: tuple[dict[str, Any], ...] = ()
    missing: tuple[dict[str, Any], ...] = ()
    have: tuple[str, ...] = ()
    prices: Mapping[str, float] | None = None

    _also: ClassVar = ("accuracy", "standard_error", "best", "chosen", "entered", "price")

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", np.asarray(self.sizes))
        object.__setattr__(self, "split_scores", np.asarray(self.split_scores, dtype=np.float64))

    @property
    def accuracy(self) -> FloatArray:
        """The mean accuracy of every size over the splits."""
        return np.asarray(self.split_scores.mean(axis=1))

    @property
    def standard_error(self) -> FloatArray:
        """The standard error of every mean; 0 for a single split, which has no spread."""
        n_splits = self.split_scores.shape[1]
        if n_splits == 1:
            return np.zeros(self.sizes.size)
        return np.asarray(self.split_scores.std(axis=1, ddof=1) / np.sqrt(n_splits))

    @property
    def best(self) -> int:
        """The size of largest accuracy, the smallest of these."""
        return int(self.sizes[np.argmax(self.accuracy)])

    @property
    def chosen(self) -> int:
        """The cheapest, or smallest, size within one standard error of the best accuracy."""
        top = np.argmax(self.accuracy)
        least = self.accuracy[top] - self.standard_error[top]
        cost = self.sizes if self.price is None else self.price
        return int(self.sizes[np.argmin(np.where(self.accuracy >= least, cost, np.inf))])

    @property
    def price(self) -> FloatArray | None:
        """What the features of every model cost together; None without prices."""
        if self.prices is None:
            return None
        return np.array([sum(self.prices[name] for name in names) for names in self.features])

    @property
    def entered(self) -> list[list[str]]:
        """The features of every model that the next smaller one does not have."""
        before = ((), *self.features)
        return [
            [name for name in names if name not in smaller]
            for names, smaller in zip(self.features, before, strict=False)
        ]

    def __repr__(self) -> str:
        lines = ["features  accuracy  what came in"]
        rows = zip(self.sizes, self.accuracy, self.standard_error, self.entered, strict=True)
        for size, accuracy, error, names in rows:
            mark = "  <- chosen" if size == self.chosen else ""
            entered = list_some(names, MOST_ENTERED)
            lines.append(f"{size:8d}  {accuracy:.3f} ± {error:.3f}  {entered}{mark}")
        for one in self.missing:
            lines += ["", "missing: accuracy, and substitute"] * (one is self.missing[0])
            lines.append(f"{one['feature']}: {say_without(one)}")
        return "\n".join(lines)


def say_without(one: Mapping[str, Any]) -> str:
    """The accuracy of a model that lacks a feature, and with the best substitute."""
    said = f"{one['accuracy']:.3f} ± {one['standard_error']:.3f}"
    if one["substitute"] is None:
        return said
    return f"{said}; {one['with_substitute']:.3f} with {one['substitute']} in its place"


def path(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sizes: ArrayLike | None = None,
    cv: Any = 5,
    *,
    groups: ArrayLike | None = None,
    have: Sequence[Any] = (),
    prices: Mapping[str, float] | None = None,
    substitutes: int = 5,
) -> FeaturePath:
    """Measure how accurate models with few and with many features are on left-out samples.

    A model of each size is fitted to all samples, to see what comes in, and to the training part of
    every split. All have as many prototypes as the estimator finds for all samples, which is most
    of the cost of a fit: the whole path costs about as much as twenty fits.

    Parameters
    ----------
    estimator : IMKPL or Pipeline
        The model, fitted or not, or a pipeline that ends in one. It is cloned and stays as it is.
    X : array-like of shape (n_samples, n_features)
        Training samples, in the form that `fit` reads.
    y : array-like of shape (n_samples,)
        Class labels.
    sizes : sequence of int, default=None
        Numbers of features to try, as `max_kernels`. By default as many as the estimator keeps by
        itself, half of them, a quarter, an eighth and a sixteenth.
    cv : int, splitter or iterable, default=5
        How samples are split. A number of folds, never more than the smallest class has distinct
        samples, shuffles the samples, keeps the classes' shares, and keeps equal samples together.
        A splitter or an iterable of pairs of index arrays is taken as it is.
    groups : array-like of shape (n_samples,), optional
        Whom samples belong to, for `fit`; folds keep groups together.
    have : sequence of str or int, default=()
        Features that are measured anyway: every model has them, the first one nothing else, and
        `sizes` count them.
    prices : mapping of str to float, optional
        What each feature costs: of the sizes that are as good as the best, the cheapest is chosen.
        Features that are not named, and those in `have`, cost nothing.
    substitutes : int, default=5
        For how many features of the chosen model to find what takes their place; each takes a fit
        per split.

    Returns
    -------
    FeaturePath
        A row per size; `chosen` is the smallest within one standard error of the best, and `model`
        the one of that size, fitted to all samples.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import imkpl
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = imkpl.path(imkpl.IMKPL(n_prototypes=3), X, y, sizes=[1, 4, 8], cv=3)
    >>> found.chosen in (4, 8), found.entered[0]
    (True, ['proline'])
    """
    last = last_step(estimator)
    if not isinstance(last, IMKPL):
        raise TypeError(
            f"path() got {type(last).__name__}, whose kernels all have the same weight, expected "
            "an IMKPL, or a pipeline that ends with one. Pass IMKPL(), for example."
        )
    numbers = np.unique(1 if sizes is None else np.asarray(sizes))
    require(
        numbers.size and numbers.dtype.kind in "iu" and numbers[0] >= 1,
        f"sizes={sizes!r}, expected a sequence of positive whole numbers of features, such as "
        "(5, 10, 20). Leave it out to try what the model keeps, half of it, and so on.",
    )
    if have:
        estimator = clone(estimator)
        last = last_step(estimator)
        last.set_params(require=list(dict.fromkeys([*(last.require or ()), *have])))
    whole, samples = _fit_to_all(estimator, X, y, groups, "path")
    model = last_step(whole)
    inner = whole[:-1].transform(X) if isinstance(whole, Pipeline) else X
    data = last._read_training(inner, y, groups=groups)
    named = _name_groups(estimator, groups)
    splits = _find_splits(data, cv, last.random_state)
    if sizes is None:
        n_kept = int(np.count_nonzero(model.kernel_weights_))
        fewest = min(n_kept, len(last.require or ()))
        halves = np.ceil(n_kept / 2.0 ** np.arange(N_SIZES)).astype(int)
        numbers = np.unique(np.maximum(halves, fewest))
    if have:
        numbers = np.unique(np.maximum([len(last.require), *numbers], len(last.require)))
    models, scores, folds = [], [], []
    for place, size in enumerate(numbers.tolist()):
        announce("path", f"{size} features", place, numbers.size)
        sized = clone(estimator)
        n_prototypes = model.prototypes_.shape[0]
        last_step(sized).set_params(max_kernels=size, n_prototypes=n_prototypes)
        options = {"cv": splits, "error_score": "raise", "params": named, "return_estimator": True}
        measured = cross_validate(sized, samples, data.given.y, **options)
        scores.append(measured["test_score"])
        folds.append(measured["estimator"])
        models.append(sized.fit(samples, data.given.y, **named))
    features = tuple(_name_features(one) for one in models)
    owned = set(_name_features(models[0])) if have else set[str]()
    if prices is not None:
        every = dict.fromkeys(name for names in features for name in names)
        prices = {name: 0.0 if name in owned else float(prices.get(name, 0.0)) for name in every}
    found = FeaturePath(numbers, np.array(scores), features, None, prices=prices)
    place = int(np.searchsorted(numbers, found.chosen))
    announce("path", "what missing features cost")
    missing = _find_costs(models[place], folds[place], samples, data, splits, named, substitutes)
    panel = tuple(_describe_panel(models, features, samples, prices or {}))
    more: Any = {"panel": panel, "missing": missing, "have": tuple(sorted(owned))}
    return replace(found, model=models[place], **more)


def _describe_panel(
    models: list[Any], features: tuple[tuple[str, ...], ...], X: Any, prices: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    """Every feature as it comes in, and which other feature of that model it is most alike."""
    known: set[str] = set()
    for one, names in zip(models, features, strict=True):
        model = find_model(one)
        predictor, evidence = model._predictor, model.kernel_evidence_
        live = np.flatnonzero(model.kernel_weights_)
        order = np.argsort(-model.kernel_weights_[live], kind="stable")
        samples = model.read_new(X)
        if set(names) <= known:
            continue
        rows = np.linspace(0, len(samples) - 1, min(len(samples), MOST_ALIGNED)).astype(np.intp)
        kernels = predictor.kernels.moved_to(take_samples(samples, rows))
        alike = align_kernels([kernels.evaluate(int(kernel)) for kernel in order])
        np.fill_diagonal(alike, -1.0)
        for place, name in enumerate(names):
            if name in known:
                continue
            other = int(np.argmax(alike[place]))
            yield {
                "feature": name,
                "size": len(names),
                "evidence": float(evidence[live[order[place]]]),
                "like": names[other] if len(names) > 1 else None,
                "alike": max(float(alike[place, other]), 0.0),
                "price": prices.get(name),
            }
        known |= set(names)


def align_kernels(matrices: Sequence[FloatArray]) -> FloatArray:
    """The centred alignment of kernels on the same samples, ``<K, L> / (||K|| ||L||)``."""
    centred = [K - K.mean(axis=0) - K.mean(axis=1)[:, np.newaxis] + K.mean() for K in matrices]
    rows = np.stack([K.ravel() / (np.linalg.norm(K) or 1.0) for K in centred])
    return np.asarray(rows @ rows.T)


def predict_without(model: Any, X: Any) -> Iterator[tuple[str, Any]]:
    """Each feature in use, and the classes of samples in which it is missing."""
    predictor = model._predictor
    if not predictor.kernels.reads_cells or predictor.expected is None:
        return
    samples, names = model.read_new(X), model._column_names
    for name, column in zip(names, predictor.kernels.input_columns, strict=True):
        scores = model._decider.decide(blank_column(samples, int(column)))
        yield name, model.classes_[np.argmax(scores, axis=1)]


def _find_costs(
    whole: Any,
    folds: list[Any],
    X: Any,
    data: TrainingData,
    splits: list[tuple[IntArray, IntArray]],
    named: dict[str, Any],
    n_substitutes: int,
) -> tuple[dict[str, Any], ...]:
    """Accuracy in folds without each feature of a model, and with what takes its place."""
    model, y = find_model(whole), data.given.y
    if not model._predictor.kernels.reads_cells or isinstance(whole, Pipeline):
        return ()
    names, without = _name_features(model), []
    for fold, (train, test) in zip(folds, splits, strict=True):
        X_test, y_test = safe_split(fold, X, y, test, train)
        right = {name: np.mean(one == y_test) for name, one in predict_without(fold, X_test)}
        score = fold.score(X_test, y_test)
        without.append([right.get(name, score) for name in names])
    found = []
    for place, name in enumerate(names):
        scores = np.array(without)[:, place]
        error = scores.std(ddof=1) / np.sqrt(scores.size) if scores.size > 1 else 0.0
        one = {"feature": name, "accuracy": scores.mean(), "standard_error": float(error)}
        one |= {"substitute": None, "with_substitute": None}
        if place < n_substitutes:
            left = [other for other in model.require or () if other != name]
            other = clone(whole).set_params(
                exclude=[*(model.exclude or ()), name], require=left or None
            )
            measured = cross_validate(
                other, X, y, cv=splits, params=named, error_score="raise", return_estimator=True
            )
            entered = Counter(
                new
                for refit, fold in zip(measured["estimator"], folds, strict=True)
                for new in _name_features(refit)
                if new not in {*names, *_name_features(fold)}
            )
            if entered:
                one["substitute"] = entered.most_common(1)[0][0]
                one["with_substitute"] = measured["test_score"].mean()
        found.append(one)
    return tuple(found)


def _name_features(model: Any) -> tuple[str, ...]:
    """The names of kernels with a weight, the largest first."""
    named = find_model(model)
    names = named._predictor.kernels.kernel_names(getattr(named, "feature_names_in_", None))
    weights = named.kernel_weights_[named.kernel_weights_ > 0]
    return tuple(names[i] for i in np.argsort(-weights, kind="stable"))


def _find_splits(data: TrainingData, cv: Any, seed: Any) -> list[tuple[IntArray, IntArray]]:
    """Rows to learn from and rows to test on, with equal samples on the same side."""
    if not isinstance(cv, Integral):
        splitter = check_cv(cv, data.given.y, classifier=True)
        splits = list(splitter.split(data.given.samples, data.given.y))
        require(splits, "cv gives no splits, expected at least one. Leave it out for 5 folds.")
        return splits
    persons = np.arange(data.labels.size) if data.persons is None else data.persons
    _, first = np.unique(persons, return_index=True)
    counts = np.bincount(data.labels[first], minlength=data.classes.size)
    smallest = int(counts.min())
    require(
        smallest >= FEWEST_SPLIT and int(cv) >= 2,
        f"cv={cv} and class {data.classes.tolist()[int(counts.argmin())]!r} has {smallest} "
        f"distinct samples, expected at least 2 folds and {FEWEST_SPLIT} distinct samples in every "
        "class. Raise cv, or add samples of that class.",
    )
    kind = StratifiedKFold if data.persons is None else StratifiedGroupKFold
    folds = kind(min(int(cv), smallest), shuffle=True, random_state=0 if seed is None else seed)
    parts = folds.split(data.labels, data.labels, data.persons)
    tests = [np.isin(data.group, test) for _, test in parts]
    return [(np.flatnonzero(~is_test), np.flatnonzero(is_test)) for is_test in tests]
