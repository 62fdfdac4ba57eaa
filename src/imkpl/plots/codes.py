"""Which prototypes rebuild which samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from imkpl._typing import FloatArray, IntArray
from imkpl.plots._canvas import require_pyplot, take_panels
from imkpl.plots._model import check_model, choose_stratified, class_places, sort_prototypes
from imkpl.plots._palette import SEQUENTIAL, literal, shorten_all

WHO = "CodesDisplay"
# More class names than this do not fit beside a picture.
MOST_NAMES = 40
# Names of so many characters in all fit side by side below it.
WIDEST_NAMES = 60


@dataclass(eq=False)
class CodesDisplay:
    """The codes of samples as a picture: samples against prototypes, both sorted by class.

    Where every sample is rebuilt from prototypes of its own class, all that is dark lies in blocks
    along the diagonal.

    Parameters
    ----------
    shares : array of shape (n_samples, n_prototypes)
        How much of each sample's code each prototype is; rows sum to one, or to zero.
    sample_classes : int array of shape (n_samples,)
        Places of the samples' classes among `classes`, in ascending order.
    prototype_classes : int array of shape (n_prototypes,)
        The same for the prototypes.
    classes : array of shape (n_classes,)
        Class labels.
    rows, columns : int array, optional
        Which samples and which prototypes of the model these are; counted from 0 by default.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        Where it was drawn.
    image_ : AxesImage
        The picture.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import CodesDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> model = IMKPL(sparsity=2, max_kernels=4).fit(X, y)
    >>> display = CodesDisplay.from_estimator(model, X, y)
    >>> display.shares.shape == (178, model.prototypes_.shape[0])
    True
    """

    shares: FloatArray
    sample_classes: IntArray
    prototype_classes: IntArray
    classes: Any
    rows: IntArray | None = None
    columns: IntArray | None = None

    def __post_init__(self) -> None:
        self.shares = np.asarray(self.shares, dtype=np.float64)
        expected = (len(self.sample_classes), len(self.prototype_classes))
        if self.shares.shape != expected:
            raise ValueError(
                f"The shares have shape {self.shares.shape}, expected {expected}: a row for every "
                "sample's class and a column for every prototype's. Pass codes as they come."
            )
        for owners in (self.sample_classes, self.prototype_classes):
            if np.any(np.diff(owners) < 0):
                raise ValueError(
                    "Samples and prototypes must be sorted by class, expected their classes in "
                    "ascending order. Sort them, or use CodesDisplay.compute."
                )
        self.rows = np.arange(expected[0]) if self.rows is None else self.rows
        self.columns = np.arange(expected[1]) if self.columns is None else self.columns

    @classmethod
    def compute(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        max_samples: int | None = 500,
        random_state: Any = 0,
    ) -> Self:
        """The sorted codes of samples, without drawing them.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.
        y : array-like of shape (n_samples,), optional
            Their classes; those that the model predicts by default.
        max_samples : int or None, default=500
            At most so many samples, drawn so that every class keeps its share; None for all.
        random_state : int or RandomState, default=0
            Source of that draw.

        Returns
        -------
        CodesDisplay
            To be plotted.
        """
        check_model(estimator, WHO)
        encoding = estimator._encode(X)
        codes, winners = encoding.codes, np.argmax(encoding.scores, axis=1)
        labels = winners if y is None else class_places(estimator.classes_, y, codes.shape[0])
        chosen = choose_stratified(labels, max_samples, random_state)
        columns, owners = sort_prototypes(estimator, None)
        # Within a class, samples of one main prototype stand together.
        dense = _as_shares(codes[chosen])[:, columns]
        order = np.lexsort((-dense.max(axis=1), np.argmax(dense, axis=1), labels[chosen]))
        rows = chosen[order]
        return cls(dense[order], labels[rows], owners, estimator.classes_, rows, columns)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        max_samples: int | None = 500,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the codes of samples.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.
        y : array-like of shape (n_samples,), optional
            Their classes; those that the model predicts by default.
        max_samples : int or None, default=500
            At most so many samples, drawn so that every class keeps its share; None for all.
        random_state : int or RandomState, default=0
            Source of that draw.
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CodesDisplay
            The display.
        """
        require_pyplot(f"{WHO}.from_estimator")
        display = cls.compute(estimator, X, y, max_samples=max_samples, random_state=random_state)
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the codes.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CodesDisplay
            The display.
        """
        self.figure_, (self.ax_,) = take_panels(ax, (1, 1), (7.2, 5.8), WHO)
        ax = self.ax_
        self.image_ = ax.imshow(
            self.shares, cmap=SEQUENTIAL, vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest"
        )
        for owners, axis, draw in (
            (self.sample_classes, ax.yaxis, ax.axhline),
            (self.prototype_classes, ax.xaxis, ax.axvline),
        ):
            _name_groups(axis, np.asarray(owners), self.classes)
            for border in np.flatnonzero(np.diff(owners)):
                draw(border + 0.5, color="black", linewidth=0.6 if len(self.classes) < 15 else 0.25)
        if sum(len(label.get_text()) + 2 for label in ax.get_xticklabels()) > WIDEST_NAMES:
            ax.tick_params(axis="x", labelrotation=90)
        ax.tick_params(length=0)
        ax.set_xlabel(f"{self.shares.shape[1]} prototypes, by class")
        ax.set_ylabel(f"{self.shares.shape[0]} samples, by class")
        ax.set_title("Codes: which prototypes rebuild which samples")
        bar = self.figure_.colorbar(self.image_, ax=ax, fraction=0.05, pad=0.02)
        bar.set_label("Share of the code")
        return self


def _as_shares(codes: sp.csr_array) -> FloatArray:
    totals = codes.sum(axis=1)
    return np.asarray(codes.toarray() / np.where(totals > 0, totals, 1.0)[:, np.newaxis])


def _name_groups(axis: Any, owners: IntArray, classes: Any) -> None:
    """Class names at the centres of their groups; every other one where there are many."""
    present = np.unique(owners)
    step = -(-present.size // MOST_NAMES)
    centers = [float(np.flatnonzero(owners == label).mean()) for label in present]
    names = shorten_all([classes[label] for label in present], 16)
    axis.set_ticks(centers[::step], labels=[literal(name) for name in names[::step]])
    if present.size > 15:
        axis.set_tick_params(labelsize="small")
