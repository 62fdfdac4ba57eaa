"""Skeletons: joints, bones and poses, and checks of how a user describes them.

Positions are arrays of shape (n_joints, 3, n_steps), bones and sides are pairs of joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from imkpl.series import SeriesSet
from imkpl_paper._imkpl import BoolArray, FloatArray, IntArray
from imkpl_paper.skeletons.lie import unit_directions

#: Joints of the first Kinect's skeleton, in the order of its files.
KINECT_JOINTS = (
    "hip_center", "spine", "shoulder_center", "head",
    "shoulder_left", "elbow_left", "wrist_left", "hand_left",
    "shoulder_right", "elbow_right", "wrist_right", "hand_right",
    "hip_left", "knee_left", "ankle_left", "foot_left",
    "hip_right", "knee_right", "ankle_right", "foot_right",
)  # fmt: skip

#: Its nineteen bones, from the hips outwards.
KINECT_BONES = (
    (0, 1), (1, 2), (2, 3),
    (2, 4), (4, 5), (5, 6), (6, 7),
    (2, 8), (8, 9), (9, 10), (10, 11),
    (0, 12), (12, 13), (13, 14), (14, 15),
    (0, 16), (16, 17), (17, 18), (18, 19),
)  # fmt: skip

#: What tells how its body is turned: left and right hip, centre of the hips and of the shoulders.
KINECT_BODY = (12, 16, 0, 2)

#: Its joints that come in two: the left and the right one.
KINECT_SIDES = ((4, 8), (5, 9), (6, 10), (7, 11), (12, 16), (13, 17), (14, 18), (15, 19))

#: Those of them that tell which arm moves: elbows, wrists and hands.
KINECT_ARMS = ((5, 9), (6, 10), (7, 11))


def order_bones(bones: IntArray) -> IntArray:
    """An order in which every bone starts where one before it has ended.

    Examples
    --------
    >>> order_bones(np.array([[1, 2], [0, 1], [1, 3]]))
    array([1, 0, 2])
    """
    starts, ends = bones.T
    roots = np.setdiff1d(starts, ends)
    if roots.size == 1 and np.unique(ends).size == len(bones):
        n_joints = int(bones.max()) + 1
        graph = sp.coo_array((np.ones(len(bones)), (starts, ends)), shape=(n_joints, n_joints))
        reached = breadth_first_order(graph, roots[0], return_predecessors=False)
        if reached.size == len(bones) + 1:
            place = np.zeros(n_joints, dtype=np.intp)
            place[reached] = np.arange(reached.size)
            return np.argsort(place[ends])
    raise ValueError(
        "The bones do not form one tree, expected one joint to start from and one bone that leads "
        "to every other. List the bones from the hips outwards, or pass scale='first'."
    )


def measure_bones(joints: FloatArray, bones: IntArray) -> FloatArray:
    """The length of every bone at every time step.

    Examples
    --------
    >>> measure_bones(np.array([[[0.0], [0.0], [0.0]], [[3.0], [4.0], [0.0]]]), np.array([[0, 1]]))
    array([[5.]])
    """
    return np.asarray(np.linalg.norm(joints[bones[:, 1]] - joints[bones[:, 0]], axis=1))


def rebuild_skeletons(joints: FloatArray, bones: IntArray, lengths: FloatArray) -> FloatArray:
    """The same directions of all bones with other lengths; the first joint is the origin.

    Examples
    --------
    >>> joints = np.array([[[1.0], [1.0], [1.0]], [[4.0], [1.0], [1.0]]])
    >>> rebuild_skeletons(joints, np.array([[0, 1]]), np.array([2.0]))[1].ravel()
    array([2., 0., 0.])
    """
    order = order_bones(bones)
    steps = unit_directions(joints, bones) * np.asarray(lengths)[:, None, None]
    built = np.full(joints.shape, np.nan)
    built[bones[order[0], 0]] = 0.0
    for bone in order:
        start, end = bones[bone]
        built[end] = built[start] + steps[bone]
    return built


def find_body_frames(joints: FloatArray, body: IntArray) -> FloatArray:
    """How the body is turned: x along the hips, y up the trunk, z as x and y have it.

    Examples
    --------
    >>> joints = np.zeros((4, 3, 1))
    >>> joints[1, 1] = joints[3, 2] = 1.0
    >>> find_body_frames(joints, np.array([0, 1, 2, 3]))[:, :, 0]
    array([[0., 1., 0.],
           [0., 0., 1.],
           [1., 0., 0.]])
    """
    x, trunk = unit_directions(joints, np.reshape(body, (2, 2)))
    upright = trunk - x * np.sum(x * trunk, axis=0)
    height = np.linalg.norm(upright, axis=0)
    y = upright / np.where(height > 0, height, np.nan)
    return np.stack([x, y, np.cross(x, y, axis=0)])


def find_first(is_complete: BoolArray, starts: IntArray) -> IntArray:
    """For every time step, the first complete step of its series.

    Examples
    --------
    >>> find_first(np.array([False, True, True, False]), np.array([0, 3, 4]))
    array([1, 1, 1, 3])
    """
    n_steps = is_complete.size
    steps = np.where(is_complete, np.arange(n_steps), n_steps)
    first = np.minimum.reduceat(steps, starts[:-1])
    return np.repeat(np.where(first < n_steps, first, starts[:-1]), np.diff(starts))


def find_ground(vertical: int) -> IntArray:
    """The two axes of the ground, in ascending order.

    Examples
    --------
    >>> find_ground(1)
    array([0, 2])
    """
    return np.delete(np.arange(3), vertical)


def find_heading(joints: FloatArray, hips: IntArray, vertical: int) -> FloatArray:
    """The mean direction on the ground from the left to the right hip.

    Examples
    --------
    >>> joints = np.zeros((2, 3, 2))
    >>> joints[1] = [[3.0, 0.0], [9.0, 9.0], [0.0, 1.0]]
    >>> find_heading(joints, np.array([0, 1]), 1).round(3)
    array([0.707, 0.707])
    """
    across = (joints[hips[1]] - joints[hips[0]])[find_ground(vertical)]
    widths = np.linalg.norm(across, axis=0)
    # Every time step counts alike, however far apart the hips are seen.
    total = np.sum(across[:, widths > 0] / widths[widths > 0], axis=1)
    length = np.linalg.norm(total)
    return np.asarray(total / (length if length > 0 else np.nan))


def turn_about(joints: FloatArray, heading: FloatArray, vertical: int) -> FloatArray:
    """The skeleton turned about the vertical axis, so that a direction becomes the first axis.

    Examples
    --------
    >>> joints = np.array([[[0.0], [5.0], [2.0]]])
    >>> turn_about(joints, np.array([0.0, 1.0]), 1).ravel()
    array([2., 5., 0.])
    """
    ground = find_ground(vertical)
    turn = np.array([heading, [-heading[1], heading[0]]])
    turned = joints.copy()
    turned[:, ground] = np.einsum("ab,jbt->jat", turn, joints[:, ground])
    return turned


def mirror_sides(joints: FloatArray, sides: IntArray, axis: int) -> FloatArray:
    """The mirror image, in which left joints have become right ones.

    Examples
    --------
    >>> joints = np.array([[[-1.0], [0.0], [0.0]], [[3.0], [7.0], [0.0]]])
    >>> mirror_sides(joints, np.array([[0, 1]]), 0)[:, :, 0]
    array([[-3.,  7.,  0.],
           [ 1.,  0.,  0.]])
    """
    order = np.arange(len(joints))
    order[sides[:, 0]], order[sides[:, 1]] = sides[:, 1], sides[:, 0]
    mirrored = joints[order]
    mirrored[:, axis] *= -1
    # Keep zero as it is: -0.0 would show in what is printed.
    return np.asarray(mirrored + 0.0)


def measure_motion(joints: FloatArray, pairs: IntArray, origin: int) -> FloatArray:
    """How much the left and the right side move: squared steps, summed over joints and time.

    Examples
    --------
    >>> joints = np.zeros((3, 3, 3))
    >>> joints[1, 0] = [0.0, 2.0, 2.0]
    >>> joints[2, 1] = [1.0, 2.0, 1.0]
    >>> measure_motion(joints, np.array([[1, 2]]), 0)
    array([4., 2.])
    """
    steps = np.diff(joints[pairs] - joints[origin], axis=-1)
    squares = np.sum(steps**2, axis=2)
    is_seen = np.isfinite(squares).all(axis=1, keepdims=True)
    return np.asarray(np.sum(np.where(is_seen, squares, 0.0), axis=(0, 2)))


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
