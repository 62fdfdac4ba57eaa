"""The dict of a report as one page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from imkpl.report.charts import (
    MOST_CLASSES,
    MOST_CURVES,
    MOST_MARKS,
    MOST_WEIGHTS,
    draw_charts,
)

# Cells of tables with the values of real samples, in all prototypes together.
MOST_CELLS = 6000
MOST_COLUMNS, FEWEST_COLUMNS = 12, 3
# A table of more classes than this has no use; the pairs that were confused are listed instead.
MOST_CONFUSION = 30
MOST_CONFUSED = 50
# Nobody reads more of them before the rest.
MOST_WARNINGS = 20


def render_report(found: dict[str, Any]) -> str:
    """The page that shows a report.

    Parameters
    ----------
    found : dict
        What `summarize` gave, or the same read from JSON.

    Returns
    -------
    str
        HTML with styles, script, data and pictures in it.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ModuleNotFoundError(
            "A report page is made with jinja2, which is not installed. Install it with pip "
            "install 'imkpl[report]'; save_json() saves the numbers of a report without it."
        ) from error
    environment = Environment(
        loader=PackageLoader("imkpl.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=say_percent, value=say_value)
    script, style = _read_static("page.js"), _read_static("page.css")
    drawn = draw_charts(found)
    page: str = environment.get_template("page.html").render(
        report=found,
        # Made by us, and every text in them is escaped.
        charts={
            "weights": Markup(drawn["weights"]),
            "features": {key: Markup(svg) for key, svg in drawn["features"].items()},
            "maps": [Markup(svg) for svg in drawn["maps"]],
            "curves": {key: Markup(svg) for key, svg in drawn["curves"].items()},
        },
        limits={
            "columns": count_columns(found["prototypes"]),
            "classes": MOST_CLASSES,
            "weights": MOST_WEIGHTS,
            "marks": MOST_MARKS,
            "curves": MOST_CURVES,
            "confusion": MOST_CONFUSION,
            "confused": MOST_CONFUSED,
            "warnings": MOST_WARNINGS,
        },
        style=Markup(style),
        script=Markup(script),
        script_hash=_hash(script),
        data=Markup(embed_json(_page_data(found))),
    )
    return page


def embed_json(value: Any) -> str:
    r"""JSON that may stand within a script element, whatever strings are in it.

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
    """How many features the tables of real samples have room for."""
    n_rows = sum(len(prototype["samples"]) for prototype in prototypes)
    return max(FEWEST_COLUMNS, min(MOST_COLUMNS, MOST_CELLS // max(1, n_rows)))


def say_percent(share: float | None, digits: int = 0) -> str:
    r"""A share in percent.

    Examples
    --------
    >>> say_percent(0.974, 1), say_percent(None)
    ('97.4\xa0%', '–')
    """
    return "\N{EN DASH}" if share is None else f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def say_value(value: Any) -> str:
    """A cell of a table as `explain` writes it.

    Examples
    --------
    >>> say_value(15.1412), say_value("f"), say_value(None)
    ('15.14', 'f', 'missing')
    """
    if value is None:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _page_data(found: dict[str, Any]) -> dict[str, Any]:
    """The part of the dict that the script of the page reads."""
    return {
        "kind": found["kind"],
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
                # A new sample is shown beside the largest part of a mix.
                "cells": one["samples"][0]["cells"],
            }
            for one in found["prototypes"]
        ],
        "samples": found["samples"],
    }


def _read_static(name: str) -> str:
    return (files("imkpl.report") / "static" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """What a Content-Security-Policy calls a script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
