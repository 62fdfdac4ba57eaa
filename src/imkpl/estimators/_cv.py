"""IMKPLCV: as few kernels and prototypes as cross-validation finds sufficient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, check_cv

from imkpl._archive import Arrays
from imkpl._progress import announce
from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._checkpoint import Checkpoint, open_checkpoint
from imkpl.estimators._compat import StrOptions, fit_context, safe_split, share_callbacks
from imkpl.estimators._docs import fill_doc
from imkpl.estimators._fitted import build_predictor
from imkpl.estimators._imkpl import IMKPL
from imkpl.estimators._landmarks import learn_kernels
from imkpl.estimators._monitor import FitMonitor
from imkpl.estimators._partitions import refuse_partitions
from imkpl.estimators._training import TrainingData, find_distinct, read_training
from imkpl.model.alternate import alternate
from imkpl.model.cover import cover_order, place_prototypes
from imkpl.model.predictor import Predictor
from imkpl.model.size import sharpen
from imkpl.model.updates import drop_unused

METRICS = {"accuracy": accuracy_score, "balanced_accuracy": balanced_accuracy_score}
DEFAULT_SPLITS = 5
AUTO_SIZES = 4
# What is found for every pair of settings in a split.
COLUMNS = ("scores", "n_kernels", "n_prototypes")
# Rounds of codes and prototypes at each point of the path. Weights stay where the separation loss
# alone has put them: a whole fit changes them little, and the weight step is expensive.
PATH_ROUNDS = 2

Split = tuple[IntArray, IntArray]


@fill_doc
class IMKPLCV(IMKPL):
    """IMKPL of the size that cross-validation finds sufficient.

    Follows the accuracy over numbers of kernels and values of `sparsity` on left-out samples, takes
    the smallest model that is within one standard error of the best, and fits it to all samples.
    What models of different size have in common (bandwidths, neighbourhoods, margins, the order in
    which samples cover the classes) is computed once per split, so that the whole path costs a
    small multiple of one fit.

    Parameters
    ----------
    %(kernels)s
    max_kernels : "auto" or sequence of int, default="auto"
        Numbers of kernels to try. "auto" tries twice as many as :class:`IMKPL` keeps by itself, as
        many, half and a quarter.
    sparsity : sequence of int, default=(2, 5, 10, 20)
        Values of `sparsity` to try: prototypes per class, and samples per prototype.
    cv : int, splitter or iterable, default=None
        How samples are split. A number of folds (None for 5; never more than the smallest class has
        distinct samples) shuffles the samples, keeps the classes' shares, and keeps equal samples
        together. A splitter or an iterable of pairs of index arrays is taken as it is.
    selection : {"one_standard_error", "best"}, default="one_standard_error"
        Whether to take the smallest model within one standard error of the best, or the best. The
        size of a model is the number of its kernels times that of its prototypes.
    scoring : {"accuracy", "balanced_accuracy"}, default="accuracy"
        What is followed.
    %(code_sparsity)s
    %(learning_code_sparsity)s
    %(n_prototypes)s
    %(n_neighbors)s
    %(discrimination)s
    %(separation)s
    %(interpretability)s
    %(weight_rule)s
    %(decision)s
    %(solver)s
    %(n_landmarks)s
    %(class_weight)s
    %(wishes)s
    %(max_iter)s
    %(tol)s
    %(n_jobs)s
    verbose : int, default=0
        Whether to write a line per split and per round to standard error.
    random_state : int, RandomState instance or None, default=None
        Seed for shuffling samples into folds and for drawing landmarks. None is the same as 0: the
        same data give the same model.
    checkpoint : str or path, default=None
        A folder in which the scores of every finished split are saved, and every round of the
        final fit, as for :class:`IMKPL`. A fit that was killed repeats no more than the split or
        the round that it was in.

    Attributes
    ----------
    max_kernels_, sparsity_ : int
        The chosen settings; `max_kernels_` is None for ``weight_rule="lp"``.
    path_ : dict of arrays of shape (n_settings,)
        For every pair of settings "max_kernels" and "sparsity": "n_kernels" and "n_prototypes", the
        mean size over the splits; "mean_score", "standard_error"; "split_scores" of shape
        (n_settings, n_splits).
    best_index_, chosen_index_ : int
        Where the best and the chosen setting stand in `path_`.
    classes_, prototypes_, codes_, kernel_weights_, ...
        Those of the final fit, as for :class:`IMKPL`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPLCV(sparsity=(1, 3), max_kernels=(2, 4, 8), cv=3).fit(X, y)
    >>> model.path_["mean_score"].shape, bool(model.score(X, y) > 0.9)
    ((6,), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IMKPL._parameter_constraints,
        "max_kernels": ["array-like", StrOptions({"auto"})],
        "sparsity": ["array-like"],
        "cv": ["cv_object"],
        "selection": [StrOptions({"one_standard_error", "best"})],
        "scoring": [StrOptions(set(METRICS))],
    }

    def __init__(
        self,
        kernels: Any = "auto",
        *,
        max_kernels: Any = "auto",
        sparsity: Any = (2, 5, 10, 20),
        cv: Any = None,
        selection: str = "one_standard_error",
        scoring: str = "accuracy",
        code_sparsity: int = 20,
        learning_code_sparsity: int = 1,
        n_prototypes: int | None = None,
        n_neighbors: int = 4,
        discrimination: float = 0.5,
        separation: float = 100.0,
        interpretability: float = 1.2,
        weight_rule: str = "margin",
        decision: str = "votes",
        solver: str = "auto",
        n_landmarks: int | None = None,
        class_weight: Any = None,
        require: Any = None,
        exclude: Any = None,
        groups: Any = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__(
            kernels,
            sparsity=sparsity,
            code_sparsity=code_sparsity,
            learning_code_sparsity=learning_code_sparsity,
            n_prototypes=n_prototypes,
            n_neighbors=n_neighbors,
            discrimination=discrimination,
            separation=separation,
            interpretability=interpretability,
            weight_rule=weight_rule,
            max_kernels=max_kernels,
            decision=decision,
            solver=solver,
            n_landmarks=n_landmarks,
            class_weight=class_weight,
            require=require,
            exclude=exclude,
            groups=groups,
            max_iter=max_iter,
            tol=tol,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
            checkpoint=checkpoint,
        )
        self.cv = cv
        self.selection = selection
        self.scoring = scoring

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        eligible: ArrayLike | None = None,
        pin: ArrayLike | None = None,
        ban: ArrayLike | None = None,
    ) -> Self:
        """Follow the path, choose a size, and fit it to all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples, as for :class:`IMKPL`.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            How much each sample counts, also in the scores.
        eligible, pin, ban : array-like of bool of shape (n_samples,), optional
            Wishes about samples, as for :class:`IMKPL`.

        Returns
        -------
        self
            The fitted estimator.
        """
        refuse_partitions(X, "IMKPLCV")
        with FitMonitor(self) as monitor:
            wishes = {"eligible": eligible, "pin": pin, "ban": ban}
            data = read_training(self, X, y, sample_weight, **wishes)
            with limited_threads(self.n_jobs, pin_blas=True):
                path = self._find_path(data)
            sizes = path["n_kernels"] * path["n_prototypes"]
            best, smallest = choose_smallest(path["split_scores"], sizes)
            chosen = smallest if self.selection == "one_standard_error" else best
            max_kernels, sparsity = path["max_kernels"][chosen], int(path["sparsity"][chosen])
            max_kernels = None if max_kernels is None else int(max_kernels)
            n_prototypes = data.count_prototypes(self.n_prototypes, sparsity)
            final = self._model(
                max_kernels=max_kernels, sparsity=sparsity, n_prototypes=n_prototypes
            )
            share_callbacks(self, final)
            announce(monitor.name, "fitting the chosen model")
            final.fit(X, y, sample_weight, **wishes)
        learned = set(vars(final)) - set(final.get_params(deep=False)) - {"_skl_callbacks"}
        return self._store(
            {
                **{name: getattr(final, name) for name in sorted(learned)},
                "max_kernels_": max_kernels,
                "sparsity_": sparsity,
                "path_": path,
                "best_index_": best,
                "chosen_index_": chosen,
            }
        )

    def _find_path(self, data: TrainingData) -> dict[str, Any]:
        """The table of the path; splits in the checkpoint are not followed again."""
        announce(type(self).__name__, "following the path")
        sparsities = _read_sizes(self.sparsity, "sparsity")
        splits = self._find_splits(data)
        checkpoint = None
        if self.checkpoint is not None:
            checkpoint = open_checkpoint(self, *data.identity, splits)
        limits = self._find_limits(data, checkpoint)
        pairs = [(limit, sparsity) for limit in limits for sparsity in sparsities]
        # A part of few samples has fewer neighbours to offer than all of them.
        n_offered = min(np.unique(data.inverse[train]).size for train, _ in splits)
        model = self._model(sparsity=sparsities[0], n_neighbors=min(self.n_neighbors, n_offered))
        names = [f"split{number}" for number in range(len(splits))]
        n_saved = sum(checkpoint is not None and checkpoint.load(n) is not None for n in names)
        if n_saved:
            announce("checkpoint", f"resumed with the scores of {n_saved} of {len(splits)} splits")

        def check(found: Arrays) -> None:
            shapes = {column: values.shape for column, values in found.items()}
            if shapes != dict.fromkeys(COLUMNS, (len(pairs),)):
                raise ValueError(f"expected {len(pairs)} scores and sizes")

        found = []
        for name, split in zip(names, splits, strict=True):
            follow = partial(self._follow, model, data, split, limits, sparsities)
            found.append(_load_or_compute(checkpoint, name, follow, check))
        return _tabulate(pairs, found)

    def _model(self, **settings: Any) -> IMKPL:
        """The model of one size."""
        own = {"cv", "selection", "scoring"}
        shared = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        return IMKPL(**{**shared, "verbose": 0, **settings})

    def _find_limits(
        self, data: TrainingData, checkpoint: Checkpoint | None
    ) -> Sequence[int | None]:
        """The numbers of kernels to try, the largest first."""
        given: Any = self.max_kernels
        if not isinstance(given, str):
            return _read_sizes(given, "max_kernels")[::-1]
        if self.weight_rule == "lp":
            return [None]

        def find() -> dict[str, IntArray]:
            adapted, start = learn_kernels(self, data)
            problem, _ = start(None)
            sizes = halving_sizes(problem.bank.n_kernels, adapted.bank.n_kernels, AUTO_SIZES)
            wishes = adapted.kernel_wishes
            return {"sizes": sizes if wishes is None else np.maximum(sizes, wishes.n_least)}

        def check(found: Arrays) -> None:
            sizes = found["sizes"]
            if sizes.dtype.kind != "i" or sizes.ndim != 1 or sizes.min(initial=1) < 1:
                raise ValueError("expected numbers of kernels")

        return [int(size) for size in _load_or_compute(checkpoint, "sizes", find, check)["sizes"]]

    def _find_splits(self, data: TrainingData) -> list[Split]:
        """Rows to train on and rows to score, with equal samples on the same side."""
        if not (self.cv is None or isinstance(self.cv, Integral)):
            splitter = check_cv(self.cv, data.y, classifier=True)
            # An iterable is kept there as it was given.
            listed = getattr(splitter, "cv", [(None, None)])
            if not listed or not all(isinstance(o, tuple | list) and len(o) == 2 for o in listed):
                raise ValueError(
                    "cv gives no splits, or other things than pairs, expected at least one pair of "
                    "index arrays. Leave it out for 5 folds."
                )
            return list(splitter.split(data.X, data.y))
        counts = np.bincount(data.labels)
        smallest = int(counts.min())
        if smallest < 2:
            raise ValueError(
                f"Class {data.classes.tolist()[int(counts.argmin())]!r} has one distinct sample, "
                "expected at least 2 in every class to train on one and score on another. Add "
                "samples of that class, or use IMKPL."
            )
        n_splits = min(DEFAULT_SPLITS if self.cv is None else int(self.cv), smallest)
        seed = 0 if self.random_state is None else self.random_state
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
        splits: list[Split] = []
        for _, test in folds.split(data.labels, data.labels):
            is_test = np.isin(data.inverse, test)
            splits.append((np.flatnonzero(~is_test), np.flatnonzero(is_test)))
        return splits

    def _follow(
        self,
        model: IMKPL,
        data: TrainingData,
        split: Split,
        limits: Sequence[int | None],
        sparsities: Sequence[int],
    ) -> dict[str, Any]:
        """Score and size of every setting, trained on one part and scored on the other."""
        train, test = split
        X_train, y_train = safe_split(model, data.X, data.y, train)
        X_test, y_test = safe_split(model, data.X, data.y, test, train)
        weight, metric = data.given_weight, METRICS[self.scoring]
        part = find_distinct(
            data.kind,
            data.bank,
            X_train,
            y_train,
            weight[train],
            self.class_weight,
            learned=data.input,
            wishes=data.given_wishes and data.given_wishes.take(train),
        )
        rows = []
        for point in follow_path(model, part, limits, sparsities):
            scores = point.predictor.score(point.predictor.similarities(X_test))
            predicted = part.classes[np.argmax(scores, axis=1)]
            score = float(metric(y_test, predicted, sample_weight=weight[test]))
            rows.append((score, point.n_kernels, point.n_prototypes))
        announce(
            type(self).__name__,
            f"{len(rows)} models of {len(train)} samples, {self.scoring} on {len(test)} others at "
            f"best {max(rows)[0]:.3f}",
        )
        return {
            name: np.array(column)
            for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)
        }


