"""Skeletons: trees of bones, their lengths, and how a body is turned."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from imkpl_paper.skeletons.bones import (
    KINECT_BODY,
    KINECT_BONES,
    KINECT_JOINTS,
    find_body_frames,
    find_first,
    measure_bones,
    order_bones,
    rebuild_skeletons,
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
