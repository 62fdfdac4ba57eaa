"""Trees of bones, how a body is turned, mirrored and measured, against the obvious formulas."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from imkpl_paper.skeletons.bones import (
    KINECT_BODY,
    KINECT_BONES,
    KINECT_JOINTS,
    find_body_frames,
    find_first,
    find_ground,
    find_heading,
    measure_bones,
    measure_motion,
    mirror_sides,
    order_bones,
    rebuild_skeletons,
    turn_about,
)

BONES = np.array(KINECT_BONES)


def test_kinect_bones_reach_every_joint_once():
    assert sorted(BONES[:, 1]) == list(range(1, len(KINECT_JOINTS)))
    assert len(order_bones(BONES)) == 19
    left, right, _, _ = KINECT_BODY
    assert (KINECT_JOINTS[left], KINECT_JOINTS[right]) == ("hip_left", "hip_right")


def test_bones_are_ordered_from_the_root_whatever_their_order(rng):
    shuffled = BONES[rng.permutation(len(BONES))]
    reached = {0}
    for start, end in shuffled[order_bones(shuffled)]:
        assert start in reached
        reached.add(end)


@pytest.mark.parametrize(
    "bones",
    [
        [[0, 1], [1, 0]],
        [[0, 1], [2, 3]],
        [[0, 2], [1, 2]],
        [[0, 1], [0, 2], [1, 2]],
        [[0, 1], [0, 2], [1, 3], [2, 3]],
        [[0, 1], [1, 2], [3, 4], [4, 3]],
    ],
)
def test_bones_that_form_no_tree_are_refused(bones):
    with pytest.raises(ValueError, match="do not form one tree"):
        order_bones(np.array(bones))


def test_rebuilt_skeletons_have_the_lengths_asked_for_and_the_old_directions(rng):
    joints, lengths = rng.standard_normal((20, 3, 7)), rng.uniform(0.5, 2, 19)
    built = rebuild_skeletons(joints, BONES, lengths)
    np.testing.assert_allclose(measure_bones(built, BONES), np.tile(lengths[:, None], 7))
    old, new = (x[BONES[:, 1]] - x[BONES[:, 0]] for x in (joints, built))
    np.testing.assert_allclose(
        new / np.linalg.norm(new, axis=1, keepdims=True),
        old / np.linalg.norm(old, axis=1, keepdims=True),
        atol=1e-12,
    )
    np.testing.assert_array_equal(built[0], 0)


def test_body_frames_are_right_handed_rotations_that_turn_with_the_body(rng):
    joints = rng.standard_normal((20, 3, 4))
    body = np.array(KINECT_BODY)
    frames = np.moveaxis(find_body_frames(joints, body), 2, 0)
    np.testing.assert_allclose(
        frames @ frames.transpose(0, 2, 1), np.tile(np.eye(3), (4, 1, 1)), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(frames), 1)
    turn = Rotation.random(rng=rng).as_matrix()
    turned = find_body_frames(np.einsum("ab,jbt->jat", turn, joints), body)
    np.testing.assert_allclose(np.moveaxis(turned, 2, 0), frames @ turn.T, atol=1e-12)


def test_a_body_whose_hips_lie_along_the_trunk_has_no_frame():
    joints = np.zeros((4, 3, 1))
    joints[1, 0] = joints[3, 0] = 1.0
    assert np.isnan(find_body_frames(joints, np.arange(4))).any()


def test_first_complete_steps_are_looked_for_in_each_series():
    is_complete = np.array([False, False, True, True, False, True, False])
    first = find_first(is_complete, np.array([0, 4, 6, 7]))
    assert first.tolist() == [2, 2, 2, 2, 5, 5, 6]


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
