"""The charts of a report: pictures drawn from its dict.

A picture is inline SVG, so the page needs no script to show it and prints as it is. Colours are
those of `imkpl.plots`, which colour-blind readers can tell apart, and never carry a meaning alone.
"""

from __future__ import annotations

from typing import Any

from imkpl.plots._palette import COLORS, class_color
from imkpl.report.svg import draw_svg

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
STAR = (
    "M0,-1L0.23,-0.31L0.95,-0.31L0.36,0.12L0.59,0.81L0,0.38L-0.59,0.81L-0.36,0.12L-0.95,-0.31"
    "L-0.23,-0.31Z"
)
# A picture no wider than a phone keeps its letters readable there.
WIDTH = 210
LABEL_WIDTH = 110
MOST_WEIGHTS = 30
# More classes than this are named in the map itself instead of a legend, or not drawn one by one.
MOST_IN_LEGEND = 12
MOST_CLASSES = 30
MOST_CURVES = 60
# In a row of a chart more samples than this cannot be told apart.
MOST_MARKS = 30


def draw_charts(found: dict[str, Any]) -> dict[str, Any]:
    """All pictures of a report."""
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise ModuleNotFoundError(
            "A report draws its charts with altair and vl-convert-python, and one of them is not "
            "installed. Install them with pip install 'imkpl[report]'; save_json() saves the "
            "numbers of a report without them."
        ) from error
    features = found["features"]["features"]
    curves = (found["curves"] or [])[:MOST_CURVES]
    return {
        "weights": draw_weights(features[:MOST_WEIGHTS]),
        "features": {
            feature["feature"]: draw_distribution(found, feature)
            for feature in features
            if "distribution" in feature
        },
        "maps": [draw_map(found, one) for one in found["embedding"]["maps"]],
        "curves": {curve["prototype"]: draw_curves(curve) for curve in curves},
    }


def draw_weights(features: list[dict[str, Any]]) -> str:
    """A bar for the weight of every feature."""
    import altair as alt

    rows = [{"name": one["name"], "weight": one["weight"]} for one in features]
    chart = (
        alt.Chart(_data(rows), width=WIDTH, height=alt.Step(18))
        .mark_bar(color=COLORS[0], height=11)
        .encode(
            y=_names("name", [row["name"] for row in rows]),
            x=alt.X("weight:Q", axis=alt.Axis(format="%", tickCount=4), title="weight"),
        )
    )
    top = ", ".join(f"{one['name']} {one['weight']:.0%}" for one in features[:3])
    return draw_svg(chart, "weights", f"Bars of feature weights. The largest: {top}.")


def draw_distribution(found: dict[str, Any], feature: dict[str, Any]) -> str:
    """How the values of one feature are spread in each class."""
    name = f"feature-{feature['feature']}"
    classes = found["classes"][:MOST_CLASSES]
    if feature["distribution"]["kind"] == "category":
        return draw_svg(_category_chart(feature, classes), name, _say_categories(feature))
    return draw_svg(_number_chart(feature, classes), name, _say_numbers(feature))


def _number_chart(feature: dict[str, Any], classes: list[Any]) -> Any:
    import altair as alt

    labels, domain = [str(label) for label in classes], _class_colours(classes)
    rows = [
        {"class": str(one["label"]), **dict(zip("abcdefg", one["quantiles"], strict=True))}
        for one in feature["distribution"]["classes"]
        if one["quantiles"] is not None and str(one["label"]) in labels
    ]
    marks = _thin_marks(feature["marks"], labels)
    y, scale = _names("class", labels), alt.Scale(zero=False)
    colour = alt.Color("class:N", scale=domain, legend=None)
    axis = alt.Axis(tickCount=4, labelOverlap=True)
    base = alt.Chart(_data(rows), width=WIDTH, height=alt.Step(26))
    boxes = [
        base.mark_rule(strokeWidth=1.5).encode(
            y=y, x=alt.X("b:Q", scale=scale, axis=axis, title=None), x2="f:Q", color=colour
        ),
        base.mark_bar(height=12, opacity=0.45).encode(y=y, x="c:Q", x2="e:Q", color=colour),
        base.mark_tick(thickness=2, size=16, color="black").encode(y=y, x="d:Q"),
    ]
    points = alt.Chart(_data(marks)).mark_point(
        shape="diamond", size=26, filled=False, stroke="black", strokeWidth=1, yOffset=9
    )
    return alt.layer(*boxes, points.encode(y=y, x="value:Q"))


def _thin_marks(marks: list[dict[str, Any]], labels: list[str]) -> list[dict[str, Any]]:
    """Different values of every class, evenly many of them where there are too many to see."""
    by_class: dict[str, set[float]] = {label: set() for label in labels}
    for mark in marks:
        if str(mark["class"]) in by_class and isinstance(mark["value"], int | float):
            by_class[str(mark["class"])].add(mark["value"])
    thinned = []
    for label, values in by_class.items():
        ordered, step = sorted(values), max(1.0, (len(values) - 1) / (MOST_MARKS - 1))
        places = [round(step * i) for i in range(min(len(ordered), MOST_MARKS))]
        thinned += [{"class": label, "value": ordered[place]} for place in places]
    return thinned


