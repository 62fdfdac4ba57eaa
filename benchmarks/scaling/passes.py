"""What a fit asks of a cluster, call by call: tasks, work, bytes.

All counts are formulas of the size of the problem; `tests/scale/test_scaling_passes.py` compares
them with what real fits do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imkpl.estimators._landmarks import MAX_CALIBRATION
from imkpl.estimators._sharded import FEWEST_VALUES, VALUES_PER_SAMPLE
from imkpl.model.landmarks import FEWEST_DRAWN, MOST_DRAWN

FLOAT = 8
# The share of the first candidates that become landmarks, as seen in fits with 60 to 5000 features.
FIRST_SHARE = 0.25


@dataclass(frozen=True)
class Size:
    """The size of a problem.

    Parameters
    ----------
    n_samples, n_features, n_parts, n_classes, n_landmarks : int
        Classes are of one size and so are partitions; all samples differ in their first columns.
    n_support, n_live, n_prototypes : int
        Of the fitted model: samples of which prototypes are made, kernels with a weight, and
        prototypes.
    """

    n_samples: int = 10**8
    n_features: int = 10**4
    n_parts: int = 10**4
    n_classes: int = 10
    n_landmarks: int = 4000
    n_support: int = 1000
    n_live: int = 1000
    n_prototypes: int = 100

    @property
    def rows(self) -> float:
        """Samples of one partition."""
        return self.n_samples / self.n_parts

    @property
    def values(self) -> float:
        """Numbers in one partition."""
        return self.rows * self.n_features

    @property
    def part_bytes(self) -> float:
        """Bytes of one partition."""
        return FLOAT * self.values


@dataclass(frozen=True)
class Pass:
    """One call of the cluster; figures are those of one task.

    Parameters
    ----------
    stage : str
        The row of the table that it belongs to.
    name : str
        The function.
    n_tasks : int
        How many tasks run it: as many as partitions it reads, if it `reads` them.
    reads : bool
        Whether its tasks read partitions.
    term : str
        Which measured constant gives its seconds.
    count : float
        How many times.
    result_bytes, sent_bytes : float
        What a task returns, and what is sent for it.
    common_bytes : float
        What every worker gets once.
    held_bytes : float
        What a task holds beside its partition and its result, as a formula.
    """

    stage: str
    name: str
    n_tasks: int
    reads: bool
    term: str
    count: float
    result_bytes: float
    sent_bytes: float = 0.0
    common_bytes: float = 0.0
    held_bytes: float = 0.0


def draw_rounds(n_landmarks: int, n_classes: int) -> list[tuple[int, int]]:
    """How many candidates are drawn in every class, and how many become landmarks, round by round.

    The first candidates are drawn when no distance is known, and most are turned down. Later, where
    kernels are many, hardly any is; here none is. With few features there are more rounds.

    Parameters
    ----------
    n_landmarks, n_classes : int
        Shared alike.

    Returns
    -------
    list of (drawn, taken)
        One for every round; after the last no distances are computed.

    Examples
    --------
    >>> draw_rounds(4000, 10)
    [(16, 4), (16, 16), (20, 20), (40, 40), (80, 80), (160, 160), (320, 80)]
    """
    wanted, chosen, rounds = n_landmarks // n_classes, 0, []
    while chosen < wanted:
        drawn = min(max(FEWEST_DRAWN, chosen), MOST_DRAWN)
        taken = min(drawn if chosen else round(FIRST_SHARE * drawn), wanted - chosen)
        rounds.append((drawn, taken))
        chosen += taken
    return rounds


def count_touched(n_rows: int, n_parts: int) -> int:
    """How many partitions hold some of so many rows, each drawn at random.

    Parameters
    ----------
    n_rows, n_parts : int
        How many.

    Returns
    -------
    int
        The expected number.
    """
    share = -np.expm1(n_rows * np.log1p(-1 / n_parts)) if n_parts > 1 else 1.0
    return round(float(n_parts * share))


def list_passes(size: Size) -> list[Pass]:
    """All passes over the partitions, in the order of a fit.

    Parameters
    ----------
    size : Size
        Of the problem.

    Returns
    -------
    list of Pass
        Those before the landmarks are learned from, and those after.
    """
    n, f, P = size.rows, size.n_features, size.n_parts
    block, row = size.part_bytes, FLOAT * size.n_features
    fetched = max(VALUES_PER_SAMPLE * size.n_samples, FEWEST_VALUES)
    width = min(f, fetched // size.n_samples)

    def fetch(stage: str, n_rows: int) -> Pass:
        touched = count_touched(n_rows, P)
        each = n_rows / touched
        return Pass(stage, "as_they_are", touched, True, "take", each * f, each * row, FLOAT * each)

    everyone = {"reads": True, "n_tasks": P, "held_bytes": block}
    passes = [
        Pass(
            "read",
            "summarize",
            term="summarize",
            count=n * f,
            result_bytes=16 * n + 2 * row,
            **everyone,
        ),
        Pass(
            "order",
            "columns_of",
            term="columns",
            count=n * f,
            result_bytes=FLOAT * n * width,
            sent_bytes=FLOAT * n,
            common_bytes=FLOAT * width,
            **everyone,
        ),
        fetch("bandwidths", 1),
        Pass(
            "bandwidths",
            "find_largest",
            term="largest",
            count=n * f,
            result_bytes=row,
            sent_bytes=FLOAT * n,
            common_bytes=row,
            **everyone,
        ),
    ]
    passes += 2 * [
        Pass(
            "bandwidths",
            "fold_moments",
            term="moments",
            count=n * f,
            result_bytes=6 * row,
            sent_bytes=2 * FLOAT * n,
            common_bytes=3 * row,
            **everyone,
        )
    ]
    rounds = draw_rounds(size.n_landmarks, size.n_classes)
    for number, (drawn, taken) in enumerate(rounds):
        # A candidate that is drawn twice is fetched once.
        distinct = count_touched(drawn, size.n_samples // size.n_classes)
        passes.append(fetch("landmarks", distinct * size.n_classes))
        if number < len(rounds) - 1:
            passes.append(
                Pass(
                    "landmarks",
                    "nearest_landmarks",
                    term="nearest",
                    count=n * f * taken,
                    result_bytes=FLOAT * n,
                    sent_bytes=2 * FLOAT * n,
                    # The landmarks; beside them columns, bandwidths and weights of the kernels.
                    common_bytes=row * (taken * size.n_classes + 3),
                    **everyone,
                )
            )
    passes.append(fetch("landmarks", size.n_landmarks))
    model = FLOAT * (size.n_support * size.n_live + size.n_prototypes**2)
    n_spaced = min(MAX_CALIBRATION, size.n_samples - size.n_landmarks)
    spaced_parts = min(P, n_spaced)
    each = n_spaced / spaced_parts
    per_sample = size.n_support * size.n_live
    # Landmarks have their codes already.
    coded = n - size.n_landmarks / P
    passes += [
        fetch("calibration", size.n_support),
        Pass(
            "calibration",
            "similarities",
            spaced_parts,
            True,
            "similarity",
            each * per_sample,
            FLOAT * each * size.n_prototypes,
            FLOAT * each,
            model,
            FLOAT * each * (f + size.n_support),
        ),
        Pass(
            "codes",
            "LabelledPursuit",
            P,
            True,
            "pursuit",
            coded * per_sample,
            # Value, column and end of the row of every code.
            3 * FLOAT * coded,
            2 * FLOAT * coded,
            model,
            block + FLOAT * n * (size.n_support + 2 * size.n_prototypes),
        ),
    ]
    return passes


def client_arrays(size: Size) -> list[tuple[str, float]]:
    """The large arrays of the client, those of all samples and those of landmarks.

    Parameters
    ----------
    size : Size
        Of the problem.

    Returns
    -------
    list of (what, bytes)
        The largest of every stage.
    """
    N, f, m = size.n_samples, size.n_features, size.n_landmarks
    return [
        ("digests of all samples", 16.0 * N),
        ("8 columns of all samples, twice sorted", 3 * 9.0 * FLOAT * N),
        ("numbers per feature and partition", 6.0 * FLOAT * f * size.n_parts),
        ("landmarks", float(FLOAT * m * f)),
        ("combined kernels of landmarks", float(FLOAT * m * m)),
        ("codes of all samples", 3.0 * FLOAT * N),
    ]
