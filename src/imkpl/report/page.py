"""The dict of a report as one page that needs nothing else, and as a model card.

Charts are made of styled elements and inline SVG from a template, so the page needs no script to
show them and no name in them is ever markup. Colours are those of `imkpl.plots` and never carry a
meaning alone.
"""

import base64
import hashlib
import json
import math
import os
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from inspect import cleandoc
from typing import Any
from urllib.parse import quote

from imkpl._checks import import_extra
from imkpl._writing import check_target, write_file
from imkpl.estimators._base import BasePrototypeModel
from imkpl.explanations.show import show_cell
from imkpl.measures import say_chances
from imkpl.plots.displays import COLORS, shorten
from imkpl.report.summarize import HOW_DECIDED, summarize

# Features of a prototype, curves, and classes of a distribution that are drawn.
MOST_STRIPS, MOST_CURVES, MOST_CLASSES = 6, 60, 30
# More classes are named in the map instead of a legend.
MOST_IN_LEGEND = 12

# In SVG pixels.
MAP_WIDTH, MAP_HEIGHT, MAP_MARGIN = 720, 400, 16
WIDTH, CURVE_LEFT, CURVE_HEIGHT, CURVE_STEP = 320, 48, 44, 66
CHANCES_HEIGHT = 190
# A net benefit below is drawn there.
LEAST_BENEFIT = -0.02
# Markers of classes and the star of prototypes, as SVG paths from a centre.
MARKERS = (
    "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z",
    "m-2.9-2.9h5.8v5.8h-5.8z",
    "m0-3.9l3.6 6.2h-7.2z",
    "m0-4.1l4.1 4.1l-4.1 4.1l-4.1-4.1z",
    "m-1.2-3.6h2.4v2.4h2.4v2.4h-2.4v2.4h-2.4v-2.4h-2.4v-2.4h2.4z",
    "m0 3.9l-3.6-6.2h7.2z",
    "m3.9 0l-6.2 3.6v-7.2z",
)
STAR = "m0-9l2.07 6.21h6.48l-5.31 3.87l2.07 6.21l-5.31-3.87l-5.31 3.87l2.07-6.21l-5.31-3.87h6.48z"
# For more than thirty prototypes, which would hide the samples.
SMALL_STAR = (
    "m0-6l1.38 4.14h4.32l-3.54 2.58l1.38 4.14l-3.54-2.58l-3.54 2.58l1.38-4.14l-3.54-2.58h4.32z"
)
RING = "m-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z"

# Rows of a table of a model card; the page and `imkpl inspect` have all of them.
MOST_ROWS = 30
# Characters that Markdown would obey; an underscore within a word is none of them.
MARKS = re.compile(r"[\\`*\[\]<>|#]|(?<![^\W_])_|_(?![^\W_])")


class ReportFile(type(pathlib.Path())):  # type: ignore[misc]
    """The path of a report, which notebooks show as the page."""

    def _repr_html_(self) -> str:
        if self.suffix.lower() == ".json" or not self.is_file():
            return f"<code>{escape(str(self))}</code>"
        page = escape(self.read_text(encoding="utf-8"), quote=True)
        return (
            f'<iframe srcdoc="{page}" title="{escape(self.name, quote=True)}" '
            'sandbox="allow-scripts allow-popups" '
            'style="width:100%;height:720px;border:1px solid rgba(128,128,128,.35)"></iframe>'
        )


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    train: tuple[Any, Any] | None = None,
    stability: Any = None,
    by: Mapping[str, Any] | None = None,
    groups: Any = None,
    sites: Any = None,
    title: str | None = None,
) -> pathlib.Path:
    """Describe a model and its decisions on one page.

    The page is a single file that works offline. It shows the prototypes and the training samples
    behind them, the features, the accuracy, and the reasons for decisions.

    Parameters
    ----------
    model : estimator
        A fitted IMKPL or ISKPL, or a pipeline that ends with one.
    %s
    """
    target = check_target(path)
    if target.suffix.lower() not in (".html", ".htm", ".json"):
        raise ValueError(
            f"A report cannot be written to {target.name!r}, expected a name that ends in .html, "
            "or in .json for its numbers. Rename it."
        )
    options = {"train": train, "stability": stability, "by": by, "groups": groups}
    found = summarize(model, X, y, **options, sites=sites, title=title)
    write_file(target, report_bytes(found, target))
    return ReportFile(target)


