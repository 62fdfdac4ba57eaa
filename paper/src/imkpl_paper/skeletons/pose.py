"""One recording of a skeleton, freed from the camera and from which hand a person uses."""

from __future__ import annotations

import numpy as np

from imkpl._typing import FloatArray, IntArray


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
