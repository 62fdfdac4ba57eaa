"""One skeleton turned, mirrored and measured, against the obvious formulas."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from imkpl_paper.skeletons.pose import (
    find_ground,
    find_heading,
    measure_motion,
    mirror_sides,
    turn_about,
)

SIDES = np.array([[0, 1], [3, 2]])


@pytest.fixture
def joints(rng):
    """Five joints over seven time steps."""
    return rng.standard_normal((5, 3, 7))


@pytest.mark.parametrize("vertical", [0, 1, 2])
def test_the_heading_is_the_mean_of_unit_vectors_on_the_ground(joints, vertical):
    ground = [axis for axis in range(3) if axis != vertical]
    assert find_ground(vertical).tolist() == ground
    total = np.zeros(2)
    for step in range(7):
        across = joints[3, ground, step] - joints[1, ground, step]
        total += across / np.sqrt(across @ across)
    found = find_heading(joints, np.array([1, 3]), vertical)
    np.testing.assert_allclose(found, total / np.sqrt(total @ total))


def test_the_heading_passes_over_steps_without_hips(joints):
    spoilt = joints.copy()
    spoilt[1, 0, 2] = np.nan
    spoilt[3, :, 4] = spoilt[1, :, 4]
    kept = joints[:, :, [0, 1, 3, 5, 6]]
    hips = np.array([1, 3])
    np.testing.assert_allclose(find_heading(spoilt, hips, 1), find_heading(kept, hips, 1))
    spoilt[1] = spoilt[3]
    assert np.isnan(find_heading(spoilt, hips, 1)).all()


@pytest.mark.parametrize("vertical", [0, 1, 2])
def test_turning_is_a_rotation_about_the_vertical_that_takes_the_heading_to_the_first_axis(
    joints, vertical
):
    heading = np.array([0.6, -0.8])
    turned = turn_about(joints, heading, vertical)
    ahead = np.zeros((1, 3, 1))
    ahead[0, find_ground(vertical), 0] = heading
    np.testing.assert_allclose(
        turn_about(ahead, heading, vertical)[0, find_ground(vertical), 0], [1, 0], atol=1e-12
    )
    angle = np.arctan2(0.8, 0.6) * (-1 if vertical == 1 else 1)
    rotation = Rotation.from_rotvec(angle * np.eye(3)[vertical]).as_matrix()
    np.testing.assert_allclose(turned, np.einsum("ab,jbt->jat", rotation, joints))


def test_a_mirror_image_swaps_sides_and_mirrored_twice_is_as_before(joints):
    mirrored = mirror_sides(joints, SIDES, 2)
    for joint, other in ((0, 1), (1, 0), (2, 3), (3, 2), (4, 4)):
        np.testing.assert_array_equal(mirrored[joint], joints[other] * [[1], [1], [-1]])
    np.testing.assert_array_equal(mirror_sides(mirrored, SIDES, 2), joints)


def test_motion_is_the_sum_of_squared_steps_relative_to_the_origin(joints):
    expected = np.zeros(2)
    for pair in SIDES:
        for side, joint in enumerate(pair):
            for step in range(6):
                here, there = (joints[joint, :, t] - joints[4, :, t] for t in (step, step + 1))
                expected[side] += np.sum((there - here) ** 2)
    np.testing.assert_allclose(measure_motion(joints, SIDES, 4), expected)


def test_a_step_that_one_joint_of_a_pair_misses_counts_for_neither(joints):
    spoilt = joints.copy()
    spoilt[0, 1, 6] = np.nan
    expected = measure_motion(joints, SIDES[1:], 4) + measure_motion(joints[..., :6], SIDES[:1], 4)
    np.testing.assert_allclose(measure_motion(spoilt, SIDES, 4), expected)