# Its parameters but the first, and what it returns, are those of the method.
_DESCRIBED = cleandoc(BasePrototypeModel.report.__doc__ or "").partition("----------\n")[2]
write_report.__doc__ = cleandoc(write_report.__doc__ or "") % _DESCRIBED


def report_bytes(found: dict[str, Any], path: pathlib.Path) -> bytes:
    """What `write_report` writes to a file of this name."""
    if path.suffix.lower() != ".json":
        return render_report(found).encode()
    text = json.dumps(found, allow_nan=False, ensure_ascii=False, indent=1)
    return f"{text}\n".encode()


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
    if found.get("kind") == "values":
        data = {"form": found["form"]}
        return _render_page("values.html", ("predictor.js", "values.js"), data, report=found)
    return _render_page(
        "page.html",
        ("predictor.js", "page.js"),
        _select_data(found),
        report=found,
        views=build_views(found),
        cases={row["row"]: row for row in found["samples"]["rows"]},
        most_in_legend=MOST_IN_LEGEND,
        ring=RING,
        star=STAR,
    )


def _render_page(template: str, scripts: Sequence[str], data: Any, **values: Any) -> str:
    """A template with styles, scripts and data in it."""
    environment = make_environment(autoescape=True)
    from markupsafe import Markup

    static = files("imkpl.report") / "static"
    style, *texts = (Markup((static / name).read_text("utf-8")) for name in ("page.css", *scripts))
    # The content security policy allows these scripts only.
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    shared = {"style": style, "scripts": texts, "hashes": hashes, "data": Markup(embed_json(data))}
    drawn = {"markers": MARKERS, "n_colors": len(COLORS)}
    return str(environment.get_template(template).render(**shared, **drawn, **values))


def render_path(found: dict[str, Any], title: str) -> str:
    """A `FeaturePath` as one page, from its `to_dict`."""
    low = min(a - 2 * e for a, e in zip(found["accuracy"], found["standard_error"], strict=True))
    sizes = found["sizes"]

    def place(size: int) -> float:
        return 30 + 420 * (math.log(size / sizes[0]) / (math.log(sizes[-1] / sizes[0]) or 1))

    def height(accuracy: float) -> float:
        return float(15 + 150 * (1 - accuracy) / max(1 - low, 0.01))

    rows = list(zip(map(place, sizes), found["accuracy"], found["standard_error"], strict=True))
    bars = "".join(f"M{x:.1f} {height(a - e):.1f}V{height(a + e):.1f}" for x, a, e in rows)
    line = "M" + "L".join(f"{x:.1f} {height(a):.1f}" for x, a, _ in rows)
    ticks = [(round(x, 1), size) for (x, *_), size in zip(rows, sizes, strict=True)]
    texts = [(round(x, 1), round(height(a) - 8, 1), "start", f"{a:.1%}") for x, a, _ in rows]
    said = "Accuracy on left-out rows by the number of features; bars are one standard error."
    paths = [("line", 0, line), ("line", 0, bars)]
    drawn = {"width": 500, "height": 190, "ticks": ticks, "paths": paths, "texts": texts}
    drawn["text"] = said
    return _render_page("path.html", (), None, found=found, title=title, drawn=drawn)


def build_model_card(
    contents: dict[str, Any],
    constraints: list[str],
    page: dict[str, Any] | None,
    *,
    html: bool = False,
) -> str:
    """The card of a model as Markdown or HTML, of what `imkpl inspect` and perhaps a page say."""

    def clean(text: Any) -> str:
        line = "-" if text is None else " ".join(str(text).split())
        return escape(line) if html else MARKS.sub(lambda found: f"\\{found[0]}", line)

    environment = make_environment(autoescape=False)
    environment.add_extension("jinja2.ext.do")
    environment.filters.update(clean=clean)
    text = environment.get_template("model_card.jinja").render(
        contents=contents,
        origin=contents["provenance"] or {},
        constraints=constraints,
        page=page,
        html=html,
        how=HOW_DECIDED[contents["decision"]],
        most=MOST_ROWS,
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _write_interval(interval: list[float] | None) -> str:
    return " to ".join(format_percent(end) for end in interval) if interval else "-"


def make_environment(*, autoescape: bool) -> Any:
    """What renders the templates of this package."""
    otherwise = "; a path that ends in .json gets the numbers of a report without it"
    jinja2 = import_extra("jinja2", "report", "A report page needs", otherwise)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("imkpl.report"),
        autoescape=autoescape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        chances=say_chances,
        interval=_write_interval,
        percent=format_percent,
        value=show_cell,
        key=lambda key: quote(key, safe=""),
    )
    return environment


