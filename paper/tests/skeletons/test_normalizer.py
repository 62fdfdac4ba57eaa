"""Normalised skeletons: what they do not depend on, what they are called, how they compose."""

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from imkpl import IMKPL
from imkpl.kernels import GlobalAlignment
from imkpl.series import SeriesSet
from imkpl_paper.skeletons import SkeletonNormalizer
from imkpl_paper.skeletons.bones import KINECT_JOINTS, KINECT_SIDES

LENGTHS = (6, 9, 4, 5)


@pytest.fixture
def series(rng):
    """Four walks of a Kinect skeleton through the room; in the first two the left hand waves."""
    pose = rng.standard_normal((60, 1))
    arrays = [pose + 0.2 * rng.standard_normal((60, n)).cumsum(axis=1) for n in LENGTHS]
    for i, array in enumerate(arrays):
        array[22 if i < 2 else 34, ::2] += 2.0
    return SeriesSet.from_list(arrays)


def change(series, function):
    """Each series as an array of joints, changed by a function of its number and itself."""
    joints = [series[i].reshape(20, 3, -1) for i in range(len(series))]
    return SeriesSet.from_list([function(i, one).reshape(60, -1) for i, one in enumerate(joints)])


def mirror(joints):
    """A person in a mirror, whose left hand is on the right."""
    order = np.arange(20)
    for left, right in KINECT_SIDES:
        order[[left, right]] = right, left
    return joints[order] * np.array([[-1.0], [1.0], [1.0]])


def assert_close(found, expected):
    np.testing.assert_allclose(found.values, expected.values, atol=1e-9)


def test_positions_are_centred_scaled_turned_and_mirrored(series):
    found = SkeletonNormalizer().fit_transform(series)
    is_mirrored = []
    for i in range(len(series)):
        one = series[i].reshape(20, 3, -1)
        across = one[16] - one[12]
        heading = np.sum(across[[0, 2]] / np.hypot(across[0], across[2]), axis=1)
        angle = np.arctan2(heading[1], heading[0])
        turn = Rotation.from_euler("y", angle).as_matrix()
        trunk = np.median(np.sqrt(np.sum((one[2] - one[0]) ** 2, axis=0)))
        expected = np.einsum("ab,jbt->jat", turn, one - one[0]) / trunk
        steps = np.sum(np.diff(one - one[2], axis=2) ** 2, axis=(1, 2))
        is_mirrored.append(steps[5:8].sum() > steps[9:12].sum())
        if is_mirrored[-1]:
            expected = mirror(expected)
        np.testing.assert_allclose(found[i], expected[1:].reshape(57, -1), atol=1e-12)
    assert is_mirrored == [True, True, False, False]


def test_they_do_not_depend_on_place_size_and_the_direction_of_the_camera(series, rng):
    def move(_, joints):
        turn = Rotation.from_euler("y", rng.uniform(0, 7)).as_matrix()
        walk = rng.standard_normal((1, 3, joints.shape[2]))
        return rng.uniform(0.5, 2) * np.einsum("ab,jbt->jat", turn, joints) + walk

    model = SkeletonNormalizer().fit(series)
    assert_close(model.transform(change(series, move)), model.transform(series))
    still = clone(model).set_params(turn=False).fit(series)
    moved = still.transform(change(series, move)).values
    assert not np.allclose(moved, still.transform(series).values, atol=0.01)


def test_they_do_not_depend_on_the_hand_used(series):
    other = change(series, lambda _, joints: mirror(joints))
    model = SkeletonNormalizer().fit(series)
    assert_close(model.transform(other), model.transform(series))
    plain = clone(model).set_params(mirror=False).fit(series)
    found = plain.transform(other).values
    assert not np.allclose(found, plain.transform(series).values, atol=0.01)


def test_a_tilted_or_bent_body_is_not_straightened(series):
    turn = Rotation.from_euler("x", 0.5).as_matrix()
    tilted = change(series, lambda _, joints: np.einsum("ab,jbt->jat", turn, joints))
    model = SkeletonNormalizer().fit(series)
    found = model.transform(tilted).values
    assert not np.allclose(found, model.transform(series).values, atol=0.01)


@pytest.mark.parametrize(("vertical", "order"), [("x", [1, 0, 2]), ("z", [0, 2, 1])])
def test_any_axis_may_point_up(series, vertical, order):
    # Two axes change places, which mirrors the person, so left and right must change too.
    lefts, rights = np.array(KINECT_SIDES).T
    swap = np.arange(20)
    swap[lefts], swap[rights] = rights, lefts
    other = change(series, lambda _, joints: joints[swap][:, order])
    found = SkeletonNormalizer(vertical=vertical).fit_transform(other)
    expected = SkeletonNormalizer().fit_transform(series)
    ground = {"x": (1, 2), "z": (0, 1)}[vertical]
    up = "xyz".index(vertical)
    for i in range(len(series)):
        mine, theirs = (each[i].reshape(19, 3, -1) for each in (found, expected))
        np.testing.assert_allclose(mine[:, up], theirs[:, 1], atol=1e-9)
        np.testing.assert_allclose(mine[:, ground[0]], theirs[:, 0], atol=1e-9)
        np.testing.assert_allclose(mine[:, ground[1]], -theirs[:, 2], atol=1e-9)


