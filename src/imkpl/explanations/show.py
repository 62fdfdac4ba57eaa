"""Case cards as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from imkpl._checks import printable, shorten
from imkpl._typing import FloatArray

if TYPE_CHECKING:
    from imkpl.explanations.case_card import CaseCard

# Longest names and cells, and the length of a bar on one side, in characters of a terminal.
LONGEST_NAME, LONGEST_CELL, BAR = 32, 16, 10
# Numbers with more characters are rounded to four digits.
LONGEST_NUMBER = 6
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
        # Short numbers as they were written, such as 1184.5.
        text = repr(value).removesuffix(".0")
        if len(text.lstrip("-")) <= LONGEST_NUMBER and 1e-4 <= abs(value) < 1e6:
            return text
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


def write_number(card: CaseCard, number: float) -> str:
    """What is added to a score, or to a value."""
    return signed(number) if card.value is None else f"{round(number, 9) + 0.0:+.4g}"


def write_head(card: CaseCard) -> tuple[str, str]:
    """The answer, and what it is beside."""
    if card.value is None:
        other = f"{card.runner_up} {percent(card.runner_up_probability)}"
        return f"{card.answer} {percent(card.probability)}", f"ahead of {other}"
    lower, higher = (
        f"case {side['case']} ({show_cell(side['label'])})"
        for side in (card.opposing, card.supporting)
    )
    said = f"between {lower} and {higher}"
    interval, estimate = card.value["interval"], show_cell(card.value["estimate"])
    if interval is not None:
        said += f", 90% interval {' to '.join(map(show_cell, interval))}"
    if card.value["order"] is None:
        return estimate, said
    return show_cell(card.answer), f"at {estimate} in the order from 0, {said}"


def name_sides(card: CaseCard) -> tuple[str, str]:
    """What the supporting case speaks for, and the opposing one."""
    if card.value is not None:
        return "a higher value", "a lower value"
    return str(card.answer), str(card.runner_up)


def write_total(card: CaseCard) -> str:
    """What the additions add up to."""
    if card.value is None:
        return "lead"
    middle, estimate = (show_cell(card.value[name]) for name in ("middle", "estimate"))
    return f"from the middle, {middle}, to {estimate}"


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


def has_values(card: CaseCard) -> bool:
    """Whether features have values to show."""
    return any(feature["value"] is not None for feature in card.features)


def list_rows(card: CaseCard) -> Iterator[tuple[str, list[str], str | None, float]]:
    """What adds to the lead: its name, its three cells, a remark on the first, and how much."""
    for one in card.features:
        cells = [show_cell(one["value"])] if has_values(card) else [""]
        for side in ("supporting", "opposing"):
            is_near = one[f"near_{side}"]
            word = show_cell(one[side]) if cells[0] else "alike" if is_near else "unlike"
            cells.append(word if is_near else f"≠ {word}")
        yield one["name"], cells, one["outside"], one["for"]
    for row in card.rest:
        if row["kind"] == "features" or card.value or round(row["for"], 3):
            yield row["name"], [], None, row["for"]


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
    if card.value is not None:
        lines = [f"Sample {card.case} is {', '.join(write_head(card))}."]
    if card.doubt != "clear":
        lines.append(f"! {card.doubt_text}")
    if card.doubt == "no evidence":
        return "\n".join(map(printable, [*lines, *card.notes]))
    for side, label in zip((card.supporting, card.opposing), name_sides(card), strict=True):
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
    rows, head = list(list_rows(card)), ["this case", card.supporting["case"]]
    head = [*head, card.opposing["case"]] if has_values(card) else []
    # Names of kernels of series say most at their end, and have no values beside them.
    longest = LONGEST_NAME if head else 2 * LONGEST_NAME
    largest = max(abs(add) for *_, add in rows) or 1.0
    lines = [["", *head, f"{'':{BAR}} for {name_sides(card)[0]}"]]
    for name, cells, _, add in rows:
        shown = [shorten(cell, LONGEST_CELL) for cell in cells or [""] * 3] if head else []
        bar = f"{_draw_bar(add, largest)} {write_number(card, add)}"
        lines.append([shorten(name, longest), *shown, bar])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)][:-1]
    for name, *shown, bar in lines:
        cells = [f"{cell:>{width}}" for cell, width in zip(shown, widths[1:], strict=True)]
        yield f"  {'   '.join([f'{name:<{widths[0]}}', *cells, bar])}".rstrip()
    total = sum(widths) + 3 * len(widths)
    yield f"  {write_total(card):<{total}}{'':{2 * BAR + 1}} {write_number(card, card.lead)}"


def _draw_bar(add: float, longest: float) -> str:
    size = int(np.ceil(BAR * abs(add) / longest - 0.25))
    left, right = ("", "█" * size) if add >= 0 else ("▒" * size, "")
    return f"{left:>{BAR}}│{right:<{BAR}}"


def _write_series(card: CaseCard) -> Iterator[str]:
    """The series over its supporting case, and when it decides."""
    series = card.series or {}
    times, own, other = _overlay(series, MOST_STEPS)
    is_inside = np.zeros(times.size, dtype=bool)
    if series["from"] is not None:
        is_inside = (times >= series["from"]) & (times <= series["to"])
    how = "aligned" if series["summary"] is None else f"alike in {series['summary']}"
    for values, name in ((own, "this case"), (other, f"{series['case']}, {how}")):
        heights = (values * (len(HEIGHTS) - 1)).round().astype(int)
        yield f"  {''.join(HEIGHTS[height] for height in heights)}  {name}"
    marks = (
        f"{''.join('^' if inside else ' ' for inside in is_inside)}  " if is_inside.any() else ""
    )
    yield f"  {marks}{write_when(card)}"


def _overlay(series: dict[str, Any], most: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Some steps, the series there, and the steps beside them, both on one scale from 0 to 1."""
    times = np.linspace(0, len(series["values"]) - 1, min(most, len(series["values"])))
    beside = np.interp(times, series["times"], series["aligned"])
    lines = []
    for at, values in ((times, series["values"]), (beside, series["supporting"])):
        known = [(step, value) for step, value in enumerate(values) if value is not None]
        lines.append(np.interp(at, *np.transpose(known)))
    low, high = np.min(lines), np.max(lines)
    own, other = ((line - low) / (high - low or 1.0) for line in lines)
    return times, own, other


