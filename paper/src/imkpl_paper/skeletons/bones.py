"""Skeletons: joints and bones, turned to face one way and given one size."""

from __future__ import annotations

import numpy as np

from imkpl._typing import BoolArray, FloatArray, IntArray
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
    roots = sorted(set(bones[:, 0].tolist()) - set(bones[:, 1].tolist()))
    is_reached = {joint: joint == roots[0] for joint in bones.ravel().tolist()} if roots else {}
    order: list[int] = []
    waiting = list(range(len(bones)))
    while waiting:
        ready = [bone for bone in waiting if is_reached.get(int(bones[bone, 0]), False)]
        ends = bones[ready, 1].tolist()
        if not ready or len(set(ends)) < len(ends) or any(is_reached[end] for end in ends):
            raise ValueError(
                f"The bones do not form one tree (bone {bones[(ready or waiting)[0]].tolist()} "
                "does not fit in), expected one joint to start from and one bone that leads to "
                "every other. List the bones from the hips outwards, or pass scale='first'."
            )
        is_reached.update(dict.fromkeys(ends, True))
        order += ready
        waiting = [bone for bone in waiting if bone not in ready]
    return np.array(order, dtype=np.intp)


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