@dataclass(frozen=True, eq=False)
class PathPoint:
    """A model of one size."""

    max_kernels: int | None  # the settings
    sparsity: int
    n_kernels: int  # what they have led to
    n_prototypes: int
    predictor: Predictor


def follow_path(
    model: IMKPL, data: TrainingData, limits: Sequence[int | None], sparsities: Sequence[int]
) -> Iterator[PathPoint]:
    """Models for all pairs of settings, the largest number of kernels first.

    Bandwidths, neighbourhoods and margins are found once, the covering for each number of kernels.
    """
    data, start = learn_kernels(model, data)
    sizes = [data.count_prototypes(model.n_prototypes, sparsity) for sparsity in sparsities]
    codes_and_prototypes = model._find_updates()[:2]
    for limit in limits:
        problem, weights = start(limit)
        kernel = problem.combine(weights)
        order = cover_order(problem, kernel, max(sizes))
        for sparsity, size in zip(sparsities, sizes, strict=True):
            state = place_prototypes(problem, weights, kernel, order[:size])
            point = replace(problem, sparsity=sparsity)
            if model.decision == "votes":
                point = sharpen(point, state)
            state, _ = alternate(
                point, state, codes_and_prototypes, max_iter=PATH_ROUNDS, tol=model.tol
            )
            state = state if model.decision == "votes" else drop_unused(state)
            predictor, *_ = build_predictor(model, data, point, state)
            yield PathPoint(limit, sparsity, weights.size, state.prototypes.shape[0], predictor)


