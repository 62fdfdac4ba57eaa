"""The two steps of a pipeline that read joint positions: motions between bones, and poses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from imkpl.series import SeriesSet, read_series
from imkpl_paper._imkpl import FloatArray, IntArray, StrOptions, fit_context
from imkpl_paper.skeletons.bones import (
    KINECT_ARMS,
    KINECT_BODY,
    KINECT_BONES,
    KINECT_JOINTS,
    KINECT_SIDES,
    as_joints,
    check_body,
    check_indices,
    count_joints,
    find_body_frames,
    find_first,
    find_ground,
    find_heading,
    measure_bones,
    measure_motion,
    mirror_sides,
    name_joints,
    order_bones,
    rebuild_skeletons,
    turn_about,
)
from imkpl_paper.skeletons.lie import relative_geometry

COORDINATES = ("w_x", "w_y", "w_z", "v_x", "v_y", "v_z")


class BaseSkeleton(TransformerMixin, BaseEstimator):
    """A transformer of joint positions into series with named channels."""

    output: str
    n_features_in_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # Tables have no place for series, so scikit-learn must not wrap the output in one.
        super().__init_subclass__(auto_wrap_output_keys=None, **kwargs)

    def transform(self, X: Any) -> SeriesSet | FloatArray:
        """Transform joint positions.

        Parameters
        ----------
        X : array of shape (n_series, 3 * n_joints, n_steps), SeriesSet or list of series
            Joint positions, with the joints of the training data.

        Returns
        -------
        SeriesSet or array of shape (n_series, n_channels, n_steps)
            One series for each in X, of the same length.
        """
        check_is_fitted(self)
        series = read_series(X)
        if series.n_channels != self.n_features_in_:
            raise ValueError(
                f"X has {series.n_channels} channels, expected {self.n_features_in_} as in fit. "
                "Pass the joints of the training data, in the same order."
            )
        names = tuple(self.get_feature_names_out())
        values = self._transform(as_joints(series), series.starts)
        result = SeriesSet(values.reshape(len(names), -1), series.starts, names)
        return result if self.output == "series" else result.to_padded()

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Any:
        """Names of the output channels.

        Parameters
        ----------
        input_features : array-like of str, optional
            Not used; the names come from the joints.

        Returns
        -------
        array of str of shape (n_channels,)
            Such as ``"wrist_right_y"``.
        """
        del input_features
        check_is_fitted(self)
        return np.array(self._channel_names(), dtype=object)

    @abstractmethod
    def _transform(self, joints: FloatArray, starts: IntArray) -> FloatArray:
        """Output channels for all time steps of all series."""

    @abstractmethod
    def _channel_names(self) -> list[str]:
        """Names of the output channels."""

    def __sklearn_tags__(self) -> Any:
        """Tags for time series as input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags


