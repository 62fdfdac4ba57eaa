"""The paper's synthetic data set: four classes of series with nine channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from imkpl_paper._imkpl import FloatArray

CHANNEL_NAMES = tuple(f"f{number}" for number in range(1, 10))
CLASSES = 4

# Within a class, time runs up to this much (of the whole length) early or late, in all channels.
WARP = 0.05
# Curves are scaled by a factor within this much of one.
AMPLITUDE = 0.1
# f7 is f6 plus a slow wave of this height at most.
REPLICA_VARIATION = 0.05


def make_paper_series(
    n_per_class: int = 25,
    n_steps: int = 60,
    *,
    noise: float = 0.05,
    random_state: int | np.random.Generator | None = None,
    return_X_y: bool = True,
) -> Any:
    """Four classes of series with nine channels, after the paper's synthetic experiment.

    The paper says: made of variations of simple curves; in f1 to f5 every class follows a pattern
    of its own; f7 is a replicate of f6 with slight variations; f8 and f9 are identical in all
    samples. A good selection leaves out f8 and f9, which tell nothing, and one of f6 and f7.

    The curves, their variations and the sizes are not in print, and are chosen here:

    ====  ===================================================================
    f1    a sine wave of one, two, three or four periods
    f2    a bump in the first, second, third or fourth fifth of the inner time
    f3    rising, falling, rising then falling, falling then rising
    f4    a step up or down, early or late
    f5    a dying oscillation, slow or fast, starting up or down
    f6    one, two, three or four teeth of a saw
    f7    f6, with a slow wave of small height added that is new in every sample
    f8    half a period of a cosine, the same in all samples
    f9    a parabola, the same in all samples
    ====  ===================================================================

    In f1 to f6 each sample has its own height (up to 10 % more or less) and its own run of time (a
    smooth change, by up to 5 % of the length), so that no channel is made to be better than
    another. Noise is added to all nine, which is all by which f8 and f9 differ between samples.

    Parameters
    ----------
    n_per_class : int, default=25
        The number of series in each of the four classes.
    n_steps : int, default=60
        The length of the series.
    noise : float, default=0.05
        Standard deviation of the noise; curves run from -1 to 1.
    random_state : int, Generator or None, default=None
        For the same series every time.
    return_X_y : bool, default=True
        Whether to return (X, y) only.

    Returns
    -------
    X : array of shape (4 * n_per_class, 9, n_steps)
        The series, class by class.
    y : array of shape (4 * n_per_class,)
        Classes 0 to 3.
    data : Bunch
        In the place of both, if not `return_X_y`: `data`, `target`, `channel_names`,
        `informative` (channels that differ between classes), `replicas` (pairs of channels that
        are alike) and `DESCR`.

    Examples
    --------
    >>> X, y = make_paper_series(n_per_class=10, random_state=0)
    >>> X.shape, y.shape
    ((40, 9, 60), (40,))
    >>> make_paper_series(random_state=0, return_X_y=False).informative
    [0, 1, 2, 3, 4, 5, 6]
    """
    for name, value, least in (("n_per_class", n_per_class, 1), ("n_steps", n_steps, 2)):
        if value < least:
            raise ValueError(
                f"{name} is {value}, expected at least {least}. Ask for more, or select from the "
                "result."
            )
    if not 0 <= noise < np.inf:
        raise ValueError(
            f"noise is {noise}, expected a standard deviation of 0 or more. Curves run from -1 to "
            "1, and 0.05 is a little noise."
        )
    rng = np.random.default_rng(random_state)
    y = np.repeat(np.arange(CLASSES), n_per_class)
    time = np.linspace(0.0, 1.0, n_steps)
    X = np.empty((y.size, len(CHANNEL_NAMES), n_steps))
    for channel, curve in enumerate(PATTERNS):
        moved = _vary_time(time, y.size, rng)
        height = 1 + AMPLITUDE * rng.uniform(-1, 1, size=(y.size, 1))
        for label in range(CLASSES):
            is_member = y == label
            X[is_member, channel] = height[is_member] * curve(moved[is_member], label)
    phase, height = rng.uniform(0, 2 * np.pi, (y.size, 1)), rng.uniform(0, 1, (y.size, 1))
    X[:, 6] = X[:, 5] + REPLICA_VARIATION * height * np.sin(2 * np.pi * time + phase)
    X[:, 7] = np.cos(np.pi * time)
    X[:, 8] = 2 * (2 * time - 1) ** 2 - 1
    X += noise * rng.standard_normal(X.shape)
    return (X, y) if return_X_y else _describe(X, y)


def _vary_time(time: FloatArray, n_samples: int, rng: Any) -> FloatArray:
    """Times that run early or late by two smooth waves, in order and with the ends in place."""
    early = rng.uniform(-1, 1, size=(n_samples, 2, 1)) / 2
    waves = np.stack([np.sin(np.pi * time), np.sin(2 * np.pi * time)])
    return np.asarray(time + WARP * np.sum(early * waves, axis=1))


def _sine(time: FloatArray, label: int) -> FloatArray:
    return np.asarray(np.sin(2 * np.pi * (label + 1) * time))


def _bump(time: FloatArray, label: int) -> FloatArray:
    center = 0.2 * (label + 1)
    return np.asarray(2 * np.exp(-(((time - center) / 0.08) ** 2)) - 1)


def _slope(time: FloatArray, label: int) -> FloatArray:
    sign = 1 - 2 * (label % 2)
    rising = 2 * time - 1
    return np.asarray(sign * (rising if label < 2 else 1 - 2 * np.abs(rising)))


def _step(time: FloatArray, label: int) -> FloatArray:
    sign = 1 - 2 * (label % 2)
    moment = 0.3 if label < 2 else 0.7
    return np.asarray(sign * np.tanh((time - moment) / 0.03))


def _oscillation(time: FloatArray, label: int) -> FloatArray:
    sign = 1 - 2 * (label % 2)
    periods = 2 if label < 2 else 4
    return np.asarray(sign * np.exp(-3 * time) * np.cos(2 * np.pi * periods * time))


def _saw(time: FloatArray, label: int) -> FloatArray:
    # Slightly less than whole teeth, or rounding decides whether the last step is up or down.
    return np.asarray(2 * np.mod((label + 1) * time * (1 - 1e-9), 1.0) - 1)


PATTERNS: tuple[Callable[[FloatArray, int], FloatArray], ...] = (
    _sine,
    _bump,
    _slope,
    _step,
    _oscillation,
    _saw,
)


def _describe(X: FloatArray, y: Any) -> Any:
    from sklearn.utils import Bunch

    return Bunch(
        data=X,
        target=y,
        channel_names=list(CHANNEL_NAMES),
        informative=list(range(7)),
        replicas=[(5, 6)],
        DESCR=make_paper_series.__doc__,
    )