def write_when(card: CaseCard) -> str:
    """When a series decides, as a phrase."""
    one = card.series or {}
    if one["from"] is None:
        return f"over the whole length of {one['channel']}"
    return f"mostly in steps {one['from']} to {one['to']} of {one['channel']}"


def write_html(card: CaseCard) -> str:
    """A card for a notebook, with all styles in it, on any background."""
    answer, beside = write_head(card)
    chance = ""
    if card.value is None:
        answer, chance = str(card.answer), f" {percent(card.probability)}"
    badge = BADGES[card.doubt]
    parts = [
        f'<div style="font:13px/1.45 system-ui,sans-serif;max-width:860px;padding:12px 16px;'
        f"margin:6px 0;border:1px solid {GREY};border-left:5px solid {badge};"
        'border-radius:6px">',
        f'<div style="font-size:16px"><span style="opacity:.7">{escape(card.case)} is</span> '
        f"<b>{escape(answer)}</b>{escape(chance)}"
        f'<span style="opacity:.7">, {escape(beside)}</span></div>',
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
    cell = "text-align:right;padding:3px 10px;background:none;white-space:nowrap;"
    left = f"{cell}text-align:left;"
    line = f"background:none;border-top:1px solid {GREY};"
    heads = ["<div>this&nbsp;case</div>"]
    for side, name in zip((card.supporting, card.opposing), name_sides(card), strict=True):
        label = str(show_cell(side["label"]) if card.value else side["label"])
        heads.append(f"<div>{escape(side['case'])}, {escape(label)}</div>")
        like = ", ".join(part for parts in write_side(card, side) for part in parts)
        yield f'<div style="margin:2px 0;opacity:.8"><b>For {escape(name)}</b>: like case '
        yield f"{escape(side['case'])}, {escape(like)}</div>"
    for place, picture in enumerate((card.pictures or {}).values()):
        heads[place] = (picture if picture.startswith("<") else escape(picture)) + heads[place]
    first = 0 if has_values(card) or card.pictures else 1
    yield '<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:0;'
    yield 'color:inherit;font:inherit"><thead><tr style="background:none"><th></th>'
    for head in heads[first:]:
        yield f'<th style="{cell}white-space:normal;max-width:170px;vertical-align:bottom">'
        yield f"{head}</th>"
    yield f'<th style="{left}vertical-align:bottom">for {escape(name_sides(card)[0])}</th>'
    yield "</tr></thead><tbody>"
    rows = list(list_rows(card))
    longest = max(abs(add) for *_, add in rows) or 1.0
    blank = f'<td colspan="{3 - first}"></td>'
    for name, cells, outside, add in rows:
        shown = [
            f'<td style="{cell}{"font-weight:600;" if text.startswith("≠") else ""}">{escape(text)}'
            for text in cells
        ]
        if outside:
            shown[0] += f'<br><span style="color:{BADGES["novel"]}">{outside}</span>'
        yield f'<tr style="{line}{"" if cells else "opacity:.75"}"><td style="{left}">'
        yield f"{escape(name)}</td>{'</td>'.join([*shown[first:], '']) or blank}"
        yield f"<td>{_bar_html(add, longest, write_number(card, add))}</td></tr>"
    total = escape(write_total(card))
    yield f'<tr style="{line}font-weight:600"><td style="{left}">{total}</td>{blank}'
    yield f'<td style="{cell}">{write_number(card, card.lead)}</td></tr></tbody></table></div>'


def _bar_html(add: float, longest: float, number: str) -> str:
    """A bar to the right for what speaks for the answer, to the left for what is against it."""
    width = 50 * abs(add) / longest
    left, color = (50, FOR) if add >= 0 else (50 - width, AGAINST)
    return (
        '<div style="display:flex;align-items:center;gap:8px;padding:0 10px">'
        '<div style="position:relative;width:150px;height:12px">'
        f'<div style="position:absolute;left:50%;top:-3px;bottom:-3px;width:1px;background:{GREY}">'
        f'</div><div style="position:absolute;left:{left:.1f}%;width:{width:.1f}%;height:12px;'
        f'background:{color};border-radius:2px"></div></div>'
        f'<span style="flex:1;text-align:right">{number}</span></div>'
    )


def _series_html(card: CaseCard) -> str:
    """The series over its supporting case, and when it decides."""
    series = card.series or {}
    times, own, other = _overlay(series, WIDTH // 4)
    end = times[-1] or 1.0
    across, shade, said = WIDTH / end, "", ""
    if series["from"] is not None:
        start, stop = across * series["from"], across * series["to"]
        shade = f'<rect x="{start:.1f}" width="{max(stop - start, 2):.1f}" height="{HEIGHT}"'
        shade += f' fill="{GREY}" fill-opacity=".18"/>'
        said = "; shaded: steps that tell it from the opposing case"
    lines = [
        " ".join(
            f"{across * time:.1f},{6 + (HEIGHT - 12) * (1 - value):.1f}"
            for time, value in zip(times, values, strict=True)
        )
        for values in (other, own)
    ]
    name, how = escape(str(series["case"]), quote=True), "aligned step by step"
    how = how if series["summary"] is None else "at the same part of the time"
    return (
        f'<div style="margin-top:10px">Decides {escape(write_when(card))}</div>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" style="max-width:100%" role="img" '
        f'aria-label="This case over {name}">{shade}'
        f'<polyline points="{lines[0]}" stroke="{GREY}" stroke-width="5" fill="none"/>'
        f'<polyline points="{lines[1]}" stroke="{FOR}" stroke-width="1.8" fill="none"/></svg>'
        f'<div style="opacity:.7">thin: this case; wide: {name}, {how}{said}</div>'
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