def test_channels_are_named_by_joint_and_axis(series):
    model = SkeletonNormalizer().fit(series)
    assert list(model.channel_groups_) == list(KINECT_JOINTS[1:])
    poses = model.transform(series)
    assert poses.channel_names == tuple(model.get_feature_names_out())
    assert [poses.channel_names[c] for c in model.channel_groups_["hand_right"]] == [
        "hand_right_x",
        "hand_right_y",
        "hand_right_z",
    ]
    own = SkeletonNormalizer(body=(12, 16, 0, 2), mirror=False).fit(series)
    assert list(own.channel_groups_)[:2] == ["1", "2"]
    own.set_params(joint_names=[name.upper() for name in KINECT_JOINTS])
    assert list(own.fit(series).channel_groups_)[:2] == ["SPINE", "SHOULDER_CENTER"]


def test_other_skeletons_are_described_by_body_and_sides(series):
    expected = SkeletonNormalizer(arms=KINECT_SIDES).fit_transform(series)
    model = SkeletonNormalizer(body=(12, 16, 0, 2), sides=KINECT_SIDES)
    assert_close(model.fit_transform(series), expected)


def test_missing_joints_stay_missing_and_are_passed_over(series):
    values = series.values.copy()
    values[3 * 3, 2] = np.nan  # the head
    values[3 * 12, 4] = np.nan  # the left hip
    values[3 * 2 : 3 * 3, 7] = np.nan  # the upper end of the trunk
    spoilt = SeriesSet(values, series.starts)
    found = np.isnan(SkeletonNormalizer(mirror=False).fit_transform(spoilt).values)
    for joint, step in ((3, 2), (12, 4), (2, 7)):
        assert found[3 * (joint - 1) : 3 * joint, step].any()
        found[3 * (joint - 1) : 3 * joint, step] = False
    assert not found.any()


def test_it_is_a_step_before_kernels_per_channel(rng):
    # The right or the left hand is lifted, or none: with the active hand on the right, one class.
    y = np.repeat(["lift", "stay"], 10)
    joints = np.zeros((20, 20, 3, 6)) + 0.02 * rng.standard_normal((20, 20, 3, 6))
    joints[:, 16, 0] += 1.0
    joints[:, 2, 1] += 1.0
    joints[:5, 7, 1] += np.linspace(0, 1, 6)
    joints[5:10, 11, 1] += np.linspace(0, 1, 6)
    X = joints.reshape(20, 60, 6)
    model = IMKPL(GlobalAlignment(), max_kernels=1)
    pipeline = make_pipeline(SkeletonNormalizer(), model).fit(X[::2], y[::2])
    assert pipeline.score(X[1::2], y[1::2]) == 1
    kept = np.flatnonzero(pipeline[-1].kernel_weights_)
    assert [pipeline[-1].kernel_names_[kernel] for kernel in kept] == ["hand_right_y"]


def test_series_are_transformed_one_by_one_and_stay_series(series):
    model = SkeletonNormalizer().fit(series)
    expected = model.transform(series)
    assert model.transform(series[[1]]) == expected[[1]]
    assert pickle.loads(pickle.dumps(model)).transform(series) == expected
    with config_context(transform_output="pandas"):
        assert clone(model).fit_transform(series) == expected
    padded = clone(model).set_params(output="array").fit_transform(series.to_padded())
    np.testing.assert_array_equal(padded, expected.to_padded())


def test_the_input_is_left_alone(rng):
    X = rng.standard_normal((5, 60, 4))
    before = X.copy()
    SkeletonNormalizer().fit(X).transform(X)
    np.testing.assert_array_equal(X, before)


def test_it_must_be_fitted_first(series):
    with pytest.raises(NotFittedError):
        SkeletonNormalizer().transform(series)
    with pytest.raises(NotFittedError):
        SkeletonNormalizer().get_feature_names_out()


BODY = {"body": (0, 1, 2, 3)}


@pytest.mark.parametrize(
    ("options", "n_channels", "sentence"),
    [
        ({}, 61, "expected three per joint"),
        ({}, 45, "body is None, expected four joints .* or the 20 joints of the Kinect"),
        (BODY, 45, "sides is None, expected the left and the right joint"),
        (BODY | {"sides": [(0, 15)]}, 45, "expected pairs of joints from 0 to 14"),
        (BODY | {"sides": [(0, 1), (1, 2)]}, 45, "expected every joint in one pair at most"),
        ({"arms": [(7, 20)]}, 60, "arms is .* expected pairs of joints from 0 to 19"),
        ({"body": [1, 1, 3, 4]}, 60, "body has an entry twice or a pair of one and the same"),
        ({"joint_names": ["a", "b"]}, 60, "joint_names has 2 different names, expected 20"),
        ({"vertical": "up"}, 60, "'vertical' parameter"),
        ({"output": "frame"}, 60, "'output' parameter"),
    ],
)
def test_what_is_wrong_is_said(rng, options, n_channels, sentence):
    with pytest.raises(ValueError, match=sentence):
        SkeletonNormalizer(**options).fit(rng.standard_normal((2, n_channels, 4)))


def test_series_without_trunk_or_hips_are_refused(series, rng):
    model = SkeletonNormalizer().fit(series)
    X = rng.standard_normal((3, 60, 4))
    X[1, 36:39] = X[1, 48:51]
    with pytest.raises(ValueError, match="Series 1 has no time step with hips, joints 12 and 16"):
        model.transform(X)
    assert len(SkeletonNormalizer(turn=False).fit_transform(X)) == 3
    X[2, 0:3] = X[2, 6:9]
    with pytest.raises(ValueError, match="Series 2 has no time step with a trunk"):
        SkeletonNormalizer(turn=False).fit_transform(X)


def test_other_joints_than_in_training_are_refused(series, rng):
    with pytest.raises(ValueError, match="X has 63 channels, expected 60 as in fit"):
        SkeletonNormalizer().fit(series).transform(rng.standard_normal((2, 63, 4)))
