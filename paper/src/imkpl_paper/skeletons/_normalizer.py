"""Joint positions that do not depend on the camera or the hand used, a step of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from imkpl._typing import FloatArray, IntArray
from imkpl.estimators._compat import StrOptions, fit_context
from imkpl.series import SeriesSet, read_series
from imkpl_paper.skeletons._joints import (
    as_joints,
    check_body,
    check_channels,
    check_indices,
    count_joints,
    name_joints,
)
from imkpl_paper.skeletons.bones import KINECT_ARMS, KINECT_BODY, KINECT_JOINTS, KINECT_SIDES
from imkpl_paper.skeletons.pose import (
    find_ground,
    find_heading,
    measure_motion,
    mirror_sides,
    turn_about,
)


# Tables have no place for series, so scikit-learn does not wrap the output in one.
class SkeletonNormalizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
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

    def transform(self, X: Any) -> SeriesSet | FloatArray:
        """Positions freed from place, size, direction and the hand used.

        Parameters
        ----------
        X : array of shape (n_series, 3 * n_joints, n_steps), SeriesSet or list of series
            Joint positions, with the joints that were there in `fit`.

        Returns
        -------
        SeriesSet or array of shape (n_series, 3 * (n_joints - 1), n_steps)
            Three channels for every joint but the origin.
        """
        check_is_fitted(self)
        series = read_series(X)
        check_channels(series, self.n_features_in_)
        joints = as_joints(series)
        poses = np.empty((len(self._kept), *joints.shape[1:]))
        parts = zip(series.starts[:-1], series.starts[1:], strict=True)
        for index, (start, stop) in enumerate(parts):
            poses[:, :, start:stop] = self._normalize(joints[:, :, start:stop], index)[self._kept]
        names = tuple(self.get_feature_names_out())
        result = SeriesSet(poses.reshape(len(names), -1), series.starts, names)
        return result if self.output == "series" else result.to_padded()

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Any:
        """Names of the channels: a joint and an axis.

        Parameters
        ----------
        input_features : array-like of str, optional
            Not used; the names come from the joints.

        Returns
        -------
        array of str of shape (3 * (n_joints - 1),)
            Such as ``"wrist_right_y"``.
        """
        del input_features
        check_is_fitted(self)
        names = [f"{joint}_{axis}" for joint in self.channel_groups_ for axis in "xyz"]
        return np.array(names, dtype=object)

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

    def __sklearn_tags__(self) -> Any:
        """Tags that say that samples are series."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags
