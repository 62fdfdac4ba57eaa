"""Rotations and rigid motions as vectors, and bones seen from one another.

A rigid motion x -> R x + d is a point of SE(3). Its logarithm is six numbers (w, v): R is the
rotation about w by the angle |w|, and the screw motion that starts with the velocity v arrives at
d after one unit of time. Every formula is written with the unit axis and the angle apart, so that
nothing is divided by a small angle: with k = w / |w|, a = |w|,

    d = s v + (1 - cos a) / a k x v + (1 - s) k (k . v),    s = sin(a) / a,
    v = h d - a / 2 k x d + (1 - h) k (k . d),              h = a / 2 cot(a / 2).

R. Vemulapalli, F. Arrate and R. Chellappa, *Human Action Recognition by Representing 3D Skeletons
as Points in a Lie Group*, CVPR 2014.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from imkpl._typing import FloatArray, IntArray

# Bones are seen from one another for so many numbers at a time (pairs times time steps).
BLOCK = 2**18


def exp_se3(vectors: ArrayLike) -> FloatArray:
    """Rigid motions from their logarithms.

    Examples
    --------
    >>> exp_se3([0, 0, np.pi, 0, 0, 0]).round(3) + 0.0
    array([[-1.,  0.,  0.,  0.],
           [ 0., -1.,  0.,  0.],
           [ 0.,  0.,  1.,  0.],
           [ 0.,  0.,  0.,  1.]])
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    rotation, velocity = vectors[..., :3], vectors[..., 3:]
    angle, axis = _split(rotation)
    sine = np.sinc(angle / np.pi)
    # (1 - cos a) / a = sin(a / 2) * sin(a / 2) / (a / 2), which has no difference of near numbers.
    versine = np.sin(angle / 2) * np.sinc(angle / 2 / np.pi)
    along = axis * np.sum(axis * velocity, axis=-1, keepdims=True)
    motions = np.zeros((*vectors.shape[:-1], 4, 4))
    flat = Rotation.from_rotvec(rotation.reshape(-1, 3)).as_matrix()
    motions[..., :3, :3] = flat.reshape((*vectors.shape[:-1], 3, 3))
    motions[..., :3, 3] = sine * velocity + versine * np.cross(axis, velocity) + (1 - sine) * along
    motions[..., 3, 3] = 1.0
    return motions


def log_se3(motions: ArrayLike) -> FloatArray:
    """Logarithms of rigid motions, with angles from 0 to pi.

    At an angle of pi the axis and its opposite are the same motion, and either may come out.

    Examples
    --------
    >>> vector = np.array([0.1, -0.4, 0.2, 1.0, 2.0, 3.0])
    >>> np.allclose(log_se3(exp_se3(vector)), vector)
    True
    """
    motions = np.asarray(motions, dtype=np.float64)
    shape = motions.shape[:-2]
    flat = Rotation.from_matrix(motions[..., :3, :3].reshape(-1, 3, 3)).as_rotvec()
    rotation, shift = flat.reshape((*shape, 3)), motions[..., :3, 3]
    angle, axis = _split(rotation)
    share = _half_cotangent(angle)
    along = axis * np.sum(axis * shift, axis=-1, keepdims=True)
    velocity = share * shift - angle / 2 * np.cross(axis, shift) + (1 - share) * along
    return np.concatenate([rotation, velocity], axis=-1)


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
    >>> exp_se3(curve[0, :, 0]).round(3) + 0.0
    array([[ 0., -1.,  0.,  2.],
           [ 1.,  0.,  0.,  0.],
           [ 0.,  0.,  1.,  0.],
           [ 0.,  0.,  0.,  1.]])
    """
    curves = np.empty((len(pairs), 6, joints.shape[2]))
    width = max(1, BLOCK // max(1, len(pairs)))
    for start in range(0, joints.shape[2], width):
        steps = slice(start, start + width)
        curves[:, :, steps] = _see_bones(joints[:, :, steps], bones, pairs)
    return curves


def unit_directions(joints: FloatArray, bones: IntArray) -> FloatArray:
    """The direction of every bone, NaN for a bone without length."""
    vectors = np.asarray(joints[bones[:, 1]] - joints[bones[:, 0]], dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, np.nan))


def _see_bones(joints: FloatArray, bones: IntArray, pairs: IntArray) -> FloatArray:
    first, second = pairs.T
    directions = unit_directions(joints, bones)
    starts = joints[bones[:, 0]]
    # A frame is a turn within the plane of the x-axis and the bone.
    cosine, sine, y, z = (part[first] for part in _turn(np.moveaxis(directions, 1, 0)))
    seen = _turn_back(np.moveaxis(directions[second], 1, 0), cosine, sine, y, z)
    shift = _turn_back(np.moveaxis(starts[second] - starts[first], 1, 0), cosine, sine, y, z)

    cosine, sine, y, z = _turn(seen)
    angle = np.arctan2(sine, cosine)
    share = _half_cotangent(angle)
    # The axis is (0, -z, y).
    along = (1 - share) * (y * shift[2] - z * shift[1])
    half = angle / 2
    rotation = np.stack([np.where(np.isnan(angle), np.nan, 0.0), -angle * z, angle * y])
    velocity = share * shift
    velocity[0] += half * (z * shift[2] + y * shift[1])
    velocity[1] -= half * y * shift[0] + along * z
    velocity[2] -= half * z * shift[0] - along * y
    return np.moveaxis(np.concatenate([rotation, velocity]), 0, 1)


def _turn(directions: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The smallest rotation of the x-axis to a direction: cosine, sine, and the plane's y and z.

    Against the x-axis every plane will do, and the one through the y-axis is taken.
    """
    sine = np.hypot(directions[1], directions[2])
    is_flat = sine == 0
    length = np.where(is_flat, 1.0, sine)
    y = np.where(is_flat, 1.0, directions[1] / length)
    return directions[0], sine, y, directions[2] / length


def _turn_back(
    vectors: FloatArray, cosine: FloatArray, sine: FloatArray, y: FloatArray, z: FloatArray
) -> FloatArray:
    """Vectors in the frame that `_turn` describes."""
    inside = y * vectors[1] + z * vectors[2]
    change = cosine * inside - sine * vectors[0] - inside
    x = cosine * vectors[0] + sine * inside
    return np.stack([x, vectors[1] + y * change, vectors[2] + z * change])


def _split(rotation: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Angle and unit axis of rotation vectors; no axis where there is no angle."""
    angle = np.linalg.norm(rotation, axis=-1, keepdims=True)
    return angle, rotation / np.where(angle > 0, angle, 1.0)


def _half_cotangent(angle: FloatArray) -> FloatArray:
    """``angle / 2 * cot(angle / 2)``, which is one at zero and zero at pi."""
    half = np.asarray(angle) / 2
    return np.asarray(np.cos(half) / np.sinc(half / np.pi))
