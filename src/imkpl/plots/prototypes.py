"""What the prototypes are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.plots._canvas import require_pyplot
from imkpl.plots._model import check_model, sort_prototypes
from imkpl.plots._prototype_data import (
    MixedSample,
    list_samples,
    live_columns,
    mix_images,
    mix_vectors,
)
from imkpl.plots._prototype_panels import draw_heat_map, draw_images, draw_series
from imkpl.series import SeriesSet

WHO = "PrototypesDisplay"
# At most so many prototypes of a class, and features or channels, where the caller does not say.
MOST_PROTOTYPES = {"vectors": 10, "images": 10, "series": 2}
MOST_FEATURES = {"vectors": 20, "series": 3}


@dataclass(eq=False)
class PrototypesDisplay:
    """The prototypes, class by class: vectors as a heat map, series as series, images as images.

    A prototype is a mix of training samples. A vector or image shows their weighted mean. Series
    are drawn one by one, the wider the larger their share, as a mean of series out of step is
    like none of them.

    Parameters
    ----------
    kind : {"vectors", "series", "images"}
        What samples are.
    classes : array of shape (n_classes,)
        Class labels.
    prototypes : int array of shape (n_shown,)
        Which prototypes of the model are shown.
    owners : int array of shape (n_shown,)
        Places of their classes, in ascending order.
    samples : list of lists of MixedSample
        The training samples in each. For "series" with the values of the drawn channels.
    n_of_class : int array of shape (n_classes,)
        How many prototypes the model has of each class.
    names : list of str
        Names of the drawn features or channels.
    values : array of shape (n_shown, n_features) or (n_shown, height, width), optional
        For "vectors" and "images" the weighted means.
    standardized : array of shape (n_shown, n_features), optional
        For "vectors" the means in standard deviations above the mean of the data.

    Attributes
    ----------
    axes_, figure_ : array of Axes, and Figure
        Where it was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import PrototypesDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(sparsity=2, max_kernels=4).fit(X, y)
    >>> display = PrototypesDisplay.from_estimator(model, X)
    >>> display.kind, display.values.shape == (len(display.prototypes), len(display.names))
    ('vectors', True)
    """

    kind: str
    classes: Any
    prototypes: IntArray
    owners: IntArray
    samples: list[list[MixedSample]]
    n_of_class: IntArray
    names: list[str]
    values: FloatArray | None = None
    standardized: FloatArray | None = None

    @classmethod
    def compute(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        image_shape: tuple[int, ...] | None = None,
        max_prototypes: int | None = None,
        max_features: int | None = None,
    ) -> Self:
        """The prototypes of a model, without drawing them.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
        X : array-like of shape (n_samples, n_features), optional
            For images the training samples, all pixels. For vectors samples by which values are
            standardised; those in prototypes by default. Series are kept with the model.
        image_shape : tuple of int, optional
            (height, width) of images, or (height, width, 3) for colours.
        max_prototypes : int, optional
            At most so many of each class, those first that the codes of training samples use
            most; 10 by default, 2 for series.
        max_features : int, optional
            At most so many features or channels, those with the largest weights first; 20 by
            default, 3 for series.

        Returns
        -------
        PrototypesDisplay
            To be plotted.
        """
        check_model(estimator, WHO)
        kind = _find_kind(estimator, image_shape)
        most = MOST_PROTOTYPES[kind] if max_prototypes is None else max_prototypes
        chosen, owners = sort_prototypes(estimator, most)
        places = np.searchsorted(estimator.classes_, estimator.prototype_classes_)
        shared = (kind, estimator.classes_, chosen, owners)
        counts = np.bincount(places, minlength=estimator.classes_.size)
        if image_shape is not None:
            images = mix_images(estimator, chosen, X, image_shape)
            return cls(*shared, list_samples(estimator, chosen), counts, [], images)
        columns, names, _ = live_columns(estimator)
        most = MOST_FEATURES[kind] if max_features is None else max_features
        columns, names = columns[:most], names[:most]
        if kind == "series":
            return cls(*shared, list_samples(estimator, chosen, columns), counts, names)
        values, standardized = mix_vectors(estimator, chosen, columns, X)
        samples = list_samples(estimator, chosen)
        return cls(*shared, samples, counts, names, values, standardized)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        image_shape: tuple[int, ...] | None = None,
        max_prototypes: int | None = None,
        max_features: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the prototypes of a model.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
        X : array-like of shape (n_samples, n_features), optional
            For images the training samples, all pixels. For vectors samples by which values are
            standardised; those in prototypes by default. Series are kept with the model.
        image_shape : tuple of int, optional
            (height, width) of images, or (height, width, 3) for colours.
        max_prototypes : int, optional
            At most so many of each class, those first that the codes of training samples use
            most; 10 by default, 2 for series.
        max_features : int, optional
            At most so many features or channels, those with the largest weights first; 20 by
            default, 3 for series.
        ax : Axes, optional
            Where to draw, divided where several panels are needed; a new figure by default.

        Returns
        -------
        PrototypesDisplay
            The display.
        """
        require_pyplot(f"{WHO}.from_estimator")
        display = cls.compute(
            estimator,
            X,
            image_shape=image_shape,
            max_prototypes=max_prototypes,
            max_features=max_features,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the prototypes.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw, divided where several panels are needed; a new figure by default.

        Returns
        -------
        PrototypesDisplay
            The display.
        """
        draw = {"vectors": draw_heat_map, "series": draw_series, "images": draw_images}[self.kind]
        self.figure_, panels = draw(self, ax, WHO)
        self.axes_ = np.array(panels, dtype=object)
        return self


def _find_kind(estimator: Any, image_shape: Any) -> str:
    samples = estimator._predictor.samples
    if image_shape is not None:
        return "images"
    if isinstance(samples, SeriesSet):
        return "series"
    if isinstance(samples, np.ndarray) and samples.ndim == 2 and samples.dtype.kind == "f":
        return "vectors"
    raise TypeError(
        f"The kernels of this model ({type(estimator._predictor.bank).__name__}) read neither "
        "vectors nor series, expected one of these to draw prototypes. Pass image_shape and the "
        "training images if samples are images; the samples behind each prototype are in "
        "prototypes_."
    )
