"""Bones seen from one another: rigid motions as vectors of se(3).

A rigid motion x -> R x + d is a point of SE(3). Its logarithm is six numbers (w, v): R is the
rotation about w by the angle |w|, and the screw motion that starts with the velocity v arrives at
d after one unit of time.

R. Vemulapalli, F. Arrate and R. Chellappa, *Human Action Recognition by Representing 3D Skeletons
as Points in a Lie Group*, CVPR 2014.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import RigidTransform, Rotation

from imkpl_paper._imkpl import FloatArray, IntArray

# Number of motions (pairs of bones times time steps) that are computed at a time.
BLOCK = 2**18


def relative_geometry(joints: FloatArray, bones: IntArray, pairs: IntArray) -> FloatArray:
    """Where the second bone of every pair is, seen from the first: a curve in se(3).

    The local frame of a bone has its origin in the first joint and its x-axis along the bone, and
    is turned there from the global frame by the smallest rotation. In that frame, the motion that
    takes the first bone to the place and the direction of the second is a rotation by the smallest
    angle and a shift; lengths are not compared. Its axis is perpendicular to the x-axis, so the
    first of the six numbers is zero.

    Examples
    --------
    An upper arm along x, and a forearm that points along y from its end:

    >>> joints = np.array([[0, 0, 0], [2, 0, 0], [2, 1, 0]])[:, :, None]
    >>> curve = relative_geometry(joints, np.array([[0, 1], [1, 2]]), np.array([[0, 1]]))
    >>> RigidTransform.from_exp_coords(curve[0, :, 0]).as_matrix().round(3) + 0.0
    array([[ 0., -1.,  0.,  2.],
           [ 1.,  0.,  0.,  0.],
           [ 0.,  0.,  1.,  0.],
           [ 0.,  0.,  0.,  1.]])
    """
    curves = np.empty((len(pairs), 6, joints.shape[2]))
    width = max(1, BLOCK // max(1, len(pairs)))
    first, second = pairs.T
    for start in range(0, joints.shape[2], width):
        steps = slice(start, start + width)
        directions = unit_directions(joints[:, :, steps], bones)
        places = joints[bones[:, 0], :, steps]
        ahead, shift = _as_rows(directions[second]), _as_rows(places[second] - places[first])
        own = _as_rows(directions[first])
        is_seen = np.isfinite(own + ahead + shift).all(axis=1)
        found = np.full((len(own), 6), np.nan)
        if is_seen.any():
            frames = _turn_x_to(own[is_seen]).inv()
            turns = _turn_x_to(frames.apply(ahead[is_seen]))
            motions = np.zeros((len(turns), 4, 4))
            motions[:, :3, :3] = turns.as_matrix()
            motions[:, :3, 3] = frames.apply(shift[is_seen])
            motions[:, 3, 3] = 1.0
            # These are rotations already, and normalising them again would take most of the time.
            found[is_seen] = RigidTransform(motions, normalize=False).as_exp_coords()
        curves[:, :, steps] = np.moveaxis(found.reshape(len(pairs), -1, 6), 1, 2)
    return curves


def unit_directions(joints: FloatArray, bones: IntArray) -> FloatArray:
    """The direction of every bone, NaN for a bone without length."""
    vectors = np.asarray(joints[bones[:, 1]] - joints[bones[:, 0]], dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, np.nan))


def _turn_x_to(directions: FloatArray) -> Rotation:
    """The smallest rotation of the x-axis to every direction; about z for the opposite one."""
    x, y, z = directions.T
    sine = np.hypot(y, z)
    # A smaller number has too few digits for a direction.
    is_flat = sine < np.finfo(np.float64).tiny
    length = np.where(is_flat, 1.0, sine)
    # The axis is x cross direction.
    axis = np.stack([np.zeros_like(x), -z / length, np.where(is_flat, 1.0, y / length)], axis=1)
    # An arc cosine would lose half of the digits close to 0 and pi.
    return Rotation.from_rotvec(np.arctan2(sine, x)[:, np.newaxis] * axis)


def _as_rows(vectors: FloatArray) -> FloatArray:
    return np.moveaxis(vectors, 1, 2).reshape(-1, 3)