class SkeletonLieGroup(BaseSkeleton):
    """Relative 3D geometry of bones: six curves for every pair of bones.

    For every ordered pair of bones, the rigid motion that takes the first to the place and the
    direction of the second, in the frame of the first, is written as a vector of se(3): a rotation
    vector w and a velocity v. Over time this is a curve, and kernels on series compare such curves
    [1]_.

    Before that, skeletons are given one size and turned to face one way, so that
    build, place and direction of the person do not matter. Where a joint is
    missing (NaN) or a bone has no length, the pairs that depend on it are NaN.

    Parameters
    ----------
    bones : sequence of pairs of int, default=None
        First and second joint of every bone, counted from 0. By default, the nineteen bones of the
        first Kinect's skeleton of twenty joints.
    bone_pairs : sequence of pairs of int, default=None
        Which bones to compare, by their place in `bones`; all ordered pairs by default.
    body : sequence of four int, default=None
        Which joints tell how the body is turned: left hip, right hip, lower and upper end of the
        trunk. Known for the Kinect's skeleton.
    joint_names : sequence of str, default=None
        Names of the joints. By default they are taken from channels called ``name_x``, ``name_y``,
        ``name_z``, else from the Kinect's skeleton, else they are numbers.
    scale : {"bones", "first"} or None, default="bones"
        ``"bones"``: every bone gets the median length that it has in training, and the mean of
        these is one; directions stay. ``"first"``: each series is divided by the mean length of
        the bones in its first complete time step, which keeps the person's build. None: positions
        as they are.
    orientation : {"first", "every"} or None, default="first"
        Skeletons are turned to face one way: all of a series by the rotation of its first complete
        time step, or every time step by its own, or not at all. A bone's frame has its roll about
        the bone from the global axes, so without this the curves depend on the camera.
    output : {"series", "array"}, default="series"
        A :class:`~imkpl.series.SeriesSet`, or an array with NaN after the end of shorter series.

    Attributes
    ----------
    bone_names_ : list of str
        ``"first-second"`` joint of every bone.
    bone_pairs_ : array of shape (n_pairs, 2)
        The pairs of bones.
    bone_lengths_ : array of shape (n_bones,) or None
        The lengths that bones are given; None unless `scale` is ``"bones"``.
    channel_groups_ : dict of str to array of shape (6,)
        The channels of every pair of bones.
    n_features_in_ : int
        The number of channels in training, three per joint.

    Notes
    -----
    The authors give the bones the lengths of one skeleton of the data and turn skeletons about the
    vertical axis. A median is less exposed to a badly tracked frame; turning to the body needs no
    vertical axis and makes the curves independent of all rotations. The first number of the six,
    w_x, is zero: the smallest rotation to another bone has no part along the bone itself.

    References
    ----------
    .. [1] R. Vemulapalli, F. Arrate and R. Chellappa, *Human Action Recognition by Representing 3D
       Skeletons as Points in a Lie Group*, CVPR 2014.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((4, 60, 30))
    >>> curves = SkeletonLieGroup(bone_pairs=[(0, 3), (5, 9)]).fit_transform(X)
    >>> curves
    SeriesSet(4 series of 12 channels, length 30, float64)
    >>> curves.channel_names[6]
    'elbow_left-wrist_left | elbow_right-wrist_right: w_x'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "bones": ["array-like", None],
        "bone_pairs": ["array-like", None],
        "body": ["array-like", None],
        "joint_names": ["array-like", None],
        "scale": [StrOptions({"bones", "first"}), None],
        "orientation": [StrOptions({"every", "first"}), None],
        "output": [StrOptions({"series", "array"})],
    }

    def __init__(
        self,
        bones: Sequence[tuple[int, int]] | None = None,
        *,
        bone_pairs: Sequence[tuple[int, int]] | None = None,
        body: Sequence[int] | None = None,
        joint_names: Sequence[str] | None = None,
        scale: str | None = "bones",
        orientation: str | None = "first",
        output: str = "series",
    ) -> None:
        self.bones = bones
        self.bone_pairs = bone_pairs
        self.body = body
        self.joint_names = joint_names
        self.scale = scale
        self.orientation = orientation
        self.output = output

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the lengths of bones and the names of channels.

        Parameters
        ----------
        X : array of shape (n_series, 3 * n_joints, n_steps), SeriesSet or list of series
            Joint positions: x, y and z of the first joint, then of the second.
        y : None
            Not used.

        Returns
        -------
        self
            The fitted transformer.
        """
        del y
        series = read_series(X)
        n_joints = count_joints(series)
        self._bones = self._choose_bones(n_joints)
        self._body = self._choose_body(n_joints)
        names = name_joints(self.joint_names, series, is_kinect=self.bones is None)
        self.bone_names_ = [f"{names[start]}-{names[end]}" for start, end in self._bones]
        n_bones = len(self._bones)
        every = list(permutations(range(n_bones), 2))
        given = every if self.bone_pairs is None else self.bone_pairs
        self.bone_pairs_ = check_indices(given, n_bones, "bone_pairs", "bones")
        self.channel_groups_ = {
            f"{self.bone_names_[first]} | {self.bone_names_[second]}": np.arange(6 * i, 6 * i + 6)
            for i, (first, second) in enumerate(self.bone_pairs_)
        }
        self.n_features_in_ = series.n_channels
        self.bone_lengths_ = self._measure(as_joints(series)) if self.scale == "bones" else None
        return self

    def _transform(self, joints: FloatArray, starts: IntArray) -> FloatArray:
        return relative_geometry(self._normalize(joints, starts), self._bones, self.bone_pairs_)

    def _channel_names(self) -> list[str]:
        return [f"{group}: {part}" for group in self.channel_groups_ for part in COORDINATES]

    def _normalize(self, joints: FloatArray, starts: IntArray) -> FloatArray:
        if self._body is not None:
            frames = find_body_frames(joints, self._body)
            if self.orientation == "first":
                is_complete = np.isfinite(frames.sum(axis=(0, 1)))
                frames = np.take(frames, find_first(is_complete, starts), axis=2)
            joints = np.einsum("abt,jbt->jat", frames, joints)
        if self.bone_lengths_ is not None:
            return rebuild_skeletons(joints, self._bones, self.bone_lengths_)
        if self.scale == "first":
            sizes = np.asarray(measure_bones(joints, self._bones).mean(axis=0))
            return np.asarray(joints / sizes[find_first(sizes > 0, starts)])
        return joints

    def _measure(self, joints: FloatArray) -> FloatArray:
        """The median length of every bone, in units of their mean."""
        order_bones(self._bones)
        lengths = measure_bones(joints, self._bones)
        is_missing = ~np.any(lengths > 0, axis=1)
        if np.any(is_missing):
            raise ValueError(
                f"The bone {self.bone_names_[int(np.argmax(is_missing))]} has no length at any "
                "time step, expected two joints that are apart. Check the order of the channels, "
                "or leave the bone out."
            )
        medians = np.nanmedian(np.where(lengths > 0, lengths, np.nan), axis=1)
        return np.asarray(medians / medians.mean())

    def _choose_bones(self, n_joints: int) -> IntArray:
        if self.bones is None and n_joints != len(KINECT_JOINTS):
            raise ValueError(
                f"X has {n_joints} joints, expected the {len(KINECT_JOINTS)} joints of the Kinect, "
                "for which bones are known. Pass bones=[(first joint, second joint), ...]."
            )
        given = KINECT_BONES if self.bones is None else self.bones
        return check_indices(given, n_joints, "bones", "joints")

    def _choose_body(self, n_joints: int) -> IntArray | None:
        if self.orientation is None:
            return None
        given = KINECT_BODY if self.bones is None and self.body is None else self.body
        return check_body(given, n_joints, "orientation=None")