def embed_json(value: Any) -> str:
    """JSON that is safe within a script element, whatever strings it holds."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def format_percent(share: float | None, digits: int = 0) -> str:
    """A share in percent."""
    if share is None:
        return "\N{EN DASH}"
    # Adding zero turns -0 into 0.
    return f"{round(100 * share, digits) + 0.0:.{digits}f}%"


def _cut_card(card: dict[str, Any] | None) -> dict[str, Any] | None:
    """A card without what the script does not draw: most of a page are its features."""
    if card is None:
        return None
    drawn = ("name", "value", "supporting", "opposing", "for")
    near = ("near_supporting", "near_opposing", "outside")
    rows = [{key: one[key] for key in (*drawn, *filter(one.get, near))} for one in card["features"]]
    return {**card, "features": rows}


def _select_data(found: dict[str, Any]) -> dict[str, Any]:
    """The part of the dict that the script of the page reads."""
    return {
        "classes": found["classes"],
        "feature_word": found["size"]["feature_word"],
        "novelty_threshold": found["measures"]["novelty_threshold"],
        "features": [
            {"name": one["name"], "weight": one["weight"]}
            for one in sorted(found["features"]["features"], key=lambda one: one["feature"])
        ],
        "samples": {
            **found["samples"],
            "rows": [{**row, "card": _cut_card(row["card"])} for row in found["samples"]["rows"]],
        },
        "map": [
            [*at, one["row"], one["sample"], one["label"]]
            for one, at in zip(found["map"]["points"], place_map(found["map"])[0], strict=True)
        ],
        "form": found["form"],
        "cutoff": found["cutoff"],
        "title": found["title"],
        "fingerprint": found["provenance"]["fingerprint"],
        "accuracy": found["accuracy"]
        and {
            "n_independent": found["accuracy"]["n_independent"],
            "classes": found["accuracy"]["classes"],
        },
    }


def build_views(found: dict[str, Any]) -> dict[str, Any]:
    """What the templates draw, in percent of a width or in SVG pixels."""
    features = found["features"]["features"]
    views = {
        one["feature"]: view_feature(one, found["classes"][:MOST_CLASSES])
        for one in features
        if "distribution" in one
    }
    names = {one["feature"]: one["name"] for one in features}
    return {
        "features": views,
        "strips": [
            [
                {"name": names[one["feature"]], **view_place(one, prototype["class"], views)}
                for one in prototype["features"]
                if one["feature"] in views
            ][:MOST_STRIPS]
            for prototype in found["prototypes"]
        ],
        "map": draw_map(found) if found["map"]["points"] else None,
        "chances": draw_chances(
            (found["folds"] or {}).get("chances") or (found["accuracy"] or {}).get("chances")
        ),
        "curves": {
            curve["prototype"]: draw_curve(curve) for curve in (found["curves"] or [])[:MOST_CURVES]
        },
    }


def view_feature(feature: dict[str, Any], classes: list[Any]) -> dict[str, Any]:
    """The distribution of a feature in each class: boxes on one axis, or shares of categories."""
    distribution = feature["distribution"]
    known = {str(one["label"]): one for one in distribution["classes"]}
    shown = [known[str(label)] for label in classes if str(label) in known]
    if distribution["kind"] == "category":
        names = [*distribution["categories"]]
        if distribution["n_other_categories"]:
            names.append(f"{distribution['n_other_categories']} others")
        rows = []
        for one in shown:
            n = one["n"] + one["n_missing"]
            counts = [*one["counts"][: len(names)], one["n_missing"]]
            shares = zip([*names, "missing"], (count / max(1, n) for count in counts), strict=True)
            parts = [(name, share) for name, share in shares if share > 0]
            text = ", ".join(f"{name} {share:.0%}" for name, share in parts)
            rows.append({"label": one["label"], "parts": parts, "text": text or "no values"})
        return {"kind": "category", "rows": rows}
    known_quantiles = [one["quantiles"] for one in shown]
    low = min((values[1] for values in known_quantiles if values), default=0.0)
    high = max((values[5] for values in known_quantiles if values), default=1.0)
    rows = []
    for one, values in zip(shown, known_quantiles, strict=True):
        at, text = None, "no values"
        if values:
            at = [place_value(value, low, high) for value in values[1:6]]
            text = (
                f"median {values[3]:.4g}, half between {values[2]:.4g} and {values[4]:.4g}, nine "
                f"tenths between {values[1]:.4g} and {values[5]:.4g}"
            )
        rows.append({"label": one["label"], "at": at, "text": text})
    # Round numbers on the axis.
    ticks = find_ticks(low, high) if high > low else [low]
    ends = [(place_value(tick, low, high), tick) for tick in dict.fromkeys((ticks[0], ticks[-1]))]
    return {"kind": "number", "low": low, "high": high, "ends": ends, "rows": rows}


def place_value(value: float, low: float, high: float) -> float:
    """Where a value lies on an axis, in percent; a tenth is left on either side."""
    return round(min(max(_scale(low, high, 10, 90)(value), 2.0), 98.0), 1)


def view_place(one: dict[str, Any], label: Any, views: dict[int, Any]) -> dict[str, Any]:
    """Where the value of a prototype lies among those of its class."""
    view = views[one["feature"]]
    own = next((row for row in view["rows"] if str(row["label"]) == str(label)), None)
    found = {"value": one["value"], "distinctive": one["distinctive"], "box": None, "share": None}
    if one.get("rank") is not None and own is not None and own.get("at"):
        at, text = place_value(one["value"], view["low"], view["high"]), f"above {one['rank']:.0%}"
        return {**found, "box": own["at"], "at": at, "text": f"{text} of its class"}
    if one.get("share") is not None:
        return {**found, "share": one["share"], "text": f"like {one['share']:.0%} of its class"}
    return {**found, "text": ""}


def place_map(found: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Points and prototypes in SVG pixels."""
    points, stars = [one["at"] for one in found["points"]], found["prototypes"]
    if not points:
        return [], []
    xs, ys = zip(*points, *stars, strict=True)
    x_scale = _scale(min(xs), max(xs), MAP_MARGIN, MAP_WIDTH - MAP_MARGIN)
    y_scale = _scale(min(ys), max(ys), MAP_HEIGHT - MAP_MARGIN, MAP_MARGIN)

    def place(all_of_them: list[Any]) -> list[Any]:
        return [[round(x_scale(x), 1), round(y_scale(y), 1)] for x, y in all_of_them]

    return place(points), place(stars)


