"""How classes lie to each other before and after the kernels were weighed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.plots._canvas import put_class_legend, require_pyplot, take_panels
from imkpl.plots._embedding_data import average_kernel, embed_kernel, is_training, learned_kernel
from imkpl.plots._model import check_model, choose_stratified, class_places, sort_prototypes
from imkpl.plots._palette import class_color, class_marker

WHO = "EmbeddingDisplay"


@dataclass(eq=False)
class EmbeddingDisplay:
    """Samples in two dimensions, by the average of all kernels and by the learned one.

    Both are t-SNE maps of the distances in the space of the kernel, as in the paper's figures.
    Prototypes are stars, with the marker of their class inside.

    Parameters
    ----------
    average, learned : array of shape (n_samples, 2)
        Places of the samples.
    labels : int array of shape (n_samples,)
        Places of their classes among `classes`.
    classes : array of shape (n_classes,)
        Class labels.
    prototypes : int array of shape (n_prototypes,)
        Which prototypes of the model follow. Where not all are drawn, the first of each class are.
    prototype_classes : int array of shape (n_prototypes,)
        Places of their classes.
    average_prototypes, learned_prototypes : array of shape (n_prototypes, 2), optional
        Places of the prototypes; none are drawn by default.
    n_kernels : (int, int), optional
        How many kernels are in the average and in the learned one, for the titles.

    Attributes
    ----------
    axes_, figure_ : array of Axes, and Figure
        Where it was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import EmbeddingDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> model = IMKPL(sparsity=2, max_kernels=4).fit(X, y)
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
    average_prototypes: FloatArray | None = None
    learned_prototypes: FloatArray | None = None
    n_kernels: tuple[int, int] | None = None

    @classmethod
    def compute(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        train: Any = None,
        max_samples: int | None = 500,
        perplexity: float | None = None,
        random_state: Any = 0,
    ) -> Self:
        """The two maps, without drawing them.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`; the training samples, best of all.
        y : array-like of shape (n_samples,)
            Their classes.
        train : array-like of shape (n_train, n_features), optional
            Where X is not the training part, that part. All kernels are then adapted to it and
            the prototypes are drawn among the average kernel's samples too; without it kernels
            of the average are adapted to X, and it has no prototypes.
        max_samples : int or None, default=500
            At most so many samples, drawn so that every class keeps its share; None for all. Time
            and memory grow with the square.
        perplexity : float, optional
            About how many neighbours of a point are kept; 30 by default, and a third of the points
            where there are fewer than 90.
        random_state : int or RandomState, default=0
            Source of the draws.

        Returns
        -------
        EmbeddingDisplay
            To be plotted.
        """
        check_model(estimator, WHO)
        samples = estimator._read_new(X)
        labels = class_places(estimator.classes_, y, len(samples))
        chosen = choose_stratified(labels, max_samples, random_state)
        if is_training(estimator, samples):
            training = samples
        else:
            training = None if train is None else estimator._read_new(train)
            _check_training(estimator, training)
        averages, n_average = average_kernel(estimator, samples, chosen, training)
        learned = learned_kernel(estimator, samples, chosen)
        places = [embed_kernel(K, perplexity, random_state) for K in (averages, learned)]
        n_chosen = chosen.size
        order, owners = sort_prototypes(estimator, None)
        return cls(
            average=places[0][:n_chosen],
            learned=places[1][:n_chosen],
            labels=labels[chosen],
            classes=estimator.classes_,
            prototypes=order,
            prototype_classes=owners,
            average_prototypes=None if training is None else places[0][n_chosen + order],
            learned_prototypes=places[1][n_chosen + order],
            n_kernels=(n_average, int(np.count_nonzero(estimator.kernel_weights_))),
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        train: Any = None,
        max_samples: int | None = 500,
        perplexity: float | None = None,
        random_state: Any = 0,
        max_stars: int = 60,
        ax: Any = None,
    ) -> Self:
        """Draw the two maps.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`; the training samples, best of all.
        y : array-like of shape (n_samples,)
            Their classes.
        train : array-like of shape (n_train, n_features), optional
            Where X is not the training part, that part. All kernels are then adapted to it and
            the prototypes are drawn among the average kernel's samples too; without it kernels
            of the average are adapted to X, and it has no prototypes.
        max_samples : int or None, default=500
            At most so many samples, drawn so that every class keeps its share; None for all. Time
            and memory grow with the square.
        perplexity : float, optional
            About how many neighbours of a point are kept; 30 by default, and a third of the points
            where there are fewer than 90.
        random_state : int or RandomState, default=0
            Source of the draws.
        max_stars : int, default=60
            About so many prototypes are drawn, of each class those that codes use most.
        ax : Axes or two Axes, optional
            Where to draw; one is divided. A new figure by default.

        Returns
        -------
        EmbeddingDisplay
            The display.
        """
        require_pyplot(f"{WHO}.from_estimator")
        display = cls.compute(
            estimator,
            X,
            y,
            train=train,
            max_samples=max_samples,
            perplexity=perplexity,
            random_state=random_state,
        )
        return display.plot(max_stars=max_stars, ax=ax)

    def plot(self, *, max_stars: int = 60, ax: Any = None) -> Self:
        """Draw the two maps.

        Parameters
        ----------
        max_stars : int, default=60
            About so many prototypes are drawn, the first of each class; at least one of each.
        ax : Axes or two Axes, optional
            Where to draw; one is divided. A new figure by default.

        Returns
        -------
        EmbeddingDisplay
            The display.
        """
        n_columns = 1 + (len(self.classes) + 1) // 16
        width = 10.4 + 1.4 * min(n_columns, 3)
        self.figure_, panels = take_panels(ax, (1, 2), (width, 5.0), WHO)
        self.axes_ = np.array(panels, dtype=object)
        titles = ["Average kernel", "Learned kernel"]
        if self.n_kernels is not None:
            titles = [f"{t} ({_count(n)})" for t, n in zip(titles, self.n_kernels, strict=True)]
        maps = (
            (self.average, self.average_prototypes),
            (self.learned, self.learned_prototypes),
        )
        shown = self._choose_stars(max_stars)
        for panel, title, (points, stars) in zip(panels, titles, maps, strict=True):
            self._draw_samples(panel, points)
            if stars is not None:
                self._draw_stars(panel, np.asarray(stars), shown)
            panel.set_title(title)
        name = None
        if any(stars is not None for _, stars in maps):
            n_shown, whole = len(shown), len(self.prototypes)
            name = "prototypes" if n_shown == whole else f"{n_shown} of {whole} prototypes"
        put_class_legend(panels[1], self.classes, name)
        return self

    def _choose_stars(self, max_stars: int) -> IntArray:
        """The first prototypes of every class, about so many in all."""
        owners = np.asarray(self.prototype_classes)
        if owners.size <= max_stars:
            return np.arange(owners.size)
        present = np.unique(owners)
        n_each = max(1, max_stars // present.size)
        return np.concatenate([np.flatnonzero(owners == label)[:n_each] for label in present])

    def _draw_samples(self, panel: Any, points: FloatArray) -> None:
        for label in np.unique(self.labels):
            members = points[self.labels == label]
            style = {"color": class_color(label), "marker": class_marker(label)}
            panel.scatter(*members.T, s=22, alpha=0.75, linewidths=0, **style)
        panel.set_xticks([])
        panel.set_yticks([])
        panel.margins(0.05)

    def _draw_stars(self, panel: Any, stars: FloatArray, shown: IntArray) -> None:
        # Many stars are drawn smaller, or they hide the samples.
        area = float(np.clip(6000 / shown.size, 120, 270))
        owners = np.asarray(self.prototype_classes)[shown]
        for label in np.unique(owners):
            members = stars[shown[owners == label]]
            star = {"s": area, "color": class_color(label), "marker": "*", "linewidths": 0.6}
            panel.scatter(*members.T, edgecolors="black", zorder=3, **star)
            # Not by colour alone: the marker of the class is drawn within the star.
            inner = {"s": 0.06 * area, "color": "white", "marker": class_marker(label)}
            panel.scatter(*members.T, edgecolors="black", linewidths=0.5, zorder=4, **inner)


def _count(n_kernels: int) -> str:
    return f"{n_kernels} kernel" if n_kernels == 1 else f"{n_kernels} kernels"


def _check_training(estimator: Any, training: Any) -> None:
    if estimator._predictor.bank.reads == "similarities":
        raise ValueError(
            "The kernels are precomputed, and new samples have no similarities to each other. Pass "
            "the training similarities and labels as X and y."
        )
    if training is not None and not is_training(estimator, training):
        raise ValueError(
            f"train has {len(training)} samples that are not those the model was fitted to "
            f"({estimator.prototypes_.shape[1]}), expected these in their order. Pass the data "
            "that was given to fit."
        )
