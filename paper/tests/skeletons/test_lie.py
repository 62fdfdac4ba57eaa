"""Motions between bones, against the matrix logarithm, and at small and large angles."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import RigidTransform

from imkpl_paper.skeletons import lie
from imkpl_paper.skeletons.lie import relative_geometry, unit_directions
from skeletons.reference import log_motion, see_bone


def chain(rng, n_joints=6, n_steps=5):
    joints = rng.standard_normal((n_joints, 3, n_steps))
    bones = np.column_stack([np.arange(n_joints - 1), np.arange(1, n_joints)])
    pairs = np.array([(i, j) for i in range(len(bones)) for j in range(len(bones)) if i != j])
    return joints, bones, pairs


def test_relative_geometry_is_the_logarithm_of_the_motion_between_bones(rng):
    joints, bones, pairs = chain(rng, n_joints=4, n_steps=2)
    curves = relative_geometry(joints, bones, pairs)
    for pair, (first, second) in enumerate(pairs):
        for step in range(joints.shape[2]):
            motion = see_bone(joints[bones[first], :, step], joints[bones[second], :, step])
            np.testing.assert_allclose(log_motion(motion), curves[pair, :, step], atol=1e-9)


def test_relative_geometry_takes_one_bone_to_the_other(rng):
    joints, bones, pairs = chain(rng)
    curves = np.moveaxis(relative_geometry(joints, bones, pairs), 1, 2)
    motions = RigidTransform.from_exp_coords(curves.reshape(-1, 6)).as_matrix()
    motions = motions.reshape(*curves.shape[:2], 4, 4)
    # The second bone's second joint, seen from the second bone: its length along x.
    lengths = np.linalg.norm(joints[bones[:, 1]] - joints[bones[:, 0]], axis=1)[pairs[:, 1]]
    ends = motions[..., :3, 0] * lengths[..., None] + motions[..., :3, 3]
    apart = joints[bones[pairs[:, 1], 1]] - joints[bones[pairs[:, 0], 0]]
    np.testing.assert_allclose(
        np.linalg.norm(ends, axis=2), np.linalg.norm(apart, axis=1), atol=1e-12
    )


def test_blocks_of_time_do_not_matter(rng, monkeypatch):
    joints, bones, pairs = chain(rng, n_steps=17)
    whole = relative_geometry(joints, bones, pairs)
    monkeypatch.setattr(lie, "BLOCK", 60)
    np.testing.assert_array_equal(relative_geometry(joints, bones, pairs), whole)


def test_translations_change_nothing(rng):
    joints, bones, pairs = chain(rng)
    moved = joints + rng.standard_normal((1, 3, joints.shape[2]))
    np.testing.assert_allclose(
        relative_geometry(moved, bones, pairs), relative_geometry(joints, bones, pairs), atol=1e-12
    )


def two_bones(first, second):
    """Bones from the origin and from (1, 2, 3) along two directions."""
    start = np.array([1.0, 2.0, 3.0])
    joints = np.stack([np.zeros(3), first, start, start + second])[:, :, None]
    return relative_geometry(joints, np.array([[0, 1], [2, 3]]), np.array([[0, 1]]))[0, :, 0]


@pytest.mark.parametrize("tilt", [0.0, 1e-300, 1e-16, 1e-9, 1e-5])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("end", [1.0, -1.0])
def test_bones_along_one_line_have_finite_curves(tilt, sign, end):
    curve = two_bones(np.array([sign, tilt, 0.0]), np.array([end, 0.0, tilt]))
    assert np.isfinite(curve).all()
    angle = 0.0 if sign == end else np.pi
    np.testing.assert_allclose(np.linalg.norm(curve[:3]), angle, atol=2e-5)
    # The shift is what the motion does to the origin, at every angle.
    shift = RigidTransform.from_exp_coords(curve).translation
    np.testing.assert_allclose(np.linalg.norm(shift), np.sqrt(14))


def test_motion_is_accurate_close_to_a_half_turn():
    # arccos of the cosine would lose half of the digits here.
    curve = two_bones(np.array([1.0, 0.0, 0.0]), np.array([-1.0, 1e-8, 0.0]))
    np.testing.assert_allclose(np.pi - curve[2], 1e-8, rtol=1e-6)


def test_bones_without_length_and_missing_joints_are_nan_where_they_matter(rng):
    joints, bones, pairs = chain(rng)
    joints[1, :, 2] = joints[0, :, 2]
    joints[5, :, 3] = np.nan
    is_missing = np.isnan(relative_geometry(joints, bones, pairs)).all(axis=1)
    np.testing.assert_array_equal(is_missing[:, 2], (pairs == 0).any(axis=1))
    np.testing.assert_array_equal(is_missing[:, 3], (pairs == 4).any(axis=1))
    assert not is_missing[:, [0, 1, 4]].any()
    assert np.isnan(unit_directions(joints, bones)[0, :, 2]).all()


@settings(deadline=None, max_examples=25)
@example([-1.0, 5e-324, 5e-324, 0.0, 0.0, 1.0], 0.5)
@given(
    st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    st.floats(0.1, 10),
)
def test_scale_changes_shifts_only(numbers, factor):
    first, second = np.array(numbers[:3]), np.array(numbers[3:])
    if min(np.linalg.norm(first), np.linalg.norm(second)) < 1e-3:
        return
    start = np.array([1.0, 2.0, 3.0])
    joints = np.stack([np.zeros(3), first, start, start + second])[:, :, None]
    bones, pairs = np.array([[0, 1], [2, 3]]), np.array([[0, 1]])
    small = relative_geometry(joints, bones, pairs)
    large = relative_geometry(factor * joints, bones, pairs)
    # A rounding of a direction along -x changes the frame; the angle it keeps.
    if min(1 + first[0] / np.linalg.norm(first), 1 + second[0] / np.linalg.norm(second)) > 1e-3:
        seen = np.linalg.norm(small[0, :3])
        if seen < np.pi - 1e-3:
            np.testing.assert_allclose(large[:, :3], small[:, :3], atol=1e-9)
            np.testing.assert_allclose(large[:, 3:], factor * small[:, 3:], atol=1e-7)
    np.testing.assert_allclose(
        np.linalg.norm(large[0, :3]), np.linalg.norm(small[0, :3]), atol=1e-7
    )
