"""Channels as joints: how many there are, what they are called, which of them are meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.series import SeriesSet
from imkpl_paper.skeletons.bones import KINECT_JOINTS


def count_joints(series: SeriesSet) -> int:
    """The number of joints, each of which has three channels."""
    if series.n_channels % 3:
        raise ValueError(
            f"X has {series.n_channels} channels, expected three per joint: x, y and z. Leave out "
            "channels that are not positions."
        )
    return series.n_channels // 3


def as_joints(series: SeriesSet) -> FloatArray:
    """The positions, with an axis of joints and one of coordinates."""
    values = np.asarray(series.values, dtype=np.float64)
    return values.reshape(-1, 3, values.shape[1])


def check_channels(series: SeriesSet, n_channels: int) -> None:
    """Refuse other joints than in training."""
    if series.n_channels != n_channels:
        raise ValueError(
            f"X has {series.n_channels} channels, expected {n_channels} as in fit. "
            "Pass the joints of the training part, in the same order."
        )


def name_joints(given: Sequence[str] | None, series: SeriesSet, *, is_kinect: bool) -> list[str]:
    """What joints are called: as the user, the channels or the Kinect have it, or numbers."""
    n_joints = count_joints(series)
    if given is not None:
        names = [str(name) for name in given]
        if len(set(names)) != n_joints or len(names) != n_joints:
            raise ValueError(
                f"joint_names has {len(set(names))} different names, expected {n_joints}, one "
                "per joint. Leave it out to count the joints."
            )
        return names
    found = _read_names(series.channel_names)
    if found is None and is_kinect:
        return list(KINECT_JOINTS)
    return [str(joint) for joint in range(n_joints)] if found is None else found


def _read_names(channel_names: tuple[str, ...] | None) -> list[str] | None:
    """Names of joints whose three channels end in _x, _y and _z, None for other names."""
    if channel_names is None:
        return None
    names = [name[:-2] for name in channel_names[::3]]
    expected = tuple(f"{name}_{axis}" for name in names for axis in "xyz")
    return names if expected == channel_names and len(set(names)) == len(names) else None


def check_indices(given: Any, n_things: int, name: str, things: str) -> IntArray:
    """Pairs of two different numbers below `n_things`, no pair twice."""
    pairs = np.asarray(given)
    is_list = pairs.ndim == 2 and pairs.shape[1] == 2 and pairs.dtype.kind in "iu"
    if not is_list or len(pairs) == 0 or pairs.min() < 0 or pairs.max() >= n_things:
        raise ValueError(
            f"{name} is {given!r}, expected pairs of {things} from 0 to {n_things - 1}. Count "
            f"{things} from 0."
        )
    if len(np.unique(pairs, axis=0)) < len(pairs) or np.any(pairs[:, 0] == pairs[:, 1]):
        raise ValueError(
            f"{name} has an entry twice or a pair of one and the same, expected different pairs of "
            f"different {things}. Leave the second one out."
        )
    return pairs.astype(np.intp)


def check_body(given: Any, n_joints: int, otherwise: str) -> IntArray:
    """The four joints that tell how a body is turned."""
    if given is None or np.shape(given) != (4,):
        raise ValueError(
            f"body is {given!r}, expected four joints that tell how a body is turned. Pass "
            f"body=(left hip, right hip, lower, upper end of the trunk), or {otherwise}."
        )
    return check_indices(np.reshape(given, (2, 2)), n_joints, "body", "joints").ravel()
