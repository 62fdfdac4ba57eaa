"""Motions between bones by the obvious formula, one at a time."""

import numpy as np
from scipy.linalg import logm
from scipy.spatial.transform import Rotation


def turn_x_to(direction):
    """The smallest rotation that takes the x-axis to a direction which is not along it."""
    axis = np.cross([1.0, 0.0, 0.0], direction)
    angle = np.arccos(direction[0] / np.linalg.norm(direction))
    return Rotation.from_rotvec(axis / np.linalg.norm(axis) * angle).as_matrix()


def see_bone(first, second):
    """The rigid motion from one bone to another in the frame of the first, as a 4 x 4 matrix.

    A bone is an array of two joints. The frame takes the origin to the first joint and the x-axis
    to the direction of the bone; the motion takes the x-axis to the direction of the other bone.
    """
    frame = np.eye(4)
    frame[:3, :3] = turn_x_to(first[1] - first[0])
    frame[:3, 3] = first[0]
    seen = np.linalg.solve(frame, np.vstack([second.T, np.ones(2)]))[:3].T
    motion = np.eye(4)
    motion[:3, :3] = turn_x_to(seen[1] - seen[0])
    motion[:3, 3] = seen[0]
    return motion


def log_motion(motion):
    """Six numbers of the matrix logarithm."""
    logarithm = np.real(logm(motion))
    return np.array(
        [logarithm[2, 1], logarithm[0, 2], logarithm[1, 0], *logarithm[:3, 3]],
    )
