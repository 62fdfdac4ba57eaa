"""Why one sample was classified as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from imkpl._typing import FloatArray
from imkpl.explanations import Explanation
from imkpl.explanations.cells import read_cells
from imkpl.plots._canvas import Place, require_pyplot, take_panels
from imkpl.plots._decision_data import (
    ChannelComparison,
    PrototypeShare,
    compare_channels,
    list_prototypes,
)
from imkpl.plots._decision_panels import (
    draw_channel,
    draw_features,
    draw_probabilities,
    draw_prototypes,
)
from imkpl.plots._model import check_model

WHO = "DecisionDisplay"


@dataclass(eq=False)
class DecisionDisplay:
    """The reasons for one decision: class probabilities, prototypes and features.

    For a time series, its most important channels are drawn beside those of the training series
    with the largest part in its code, the darker the more of the similarity comes from a step.

    Parameters
    ----------
    sample : int or str
        What the sample is called.
    classes : array of shape (n_classes,)
        Class labels.
    probabilities : array of shape (n_classes,)
        Probability of every class.
    winner, runner_up : int
        Places of the predicted class, and of the most probable one of the others.
    prototypes : list of PrototypeShare
        The prototypes in its code, the largest share first.
    feature_names : list of str
        Names of the kernels.
    feature_values : list or None
        What each of them reads in the sample; None where that is not one value.
    margins : array of shape (n_features,)
        What each adds to the score of the predicted class more than to the runner-up's.
    novelty, novelty_threshold : float
        The part of the sample that its prototypes leave unexplained, and what is usual.
    best : int or str, optional
        For a series, the name of the training series with the largest part in its code.
    channels : list of ChannelComparison, optional
        For a series, the channels to draw.

    Attributes
    ----------
    axes_, figure_ : array of Axes, and Figure
        Where it was drawn: probabilities, prototypes, features, then channels.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import DecisionDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(sparsity=2, max_kernels=4).fit(X[1:], y[1:])
    >>> display = DecisionDisplay.from_estimator(model, X[:1])
    >>> display.axes_[0].get_title()
    'Sample 0 is 0'
    """

    sample: Any
    classes: Any
    probabilities: FloatArray
    winner: int
    runner_up: int
    prototypes: list[PrototypeShare]
    feature_names: list[str]
    feature_values: list[Any] | None
    margins: FloatArray
    novelty: float
    novelty_threshold: float
    best: Any = None
    channels: list[ChannelComparison] = field(default_factory=list)

    @classmethod
    def compute(cls, explanation: Explanation, index: int = 0, *, max_channels: int = 3) -> Self:
        """The reasons for one decision, without drawing them.

        Parameters
        ----------
        explanation : Explanation
            From `explain` of a fitted model.
        index : int, default=0
            Which of its samples.
        max_channels : int, default=3
            At most so many channels of a series.

        Returns
        -------
        DecisionDisplay
            To be plotted.
        """
        if not isinstance(explanation, Explanation):
            raise TypeError(
                f"{WHO} got a {type(explanation).__name__}, expected an Explanation. Pass "
                "model.explain(X), or a fitted model and X to from_estimator."
            )
        row = range(len(explanation))[index]
        # The table of one sample only.
        one = explanation[row]
        evidence = one.evidence
        winner, probabilities = int(one.winners[0]), one.probabilities[0]
        others = np.argsort(-probabilities, kind="stable")
        runner_up = int(others[others != winner][0])
        by_feature = one.feature_contributions()[0]
        best, channels = compare_channels(one, 0, max_channels)
        return cls(
            sample=one.sample_ids[0],
            classes=one.classes,
            probabilities=probabilities,
            winner=winner,
            runner_up=runner_up,
            prototypes=list_prototypes(one, 0),
            feature_names=list(one.feature_names),
            feature_values=read_cells(evidence.predictor, evidence.samples, 0),
            margins=by_feature[:, winner] - by_feature[:, runner_up],
            novelty=float(one.novelty[0]),
            novelty_threshold=one.novelty_threshold,
            best=best,
            channels=channels,
        )

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        index: int = 0,
        *,
        max_features: int = 10,
        max_channels: int = 3,
        ax: Any = None,
    ) -> Self:
        """Draw the reasons for one decision.

        Parameters
        ----------
        explanation : Explanation
            From `explain` of a fitted model.
        index : int, default=0
            Which of its samples.
        max_features : int, default=10
            At most so many features; the rest is summed in one more bar.
        max_channels : int, default=3
            At most so many channels of a series.
        ax : Axes, optional
            Where to draw, divided into panels, which need about 11 by 6 inches; a new figure by
            default.

        Returns
        -------
        DecisionDisplay
            The display.
        """
        require_pyplot(f"{WHO}.from_explanation")
        display = cls.compute(explanation, index, max_channels=max_channels)
        return display.plot(max_features=max_features, ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        index: int = 0,
        *,
        max_features: int = 10,
        max_channels: int = 3,
        ax: Any = None,
    ) -> Self:
        """Draw the reasons for the decision on one sample.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that was given to `fit`.
        index : int, default=0
            Which of them.
        max_features : int, default=10
            At most so many features; the rest is summed in one more bar.
        max_channels : int, default=3
            At most so many channels of a series.
        ax : Axes, optional
            Where to draw, divided into panels, which need about 11 by 6 inches; a new figure by
            default.

        Returns
        -------
        DecisionDisplay
            The display.
        """
        check_model(estimator, WHO)
        return cls.from_explanation(
            estimator.explain(X),
            index,
            max_features=max_features,
            max_channels=max_channels,
            ax=ax,
        )

    def plot(self, *, max_features: int = 10, ax: Any = None) -> Self:
        """Draw the reasons.

        Parameters
        ----------
        max_features : int, default=10
            At most so many features; the rest is summed in one more bar.
        ax : Axes, optional
            Where to draw, divided into panels, which need about 11 by 6 inches; a new figure by
            default.

        Returns
        -------
        DecisionDisplay
            The display.
        """
        n_channels = len(self.channels)
        places: list[Place] = [(0, 0), (1, 0), (slice(0, 2), 1)]
        places += [(2 + row, slice(None)) for row in range(n_channels)]
        self.figure_, panels = take_panels(
            ax,
            (2 + n_channels, 2),
            (11.0, 5.4 + 1.7 * n_channels),
            WHO,
            places=places,
            height_ratios=[1.0, 1.3] + [0.75] * n_channels,
        )
        self.axes_ = np.array(panels, dtype=object)
        draw_probabilities(self, panels[0])
        draw_prototypes(self, panels[1])
        draw_features(self, panels[2], max_features)
        for panel, channel in zip(panels[3:], self.channels, strict=True):
            draw_channel(self, panel, channel)
        return self
