"""IMKPLCV: as few kernels and prototypes as cross-validation finds sufficient."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, check_cv

from imkpl._archive import Arrays
from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._checkpoint import Keeper, open_checkpoint, recall_or
from imkpl.estimators._compat import StrOptions, fit_context, safe_split, share_callbacks
from imkpl.estimators._imkpl import IMKPL
from imkpl.estimators._input import read_training
from imkpl.estimators._partitions import refuse_partitions
from imkpl.estimators._path import choose_smallest, follow_path, halving_sizes
from imkpl.estimators._stages import FitStages
from imkpl.estimators._training import TrainingPart, tabulate_kernels
from imkpl.estimators._weights import read_sample_weight
from imkpl.kernels import BaseKernelBank, resolve_bank

METRICS = {"accuracy": accuracy_score, "balanced_accuracy": balanced_accuracy_score}
DEFAULT_SPLITS = 5
AUTO_SIZES = 4
# What is found for every pair of settings in a split.
COLUMNS = ("scores", "n_kernels", "n_prototypes")

Split = tuple[IntArray, IntArray]


class IMKPLCV(IMKPL):
    """IMKPL of the size that cross-validation finds sufficient.

    Follows the accuracy over numbers of kernels and values of `sparsity` on left-out samples, takes
    the smallest model that is within one standard error of the best, and fits it to all samples.
    What models of different size have in common (bandwidths, neighbourhoods, margins, the order in
    which samples cover the classes) is computed once per split, so that the whole path costs a
    small multiple of one fit.

    Parameters
    ----------
    kernels : str, kernel, kernel bank or list, default="per_feature_gaussian"
        As for :class:`IMKPL`.
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
    code_sparsity, learning_code_sparsity, n_prototypes, n_neighbors : int
        As for :class:`IMKPL`.
    discrimination, separation, interpretability : float
        As for :class:`IMKPL`.
    weight_rule, decision, solver : str
        As for :class:`IMKPL`.
    n_landmarks : int, default=None
        As for :class:`IMKPL`. Landmarks are chosen anew in every split.
    class_weight : dict or "balanced", default=None
        As for :class:`IMKPL`.
    max_iter, tol, n_jobs : int, float, int
        As for :class:`IMKPL`.
    verbose : int, default=0
        Whether to write a line per split and per round to standard error.
    random_state : int, RandomState instance or None, default=None
        The seed of the shuffle for a number of folds, and of the draws of landmarks. None is the
        same as 0: the same data give the same model.
    checkpoint : str or path, default=None
        A folder that keeps the scores of every split that is done, and every round of the final
        fit, as for :class:`IMKPL`. A fit that was killed repeats no more than the split, or the
        round, that it was in.

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
        kernels: Any = "per_feature_gaussian",
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
        decision: str = "calibrated",
        solver: str = "auto",
        n_landmarks: int | None = None,
        class_weight: Any = None,
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
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Follow the path, choose a size, and fit it to all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples, as for :class:`IMKPL`.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            How much each sample counts, also in the scores.

        Returns
        -------
        self
            The fitted estimator.
        """
        refuse_partitions(X, "IMKPLCV")
        with FitStages(self) as stages:
            bank = resolve_bank(self.kernels)
            samples, labels = read_training(self, bank, X, y)
            weight = read_sample_weight(sample_weight, samples)
            part = self._find_training_part(bank, samples, labels, weight)
            with limited_threads(self.n_jobs):
                path = self._find_path(bank, samples, labels, weight, part, stages)
            sizes = path["n_kernels"] * path["n_prototypes"]
            best, smallest = choose_smallest(path["split_scores"], sizes)
            chosen = smallest if self.selection == "one_standard_error" else best
            max_kernels, sparsity = path["max_kernels"][chosen], int(path["sparsity"][chosen])
            max_kernels = None if max_kernels is None else int(max_kernels)
            final = self._model(max_kernels=max_kernels, sparsity=sparsity)
            share_callbacks(self, final)
            stages.stage = "while fitting the chosen model"
            final.fit(X, y, sample_weight)
        learned = set(vars(final)) - set(final.get_params(deep=False))
        for name in sorted(learned - {"_skl_callbacks"}):
            setattr(self, name, getattr(final, name))
        self.max_kernels_, self.sparsity_ = max_kernels, sparsity
        self.path_, self.best_index_, self.chosen_index_ = path, best, chosen
        return self

    def _find_path(
        self,
        bank: BaseKernelBank,
        X: Any,
        y: Any,
        weight: FloatArray,
        part: TrainingPart,
        stages: FitStages,
    ) -> dict[str, Any]:
        """The table of the path; splits that an earlier fit has kept are not followed again."""
        sparsities = _read_sizes(self.sparsity, "sparsity")
        splits = self._find_splits(X, y, part)
        checkpoint = open_checkpoint(self, X, y, weight, splits)
        stages.stage = "while following the path"
        limits = self._find_limits(bank, X, part, checkpoint)
        pairs = [(limit, sparsity) for limit in limits for sparsity in sparsities]
        # A part of few samples has fewer neighbours to offer than all of them.
        n_offered = min(np.unique(part.inverse[train]).size for train, _ in splits)
        model = self._model(sparsity=sparsities[0], n_neighbors=min(self.n_neighbors, n_offered))
        names = [f"split{number}" for number in range(len(splits))]
        n_kept = sum(checkpoint.recall(name) is not None for name in names)
        if n_kept:
            stages.say(f"resumed with the scores of {n_kept} of {len(splits)} splits")
        found = []
        for name, split in zip(names, splits, strict=True):
            follow = partial(self._follow, model, X, y, weight, split, limits, sparsities)
            scored = recall_or(checkpoint, name, follow)
            shapes = {column: values.shape for column, values in scored.items()}
            if shapes != dict.fromkeys(COLUMNS, (len(pairs),)):
                raise checkpoint.refuse(name, f"expected {len(pairs)} scores and sizes")
            found.append(scored)
        return _tabulate(pairs, found)

    def _model(self, **settings: Any) -> IMKPL:
        """The model of one size."""
        own = {"cv", "selection", "scoring"}
        shared = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        return IMKPL(**{**shared, **settings})

    def _find_limits(
        self, bank: BaseKernelBank, X: Any, part: TrainingPart, checkpoint: Keeper
    ) -> Sequence[int | None]:
        """The numbers of kernels to try, the largest first."""
        given: Any = self.max_kernels
        if not isinstance(given, str):
            return _read_sizes(given, "max_kernels")[::-1]
        if self.weight_rule == "lp":
            return [None]

        def find() -> dict[str, IntArray]:
            adapted, samples, learned = self._adapt(bank, X, part)
            table, rows = tabulate_kernels(self, adapted, samples)
            problem, _ = self._prepare_start(table, rows, learned)(None)
            n_sufficient = problem.bank.n_kernels
            return {"sizes": halving_sizes(n_sufficient, adapted.n_kernels, AUTO_SIZES)}

        found = recall_or(checkpoint, "sizes", find).get("sizes", np.empty(0))
        if found.dtype.kind != "i" or found.ndim != 1 or found.min(initial=1) < 1:
            raise checkpoint.refuse("sizes", "expected numbers of kernels")
        return [int(size) for size in found]

    def _find_splits(self, X: Any, y: Any, part: TrainingPart) -> list[Split]:
        """Rows to train on and rows to score, with equal samples on the same side."""
        if not (self.cv is None or isinstance(self.cv, Integral)):
            splitter = check_cv(self.cv, y, classifier=True)
            # What was listed is kept there as it was given.
            listed = getattr(splitter, "cv", [(None, None)])
            if not listed or not all(isinstance(o, tuple | list) and len(o) == 2 for o in listed):
                raise ValueError(
                    "cv gives no splits, or other things than pairs, expected at least one pair of "
                    "index arrays. Leave it out for 5 folds."
                )
            return list(splitter.split(X, y))
        counts = np.bincount(part.labels)
        smallest = int(counts.min())
        if smallest < 2:
            raise ValueError(
                f"Class {self.classes_.tolist()[int(counts.argmin())]!r} has one distinct sample, "
                "expected at least 2 in every class to train on one and score on another. Add "
                "samples of that class, or use IMKPL."
            )
        n_splits = min(DEFAULT_SPLITS if self.cv is None else int(self.cv), smallest)
        seed = 0 if self.random_state is None else self.random_state
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
        splits: list[Split] = []
        for _, test in folds.split(part.labels, part.labels):
            is_test = np.isin(part.inverse, test)
            splits.append((np.flatnonzero(~is_test), np.flatnonzero(is_test)))
        return splits

    def _follow(
        self,
        model: IMKPL,
        X: Any,
        y: Any,
        sample_weight: FloatArray,
        split: Split,
        limits: Sequence[int | None],
        sparsities: Sequence[int],
    ) -> Arrays:
        """Score and size of every setting, trained on one part and scored on the other."""
        train, test = split
        X_train, y_train = safe_split(model, X, y, train)
        X_test, y_test = safe_split(model, X, y, test, train)
        metric, scored = METRICS[self.scoring], []
        points = follow_path(model, X_train, y_train, sample_weight[train], limits, sparsities)
        for point in points:
            scores = point.predictor.score(point.predictor.similarities(X_test))
            predicted = model.classes_[np.argmax(scores, axis=1)]
            score = metric(y_test, predicted, sample_weight=sample_weight[test])
            scored.append((float(score), point))
        if self.verbose:
            best = max(score for score, _ in scored)
            sys.stderr.write(
                f"[IMKPLCV] {len(scored)} models of {train.size} samples, {self.scoring} on "
                f"{test.size} others at best {best:.3f}\n"
            )
        rows = [(score, point.n_kernels, point.n_prototypes) for score, point in scored]
        return {
            name: np.array(column)
            for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)
        }


def _tabulate(pairs: list[tuple[int | None, int]], found: list[Arrays]) -> dict[str, Any]:
    """The table of the path from scores and sizes of all splits."""
    scores = np.array([split["scores"] for split in found]).T
    return {
        "max_kernels": np.array([limit for limit, _ in pairs]),
        "sparsity": np.array([sparsity for _, sparsity in pairs]),
        "n_kernels": np.mean([split["n_kernels"] for split in found], axis=0),
        "n_prototypes": np.mean([split["n_prototypes"] for split in found], axis=0),
        "mean_score": scores.mean(axis=1),
        "standard_error": scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1]),
        "split_scores": scores,
    }


def _read_sizes(values: ArrayLike, name: str) -> list[int]:
    """Ascending positive numbers without repetition."""
    sizes = np.asarray(values)
    is_list = sizes.ndim == 1 and sizes.size > 0 and np.issubdtype(sizes.dtype, np.integer)
    if not is_list or sizes.min() < 1:
        raise ValueError(
            f"{name}={values!r} of IMKPLCV, expected a sequence of positive whole numbers to "
            "choose from, such as (5, 10, 20). For a single value use IMKPL."
        )
    return [int(size) for size in np.unique(sizes)]
