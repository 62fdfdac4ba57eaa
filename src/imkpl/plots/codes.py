"""Which prototypes reconstruct which samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.plots._style import (
    SEQUENTIAL,
    Display,
    check_model,
    choose_stratified,
    class_places,
    name_groups,
    sort_prototypes,
)

# Longer names, in characters, are turned upright below the picture.
WIDEST_NAMES = 60


@dataclass(eq=False)
class CodesDisplay(Display):
    """The codes of samples as an image: samples against prototypes, both sorted by class.

    If every sample is reconstructed from prototypes of its own class, all dark cells lie in blocks
    along the diagonal.

    Parameters
    ----------
    shares : array of shape (n_samples, n_prototypes)
        Share of each prototype in the code of each sample; rows sum to one, or to zero.
    sample_classes : int array of shape (n_samples,)
        Indices of the samples' classes in `classes`, in ascending order.
    prototype_classes : int array of shape (n_prototypes,)
        The same for the prototypes.
    classes : array of shape (n_classes,)
        Class labels.
    rows, columns : int array, optional
        Indices of the samples and prototypes; counted from 0 by default.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
        The axes, and their figure.
    image_ : AxesImage
        The image.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import CodesDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> model = IMKPL(n_prototypes=6, max_kernels=4).fit(X, y)
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
                f"The shares have shape {self.shares.shape}, expected {expected}: one row for each "
                "of sample_classes and one column for each of prototype_classes. Pass matching "
                "arrays."
            )
        for owners in (self.sample_classes, self.prototype_classes):
            if np.any(np.diff(owners) < 0):
                raise ValueError(
                    "Samples and prototypes must be sorted by class, expected classes in ascending "
                    "order. Sort them, or use CodesDisplay.compute."
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
        """Compute the sorted codes of samples without drawing them.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL or ISKPL.
        X : array-like of shape (n_samples, n_features)
            Samples in the form given to `fit`.
        y : array-like of shape (n_samples,), optional
            Class labels; by default those that the model predicts.
        max_samples : int or None, default=500
            Maximum number of samples, chosen so that every class keeps its share; None for all.
        random_state : int or RandomState, default=0
            Source of the random choice.

        Returns
        -------
        CodesDisplay
            The display, not drawn yet.
        """
        check_model(estimator, cls.__name__)
        encoding = estimator.explain(X).evidence.encoding
        codes, winners = encoding.codes, np.argmax(encoding.scores, axis=1)
        labels = winners if y is None else class_places(estimator.classes_, y, codes.shape[0])
        chosen = choose_stratified(labels, max_samples, random_state)
        columns, owners = sort_prototypes(estimator, None)
        # Within a class, samples with the same main prototype stay together.
        totals = codes[chosen].sum(axis=1)[:, np.newaxis]
        dense = codes[chosen].toarray()[:, columns] / np.where(totals > 0, totals, 1.0)
        order = np.lexsort((-dense.max(axis=1), np.argmax(dense, axis=1), labels[chosen]))
        rows = chosen[order]
        return cls(dense[order], labels[rows], owners, estimator.classes_, rows, columns)

    def _draw(self, ax: Any) -> None:
        (self.ax_,) = (ax,) = self._take_panels(ax, (7.2, 5.8))
        self.image_ = ax.imshow(
            self.shares, cmap=SEQUENTIAL, vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest"
        )
        for owners, axis, draw in (
            (self.sample_classes, ax.yaxis, ax.axhline),
            (self.prototype_classes, ax.xaxis, ax.axvline),
        ):
            name_groups(axis, np.asarray(owners), self.classes)
            for border in np.flatnonzero(np.diff(owners)):
                draw(border + 0.5, color="black", linewidth=0.6 if len(self.classes) < 15 else 0.25)
        if sum(len(label.get_text()) + 2 for label in ax.get_xticklabels()) > WIDEST_NAMES:
            ax.tick_params(axis="x", labelrotation=90)
        ax.tick_params(length=0)
        ax.set_xlabel(f"{self.shares.shape[1]} prototypes, by class")
        ax.set_ylabel(f"{self.shares.shape[0]} samples, by class")
        ax.set_title("Codes: which prototypes reconstruct which samples")
        bar = self.figure_.colorbar(self.image_, ax=ax, fraction=0.05, pad=0.02)
        bar.set_label("Share of the code")
