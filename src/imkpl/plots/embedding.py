"""Maps of the samples before and after the kernel weights were learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.manifold import TSNE
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d

from imkpl._threads import limited_threads
from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._auto import is_auto
from imkpl.explanations.exports import to_label
from imkpl.kernels import resolve_bank
from imkpl.kernels.base import take_samples
from imkpl.kernels.normalize import normalized
from imkpl.plots._style import (
    Display,
    check_model,
    class_color,
    class_marker,
    literal,
    shorten_all,
    sort_prototypes,
)

# What is averaged where the kernels are "auto".
AVERAGED = {
    "columns": "per_feature_gaussian",
    "tables": "per_column",
    "words": "per_word",
    "series": "global_alignment",
}
# Effective number of neighbours of a point, of many points.
PERPLEXITY = 30.0
# Number of points above which the Barnes-Hut approximation of t-SNE pays off.
EXACT_POINTS = 150
# Standard deviation of the initial map, as in scikit-learn.
START_SPREAD = 1e-4
# About so many prototypes are drawn, at least one of each class.
MOST_STARS = 60
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
    average_prototypes, learned_prototypes : array of shape (n_prototypes, 2), optional
        Positions of the prototypes; none are drawn by default.
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
    >>> from imkpl.plots import EmbeddingDisplay
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
        random_state: Any = 0,
    ) -> Self:
        """Compute the two maps without drawing them.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL or ISKPL.
        X : array-like of shape (n_samples, n_features)
            Samples in the form given to `fit`, preferably the training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        train : array-like of shape (n_train, n_features), optional
            The training samples, if X holds other samples. The average kernel is adapted to them,
            and its map shows the prototypes. Without them the average kernel is adapted to X, and
            its map has no prototypes.
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
        labels = class_places(estimator.classes_, y, len(samples))
        chosen = choose_stratified(labels, max_samples, random_state)
        training = samples if is_training_data(estimator, samples) else None
        if training is None and estimator.predictor_.kernels.input_kind == "similarities":
            raise ValueError(
                "The kernels are precomputed, and the similarities among new samples are unknown. "
                "Pass the training similarities and labels as X and y."
            )
        if training is None and train is not None:
            training = estimator.read_new(train)
            if not is_training_data(estimator, training):
                raise ValueError(
                    f"train has {len(training)} samples that differ from the "
                    f"{estimator.prototypes_.shape[1]} training samples of the model, expected "
                    "these in the same order. Pass the data given to fit."
                )
        averages, n_average = average_kernel(estimator, samples, chosen, training)
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
            average_prototypes=None if training is None else places[0][chosen.size + order],
            learned_prototypes=places[1][chosen.size + order],
            n_kernels=(n_average, int(np.count_nonzero(estimator.kernel_weights_))),
        )

    def _draw(self, ax: Any) -> None:
        n_columns = 1 + (len(self.classes) + 1) // 16
        width = 10.4 + 1.4 * min(n_columns, 3)
        panels = self._take_panels(ax, (width, 5.0), (1, 2))
        counts = [f" ({n} kernel{'s' * (n != 1)})" for n in self.n_kernels or ()] or ["", ""]
        maps = (
            (f"Average kernel{counts[0]}", self.average, self.average_prototypes),
            (f"Learned kernel{counts[1]}", self.learned, self.learned_prototypes),
        )
        owners = np.asarray(self.prototype_classes)
        present = np.unique(owners)
        n_each = None if owners.size <= MOST_STARS else max(1, MOST_STARS // present.size)
        members = [np.flatnonzero(owners == label)[:n_each] for label in present]
        shown = np.concatenate(members)
        for panel, (title, points, stars) in zip(panels, maps, strict=True):
            for label in np.unique(self.labels):
                style = {"color": class_color(label), "marker": class_marker(label)}
                panel.scatter(
                    *points[self.labels == label].T, s=22, alpha=0.75, linewidths=0, **style
                )
            panel.set(xticks=[], yticks=[], title=title)
            panel.margins(0.05)
            if stars is not None:
                _draw_stars(panel, np.asarray(stars), present, members)
        name = None
        if any(stars is not None for *_, stars in maps):
            name = "prototypes"
            if shown.size < owners.size:
                name = f"{shown.size} of {owners.size} prototypes"
        self._add_legend(panels[1], name)

    def _add_legend(self, panel: Any, stars: str | None) -> None:
        from matplotlib.lines import Line2D

        names = [literal(name) for name in shorten_all(list(self.classes))][:MOST_IN_LEGEND]
        handles = [
            Line2D([], [], linestyle="none", marker=class_marker(i), color=class_color(i))
            for i in range(len(names))
        ]
        if len(self.classes) > len(names):
            names.append(f"{len(self.classes) - len(names)} more classes")
            handles.append(Line2D([], [], linestyle="none"))
        if stars is not None:
            names.append(stars)
            star = Line2D([], [], linestyle="none", marker="*", markersize=12, color="white")
            star.set_markeredgecolor("black")
            handles.append(star)
        n_columns = -(-len(names) // LEGEND_ROWS)
        panel.legend(
            handles,
            names,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0.0,
            frameon=False,
            ncols=n_columns,
            fontsize="small" if n_columns > 1 else None,
            columnspacing=1.0,
            handletextpad=0.2,
        )


def _draw_stars(panel: Any, stars: FloatArray, labels: IntArray, members: list[Any]) -> None:
    # Many large stars would hide the samples.
    area = float(np.clip(6000 / sum(own.size for own in members), 120, 270))
    for label, own in zip(labels, members, strict=True):
        star = {"s": area, "color": class_color(label), "marker": "*", "linewidths": 0.6}
        panel.scatter(*stars[own].T, edgecolors="black", zorder=3, **star)
        # Not by colour alone: the marker of the class is drawn inside the star.
        inner = {"s": 0.06 * area, "color": "white", "marker": class_marker(label)}
        panel.scatter(*stars[own].T, edgecolors="black", linewidths=0.5, zorder=4, **inner)


def class_places(classes: Any, y: Any, n_samples: int) -> IntArray:
    """The index of every label in the classes."""
    labels = column_or_1d(y)
    check_consistent_length(np.empty(n_samples), labels)
    is_known = np.isin(labels, classes)
    if not np.all(is_known):
        unknown = to_label(labels[~is_known][0])
        raise ValueError(
            f"y contains the label {unknown!r}, expected only classes that the model was fitted "
            "to. Leave these samples out."
        )
    return np.asarray(np.searchsorted(classes, labels))


def choose_stratified(labels: IntArray, n_chosen: int | None, random_state: Any) -> IntArray:
    """A random choice of samples in which every class keeps its share, and at least one sample."""
    if n_chosen is None or labels.size <= n_chosen:
        return np.arange(labels.size)
    rng = check_random_state(random_state)
    # The rank of a sample within its class, as a fraction of the class; the first has 0.
    places = np.empty(labels.size)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        places[members] = np.arange(members.size) / members.size
    return np.sort(np.argsort(places, kind="stable")[:n_chosen])


def is_training_data(model: Any, samples: Any) -> bool:
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


def average_kernel(
    estimator: Any, samples: Any, chosen: IntArray, training: Any
) -> tuple[FloatArray, int]:
    """The average of all kernels among chosen samples and prototypes, and the number of kernels."""
    predictor = estimator.predictor_
    kernels = estimator.kernels
    if is_auto(kernels):
        kernels = AVERAGED[predictor.kernels.input_kind]
    with limited_threads(estimator.n_jobs):
        on = normalized(resolve_bank(kernels).on(samples if training is None else training))
        weights = np.full(on.n_kernels, 1.0 / on.n_kernels)
        own = on.moved_to(samples).take(chosen)
        kernel = own.combine(weights)
        if training is None:
            return kernel, on.n_kernels
        support = on.take(predictor.rows)
        across = support.cross(take_samples(samples, chosen)).combine(weights) @ predictor.mixes.T
        gram = predictor.mixes @ support.combine(weights) @ predictor.mixes.T
    return _join(kernel, across, gram), on.n_kernels


def learned_kernel(estimator: Any, *parts: tuple[Any, IntArray]) -> FloatArray:
    """The learned kernel among chosen samples, part by part, and prototypes."""
    predictor = estimator.predictor_
    weights = predictor.weights
    cut = [predictor.kernels.moved_to(samples).take(chosen) for samples, chosen in parts]
    with limited_threads(estimator.n_jobs):
        rows: list[list[FloatArray]] = []
        for place, part in enumerate(parts):
            known = [row[place].T for row in rows]
            others = cut[place + 1 :]
            unknown = [other.cross(take_samples(*part)).combine(weights) for other in others]
            rows.append([*known, cut[place].combine(weights), *unknown])
        across = [predictor.similarities(take_samples(*part)) for part in parts]
    return _join(np.block(rows), np.concatenate(across), predictor.encoder.gram)


def _join(kernel: FloatArray, across: FloatArray, gram: FloatArray) -> FloatArray:
    """One matrix of samples and prototypes, with prototypes of unit norm."""
    norms = np.sqrt(np.diagonal(gram))
    return np.block([[kernel, across / norms], [(across / norms).T, gram / np.outer(norms, norms)]])


def embed_kernel(kernel: FloatArray, random_state: Any) -> FloatArray:
    """A t-SNE map of the distances in the feature space of a kernel.

    It starts from the first two principal components, so maps of the same data are comparable.
    """
    n_points = len(kernel)
    if n_points < 4:
        raise ValueError(
            f"There are {n_points} samples and prototypes to embed, expected at least 4. Pass more "
            "samples."
        )
    tsne = TSNE(
        perplexity=min(PERPLEXITY, (n_points - 1) / 3),
        metric="precomputed",
        init=_principal_components(kernel),
        method="exact" if n_points <= EXACT_POINTS else "barnes_hut",
        random_state=random_state,
    )
    norms = np.diagonal(kernel)
    squares = norms[:, np.newaxis] + norms - (kernel + kernel.T)
    np.fill_diagonal(squares, 0.0)
    return np.asarray(tsne.fit_transform(np.sqrt(np.maximum(squares, 0.0))), dtype=np.float64)


def _principal_components(kernel: FloatArray) -> FloatArray:
    means = kernel.mean(axis=0)
    centered = kernel - means - means[:, np.newaxis] + means.mean()
    values, vectors = np.linalg.eigh(centered)
    vectors = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 0.0))
    # The sign of an eigenvector is arbitrary; make the largest entry positive.
    largest = vectors[np.argmax(np.abs(vectors), axis=0), [0, 1]]
    vectors = vectors * np.where(largest < 0, -1.0, 1.0)
    spread = vectors[:, 0].std()
    return np.asarray(vectors / (spread if spread > 0 else 1.0) * START_SPREAD, dtype=np.float32)
