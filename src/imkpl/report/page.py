"""The dict of a report as one page that needs nothing else: charts, HTML and files.

Charts are inline SVG from a template, so the page needs no script to show them and no name in them
is ever markup. Colours are those of `imkpl.plots` and never carry a meaning alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import pathlib
from datetime import datetime
from importlib.resources import files
from typing import Any

from imkpl._archive import check_target, write_file
from imkpl.plots._style import COLORS, class_color, shorten, shorten_all
from imkpl.report.summarize import summarize

# Cells of all tables of prototypes together, and limits to the columns of one.
MOST_CELLS, MOST_COLUMNS, FEWEST_COLUMNS = 6000, 12, 3
# With more classes, the confused pairs are listed instead of the confusion matrix.
MOST_CONFUSION, MOST_CONFUSED = 30, 50
MOST_WARNINGS = 20
# Weights, curves, and classes and marks of a distribution that are drawn.
MOST_WEIGHTS, MOST_CURVES, MOST_CLASSES, MOST_MARKS = 30, 60, 30, 30
# More classes are named in the map instead of a legend.
MOST_IN_LEGEND = 12

# A chart that fits the width of a phone: names, then a plot. In SVG pixels.
WIDTH, NAMES, LONGEST_NAME = 320, 116, 17
MAP_WIDTH, MAP_HEIGHT, MAP_MARGIN = 310, 270, 12
CURVE_LEFT, CURVE_HEIGHT, CURVE_STEP = 48, 44, 66
# Markers of classes, the star of prototypes and the diamond of samples, as SVG paths from a centre.
MARKERS = (
    "m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0z",
    "m-2.3-2.3h4.6v4.6h-4.6z",
    "m0-3.1l2.9 5h-5.8z",
    "m0-3.3l3.3 3.3l-3.3 3.3l-3.3-3.3z",
    "m-1-3h2v2h2v2h-2v2h-2v-2h-2v-2h2z",
    "m0 3.1l-2.9-5h5.8z",
    "m3.1 0l-5 2.9v-5.8z",
)
STAR = "m0-8l1.84 5.52h5.76l-4.72 3.44l1.84 5.52l-4.72-3.44l-4.72 3.44l1.84-5.52l-4.72-3.44h5.76z"
DIAMOND = "m0-2.8l2.8 2.8l-2.8 2.8l-2.8-2.8z"


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    train: tuple[Any, Any] | None = None,
    stability: Any = None,
    title: str | None = None,
    created: datetime | None = None,
) -> pathlib.Path:
    """Describe a model and its decisions on one page.

    The page is a single file that works offline. It shows the prototypes and the training samples
    behind them, the features, the accuracy, and the reasons for decisions.

    Parameters
    ----------
    model : estimator
        A fitted IMKPL, IMKPLCV, ISKPL or TimeSeriesIMKPL.
    X : samples
        Held-out samples, in the form given to `fit`.
    y : array-like of shape (n_samples,) or None
        Class labels. Without them the report has no accuracy.
    path : str or path
        File to write, ending in ``.html``, or in ``.json`` for the numbers of the page.
    train : tuple (X, y), optional
        The data given to `fit`, for the distributions of features, the maps and duplicates.
    stability : Stability, optional
        Result of :func:`imkpl.stability` for the model's settings and training data, for a section
        on what refits choose again.
    title : str, optional
        Title of the report.
    created : datetime, optional
        Time of the report; now by default.

    Returns
    -------
    pathlib.Path
        The file, which is replaced atomically.
    """
    target = check_target(path)
    if target.suffix.lower() not in (".html", ".htm", ".json"):
        raise ValueError(
            f"A report cannot be written to {target.name!r}, expected a name that ends in .html, "
            "or in .json for its numbers. Rename it."
        )
    found = summarize(model, X, y, train=train, stability=stability, title=title, created=created)
    write_file(target, report_bytes(found, target))
    return target


def report_bytes(found: dict[str, Any], path: pathlib.Path) -> bytes:
    """What `write_report` writes to a file of this name."""
    if path.suffix.lower() != ".json":
        return render_report(found).encode()
    text = json.dumps(found, allow_nan=False, ensure_ascii=False, indent=1)
    return f"{text}\n".encode()


def save_json(found: dict[str, Any], path: str | os.PathLike[str]) -> pathlib.Path:
    """Save the numbers of a report.

    Parameters
    ----------
    found : dict
        Result of `summarize`.
    path : str or path
        File to write.

    Returns
    -------
    pathlib.Path
        The file, which is replaced atomically.
    """
    target = check_target(path)
    write_file(target, report_bytes(found, pathlib.Path("report.json")))
    return target


def render_report(found: dict[str, Any]) -> str:
    """Render a report as a page.

    Parameters
    ----------
    found : dict
        Result of `summarize`, or the same read from JSON.

    Returns
    -------
    str
        HTML with styles, script, data and charts in it.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ModuleNotFoundError(
            "A report page needs jinja2, which is not installed. Install it with pip install "
            "'imkpl[report]'; save_json() saves the numbers of a report without it."
        ) from error
    environment = Environment(
        loader=PackageLoader("imkpl.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=format_percent, value=format_cell)
    static = files("imkpl.report") / "static"
    script, style = ((static / name).read_text("utf-8") for name in ("page.js", "page.css"))
    page: str = environment.get_template("page.html").render(
        report=found,
        charts=draw_charts(found),
        class_color=class_color,
        markers=MARKERS,
        limits={
            "columns": count_columns(found["prototypes"]),
            "classes": MOST_CLASSES,
            "weights": MOST_WEIGHTS,
            "marks": MOST_MARKS,
            "confusion": MOST_CONFUSION,
            "confused": MOST_CONFUSED,
            "warnings": MOST_WARNINGS,
            "legend": MOST_IN_LEGEND,
        },
        style=Markup(style),
        script=Markup(script),
        # The content security policy allows this script only.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=Markup(embed_json(_select_data(found))),
    )
    return page


def embed_json(value: Any) -> str:
    r"""JSON that is safe within a script element, whatever strings it holds.

    Examples
    --------
    >>> embed_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def count_columns(prototypes: list[dict[str, Any]]) -> int:
    """How many features the tables of prototypes show."""
    n_rows = sum(len(prototype["samples"]) for prototype in prototypes)
    return max(FEWEST_COLUMNS, min(MOST_COLUMNS, MOST_CELLS // max(1, n_rows)))


def format_percent(share: float | None, digits: int = 0) -> str:
    r"""A share in percent.

    Examples
    --------
    >>> format_percent(0.974, 1), format_percent(None)
    ('97.4\xa0%', '–')
    """
    return "\N{EN DASH}" if share is None else f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def format_cell(value: Any) -> str:
    """A cell of a table, written as `explain` writes it.

    Examples
    --------
    >>> format_cell(15.1412), format_cell("f"), format_cell(None)
    ('15.14', 'f', 'missing')
    """
    if value is None:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _select_data(found: dict[str, Any]) -> dict[str, Any]:
    """The part of the dict that the script of the page reads."""
    return {
        "kind": found["kind"],
        "decision": found["decision"],
        "feature_word": found["size"]["feature_word"],
        "classes": found["classes"],
        "features": {
            one["feature"]: {"name": one["name"], "weight": one["weight"]}
            for one in found["features"]["features"]
        },
        "threshold": found["measures"]["novelty_threshold"],
        "prototypes": [
            {
                "class": one["class"],
                "samples": [
                    {"sample": sample["sample"], "class": sample["class"], "share": sample["share"]}
                    for sample in one["samples"]
                ],
                # A new sample is compared with the largest part of a prototype.
                "cells": one["samples"][0]["cells"],
            }
            for one in found["prototypes"]
        ],
        "samples": found["samples"],
    }


def draw_charts(found: dict[str, Any]) -> dict[str, Any]:
    """All charts of a report.

    A chart has a width, a height, a text alternative, the left end of its axis, vertical grid lines
    (x, label), texts (x, y, anchor, text), and paths (style, colour, SVG path).
    """
    features = found["features"]["features"]
    classes = found["classes"][:MOST_CLASSES]
    curves = (found["curves"] or [])[:MOST_CURVES]
    return {
        "weights": draw_weights(features[:MOST_WEIGHTS]),
        "features": {
            one["feature"]: (
                draw_categories(one, classes)
                if one["distribution"]["kind"] == "category"
                else draw_numbers(one, classes)
            )
            for one in features
            if "distribution" in one
        },
        "maps": [draw_map(found, one) for one in found["embedding"]["maps"]],
        "curves": {curve["prototype"]: draw_curve(curve) for curve in curves},
    }


def draw_weights(features: list[dict[str, Any]]) -> dict[str, Any]:
    """A bar for the weight of each feature."""
    chart = _start_chart(18 * len(features), [one["name"] for one in features], 18)
    left = chart["left"]
    longest = (WIDTH - left - 56) / max(one["weight"] for one in features)
    for row, one in enumerate(features):
        end = left + longest * one["weight"]
        chart["paths"].append(("fill", COLORS[0], _bar(left, end, 18 * row + 3, 12)))
        text = format_percent(one["weight"], 1)
        chart["texts"].append((f"{end + 5:.1f}", 18 * row + 13, "start", text))
    top = ", ".join(f"{one['name']} {one['weight']:.0%}" for one in features[:3])
    return {**chart, "text": f"Bars of feature weights. The largest: {top}."}


def draw_numbers(feature: dict[str, Any], classes: list[Any]) -> dict[str, Any]:
    """Quantiles of a feature in each class, and values of the samples behind prototypes."""
    chart = _start_chart(26 * len(classes), classes, 26)
    rows = {str(label): row for row, label in enumerate(classes)}
    shown = {
        rows[str(one["label"])]: one["quantiles"]
        for one in feature["distribution"]["classes"]
        if str(one["label"]) in rows and all(map(_is_number, one["quantiles"] or [None]))
    }
    marks = [
        (row, value) for label, row in rows.items() for value in thin_marks(feature["marks"], label)
    ]
    values = [value for quantiles in shown.values() for value in quantiles[1:6]]
    scale = _add_axis(chart, [*values, *(value for _, value in marks)])
    for row, quantiles in shown.items():
        low, left, middle, right, high = (scale(value) for value in quantiles[1:6])
        y, color = 26 * row + 9, class_color(row)
        chart["paths"] += [
            ("line", color, f"M{low:.1f} {y}H{high:.1f}"),
            ("soft", color, _bar(left, right, y - 6, 12)),
            ("median", None, f"M{middle:.1f} {y - 8}v16"),
        ]
    diamonds = [f"M{scale(value):.1f} {26 * row + 19}{DIAMOND}" for row, value in marks]
    chart["paths"].append(("mark", None, "".join(diamonds)))
    parts = [
        f"{classes[row]}: median {quantiles[3]:.4g}, half between {quantiles[2]:.4g} and "
        f"{quantiles[4]:.4g}"
        for row, quantiles in list(shown.items())[:MOST_IN_LEGEND]
    ]
    return {**chart, "text": f"{feature['name']} by class. {'; '.join(parts)}."}


def thin_marks(marks: list[dict[str, Any]], label: str) -> list[float]:
    """Distinct values of one class, evenly thinned out if there are too many to see."""
    values = {
        mark["value"] for mark in marks if str(mark["class"]) == label and _is_number(mark["value"])
    }
    ordered, step = sorted(values), max(1.0, (len(values) - 1) / (MOST_MARKS - 1))
    return [ordered[round(step * i)] for i in range(min(len(ordered), MOST_MARKS))]


def draw_categories(feature: dict[str, Any], classes: list[Any]) -> dict[str, Any]:
    """A bar for the share of each category in each class."""
    distribution, rows = feature["distribution"], {str(one): i for i, one in enumerate(classes)}
    names = [*distribution["categories"]]
    if distribution["n_other_categories"]:
        names.append(f"{distribution['n_other_categories']} others")
    step = 9 * len(classes) + 7
    chart = _start_chart(step * len(names), names, step)
    bars = [
        (place, rows[str(one["label"])], count / one["n"])
        for one in distribution["classes"]
        if one["n"] and str(one["label"]) in rows
        for place, count in enumerate(one["counts"][: len(names)])
    ]
    scale = _add_axis(chart, [0.0, *(share for _, _, share in bars)], "%")
    for place, row, share in bars:
        bar = _bar(scale(0.0), scale(share), step * place + 9 * row + 2, 8)
        chart["paths"].append(("fill", class_color(row), bar))
    shown = ", ".join(distribution["categories"])
    return {**chart, "text": f"{feature['name']}: share of {shown} by class."}


def draw_map(found: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    """Samples as points and prototypes as stars."""
    classes, embedding = found["classes"], found["embedding"]
    stars = one["prototypes"] or []
    xs, ys = zip(*one["points"], *stars, strict=True)
    x_scale = _scale(min(xs), max(xs), MAP_MARGIN, MAP_WIDTH - MAP_MARGIN)
    y_scale = _scale(min(ys), max(ys), MAP_HEIGHT - MAP_MARGIN, MAP_MARGIN)
    chart: dict[str, Any] = {"width": MAP_WIDTH, "height": MAP_HEIGHT, "ticks": [], "texts": []}
    points, prototypes = [], []
    for place, label in enumerate(classes):
        color, marker = class_color(place), MARKERS[place % len(MARKERS)]
        own = _select(one["points"], embedding["labels"], label)
        path = "".join(f"M{x_scale(x):.1f} {y_scale(y):.1f}{marker}" for x, y in own)
        points.append(("point", color, path))
        behind = _select(stars, embedding["prototype_classes"], label)
        path = "".join(f"M{x_scale(x):.1f} {y_scale(y):.1f}{STAR}" for x, y in behind)
        prototypes.append(("star", color, path))
        if len(classes) > MOST_IN_LEGEND and own:
            x, y = (sorted(axis)[len(own) // 2] for axis in zip(*own, strict=True))
            # Names stay within the map.
            across = min(max(x_scale(x), 48), MAP_WIDTH - 48)
            name = shorten(label, LONGEST_NAME)
            chart["texts"].append((f"{across:.1f}", f"{y_scale(y):.1f}", "middle", name))
    n_stars = f" and {len(stars)} prototypes as stars" if stars else ""
    text = f"Map of {len(one['points'])} samples by class{n_stars}, by the {one['title']} kernel."
    return {**chart, "text": text, "paths": points + prototypes}


def draw_curve(curve: dict[str, Any]) -> dict[str, Any]:
    """The main series of a prototype, channel by channel."""
    channels = curve["channels"]
    chart: dict[str, Any] = {
        "width": WIDTH,
        "height": CURVE_STEP * len(channels) + 16,
        "left": CURVE_LEFT,
        "ticks": [],
        "texts": [],
        "paths": [],
    }
    end = max(1, *(time for channel in channels for time in channel["times"]))
    x_scale = _scale(0, end, CURVE_LEFT, WIDTH - 6)
    for tick in find_ticks(0, end):
        chart["ticks"].append((f"{x_scale(tick):.1f}", f"{tick:.6g}"))
    for place, channel in enumerate(channels):
        top = CURVE_STEP * place + 18
        known = [value for value in channel["values"] if _is_number(value)] or [0.0]
        y_scale = _scale(min(known), max(known), top + CURVE_HEIGHT - 3, top + 3)
        path, is_down = "", False
        for time, value in zip(channel["times"], channel["values"], strict=True):
            if _is_number(value):
                path += f"{'L' if is_down else 'M'}{x_scale(time):.1f} {y_scale(value):.1f}"
            is_down = _is_number(value)
        chart["paths"].append(("line", COLORS[0], path))
        chart["texts"].append((CURVE_LEFT, top - 5, "start", shorten(channel["name"], 40)))
        for value in sorted({min(known), max(known)}):
            text = f"{value:.3g}"
            chart["texts"].append((CURVE_LEFT - 6, f"{y_scale(value) + 4:.1f}", "end", text))
    names = ", ".join(channel["name"] for channel in channels)
    return {**chart, "text": f"Sample {curve['sample']} over time in {names}."}


def find_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two limits.

    Examples
    --------
    >>> find_ticks(11.4, 14.9), find_ticks(0, 19)
    ([12.0, 13.0, 14.0], [0.0, 5.0, 10.0, 15.0])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * f for f in (1, 2, 5, 10, 20) if (high - low) / (power * f) <= most)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _start_chart(height: float, names: list[Any], step: float) -> dict[str, Any]:
    """A chart with names on its left, one every `step` pixels."""
    first = min(step, 18) / 2 + 4 if step <= 26 else step / 2 + 3
    short = shorten_all(names, LONGEST_NAME)
    left = min(NAMES, 12 + 6 * max(len(name) for name in short))
    texts = [(left - 6, f"{step * row + first:.1f}", "end", name) for row, name in enumerate(short)]
    shape = {"width": WIDTH, "height": height, "left": left}
    return {**shape, "ticks": [], "texts": texts, "paths": []}


def _add_axis(chart: dict[str, Any], values: list[float], unit: str = "") -> Any:
    """Add grid lines for these values below the names; returns the scale of the axis."""
    chart["height"] += 18
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    scale = _scale(low, high, chart["left"] + 4, WIDTH - 12)
    if low < high and math.isfinite(high - low):
        for tick in find_ticks(low, high):
            text = f"{100 * tick:.6g}\N{NO-BREAK SPACE}%" if unit else f"{tick:.6g}"
            chart["ticks"].append((f"{scale(tick):.1f}", text))
    else:
        chart["ticks"].append((f"{scale(low):.1f}", f"{low:.6g}"))
    return scale


def _scale(low: float, high: float, start: float, stop: float) -> Any:
    """A linear map of [low, high] to pixels; a single value goes to the middle."""
    # Halves of the largest numbers do not overflow.
    span = high / 2 - low / 2
    if span == 0:
        return lambda value: (start + stop) / 2
    return lambda value: start + (value / 2 - low / 2) / span * (stop - start)


def _select(points: list[Any], owners: list[Any], label: Any) -> list[Any]:
    """The points of one class."""
    pairs = zip(points, owners, strict=False)
    return [point for point, owner in pairs if str(owner) == str(label)]


def _bar(left: float, right: float, top: float, height: float) -> str:
    return f"M{left:.1f} {top}H{right:.1f}v{height}H{left:.1f}z"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