class SkeletonNormalizer(BaseSkeleton):
    """Joint positions relative to the hips, facing one way, with the active arm on the right.

    Every series is treated on its own, in four steps. Positions are taken relative to the centre
    of the hips at every time step, and divided by the median length of the trunk. The series is
    turned as a whole about the vertical axis, so that the line from the left to the right hip
    points along the first horizontal axis on average. If the left arm moves more than the right
    one, it is replaced by its mirror image. What remains does not depend on where a person stands,
    how tall he or she is, in which direction the camera looks, or which hand is used. That a person
    bends, turns or lies down remains visible.

    Parameters
    ----------
    body : sequence of four int, default=None
        Left hip, right hip, lower and upper end of the trunk, counted from 0. The lower end is the
        origin, and its three channels, which would be zero, are left out. Known for the first
        Kinect's skeleton of twenty joints.
    sides : sequence of pairs of int, default=None
        The left and the right joint of every pair; all others lie in the middle. Known for the
        Kinect's skeleton.
    arms : sequence of pairs of int, default=None
        The pairs whose motion is compared; elbows, wrists and hands of the Kinect's skeleton, or
        all `sides` where these are given.
    joint_names : sequence of str, default=None
        Names of the joints. By default they are taken from channels called ``name_x``, ``name_y``,
        ``name_z``, else from the Kinect's skeleton, else they are numbers.
    vertical : {"x", "y", "z"}, default="y"
        The axis that points up; the Kinect's is y.
    turn : bool, default=True
        Whether to turn series about the vertical axis.
    mirror : bool, default=True
        Whether to mirror series in which the left arm moves more. Channels called right then belong
        to the arm that moves more, whichever it was.
    output : {"series", "array"}, default="series"
        A :class:`~imkpl.series.SeriesSet`, or an array with NaN after the end of shorter series.

    Attributes
    ----------
    channel_groups_ : dict of str to array of shape (3,)
        The channels of every joint.
    n_features_in_ : int
        The number of channels in training, three per joint.

    See Also
    --------
    SkeletonLieGroup : Motions between bones instead of positions.

    Notes
    -----
    Nothing is learned from the training part but the number and the names of joints. The motion of
    an arm is the sum of the squared steps of its joints relative to the upper end of the trunk. A
    missing position (NaN) stays missing, and is passed over when directions, lengths and motions
    are measured.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((4, 60, 30))
    >>> poses = SkeletonNormalizer().fit_transform(X)
    >>> poses
    SeriesSet(4 series of 57 channels, length 30, float64)
    >>> poses.channel_names[30:33]
    ('hand_right_x', 'hand_right_y', 'hand_right_z')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "body": ["array-like", None],
        "sides": ["array-like", None],
        "arms": ["array-like", None],
        "joint_names": ["array-like", None],
        "vertical": [StrOptions({"x", "y", "z"})],
        "turn": ["boolean"],
        "mirror": ["boolean"],
        "output": [StrOptions({"series", "array"})],
    }

    def __init__(
        self,
        *,
        body: Sequence[int] | None = None,
        sides: Sequence[tuple[int, int]] | None = None,
        arms: Sequence[tuple[int, int]] | None = None,
        joint_names: Sequence[str] | None = None,
        vertical: str = "y",
        turn: bool = True,
        mirror: bool = True,
        output: str = "series",
    ) -> None:
        self.body = body
        self.sides = sides
        self.arms = arms
        self.joint_names = joint_names
        self.vertical = vertical
        self.turn = turn
        self.mirror = mirror
        self.output = output

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Read the number and the names of joints.

        Parameters
        ----------
        X : array of shape (n_series, 3 * n_joints, n_steps), SeriesSet or list of series
            Joint positions: x, y and z of the first joint, then of the second.
        y : None
            Not used.

        Returns
        -------
        self
            The fitted transformer.
        """
        del y
        series = read_series(X)
        n_joints = count_joints(series)
        is_kinect = n_joints == len(KINECT_JOINTS) and self.body is None
        given = KINECT_BODY if is_kinect else self.body
        self._body = check_body(given, n_joints, f"the {len(KINECT_JOINTS)} joints of the Kinect")
        if self.mirror:
            self._sides, self._arms = self._choose_sides(n_joints, is_kinect)
        names = name_joints(self.joint_names, series, is_kinect=is_kinect)
        self._kept = np.delete(np.arange(n_joints), self._body[2])
        self.channel_groups_ = {
            names[joint]: np.arange(3 * i, 3 * i + 3) for i, joint in enumerate(self._kept)
        }
        self.n_features_in_ = series.n_channels
        return self

    def _transform(self, joints: FloatArray, starts: IntArray) -> FloatArray:
        poses = np.empty((len(self._kept), *joints.shape[1:]))
        for index, (start, stop) in enumerate(pairwise(starts)):
            poses[:, :, start:stop] = self._normalize(joints[:, :, start:stop], index)[self._kept]
        return poses

    def _channel_names(self) -> list[str]:
        return [f"{joint}_{axis}" for joint in self.channel_groups_ for axis in "xyz"]

    def _normalize(self, joints: FloatArray, index: int) -> FloatArray:
        """One series: centred, scaled, turned, mirrored."""
        left, right, lower, upper = self._body
        vertical = "xyz".index(self.vertical)
        trunk = np.linalg.norm(joints[upper] - joints[lower], axis=0)
        if not np.any(trunk > 0):
            raise ValueError(
                f"Series {index} has no time step with a trunk, from joint {lower} to joint "
                f"{upper}, of any length, expected one or more. Check body, or leave the series "
                "out."
            )
        joints = (joints - joints[lower]) / np.median(trunk[trunk > 0])
        if self.turn:
            heading = find_heading(joints, np.array([left, right]), vertical)
            if np.isnan(heading).any():
                raise ValueError(
                    f"Series {index} has no time step with hips, joints {left} and {right}, that "
                    "are apart on the ground, expected one or more. Check body and vertical, leave "
                    "the series out, or pass turn=False."
                )
            joints = turn_about(joints, heading, vertical)
        if self.mirror:
            motion = measure_motion(joints, self._arms, upper)
            if motion[0] > motion[1]:
                joints = mirror_sides(joints, self._sides, int(find_ground(vertical)[0]))
        return joints

    def _choose_sides(self, n_joints: int, is_kinect: bool) -> tuple[IntArray, IntArray]:
        given = KINECT_SIDES if is_kinect and self.sides is None else self.sides
        if given is None:
            raise ValueError(
                "sides is None, expected the left and the right joint of every pair. Pass "
                "sides=[(left joint, right joint), ...], or mirror=False."
            )
        sides = check_indices(given, n_joints, "sides", "joints")
        if len(np.unique(sides)) < sides.size:
            raise ValueError(
                f"sides is {given!r}, expected every joint in one pair at most. Leave the second "
                "pair of a joint out."
            )
        default = KINECT_ARMS if is_kinect and self.sides is None else sides
        arms = check_indices(
            default if self.arms is None else self.arms, n_joints, "arms", "joints"
        )
        return sides, arms
