"""From a chart to a picture that can stand in a page among others."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

SVG = "http://www.w3.org/2000/svg"
# Pictures only: nothing that runs, loads or links.
ALLOWED = {"svg", "g", "path", "text", "tspan", "rect", "line", "circle", "defs", "clipPath"}
STYLE = {
    "font": "Helvetica, Arial, sans-serif",
    "background": "transparent",
    "padding": 4,
    "view": {"stroke": None},
    # One text describes the whole picture.
    "aria": False,
    "axis": {
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelColor": "#222",
        "titleColor": "#444",
        "gridColor": "#e4e4e4",
        "domainColor": "#888",
        "tickColor": "#888",
    },
}
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(e-?\d+)?")


def draw_svg(chart: Any, name: str, text: str) -> str:
    """The SVG of a chart, with a text for those who do not see it."""
    import vl_convert

    return clean_svg(vl_convert.vegalite_to_svg({**chart.to_dict(), "config": STYLE}), name, text)


def clean_svg(source: str, name: str, text: str) -> str:
    """A picture with one text alternative, short numbers and ids of its own.

    Examples
    --------
    >>> source = f'<svg xmlns="{SVG}"><g id="a" x="1.23456"><text>a &lt; b</text></g></svg>'
    >>> clean_svg(source, "one", "Two letters")
    '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Two letters">\
<g id="one-a" x="1.23"><text>a &lt; b</text></g></svg>'
    """
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(source)
    for element in root.iter():
        tag = element.tag.removeprefix(f"{{{SVG}}}")
        if tag not in ALLOWED:
            raise ValueError(f"A chart contains <{tag}>, expected shapes and text only.")
        for key in list(element.attrib):
            value = element.attrib[key]
            if key.startswith("aria-") or key in ("role", "class"):
                del element.attrib[key]
            elif key == "id":
                element.set(key, f"{name}-{value}")
            else:
                value = value.replace("url(#", f"url(#{name}-")
                element.set(key, LONG_NUMBER.sub(_shorten, value))
    root.set("role", "img")
    root.set("aria-label", text)
    return ElementTree.tostring(root, encoding="unicode")


def _shorten(found: re.Match[str]) -> str:
    return f"{float(found.group()):.2f}".rstrip("0").rstrip(".")
