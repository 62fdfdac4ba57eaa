"""Case cards as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._checks import printable, shorten

if TYPE_CHECKING:
    from imkpl.explanations.case_card import CaseCard

# Longest names and cells, and the length of a bar on one side, in characters of a terminal.
LONGEST_NAME, LONGEST_CELL, BAR = 32, 16, 10
# Steps of a series in a terminal, and their heights.
MOST_STEPS, HEIGHTS = 60, "▁▂▃▄▅▆▇█"
# Width and height of a drawn series, in pixels.
WIDTH, HEIGHT = 560, 120
# Readable on white and on black.
FOR, AGAINST, GREY = "#3b82c4", "#d07a1e", "rgba(128,128,128,.35)"
BADGES = {"clear": "#3a9d5d", "close": "#d07a1e", "novel": "#cf4446", "no evidence": "#cf4446"}
IMAGES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}


def show_cell(value: Any) -> str:
    """A value as people read it: 15.14, 12346, f, yes, missing."""
    if value is None or isinstance(value, bool):
        return {None: "missing", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:.0f}" if 1e4 <= abs(value) < 1e10 else f"{value:.4g}"
    return str(value)


def percent(share: float) -> str:
    """A share; a small one is not called 0%, nor a large one 100%."""
    if 0 < share < 0.005:
        return "less than 1%"
    return "over 99%" if 0.995 <= share < 1 else f"{share:.0%}"


def signed(add: float) -> str:
    """What is added to a score; nothing is +0.000."""
    return f"{round(add, 3) + 0.0:+.3f}"


def write_side(card: CaseCard, side: dict[str, Any]) -> tuple[list[str], list[str]]:
    """How much the prototype around a training case has to say, and what it is unlike."""
    whole = "votes" if card.decision == "votes" else "code"
    like = [f"similarity {side['similarity']:.2f}", f"{percent(side['share'])} of the {whole}"]
    if side["n_cases"] > 1:
        like.insert(0, f"1 of {side['n_cases']} ({percent(side['part'])} of the prototype)")
    other = side["unlike"]
    if other is None:
        return like, []
    some = f", 1 of {other['n_cases']}" if other["n_cases"] > 1 else ""
    name = f"unlike case {other['case']} ({other['label']}){some}"
    return like, [name, f"less {other['similarity']:.2f}"]


def write_bonus(card: CaseCard) -> list[tuple[str, float]]:
    """The row of the bonuses, which speak whatever the features are; none if they say nothing."""
    favoured = card.answer if card.bonus > 0 else card.runner_up
    return [(f"head start of {favoured}", card.bonus)] if round(card.bonus, 3) else []


def write_change(card: CaseCard) -> str:
    """The smallest change that changes the answer, as a sentence."""
    change = card.change or {}
    parts = [
        f"{one['name']} were {show_cell(one['to'])} instead of {show_cell(one['from'])}"
        for one in change["features"]
    ]
    return f"It would be {change['to']} if {' and '.join(parts)}."


def write_text(card: CaseCard) -> str:
    """A card for a terminal."""
    lines = [
        f"Sample {card.case} is {card.answer} ({percent(card.probability)}), ahead of "
        f"{card.runner_up} ({percent(card.runner_up_probability)})."
    ]
    if card.doubt != "clear":
        lines.append(f"! {card.doubt_text}")
    if card.doubt == "no evidence":
        return "\n".join(map(printable, [*lines, *card.notes]))
    for side, label in ((card.supporting, card.answer), (card.opposing, card.runner_up)):
        like, unlike = write_side(card, side)
        lines.append(f"  For {label}: like case {', '.join([side['case'], *like])}")
        lines += [f"    {', '.join(unlike)}"] if unlike else []
    for name, picture in (card.pictures or {}).items():
        if not picture.startswith("<"):
            lines += f"  {name}: {picture}".split("\n")
    lines += ["", *_write_table(card), *(_write_series(card) if card.series else []), ""]
    lines += [*([write_change(card)] if card.change else []), *card.notes]
    return "\n".join(map(printable, lines)).rstrip()


def _write_table(card: CaseCard) -> Iterator[str]:
    """The features with their values in the three cases, and bars of what they add."""
    has_values = any(feature["value"] is not None for feature in card.features)
    head, rows = [""], []
    if has_values:
        head += ["this case", card.supporting["case"], card.opposing["case"]]
    for feature in card.features:
        cells = [show_cell(feature["value"])]
        for key in ("supporting", "opposing"):
            mark = "" if feature[f"near_{key}"] else "≠ "
            cells.append(mark + show_cell(feature[key]))
        shown = [shorten(cell, LONGEST_CELL) for cell in cells] if has_values else []
        rows.append([feature["name"], *shown])
    others = [*write_bonus(card), ("everything else", card.rest)]
    rows += [[name, *[""] * (len(head) - 1)] for name, _ in others]
    # Names of kernels of series say most at their end, and have no values beside them.
    longest = LONGEST_NAME if has_values else 2 * LONGEST_NAME
    rows = [[shorten(row[0], longest), *row[1:]] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    adds = [*(feature["for"] for feature in card.features), *(add for _, add in others)]
    largest = max(abs(add) for add in adds) or 1.0
    bars = [f"{'':{BAR}} for {card.answer}", *(_draw_bar(add, largest) for add in adds)]
    for row, bar in zip(rows, bars, strict=True):
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield f"  {'   '.join([f'{row[0]:<{widths[0]}}', *cells, bar])}".rstrip()
    total = sum(widths) + 3 * len(widths)
    yield f"  {'lead':<{total}}{'':{2 * BAR + 1}} {signed(card.lead)}"


def _draw_bar(add: float, longest: float) -> str:
    size = int(np.ceil(BAR * abs(add) / longest - 0.25))
    left, right = ("", "█" * size) if add >= 0 else ("▒" * size, "")
    return f"{left:>{BAR}}│{right:<{BAR}} {signed(add)}"


def _write_series(card: CaseCard) -> Iterator[str]:
    """The series over its supporting case, and when it decides."""
    series = card.series or {}
    times = np.linspace(0, len(series["values"]) - 1, min(MOST_STEPS, len(series["values"])))
    own = np.interp(times, *_known(series["values"]))
    steps, values = _known(series["supporting"])
    other = np.interp(np.interp(times, series["times"], series["aligned"]), steps, values)
    low, high = min(own.min(), other.min()), max(own.max(), other.max())
    is_inside = (times >= series["from"]) & (times <= series["to"])
    yield f"  {_spark(own, low, high)}  this case"
    how = "aligned" if series["summary"] is None else f"alike in {series['summary']}"
    yield f"  {_spark(other, low, high)}  {series['case']}, {how}"
    yield f"  {''.join('^' if inside else ' ' for inside in is_inside)}  {write_when(card)}"


def _known(values: list[Any]) -> tuple[list[int], list[float]]:
    """Steps with a value, and the values."""
    steps = [step for step, value in enumerate(values) if value is not None]
    return steps, [values[step] for step in steps]


def _spark(values: Any, low: float, high: float) -> str:
    scaled = (values - low) / (high - low or 1.0) * (len(HEIGHTS) - 1)
    return "".join(HEIGHTS[int(height)] for height in scaled.round())


def write_when(card: CaseCard) -> str:
    """When a series decides, as a phrase."""
    one = card.series or {}
    how = "mostly in" if one["summary"] is None else "in"
    return f"{how} steps {one['from']} to {one['to']} of {one['channel']}"


def write_html(card: CaseCard) -> str:
    """A card for a notebook, with all styles in it, on any background."""
    badge, edge = BADGES[card.doubt], "dashed" if card.doubt == "no evidence" else "solid"
    parts = [
        f'<div style="font:13px/1.45 system-ui,sans-serif;max-width:860px;padding:12px 16px;'
        f"margin:6px 0;border:1px {edge} {GREY};border-left:5px {edge} {badge};"
        'border-radius:6px">',
        f'<div style="font-size:16px"><span style="opacity:.7">{escape(card.case)} is</span> '
        f"<b>{escape(str(card.answer))}</b> {percent(card.probability)}"
        f'<span style="opacity:.7">, ahead of {escape(str(card.runner_up))} '
        f"{percent(card.runner_up_probability)}</span></div>",
        f'<div style="margin:2px 0 8px;color:{badge};font-weight:600">'
        f"{escape(card.doubt_text)}</div>",
    ]
    if card.doubt != "no evidence":
        parts += _table_html(card)
        parts += [_series_html(card)] if card.series else []
        if card.change:
            parts.append(f'<p style="margin:8px 0 0"><b>{escape(write_change(card))}</b></p>')
    parts += [f'<p style="margin:4px 0 0">{escape(note)}</p>' for note in card.notes]
    return "".join([*parts, "</div>"])


def _table_html(card: CaseCard) -> Iterator[str]:
    has_values = any(feature["value"] is not None for feature in card.features)
    columns: list[tuple[str, dict[str, Any] | None, Any]] = []
    columns += [("value", None, None)] if has_values or card.pictures else []
    columns.append(("supporting", card.supporting, card.answer))
    columns.append(("opposing", card.opposing, card.runner_up))
    cell = "text-align:right;padding:3px 10px;background:none;white-space:nowrap;"
    line = f"border-top:1px solid {GREY};"
    yield '<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:0;'
    yield 'color:inherit;font:inherit"><thead>'
    yield '<tr style="background:none"><th></th>'
    for key, side, label in columns:
        title, text = "this&nbsp;case", ""
        if side is not None:
            title = f"like {escape(side['case'])}, {escape(str(label))}"
            like, unlike = write_side(card, side)
            text = ",<br>".join(map(escape, like + unlike))
        picture = (card.pictures or {}).get("case" if key == "value" else key, "")
        picture = picture if picture.startswith("<") else escape(picture)
        yield (
            f'<th style="{cell}white-space:normal;max-width:170px;vertical-align:bottom">'
            f"{picture}<div>{title}</div>"
            f'<div style="font-weight:400;opacity:.7">{text}</div></th>'
        )
    yield f'<th style="{cell}text-align:left;vertical-align:bottom">for '
    yield f"{escape(str(card.answer))}</th></tr></thead><tbody>"
    adds = [feature["for"] for feature in card.features]
    longest = max(abs(add) for add in (*adds, card.bonus, card.rest)) or 1.0
    for feature in card.features:
        yield f'<tr style="background:none;{line}">'
        yield f'<td style="{cell}text-align:left">{escape(feature["name"])}</td>'
        for key, _, _ in columns:
            is_near = key == "value" or feature[f"near_{key}"]
            mark = "" if is_near else '<span title="unlike this case">&ne;</span>&nbsp;'
            weight = "" if is_near else "font-weight:600;"
            text = escape(show_cell(feature[key]))
            if not has_values:
                text = "" if key == "value" else "alike" if is_near else "unlike"
            outside = feature["outside"] if key == "value" else None
            text += f'<br><span style="color:{BADGES["novel"]}">{outside}</span>' if outside else ""
            yield f'<td style="{cell}{weight}">{mark}{text}</td>'
        yield f"<td>{_bar_html(feature['for'], longest)}</td></tr>"
    blank = f'<td colspan="{len(columns)}"></td>'
    for name, add in (*write_bonus(card), ("everything else", card.rest)):
        yield f'<tr style="background:none;{line}opacity:.75"><td style="{cell}text-align:left">'
        yield f"{escape(name)}</td>{blank}<td>{_bar_html(add, longest)}</td></tr>"
    yield f'<tr style="background:none;{line}font-weight:600"><td style="{cell}text-align:left">'
    yield f'lead</td>{blank}<td style="{cell}">{signed(card.lead)}</td></tr></tbody></table></div>'


def _bar_html(add: float, longest: float) -> str:
    """A bar to the right for what speaks for the answer, to the left for what is against it."""
    width = 50 * abs(add) / longest
    left, color = (50, FOR) if add >= 0 else (50 - width, AGAINST)
    return (
        '<div style="display:flex;align-items:center;gap:8px;padding:0 10px">'
        '<div style="position:relative;width:150px;height:12px">'
        f'<div style="position:absolute;left:50%;top:-3px;bottom:-3px;width:1px;background:{GREY}">'
        f'</div><div style="position:absolute;left:{left:.1f}%;width:{width:.1f}%;height:12px;'
        f'background:{color};border-radius:2px"></div></div>'
        f'<span style="flex:1;text-align:right">{signed(add)}</span></div>'
    )


def _series_html(card: CaseCard) -> str:
    """The series and its supporting case with lines between aligned steps, and when it decides."""
    series = card.series or {}
    end = max(len(series["values"]), len(series["supporting"])) - 1 or 1
    own, other = _known(series["values"]), _known(series["supporting"])
    low, high = min(own[1] + other[1]), max(own[1] + other[1])

    def across(step: float) -> float:
        return 4 + (WIDTH - 8) * step / end

    def down(value: float, lower: bool) -> float:
        top = HEIGHT * 0.55 if lower else 6
        return top + (HEIGHT * 0.45 - 6) * (1 - (value - low) / (high - low or 1.0))

    lines = [
        " ".join(f"{across(s):.1f},{down(v, lower):.1f}" for s, v in zip(*known, strict=True))
        for known, lower in ((own, False), (other, True))
    ]
    every = max(1, len(series["times"]) // 40)
    ties = "".join(
        f"M{across(time):.1f} {down(float(np.interp(time, *own)), False):.1f}"
        f"L{across(aligned):.1f} {down(float(np.interp(aligned, *other)), True):.1f}"
        for time, aligned in list(zip(series["times"], series["aligned"], strict=True))[::every]
    )
    strength = max(series["shares"]) or 1.0
    edges = [*series["times"], end]
    shades = "".join(
        f'<rect x="{across(start):.1f}" width="{across(stop) - across(start):.1f}" y="0" '
        f'height="{HEIGHT}" fill="{FOR}" fill-opacity="{0.3 * share / strength:.3f}"/>'
        for (start, stop), share in zip(pairwise(edges), series["shares"], strict=True)
    )
    return (
        f'<div style="margin-top:10px">Decides {escape(write_when(card))}</div>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" style="max-width:100%" role="img" '
        f'aria-label="This case above, {escape(str(series["case"]), quote=True)} below">'
        f'{shades}<path d="{ties}" stroke="{GREY}" fill="none"/>'
        f'<polyline points="{lines[0]}" stroke="{FOR}" stroke-width="1.8" fill="none"/>'
        f'<polyline points="{lines[1]}" stroke="currentColor" stroke-width="1.4" '
        'fill="none"/></svg>'
        f'<div style="opacity:.7">above: this case; below: {escape(str(series["case"]))}; grey: '
        f"{'aligned steps' if series['summary'] is None else 'the same part of the time'}; "
        "shaded: steps that tell it from the opposing case</div>"
    )


def draw_picture(picture: Any) -> str:
    """What a user's function made of a sample: text, or HTML, which begins with "<"."""
    for name in ("_repr_svg_", "_repr_html_", "_repr_png_"):
        if callable(getattr(picture, name, None)):
            picture = getattr(picture, name)()
    if isinstance(picture, bytes):
        kind = next((kind for start, kind in IMAGES.items() if picture.startswith(start)), "png")
        data = base64.b64encode(picture).decode()
        return f'<img alt="" style="max-width:160px" src="data:image/{kind};base64,{data}">'
    return str(picture)
