"""Drawing one decision, panel by panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._typing import FloatArray
from imkpl.plots._canvas import draw_bars
from imkpl.plots._decision_data import ChannelComparison, PrototypeShare
from imkpl.plots._palette import (
    NEUTRAL,
    REST,
    class_color,
    literal,
    shorten,
    shorten_all,
)

if TYPE_CHECKING:
    from imkpl.plots.decision import DecisionDisplay

# Bars that a small panel has room for; the rest is counted.
MOST_CLASSES = 5
MOST_PROTOTYPES = 5
MOST_SAMPLES = 3


def draw_probabilities(display: DecisionDisplay, ax: Any) -> None:
    """The most probable classes."""
    order = np.argsort(-display.probabilities, kind="stable")
    shown = [display.winner, *(int(i) for i in order if i != display.winner)][:MOST_CLASSES]
    names = shorten_all([display.classes[i] for i in shown], 20)
    values = [float(display.probabilities[i]) for i in shown]
    colors = [class_color(i) for i in shown]
    n_more = len(display.classes) - len(shown)
    if n_more:
        names.append(f"{n_more} more")
        values.append(max(0.0, 1.0 - sum(values)))
        colors.append(REST)
    draw_bars(ax, names, values, [f"{value:.1%}" for value in values], colors)
    ax.set_xlim(0.0, 1.18)
    ax.set_xticks([0.0, 0.5, 1.0])
    ax.set_xlabel("Probability")
    sample, label = shorten(display.sample), shorten(display.classes[display.winner])
    ax.set_title(literal(f"Sample {sample} is {label}"))


def draw_prototypes(display: DecisionDisplay, ax: Any) -> None:
    """The prototypes in the code of the sample."""
    shown = display.prototypes[:MOST_PROTOTYPES]
    names = [_name_prototype(display, one) for one in shown]
    values = [one.share for one in shown]
    colors = [class_color(one.owner) for one in shown]
    rest = display.prototypes[MOST_PROTOTYPES:]
    if rest:
        names.append(f"{len(rest)} more")
        values.append(sum(one.share for one in rest))
        colors.append(REST)
    draw_bars(ax, names, values, [f"{value:.0%}" for value in values], colors)
    ax.tick_params(axis="y", labelsize="small")
    usual = f"usual up to {display.novelty_threshold:.2f}"
    is_novel = display.novelty > display.novelty_threshold
    ax.set_xlabel(
        f"Share of the code\nNovelty {display.novelty:.2f}, {usual}"
        f"{': unlike what was seen in training' if is_novel else ''}"
    )
    ax.set_title("Prototypes that it is like" if shown else "It is like none of the prototypes")


def draw_features(display: DecisionDisplay, ax: Any, max_features: int) -> None:
    """What speaks for the predicted class rather than for the runner-up."""
    margins = np.asarray(display.margins)
    order = np.argsort(-np.abs(margins), kind="stable")
    shown, rest = order[:max_features], order[max_features:]
    names = shorten_all([display.feature_names[i] for i in shown])
    if display.feature_values is not None:
        names = [
            f"{name}{_say_value(display.feature_values[i])}"
            for name, i in zip(names, shown, strict=True)
        ]
    values = [float(margins[i]) for i in shown]
    sides = (class_color(display.runner_up), class_color(display.winner))
    colors = [sides[int(value > 0)] for value in values]
    if rest.size:
        names.append(f"{rest.size} more")
        values.append(float(margins[rest].sum()))
        colors.append(REST)
    draw_bars(ax, names, values, [f"{value:+.2g}" for value in values], colors, n_slots=8)
    ax.axvline(0, color="black", linewidth=0.8)
    winner, runner_up = (
        shorten(display.classes[i], 20) for i in (display.winner, display.runner_up)
    )
    ax.set_title(literal(f"What speaks for {winner}\nrather than {runner_up}"))
    ax.set_xlabel(
        literal(
            f"Difference of the scores, {margins.sum():+.2g} in all\n"
            f"\N{LEFTWARDS ARROW} {runner_up}      {winner} \N{RIGHTWARDS ARROW}"
        )
    )


def draw_channel(display: DecisionDisplay, ax: Any, channel: ChannelComparison) -> None:
    """One channel of a series, beside that of the training series behind it."""
    for values, style in ((channel.best_values, "--"), (channel.values, "-")):
        is_sample = style == "-"
        color = class_color(display.winner) if is_sample else NEUTRAL
        ax.plot(values.T, color=color, linestyle=style, linewidth=1.8 if is_sample else 1.3)
    lowest, highest = ax.get_ylim()
    ax.pcolormesh(
        _step_edges(channel.times),
        [lowest, highest],
        channel.shares[np.newaxis],
        cmap="Greys",
        vmin=0.0,
        # Lines must stay visible on the darkest step.
        vmax=2.5 * max(float(channel.shares.max()), 1e-300),
        zorder=0,
        rasterized=True,
    )
    ax.set_ylim(lowest, highest)
    ax.locator_params(axis="x", integer=True)
    share = f"{channel.shares.sum():.0%} of its similarity"
    ax.set_title(literal(f"{shorten(channel.name)}: {share}"), fontsize="medium")
    if channel is display.channels[-1]:
        ax.set_xlabel("Time step")
        _explain_lines(display, ax)


def _explain_lines(display: DecisionDisplay, ax: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Line2D([], [], color=class_color(display.winner), linewidth=1.8),
        Line2D([], [], color=NEUTRAL, linestyle="--", linewidth=1.3),
        Patch(color="0.7"),
    ]
    names = [
        literal(f"sample {shorten(display.sample, 20)}"),
        literal(f"training series {shorten(display.best, 20)}, most of its code"),
        "like its prototypes here",
    ]
    ax.legend(
        handles, names, loc="upper center", bbox_to_anchor=(0.5, -0.45), frameon=False, ncols=3
    )


def _step_edges(times: FloatArray) -> FloatArray:
    """Borders halfway between steps."""
    if times.size == 1:
        return np.array([times[0] - 0.5, times[0] + 0.5])
    middles = (times[1:] + times[:-1]) / 2
    first, last = 2 * times[0] - middles[0], 2 * times[-1] - middles[-1]
    return np.concatenate([[first], middles, [last]])


def _name_prototype(display: DecisionDisplay, one: PrototypeShare) -> str:
    named = [shorten(sample, 14) for sample in one.samples[:MOST_SAMPLES]]
    n_more = len(one.samples) - len(named)
    more = f", {n_more} more" if n_more else ""
    label = shorten(display.classes[one.owner], 18)
    word = "sample" if len(one.samples) == 1 else "samples"
    return f"prototype {one.prototype} ({label})\n{word} {', '.join(named)}{more}"


def _say_value(value: Any) -> str:
    if value is None:
        return " (missing)"
    return f" = {value:.4g}" if isinstance(value, float) else f" = {shorten(value, 14)}"
