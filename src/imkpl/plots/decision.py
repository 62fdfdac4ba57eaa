"""Why one sample was classified as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from imkpl._typing import FloatArray, IntArray
from imkpl.explanations import Explanation
from imkpl.explanations.show import show_cell
from imkpl.plots._style import (
    NEUTRAL,
    Display,
    Place,
    check_model,
    class_color,
    draw_bars,
    literal,
    shorten,
    shorten_all,
)

# Bars in a small panel, and samples named in a bar; the rest is counted.
MOST_CLASSES = MOST_PROTOTYPES = 5
MOST_SAMPLES = 3
# Channels of a series that are drawn.
MOST_CHANNELS = 3


@dataclass(frozen=True, eq=False)
class ChannelComparison:
    """One channel, or group of channels, of a series and of a training series."""

    name: str
    values: FloatArray  # (n_channels, length)
    best_values: FloatArray  # the same channels of the training series
    times: FloatArray  # (n_steps,)
    shares: FloatArray  # (n_steps,), of the similarity to the prototypes


@dataclass(eq=False)
class DecisionDisplay(Display):
    """The reasons for one decision: class probabilities, prototypes and features.

    For a time series, the most important channels are drawn with those of the training series that
    has the largest part in the decision. Time steps are shaded by their share in the similarity.

    Parameters
    ----------
    explanation : Explanation
        That of the sample.
    prototypes : int array of shape (n_prototypes,)
        The prototypes that have a share in the decision, largest first: those of the winner speak
        for it, the others against.
    margins : array of shape (n_features,)
        What each feature adds to the score of the winner minus that of the runner-up; in units of
        similarity for votes.
    best : int or str, optional
        For a series, the name of the training series with the largest part in the decision.
    channels : list of ChannelComparison, optional
        For a series, the channels to draw.

    Attributes
    ----------
    axes_, figure_ : array of Axes, and Figure
        Axes of probabilities, prototypes, features and channels, and their figure.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from imkpl import IMKPL
    >>> from imkpl.plots import DecisionDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = IMKPL(n_prototypes=6, max_kernels=4).fit(X[1:], y[1:])
    >>> display = DecisionDisplay.from_estimator(model, X[:1])
    >>> display.axes_[0].get_title()
    'Sample 0 is 0'
    """

    explanation: Explanation
    prototypes: IntArray
    margins: FloatArray
    best: Any = None
    channels: list[ChannelComparison] = field(default_factory=list)

    @classmethod
    def compute(cls, explanation: Explanation, index: int = 0) -> Self:
        """Collect the reasons for one decision without drawing them.

        Parameters
        ----------
        explanation : Explanation
            From `explain` of a fitted model.
        index : int, default=0
            Index of the sample.

        Returns
        -------
        DecisionDisplay
            The display, not drawn yet.
        """
        if not isinstance(explanation, Explanation):
            raise TypeError(
                f"{cls.__name__} got a {type(explanation).__name__}, expected an Explanation. Pass "
                "model.explain(X), or a fitted model and X to from_estimator."
            )
        one = explanation[range(len(explanation))[index]]
        by_feature = one.feature_contributions()[0]
        margins = by_feature[:, one.winners[0]] - by_feature[:, one.runners_up[0]]
        shares = one.shares.toarray()[0]
        order = np.argsort(-shares, kind="stable")
        return cls(one, order[shares[order] > 0], margins, *_compare_channels(one))

    @classmethod
    def from_explanation(cls, explanation: Explanation, index: int = 0, **options: Any) -> Self:
        """Draw the reasons for one decision.

        Parameters
        ----------
        explanation : Explanation
            From `explain` of a fitted model.
        index : int, default=0
            Index of the sample.
        **options
            Options of `compute` and `plot`, and the axes `ax` to draw into.

        Returns
        -------
        DecisionDisplay
            The display.
        """
        return super().from_estimator(explanation, index, **options)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, index: int = 0, **options: Any) -> Self:  # type: ignore[override]
        """Draw the reasons for the decision on one sample.

        Parameters
        ----------
        estimator : estimator
            A fitted IMKPL or ISKPL.
        X : array-like of shape (n_samples, n_features)
            Samples in the form given to `fit`.
        index : int, default=0
            Index of the sample.
        **options
            Passed to `from_explanation`.

        Returns
        -------
        DecisionDisplay
            The display.
        """
        check_model(estimator, cls.__name__)
        return cls.from_explanation(estimator.explain(X), index, **options)

    def _draw(self, ax: Any, *, max_features: int = 10) -> None:
        n_channels = len(self.channels)
        places: list[Place] = [(0, 0), (1, 0), (slice(0, 2), 1)]
        places += [(2 + row, slice(None)) for row in range(n_channels)]
        size, shape = (11.0, 5.4 + 1.7 * n_channels), (2 + n_channels, 2)
        heights = [1.0, 1.3] + [0.75] * n_channels
        panels = self._take_panels(ax, size, shape, places, height_ratios=heights)
        self._draw_probabilities(panels[0])
        self._draw_prototypes(panels[1])
        self._draw_features(panels[2], max_features)
        for panel, channel in zip(panels[3:], self.channels, strict=True):
            self._draw_channel(panel, channel)

    def _draw_probabilities(self, ax: Any) -> None:
        one, found = self.explanation, self.explanation.probabilities[0]
        winner = int(one.winners[0])
        order = np.argsort(-found, kind="stable").tolist()
        shown = [winner, *(place for place in order if place != winner)][:MOST_CLASSES]
        names = shorten_all([one.classes[place] for place in shown], 20)
        values = [float(found[place]) for place in shown]
        colors = [class_color(place) for place in shown]
        rest = len(one.classes) - len(shown), max(0.0, 1.0 - sum(values))
        draw_bars(ax, names, values, colors, ".1%", rest=rest)
        title = f"Sample {shorten(one.sample_ids[0])} is {shorten(one.classes[winner])}"
        ticks = [0.0, 0.5, 1.0]
        ax.set(xlim=(0.0, 1.18), xticks=ticks, xlabel="Probability", title=literal(title))

    def _draw_prototypes(self, ax: Any) -> None:
        explanation, names = self.explanation, []
        shares, owners = (
            explanation.shares.toarray()[0],
            explanation.evidence.predictor.encoder.classes,
        )
        shown, rest = self.prototypes[:MOST_PROTOTYPES], self.prototypes[MOST_PROTOTYPES:]
        for one in shown:
            behind = [
                explanation.support_ids[place] for place, _ in explanation.samples_behind(one)
            ]
            named = ", ".join(shorten(sample, 14) for sample in behind[:MOST_SAMPLES])
            n_more = len(behind) - MOST_SAMPLES
            names.append(
                f"{shorten(explanation.classes[owners[one]], 18)}: similarity "
                f"{explanation.evidence.similarities[0, one]:.2f} to prototype {one}\n"
                f"sample{'s' * (len(behind) > 1)} {named}"
                f"{f', {n_more} more' if n_more > 0 else ''}"
            )
        values, colors = shares[shown].tolist(), [class_color(owners[one]) for one in shown]
        draw_bars(ax, names, values, colors, ".0%", rest=(len(rest), float(shares[rest].sum())))
        ax.tick_params(axis="y", labelsize="small")
        whole = "votes" if explanation.decision == "votes" else "code"
        ax.set_xlabel(
            f"Share of the {whole}\nNovelty {explanation.novelty[0]:.2f}, usually at most "
            f"{explanation.novelty_threshold:.2f}"
            f"{': unlike the training data' if explanation.is_novel[0] else ''}"
        )
        ax.set_title(
            "Who speaks for which class" if shown.size else "It resembles none of the prototypes"
        )

    def _draw_features(self, ax: Any, max_features: int) -> None:
        one, margins = self.explanation, np.asarray(self.margins)
        order = np.argsort(-np.abs(margins), kind="stable")
        shown, rest = order[:max_features], order[max_features:]
        names, cells = shorten_all([one.feature_names[i] for i in shown]), one.cells(0)
        if cells is not None:
            texts = [
                shorten(c, 14) if isinstance(c := cells[i], str) else show_cell(c) for i in shown
            ]
            names = [f"{name} = {text}" for name, text in zip(names, texts, strict=True)]
        sides = int(one.winners[0]), int(one.runners_up[0])
        values = [float(margins[i]) for i in shown]
        colors = [class_color(sides[value <= 0]) for value in values]
        others = rest.size, float(margins[rest].sum())
        draw_bars(ax, names, values, colors, "+.2g", rest=others, n_slots=8)
        ax.axvline(0, color="black", linewidth=0.8)
        winner, runner_up = (shorten(one.classes[side], 20) for side in sides)
        unit = "similarity" if one.decision == "votes" else "the shares of the code"
        ax.set_title(literal(f"What speaks for {winner}\nrather than {runner_up}"))
        ax.set_xlabel(
            literal(
                f"Difference of {unit}, {margins.sum():+.2g} in total\n"
                f"\N{LEFTWARDS ARROW} {runner_up}      {winner} \N{RIGHTWARDS ARROW}"
            )
        )

    def _draw_channel(self, ax: Any, channel: ChannelComparison) -> None:
        color = class_color(int(self.explanation.winners[0]))
        own: dict[str, Any] = {"color": color, "linewidth": 1.8}
        other: dict[str, Any] = {"color": NEUTRAL, "linestyle": "--", "linewidth": 1.3}
        ax.plot(channel.best_values.T, **other)
        ax.plot(channel.values.T, **own)
        lowest, highest = ax.get_ylim()
        ax.pcolormesh(
            step_edges(channel.times),
            [lowest, highest],
            channel.shares[np.newaxis],
            cmap="Greys",
            vmin=0.0,
            # Keep the lines visible on the darkest step.
            vmax=2.5 * max(float(channel.shares.max()), 1e-300),
            zorder=0,
            rasterized=True,
        )
        ax.set_ylim(lowest, highest)
        ax.locator_params(axis="x", integer=True)
        share = f"{channel.shares.sum():.0%} of the similarity"
        ax.set_title(literal(f"{shorten(channel.name)}: {share}"), fontsize="medium")
        if channel is not self.channels[-1]:
            return
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ax.set_xlabel("Time step")
        ax.legend(
            [Line2D([], [], **own), Line2D([], [], **other), Patch(color="0.7")],
            [
                literal(f"sample {shorten(self.explanation.sample_ids[0], 20)}"),
                literal(f"training series {shorten(self.best, 20)}, largest part in the decision"),
                "similar to its prototypes",
            ],
            loc="upper center",
            bbox_to_anchor=(0.5, -0.45),
            frameon=False,
            ncols=3,
        )


def _compare_channels(one: Explanation) -> tuple[Any, list[ChannelComparison]]:
    """The training series with the largest part in a decision, and both series by channel."""
    evidence, amounts = one.evidence, one.amounts_behind(0)
    if evidence.kernels.input_kind != "series" or not np.any(amounts > 0):
        return None, []
    best = int(np.argmax(amounts))
    time_shares = one.time_shares(0)
    totals = np.array([time_shares[name].shares.sum() for name in one.feature_names])
    found = []
    for kernel in np.argsort(-totals, kind="stable")[:MOST_CHANNELS]:
        name = one.feature_names[kernel]
        aligned = evidence.kernels.select([kernel]).narrowed().aligned(np.ones(1))
        if aligned is None:
            continue
        series, shares = (aligned[0].samples[0], aligned[0].others[best]), time_shares[name]
        found.append(ChannelComparison(name, *series, shares.times, shares.shares))
    return one.support_ids[best], found


def step_edges(times: FloatArray) -> FloatArray:
    """Borders halfway between time steps."""
    steps = np.diff(times) if times.size > 1 else np.ones(1)
    middles = (times[1:] + times[:-1]) / 2
    return np.concatenate([times[:1] - steps[:1] / 2, middles, times[-1:] + steps[-1:] / 2])