def draw_map(found: dict[str, Any]) -> dict[str, Any]:
    """Samples as points, wrong ones with a ring, and prototypes as stars."""
    classes, embedding = found["classes"], found["map"]
    wrong = {row["row"] for row in found["samples"]["rows"] if row["right"] is False}
    points, stars = place_map(embedding)
    # Last on top.
    paths: dict[str, dict[int, str]] = {"trained": {}, "held-out": {}, "star": {}, "wrong": {}}
    texts, colors = [], {str(label): place for place, label in enumerate(classes)}

    def add(style: str, place: int, at: list[float], marker: str) -> None:
        paths[style][place] = paths[style].get(place, "") + f"M{at[0]} {at[1]}{marker}"

    by_class: dict[int, list[Any]] = {}
    for at, one in zip(points, embedding["points"], strict=True):
        place = colors.get(str(one["label"]), -1)
        by_class.setdefault(place, []).append(at)
        style = "trained" if one["row"] is None else "held-out"
        add(style, place, at, MARKERS[place % len(MARKERS)])
        if one["row"] in wrong:
            add("wrong", -1, at, RING)
    for at, one in zip(stars, found["prototypes"], strict=True):
        add("star", colors[str(one["class"])], at, STAR if len(stars) <= 30 else SMALL_STAR)
    for place, label in enumerate(classes):
        if len(classes) > MOST_IN_LEGEND and place in by_class:
            own = by_class[place]
            x, y = (sorted(axis)[len(own) // 2] for axis in zip(*own, strict=True))
            # Names stay within the map.
            across = min(max(x, 56), MAP_WIDTH - 56)
            texts.append((across, y, "middle", shorten(label, 17)))
    n = f"{embedding['n_training']} training cases, {embedding['n_held_out']} held-out cases"
    return {
        "width": MAP_WIDTH,
        "height": MAP_HEIGHT,
        "ticks": [],
        "texts": texts,
        "paths": [
            (style, None if place < 0 else place, path)
            for style, of_class in paths.items()
            for place, path in of_class.items()
        ],
        "text": f"Map of {n} and {len(stars)} prototypes: similar ones lie near each other.",
    }


def draw_curve(curve: dict[str, Any]) -> dict[str, Any]:
    """The main series of a prototype, channel by channel."""
    channels = curve["channels"]
    texts: list[tuple[Any, ...]] = []
    paths: list[tuple[Any, ...]] = []
    end = max(1, *(time for channel in channels for time in channel["times"]))
    x_scale = _scale(0, end, CURVE_LEFT, WIDTH - 6)
    for place, channel in enumerate(channels):
        top = CURVE_STEP * place + 18
        known = [value for value in channel["values"] if value is not None] or [0.0]
        y_scale = _scale(min(known), max(known), top + CURVE_HEIGHT - 3, top + 3)
        path, is_down = "", False
        for time, value in zip(channel["times"], channel["values"], strict=True):
            if value is not None:
                path += f"{'L' if is_down else 'M'}{x_scale(time):.1f} {y_scale(value):.1f}"
            is_down = value is not None
        paths.append(("line", None, path))
        texts.append((CURVE_LEFT, top - 5, "start", shorten(channel["name"], 40)))
        for value in sorted({min(known), max(known)}):
            texts.append((CURVE_LEFT - 6, f"{y_scale(value) + 4:.1f}", "end", f"{value:.3g}"))
    names = ", ".join(channel["name"] for channel in channels)
    return {
        "width": WIDTH,
        "height": CURVE_STEP * len(channels) + 16,
        "ticks": [(f"{x_scale(tick):.1f}", f"{tick:.6g}") for tick in find_ticks(0, end)],
        "texts": texts,
        "paths": paths,
        "text": f"Sample {curve['sample']} over time in {names}.",
    }


def draw_chances(chances: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Calibration, and the decision curve of two classes."""
    if chances is None:
        return []
    name = "a class" if chances["target"] is None else shorten(str(chances["target"]), 20)
    curve = chances["calibration"]["curve"]
    ends = [end for one in curve for end in one["interval"]]
    most = max(0.05, *(one["predicted"] for one in curve), *ends)
    line = [(one["predicted"], one["observed"]) for one in curve]
    bars = [[(one["predicted"], end) for end in one["interval"]] for one in curve]
    drawn = [
        {
            **_draw_lines([("line soft", [(0, 0), (most, most)]), ("line", line)], bars),
            "title": f"Calibration: predicted probability of {name}, and how often it was right",
        }
    ]
    if chances["benefit"] is not None:
        points = {
            key: [(one["threshold"], max(one[key], LEAST_BENEFIT)) for one in chances["benefit"]]
            for key in ("always", "model")
        }
        never = [(0, 0), (chances["benefit"][-1]["threshold"], 0)]
        lines = [("line soft", never), ("line soft", points["always"]), ("line", points["model"])]
        title = f"Net benefit of answering {name} from a threshold on; thin: always, and never"
        drawn.append({**_draw_lines(lines, []), "title": title})
    return drawn


def _draw_lines(
    lines: list[tuple[str, list[tuple[float, float]]]], bars: list[list[tuple[float, float]]]
) -> dict[str, Any]:
    """Lines with their styles and vertical bars, on axes of shares."""
    points = [point for _, line in lines for point in line] + [one for bar in bars for one in bar]
    right, low, high = (
        max(x for x, _ in points),
        min(0.0, *(y for _, y in points)),
        max(y for _, y in points),
    )
    across, up = _scale(0, right, CURVE_LEFT, WIDTH - 20), _scale(low, high, CHANCES_HEIGHT - 20, 6)

    def trace(line: list[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in line)

    return {
        "width": WIDTH,
        "height": CHANCES_HEIGHT,
        "ticks": [(f"{across(x):.1f}", f"{100 * x:.3g}%") for x in find_ticks(0, right)],
        "texts": [
            (CURVE_LEFT - 6, f"{up(y) + 4:.1f}", "end", f"{100 * y + 0.0:.3g}%")
            for y in find_ticks(low, high)
        ],
        "paths": [("span", 0, trace(bar)) for bar in bars]
        + [(style, 0, trace(line)) for style, line in lines],
    }


def find_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two limits."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * f for f in (1, 2, 5, 10, 20) if (high - low) / (power * f) <= most)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _scale(low: float, high: float, start: float, stop: float) -> Callable[[float], float]:
    """A linear map of [low, high] to pixels; a single value goes to the middle."""
    if high == low:
        return lambda value: (start + stop) / 2
    return lambda value: start + (value - low) / (high - low) * (stop - start)
