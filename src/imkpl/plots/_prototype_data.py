"""What prototypes look like: mixes of vectors and images, and the series that they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from imkpl._typing import FloatArray, IntArray
from imkpl.series import SeriesSet


@dataclass(frozen=True, eq=False)
class MixedSample:
    """One training sample in a prototype.

    Parameters
    ----------
    sample : int or str
        What it is called.
    share : float
        Its share in the prototype; the shares of a prototype sum to one.
    values : array of shape (n_channels, length), optional
        The drawn channels of a series.
    """

    sample: Any
    share: float
    values: FloatArray | None = None


def mix_shares(estimator: Any, prototypes: IntArray) -> FloatArray:
    """Shares of support samples in prototypes."""
    mixes = estimator._predictor.mixes[prototypes].toarray()
    return np.asarray(mixes / mixes.sum(axis=1, keepdims=True))


def live_columns(estimator: Any) -> tuple[IntArray, list[str], FloatArray]:
    """The columns or channels that the model reads, the most important first."""
    predictor = estimator._predictor
    columns = predictor.columns
    if columns is None:
        columns = np.arange(predictor.samples.shape[1])
    weights = np.zeros(columns.size)
    if estimator._kernel_columns is not None:
        weights = estimator.feature_importances_[columns]
    order = np.argsort(-weights, kind="stable")
    known = getattr(estimator, "feature_names_in_", None)
    prefix = "channel " if isinstance(predictor.samples, SeriesSet) else "x"
    names = [f"{prefix}{c}" if known is None else str(known[c]) for c in columns[order]]
    return order, names, weights[order]


def list_samples(
    estimator: Any, prototypes: IntArray, channels: IntArray | None = None
) -> list[list[MixedSample]]:
    """The training samples in every prototype, the largest share first."""
    predictor = estimator._predictor
    names = estimator.support_ids_[np.searchsorted(estimator.support_, predictor.rows)]
    found = []
    for shares in mix_shares(estimator, prototypes):
        order = [int(i) for i in np.argsort(-shares, kind="stable") if shares[i] > 0]
        found.append(
            [
                MixedSample(
                    names[i],
                    float(shares[i]),
                    None if channels is None else predictor.samples[i][channels],
                )
                for i in order
            ]
        )
    return found


def mix_vectors(
    estimator: Any, prototypes: IntArray, columns: IntArray, X: Any
) -> tuple[FloatArray, FloatArray]:
    """Prototypes of vectors as weighted means of their samples."""
    predictor = estimator._predictor
    cells = predictor.samples[:, columns]
    everyone = cells
    if X is not None:
        samples = estimator._read_new(X)
        whole = columns if predictor.columns is None else predictor.columns[columns]
        everyone = np.asarray(samples[:, whole], dtype=np.float64)
    values = np.asarray(mix_shares(estimator, prototypes) @ cells)
    center, spread = everyone.mean(axis=0), everyone.std(axis=0)
    return values, np.asarray((values - center) / np.where(spread > 0, spread, 1.0))


def mix_images(
    estimator: Any, prototypes: IntArray, X: Any, image_shape: tuple[int, ...]
) -> FloatArray:
    """Prototypes of images as weighted means of their samples."""
    n_train, predictor = estimator.prototypes_.shape[1], estimator._predictor
    if len(image_shape) not in (2, 3) or (len(image_shape) == 3 and image_shape[2] not in (3, 4)):
        raise ValueError(
            f"image_shape={image_shape}, expected (height, width), or (height, width, 3) for "
            "colours. Give the shape of one image."
        )
    if X is None:
        raise ValueError(
            "image_shape needs whole images, but the model keeps only the pixels that it reads. "
            "Pass the training samples: from_estimator(model, X_train, image_shape=...)."
        )
    pixels = check_array(X, dtype=np.float64)
    n_pixels = int(np.prod(image_shape))
    if pixels.shape != (n_train, n_pixels):
        raise ValueError(
            f"X has shape {pixels.shape}, expected ({n_train}, {n_pixels}): the {n_train} training "
            f"samples with the {n_pixels} pixels of image_shape={tuple(image_shape)}. Pass the "
            "training samples, and the shape of one image."
        )
    mixed = mix_shares(estimator, prototypes) @ pixels[predictor.rows]
    return np.asarray(mixed).reshape(-1, *image_shape)