def _category_chart(feature: dict[str, Any], classes: list[Any]) -> Any:
    import altair as alt

    distribution, labels = feature["distribution"], [str(label) for label in classes]
    names = [*distribution["categories"]]
    if distribution["n_other_categories"]:
        names.append(f"{distribution['n_other_categories']} others")
    rows = [
        {"class": str(one["label"]), "category": name, "share": count / one["n"]}
        for one in distribution["classes"]
        if one["n"] and str(one["label"]) in labels
        for name, count in zip(names, one["counts"], strict=False)
    ]
    return (
        alt.Chart(_data(rows), width=WIDTH, height=alt.Step(11))
        .mark_bar()
        .encode(
            y=_names("category", names),
            yOffset=alt.YOffset("class:N", sort=None, scale=alt.Scale(domain=labels)),
            x=alt.X("share:Q", axis=alt.Axis(format="%", tickCount=4), title="share of a class"),
            color=alt.Color("class:N", scale=_class_colours(classes), legend=_legend(classes)),
        )
    )


def draw_map(found: dict[str, Any], one: dict[str, Any]) -> str:
    """Samples as points and prototypes as stars."""
    import altair as alt

    classes, embedding = found["classes"], found["embedding"]
    labels = [str(label) for label in classes]
    points = _place(one["points"], embedding["labels"])
    stars = []
    if one["prototypes"] is not None:
        stars = _place(one["prototypes"], embedding["prototype_classes"])
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(labels))]
    hidden = alt.Axis(labels=False, ticks=False, grid=False, title=None, domain=False)
    encoding = {
        "x": alt.X("x:Q", axis=hidden, scale=alt.Scale(zero=False, nice=False, padding=12)),
        "y": alt.Y("y:Q", axis=hidden, scale=alt.Scale(zero=False, nice=False, padding=12)),
        "color": alt.Color("class:N", scale=_class_colours(classes), legend=_legend(classes)),
    }
    shape = alt.Shape(
        "class:N", scale=alt.Scale(domain=labels, range=shapes), legend=_legend(classes)
    )
    base = alt.Chart(_data(points), width=310, height=270)
    layers = [base.mark_point(filled=True, size=22, opacity=0.75).encode(**encoding, shape=shape)]
    if stars:
        layers.append(
            alt.Chart(_data(stars))
            .mark_point(filled=True, size=220, stroke="black", strokeWidth=1, opacity=1)
            .encode(**encoding, shape=alt.ShapeValue(STAR))
        )
    if len(labels) > MOST_IN_LEGEND:
        middles = alt.Chart(_data(points)).mark_text(fontWeight="bold", fontSize=10)
        layers.append(
            middles.encode(x="median(x):Q", y="median(y):Q", text="class:N", detail="class:N")
        )
    n_stars = f" and {len(stars)} prototypes as stars" if stars else ""
    text = f"Map of {len(points)} samples by class{n_stars}, from the {one['title']} kernel."
    return draw_svg(alt.layer(*layers), f"map-{one['title']}", text)


def draw_curves(curve: dict[str, Any]) -> str:
    """The main series of a prototype, channel by channel."""
    import altair as alt

    panels = []
    for channel in curve["channels"]:
        rows = [
            {"time": time, "value": value}
            for time, value in zip(channel["times"], channel["values"], strict=True)
        ]
        panels.append(
            alt.Chart(_data(rows), width=250, height=44)
            .mark_line(strokeWidth=1.4, color=COLORS[0])
            .encode(
                x=alt.X("time:Q", axis=alt.Axis(tickCount=4, grid=False), title=None),
                y=alt.Y("value:Q", axis=alt.Axis(tickCount=2), title=None, scale=_free()),
            )
            .properties(title=alt.Title(channel["name"], anchor="start", fontSize=11, limit=250))
        )
    names = ", ".join(channel["name"] for channel in curve["channels"])
    text = f"Sample {curve['sample']} over time in {names}."
    chart = alt.vconcat(*panels, spacing=6)
    return draw_svg(chart, f"curve-{curve['prototype']}", text)


def _data(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.InlineData(values=rows)


def _names(field: str, order: list[str]) -> Any:
    import altair as alt

    axis = alt.Axis(labelLimit=LABEL_WIDTH, ticks=False, domain=False, labelPadding=6)
    # A list to sort by would become source code of an expression; a domain stays data.
    return alt.Y(f"{field}:N", sort=None, axis=axis, title=None, scale=alt.Scale(domain=order))


def _free() -> Any:
    import altair as alt

    return alt.Scale(zero=False)


def _class_colours(classes: list[Any]) -> Any:
    import altair as alt

    labels = [str(label) for label in classes]
    return alt.Scale(domain=labels, range=[class_color(i) for i in range(len(labels))])


def _legend(classes: list[Any]) -> Any:
    import altair as alt

    if len(classes) > MOST_IN_LEGEND:
        return None
    return alt.Legend(title=None, orient="bottom", columns=2, labelFontSize=11, labelLimit=130)


def _place(points: list[list[float]], labels: list[Any]) -> list[dict[str, Any]]:
    return [
        {"x": x, "y": y, "class": str(label)} for (x, y), label in zip(points, labels, strict=True)
    ]


def _say_numbers(feature: dict[str, Any]) -> str:
    parts = [
        f"{one['label']}: median {one['quantiles'][3]:.4g}, half between {one['quantiles'][2]:.4g} "
        f"and {one['quantiles'][4]:.4g}"
        for one in feature["distribution"]["classes"]
        if one["quantiles"] is not None
    ]
    return f"{feature['name']} by class. {'; '.join(parts[:MOST_IN_LEGEND])}."


def _say_categories(feature: dict[str, Any]) -> str:
    return (
        f"{feature['name']}: share of {', '.join(feature['distribution']['categories'])} by class."
    )
