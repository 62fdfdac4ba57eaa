"""Series by the obvious formula, one at a time."""

import numpy as np
from scipy.linalg import logm
from scipy.spatial.transform import Rotation


def resample_one(one, length):
    """np.interp for every channel over its observed steps, from the first to the last step."""
    n_steps = one.shape[1]
    places = np.linspace(0, n_steps - 1, length) if length > 1 else np.array([(n_steps - 1) / 2])
    rows = []
    for row in one:
        seen = np.flatnonzero(~np.isnan(row))
        rows.append(np.interp(places, seen, row[seen]) if seen.size else np.full(length, np.nan))
    return np.array(rows)


def difference_one(one):
    return np.diff(one, axis=1) if one.shape[1] > 1 else np.zeros_like(one)


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


def generator(vector):
    """The 4 x 4 matrix of se(3) whose exponential is the motion."""
    x, y, z = vector[:3]
    matrix = np.zeros((4, 4))
    matrix[:3, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    matrix[:3, 3] = vector[3:]
    return matrix
