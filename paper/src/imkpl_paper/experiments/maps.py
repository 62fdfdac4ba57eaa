"""Maps of the samples before and after the kernel weights were learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import resample
from sklearn.utils.validation import check_consistent_length, column_or_1d

from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._input import is_auto
from imkpl.explanations.exports import to_label
from imkpl.kernels import resolve_bank
from imkpl.kernels.base import take_samples
from imkpl.kernels.normalize import normalized
from imkpl.plots.displays import (
    Display,
    check_model,
    class_style,
    name_in_plot,
    sort_prototypes,
)
from imkpl.report.map import embed_kernel, join_prototypes, learned_kernel

# What is averaged where the kernels are "auto".
AVERAGED = {
    "columns": "per_feature_gaussian",
    "tables": "per_column",
    "words": "per_word",
    "series": "global_alignment",
}
# Maximum number of classes in the legend, and of rows per column.
MOST_IN_LEGEND, LEGEND_ROWS = 45, 15


@dataclass(eq=False)
class EmbeddingDisplay(Display):
    """Samples in two dimensions, by the average of all kernels and by the learned kernel.

    Both are t-SNE maps of the distances in the feature space of the kernel, as in the paper's
    figures. Prototypes are stars, with the marker of their class inside.

    Parameters
    ----------
    average, learned : array of shape (n_samples, 2)
        Positions of the samples.
    labels : int array of shape (n_samples,)
        Indices of their classes in `classes`.
    classes : array of shape (n_classes,)
        Class labels.
    prototypes : int array of shape (n_prototypes,)
        Indices of the prototypes, most important first within a class.
    prototype_classes : int array of shape (n_prototypes,)
        Indices of their classes.
    average_prototypes, learned_prototypes : array of shape (n_prototypes, 2)
        Positions of the prototypes.
    n_kernels : (int, int), optional
        Numbers of kernels in the average and in the learned kernel, for the titles.

    Attributes
    ----------
    axes_, figure_ : array of Axes, and Figure
        The two axes, and their figure.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl_paper.experiments.maps import EmbeddingDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> model = IMKPL(n_prototypes=6, max_kernels=4).fit(X, y)
    >>> display = EmbeddingDisplay.from_estimator(model, X, y, max_samples=40)
    >>> display.average.shape, len(display.learned_prototypes) == model.prototypes_.shape[0]
    ((40, 2), True)
    """

    average: FloatArray
    learned: FloatArray
    labels: IntArray
    classes: Any
    prototypes: IntArray
    prototype_classes: IntArray
    average_prototypes: FloatArray
    learned_prototypes: FloatArray
    n_kernels: tuple[int, int] | None = None

    @classmethod
    def compute(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        max_samples: int | None = 500,
        random_state: Any = 0,
    ) -> Self:
        """Compute the two maps without drawing them.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL or ISKPL.
        X : array-like of shape (n_samples, n_features)
            The training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        max_samples : int or None, default=500
            Maximum number of samples, chosen so that every class keeps its share; None for all.
            Time and memory are quadratic in it.
        random_state : int or RandomState, default=0
            Source of the random choices.

        Returns
        -------
        EmbeddingDisplay
            The display, not drawn yet.
        """
        check_model(estimator, cls.__name__)
        samples = estimator.read_new(X)
        if not _is_training_data(estimator, samples):
            raise ValueError(
                f"X has {len(samples)} samples that differ from the "
                f"{estimator.prototypes_.shape[1]} training samples of the model, expected these "
                "in the same order. Pass the data given to fit; a report has a map with others."
            )
        labels = _find_places(estimator.classes_, y, len(samples))
        chosen = np.arange(labels.size)
        if max_samples is not None and labels.size > max_samples:
            how = {"n_samples": max_samples, "stratify": labels, "random_state": random_state}
            chosen = np.sort(resample(chosen, replace=False, **how))
        averages, n_average = average_kernel(estimator, samples, chosen)
        learned = learned_kernel(estimator, (samples, chosen))
        places = [embed_kernel(K, random_state) for K in (averages, learned)]
        order, owners = sort_prototypes(estimator)
        return cls(
            average=places[0][: chosen.size],
            learned=places[1][: chosen.size],
            labels=labels[chosen],
            classes=estimator.classes_,
            prototypes=order,
            prototype_classes=owners,
            average_prototypes=places[0][chosen.size + order],
            learned_prototypes=places[1][chosen.size + order],
            n_kernels=(n_average, int(np.count_nonzero(estimator.kernel_weights_))),
        )

    def _draw(self, ax: Any) -> None:
        n_columns = 1 + min(len(self.classes), MOST_IN_LEGEND) // LEGEND_ROWS
        (panels,) = self._take_panels(ax, (10.4 + 1.4 * n_columns, 5.0), 1, 2)
        counts = [f" ({n} kernel{'s' * (n != 1)})" for n in self.n_kernels or ()] or ["", ""]
        names = [name_in_plot(label) for label in self.classes]
        owners = np.asarray(self.prototype_classes)
        maps = (
            (f"Average kernel{counts[0]}", self.average, self.average_prototypes),
            (f"Learned kernel{counts[1]}", self.learned, self.learned_prototypes),
        )
        # Many large stars would hide the samples.
        area = float(np.clip(6000 / owners.size, 40, 270))
        for panel, (title, points, stars) in zip(panels, maps, strict=True):
            for label, name in enumerate(names):
                style = class_style(label)
                shown = {"s": 22, "alpha": 0.75, "linewidths": 0}
                named = name if label < MOST_IN_LEGEND else None
                panel.scatter(*points[self.labels == label].T, label=named, **style, **shown)
                # Not by colour alone: the marker of the class is drawn inside the star.
                at, edge = stars[owners == label].T, {"edgecolors": "black", "linewidths": 0.5}
                panel.scatter(*at, s=area, zorder=3, **style | {"marker": "*"}, **edge)
                panel.scatter(*at, s=0.06 * area, zorder=4, **style | {"color": "white"}, **edge)
            panel.set(xticks=[], yticks=[], title=title)
            panel.margins(0.05)
        if len(names) > MOST_IN_LEGEND:
            panel.plot([], [], " ", label=f"{len(names) - MOST_IN_LEGEND} more classes")
        panel.scatter([], [], s=120, marker="*", color="white", label="prototypes", **edge)
        place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        panel.legend(frameon=False, ncols=n_columns, handletextpad=0.2, **place)


def _find_places(classes: Any, y: Any, n_samples: int) -> IntArray:
    """The index of every label in the classes."""
    labels = column_or_1d(y)
    check_consistent_length(np.empty(n_samples), labels)
    is_known = np.isin(labels, classes)
    if not np.all(is_known):
        unknown = to_label(labels[~is_known][0])
        raise ValueError(
            f"y contains the label {unknown!r}, expected only classes that the model was fitted "
            "to. Pass the labels given to fit."
        )
    return np.asarray(np.searchsorted(classes, labels))


def _is_training_data(model: Any, samples: Any) -> bool:
    """Whether these are the samples that the model was fitted to."""
    predictor = model.predictor_
    if len(samples) != model.prototypes_.shape[1]:
        return False
    if predictor.kernels.input_kind == "similarities":
        return True
    # Objects without keys need not define equality.
    behind = predictor.kernels.moved_to(take_samples(samples, predictor.rows))
    keys = [one.keys(getattr(one, "samples", None)) for one in (behind, predictor.kernels)]
    return bool(keys[0] == keys[1])


def average_kernel(estimator: Any, samples: Any, chosen: IntArray) -> tuple[FloatArray, int]:
    """The average of all kernels among chosen samples and prototypes, and the number of kernels."""
    predictor, kernels = estimator.predictor_, estimator.kernels
    if is_auto(kernels):
        kernels = AVERAGED[predictor.kernels.input_kind]
    with limited_threads(estimator.n_jobs):
        on = normalized(resolve_bank(kernels).on(samples))
        weights = np.full(on.n_kernels, 1.0 / on.n_kernels)
        support, mixes = on.take(predictor.rows), predictor.mixes
        across = support.cross(take_samples(samples, chosen)).combine(weights) @ mixes.T
        gram = mixes @ support.combine(weights) @ mixes.T
        return join_prototypes(on.take(chosen).combine(weights), across, gram), on.n_kernels
