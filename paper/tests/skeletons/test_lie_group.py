"""Curves between bones: what they do not depend on, what they are called, how they compose."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.transform import Rotation
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from imkpl import IMKPL
from imkpl.kernels import GlobalAlignment
from imkpl.series import SeriesSet, read_series, resample
from imkpl_paper.skeletons import SkeletonLieGroup
from imkpl_paper.skeletons.bones import KINECT_BONES, KINECT_JOINTS
from skeletons.reference import log_motion, see_bone

PAIRS = [(0, 4), (4, 0), (5, 9), (12, 16), (18, 2)]
LENGTHS = (6, 9, 4)


@pytest.fixture
def series(rng):
    """Three walks of a Kinect skeleton through the room."""
    pose = rng.standard_normal((60, 1))
    arrays = [pose + 0.2 * rng.standard_normal((60, n)).cumsum(axis=1) for n in LENGTHS]
    return SeriesSet.from_list(arrays)


def move(series, rng, *, scale=1.0):
    """Each series turned, shifted and scaled as a whole."""
    arrays = []
    for one in (series[i] for i in range(len(series))):
        turn = Rotation.random(rng=rng).as_matrix()
        joints = one.reshape(-1, 3, one.shape[1])
        moved = scale * (np.einsum("ab,jbt->jat", turn, joints) + rng.standard_normal((1, 3, 1)))
        arrays.append(moved.reshape(one.shape))
    return SeriesSet.from_list(arrays)


def assert_close(found, expected):
    np.testing.assert_allclose(found.values, expected.values, atol=1e-8)


@pytest.mark.parametrize("scale", ["bones", "first", None])
@pytest.mark.parametrize("orientation", ["first", "every"])
def test_curves_do_not_depend_on_the_place_and_direction_of_a_person(
    series, rng, scale, orientation
):
    model = SkeletonLieGroup(bone_pairs=PAIRS, scale=scale, orientation=orientation).fit(series)
    assert_close(model.transform(move(series, rng)), model.transform(series))
    again = clone(model).fit_transform(move(series, rng))
    assert_close(again, model.transform(series))


@pytest.mark.parametrize("scale", ["bones", "first"])
def test_curves_do_not_depend_on_the_size_of_a_person(series, rng, scale):
    model = SkeletonLieGroup(bone_pairs=PAIRS, scale=scale).fit(series)
    assert_close(model.transform(move(series, rng, scale=1.7)), model.transform(series))
    assert_close(clone(model).fit_transform(move(series, rng, scale=9)), model.transform(series))


def test_curves_do_not_depend_on_the_build_of_a_person_when_bones_are_scaled(series, rng):
    joints = series.values.reshape(20, 3, -1)
    grown = np.zeros_like(joints)
    for start, end in KINECT_BONES:
        grown[end] = grown[start] + rng.uniform(0.5, 2) * (joints[end] - joints[start])
    other = SeriesSet(grown.reshape(60, -1), series.starts)
    # The lengths of hips change the body's direction, which is known here from the first series.
    model = SkeletonLieGroup(bone_pairs=PAIRS, orientation=None).fit(series)
    assert_close(model.transform(other), model.transform(series))
    kept = clone(model).set_params(scale="first").fit(series)
    assert not np.allclose(kept.transform(other).values, kept.transform(series).values, atol=0.01)


def test_without_orientation_the_curves_depend_on_the_camera(series, rng):
    model = SkeletonLieGroup(bone_pairs=PAIRS, orientation=None).fit(series)
    moved = model.transform(move(series, rng)).values
    assert not np.allclose(moved, model.transform(series).values, atol=0.01)


def test_a_series_turned_at_every_step_loses_its_turns_only_then(series, rng):
    one = series[0].reshape(20, 3, -1)
    turns = Rotation.random(one.shape[2], rng=rng).as_matrix()
    spun = SeriesSet.from_list([np.einsum("tab,jbt->jat", turns, one).reshape(60, -1)])
    alone = series[[0]]
    for orientation, is_same in (("every", True), ("first", False)):
        model = SkeletonLieGroup(bone_pairs=PAIRS, orientation=orientation).fit(alone)
        found, kept = model.transform(spun).values, model.transform(alone).values
        assert np.allclose(found, kept, atol=1e-8) == is_same


def test_curves_are_the_logarithms_of_motions_between_bones(series):
    model = SkeletonLieGroup(bone_pairs=PAIRS, scale=None, orientation=None).fit(series)
    curves = model.transform(series)
    one = series[1].reshape(20, 3, -1)
    for pair, (first, second) in enumerate(PAIRS):
        for step in (0, 4):
            bones = [one[list(KINECT_BONES[bone]), :, step] for bone in (first, second)]
            expected = log_motion(see_bone(*bones))
            np.testing.assert_allclose(
                curves[1][6 * pair : 6 * pair + 6, step], expected, atol=1e-9
            )


def test_every_ordered_pair_of_bones_has_six_channels_of_its_own(series):
    model = SkeletonLieGroup().fit(series)
    assert len(model.channel_groups_) == 19 * 18
    curves = model.transform(series)
    assert curves.n_channels == 6 * 19 * 18
    assert curves.lengths.tolist() == list(LENGTHS)
    assert curves.channel_names == tuple(model.get_feature_names_out())
    assert len(set(curves.channel_names)) == curves.n_channels
    for group, channels in model.channel_groups_.items():
        names = [curves.channel_names[channel] for channel in channels]
        assert names == [f"{group}: {part}" for part in ("w_x", "w_y", "w_z", "v_x", "v_y", "v_z")]
    assert not curves.values[::6].any()


def test_some_pairs_are_the_same_as_among_all(series):
    every, some = (SkeletonLieGroup(bone_pairs=p).fit_transform(series) for p in (None, PAIRS))
    chosen = [every.channel_names.index(name) for name in some.channel_names]
    assert_close(some, every.channels(chosen))


def test_joints_are_named_by_the_channels_the_kinect_or_numbers(series):
    name = "{}-{} | {}-{}: w_x"
    pairs = [(0, 1)]
    given = SkeletonLieGroup(bone_pairs=pairs).fit(series).get_feature_names_out()[0]
    assert given == name.format("hip_center", "spine", "spine", "shoulder_center")
    channels = tuple(f"J{j}_{axis}" for j in range(20) for axis in "xyz")
    named = SeriesSet(series.values, series.starts, channels)
    assert SkeletonLieGroup(bone_pairs=pairs).fit(named).get_feature_names_out()[0] == name.format(
        "J0", "J1", "J1", "J2"
    )
    own = SkeletonLieGroup([(0, 1), (1, 2)], orientation=None)
    assert own.fit(series).bone_names_ == ["0-1", "1-2"]
    own.set_params(joint_names=[name.upper() for name in KINECT_JOINTS])
    assert own.fit(named).bone_names_ == ["HIP_CENTER-SPINE", "SPINE-SHOULDER_CENTER"]


def test_arrays_and_frames_and_sets_give_the_same(series):
    model = SkeletonLieGroup(bone_pairs=PAIRS).fit(series)
    expected = model.transform(series)
    assert_close(model.transform(series.to_padded()), expected)
    frame = pd.concat({i: pd.DataFrame(series[i].T) for i in range(3)})
    assert_close(model.transform(frame), expected)
    padded = clone(model).set_params(output="array").fit(series).transform(series)
    np.testing.assert_array_equal(padded, expected.to_padded())


def test_it_is_a_step_of_a_pipeline(series):
    resampler = FunctionTransformer(resample, kw_args={"length": 5})
    pipeline = make_pipeline(SkeletonLieGroup(bone_pairs=PAIRS), resampler)
    assert pipeline.fit_transform(series.to_padded()).shape == (3, 30, 5)
    other = clone(pipeline).set_params(skeletonliegroup__scale="first")
    assert other.fit(series)[0].bone_lengths_ is None
    assert pickle.loads(pickle.dumps(pipeline)).transform(series) == pipeline.transform(series)


def test_every_pair_of_bones_can_have_a_kernel_of_its_own(rng):
    # Two movements of an arm beside a trunk: the elbow bends, or it does not.
    y = np.repeat([0, 1], 12)
    angle = np.linspace(0, 1.5, 8) * y[:, None]
    joints = np.zeros((24, 5, 3, 8))
    joints[:, 1, 0] = 1  # right hip, beside the left at the origin
    joints[:, 2, 1] = 2  # the trunk
    joints[:, 3] = joints[:, 2] + np.array([1.0, 0.2, 0.0])[:, None]
    joints[:, 4] = joints[:, 3]
    joints[:, 4, 0] += np.cos(angle)
    joints[:, 4, 2] += np.sin(angle)
    X = (joints + 0.02 * rng.standard_normal(joints.shape)).reshape(24, 15, 8)
    skeleton = SkeletonLieGroup(
        [(0, 1), (0, 2), (2, 3), (3, 4)], body=(0, 1, 0, 2), bone_pairs=[(0, 1), (1, 2), (2, 3)]
    ).fit(X)
    kernels = GlobalAlignment(groups=skeleton.channel_groups_)
    pipeline = make_pipeline(skeleton, IMKPL(kernels=kernels, max_kernels=1, random_state=0))
    pipeline.fit(X[::2], y[::2])
    assert pipeline.score(X[1::2], y[1::2]) == 1
    assert pipeline[-1].kernel_weights_.tolist() == [0, 0, 1]


def test_series_stay_series_when_tables_are_asked_for(series):
    with config_context(transform_output="pandas"):
        curves = SkeletonLieGroup(bone_pairs=PAIRS).fit_transform(series)
    assert isinstance(curves, SeriesSet)


def test_it_must_be_fitted_first(series):
    with pytest.raises(NotFittedError):
        SkeletonLieGroup().transform(series)
    with pytest.raises(NotFittedError):
        SkeletonLieGroup().get_feature_names_out()


def test_series_are_transformed_one_by_one(series):
    model = SkeletonLieGroup(bone_pairs=PAIRS).fit(series)
    assert model.transform(series)[[1]] == model.transform(series[[1]])
    assert clone(model).get_params() == model.get_params()


def test_the_input_is_left_alone(rng):
    X = rng.standard_normal((2, 60, 4))
    before = X.copy()
    SkeletonLieGroup(bone_pairs=PAIRS, scale="first").fit(X).transform(X)
    np.testing.assert_array_equal(X, before)


def test_a_missing_joint_is_missing_where_its_bones_are_read(series):
    values = series.values.copy()
    values[3 * 7, 3] = np.nan  # the left hand
    spoilt = SeriesSet(values, series.starts)
    curves = SkeletonLieGroup(scale=None).fit_transform(spoilt)
    hand = [name for name in curves.channel_names if "hand_left" in name]
    is_missing = np.isnan(curves.values)
    assert not is_missing[:, np.arange(values.shape[1]) != 3].any()
    assert [curves.channel_names[i] for i in np.flatnonzero(is_missing[:, 3])] == hand
    assert np.isfinite(resample(curves, 5).values).all()


def test_a_first_step_that_is_missing_is_passed_over(series):
    values = series.values.copy()
    values[36, 0] = np.nan  # the left hip, at the first step of the first series
    spoilt = SeriesSet(values, series.starts)
    for scale in ("first", "bones"):
        curves = SkeletonLieGroup(bone_pairs=[(0, 1)], scale=scale).fit_transform(spoilt)
        assert np.isfinite(curves.values).all()


def test_bones_outside_the_body_frame_may_be_left_out(rng):
    X = rng.standard_normal((3, 15, 6))
    model = SkeletonLieGroup([(0, 1), (1, 2)], body=(3, 4, 0, 1)).fit(X)
    assert np.isfinite(model.transform(X).values).all()
    np.testing.assert_allclose(model.bone_lengths_.mean(), 1)


@pytest.mark.parametrize(
    ("options", "n_channels", "sentence"),
    [
        ({}, 61, "expected three per joint"),
        ({}, 45, "X has 15 joints, expected the 20 joints of the Kinect"),
        ({"bones": [(0, 1), (1, 2)]}, 60, "body is None, expected four joints"),
        ({"body": [1, 2, 3]}, 60, r"body is \[1, 2, 3\], expected four joints"),
        ({"body": [1, 1, 3, 4]}, 60, "body has an entry twice or a pair of one and the same"),
        ({"body": [1, 20, 3, 4]}, 60, "expected pairs of joints from 0 to 19"),
        ({"bones": [(0, 20)]}, 60, "expected pairs of joints from 0 to 19"),
        ({"bones": [0, 1]}, 60, "bones is .* expected pairs of joints"),
        ({"bones": []}, 60, "bones is .* expected pairs of joints"),
        ({"bones": [(0.5, 1)]}, 60, "bones is .* expected pairs of joints"),
        ({"bone_pairs": [(0, 19)]}, 60, "expected pairs of bones from 0 to 18"),
        ({"bone_pairs": [(0, 1), (0, 1)]}, 60, "bone_pairs has an entry twice"),
        ({"bone_pairs": [(2, 2)]}, 60, "bone_pairs has an entry twice or a pair of one"),
        ({"bones": [(0, 1), (2, 3)], "orientation": None}, 60, "do not form one tree"),
        ({"joint_names": ["a", "b"]}, 60, "joint_names has 2 different names, expected 20"),
        ({"joint_names": ["a"] * 20}, 60, "joint_names has 1 different names, expected 20"),
        ({"scale": "big"}, 60, "'scale' parameter"),
        ({"output": "frame"}, 60, "'output' parameter"),
    ],
)
def test_what_is_wrong_is_said(rng, options, n_channels, sentence):
    X = rng.standard_normal((2, n_channels, 4))
    with pytest.raises(ValueError, match=sentence):
        SkeletonLieGroup(**options).fit(X)


def test_a_bone_that_never_has_a_length_is_refused(rng):
    X = rng.standard_normal((2, 60, 4))
    X[:, 9:12] = X[:, 6:9]
    with pytest.raises(ValueError, match="The bone shoulder_center-head has no length"):
        SkeletonLieGroup().fit(X)


def test_other_joints_than_in_training_are_refused(series, rng):
    with pytest.raises(ValueError, match="X has 63 channels, expected 60 as in fit"):
        SkeletonLieGroup().fit(series).transform(read_series(rng.standard_normal((2, 63, 4))))
