"""The model card: what to know before a model is used, from its file and the dict of a page."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from imkpl.report.page import format_percent, make_environment
from imkpl.report.summarize import HOW_DECIDED

# Rows of a table; the page and `imkpl inspect` have all of them.
MOST_ROWS = 30
# Characters that Markdown would obey; an underscore within a word is none of them.
MARKS = re.compile(r"[\\`*\[\]<>|#]|(?<![^\W_])_|_(?![^\W_])")


def build_card(
    contents: dict[str, Any],
    constraints: list[str],
    page: dict[str, Any] | None,
    *,
    html: bool = False,
) -> str:
    """The card of a model as Markdown, or as HTML that prints.

    `contents` is what `imkpl inspect` says, `page` the dict of a page if the model was measured.
    What only people know is left blank.
    """

    def clean(text: Any) -> str:
        line = "-" if text is None else " ".join(str(text).split())
        return escape(line) if html else MARKS.sub(lambda found: f"\\{found[0]}", line)

    environment = make_environment(autoescape=False)
    environment.add_extension("jinja2.ext.do")
    environment.filters.update(clean=clean, interval=_write_interval)
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