def _standard_errors(scores: FloatArray) -> FloatArray:
    """The standard error of every row; 0 for a single split, which has no spread."""
    n_splits = scores.shape[1]
    if n_splits == 1:
        return np.zeros(len(scores))
    return np.asarray(scores.std(axis=1, ddof=1) / np.sqrt(n_splits))


def choose_smallest(scores: FloatArray, sizes: FloatArray) -> tuple[int, int]:
    """The best setting, and the smallest one within one standard error of it."""
    means = scores.mean(axis=1)
    best = int(np.lexsort((sizes, -means))[0])
    error = _standard_errors(scores)[best]
    good = np.flatnonzero(means >= means[best] - error)
    smallest = np.lexsort((-means[good], sizes[good]))[0]
    return best, int(good[smallest])


def halving_sizes(n_sufficient: int, n_kernels: int, n_sizes: int) -> IntArray:
    """Twice as many kernels as suffice, then half as many again and again."""
    sizes = np.ceil(2 * n_sufficient / 2.0 ** np.arange(n_sizes)).astype(int)
    return np.unique(np.clip(sizes, 1, n_kernels))[::-1]


def _tabulate(pairs: list[tuple[int | None, int]], found: list[dict[str, Any]]) -> dict[str, Any]:
    """The table of the path from scores and sizes of all splits."""
    scores = np.array([split["scores"] for split in found]).T
    return {
        "max_kernels": np.array([limit for limit, _ in pairs]),
        "sparsity": np.array([sparsity for _, sparsity in pairs]),
        "n_kernels": np.mean([split["n_kernels"] for split in found], axis=0),
        "n_prototypes": np.mean([split["n_prototypes"] for split in found], axis=0),
        "mean_score": scores.mean(axis=1),
        "standard_error": _standard_errors(scores),
        "split_scores": scores,
    }


def _read_sizes(values: Any, name: str) -> list[int]:
    """Ascending positive numbers without repetition."""
    sizes = np.asarray(values)
    is_list = sizes.ndim == 1 and sizes.size > 0 and np.issubdtype(sizes.dtype, np.integer)
    if not is_list or sizes.min() < 1:
        raise ValueError(
            f"{name}={values!r} of IMKPLCV, expected a sequence of positive whole numbers to "
            "choose from, such as (5, 10, 20). For a single value use IMKPL."
        )
    return [int(size) for size in np.unique(sizes)]


def _load_or_compute(
    checkpoint: Checkpoint | None, stage: str, compute: Any, check: Any
) -> dict[str, Any]:
    if checkpoint is None:
        return dict(compute())
    return checkpoint.load_or_compute(stage, compute, check)
