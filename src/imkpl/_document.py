"""A short document, written as Markdown or as one HTML page that prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

# Characters that Markdown would obey; an underscore within a word is none of them.
MARKS = re.compile(r"[\\`*\[\]<>|#]|(?<![^\W_])_|_(?![^\W_])")
STYLE = """
:root { color-scheme: light dark; --ink: #1c2128; --soft: #57606a; --line: #c8d0d8; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaf0; --soft: #a0aab6; --line: #3a444f; --page: #0e1217; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 46rem; color: var(--ink);
  background: var(--page);
  font: 1rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 0.75rem; }
h2 { font-size: 1.1rem; margin: 1.4rem 0 0.3rem; }
p { margin: 0 0 0.5rem; }
.strong { font-size: 1.2rem; font-weight: 650; }
.blank { display: flex; gap: 0.6rem; align-items: baseline; color: var(--soft); margin: 0.5rem 0; }
.blank i { flex: 1; min-width: 4rem; border-bottom: 1px solid var(--line); }
.scroll { overflow-x: auto; margin: 0.4rem 0 0.7rem; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.8rem 0.25rem 0; text-align: start; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: normal; }
.n { text-align: end; white-space: nowrap; }
@page { size: A4; margin: 16mm 20mm; }
@media print {
  :root { --ink: #000; --soft: #333; --line: #888; --page: #fff; }
  body { padding: 0; max-width: none; font-size: 10pt; line-height: 1.35; }
  h1 { font-size: 15pt; } h2 { font-size: 11pt; break-after: avoid; margin-top: 0.7rem; }
  p { margin-bottom: 0.3rem; } .strong { font-size: 12.5pt; } tr { break-inside: avoid; }
  table { font-size: 9pt; } th, td { padding-block: 0.12rem; }
}
"""


@dataclass(frozen=True)
class Heading:
    """Begins a section."""

    text: str


@dataclass(frozen=True)
class Strong:
    """A paragraph to see first."""

    text: str


@dataclass(frozen=True)
class Blank:
    """Something that a person fills in."""

    label: str


@dataclass(frozen=True)
class Table:
    """A table."""

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Document:
    """A title, and after it paragraphs (text) and the parts above."""

    title: str
    parts: Sequence[str | Heading | Strong | Blank | Table]

    def to_markdown(self) -> str:
        """The document as Markdown, which is easy to read as it is."""
        blocks = [f"# {_mark(self.title)}"]
        for part in self.parts:
            match part:
                case Heading(text):
                    blocks.append(f"## {_mark(text)}")
                case Strong(text):
                    blocks.append(f"**{_mark(text)}**")
                case Blank(label):
                    blocks.append(f"{_mark(label)}: {'_' * 30}")
                case Table(head, rows):
                    lines = [head, ["---"] * len(head), *rows]
                    blocks.append("\n".join(_row(cells) for cells in lines))
                case _:
                    blocks.append(_mark(part))
        return "\n\n".join(blocks) + "\n"

    def to_html(self) -> str:
        """The document as a page that needs nothing else."""
        title = escape(_line(self.title))
        return "\n".join(
            [
                '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
                '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
                "style-src 'unsafe-inline'\">",
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>",
                f'<h1 dir="auto">{title}</h1>',
                *(line for part in self.parts for line in _html(part)),
                "</main>\n</body>\n</html>\n",
            ]
        )


def _line(text: Any) -> str:
    return " ".join(str(text).split())


def _mark(text: Any) -> str:
    return MARKS.sub(lambda found: f"\\{found[0]}", _line(text))


def _row(cells: Sequence[Any]) -> str:
    is_rule = all(cell == "---" for cell in cells)
    return f"| {' | '.join(cell if is_rule else _mark(cell) for cell in cells)} |"


def _is_number(cell: Any) -> bool:
    """Whether a cell is a number, a share, or nothing."""
    return re.match(r"-?\d|\W$|missing$", str(cell)) is not None


def _html(part: Any) -> Iterator[str]:
    match part:
        case Heading(text):
            yield f'<h2 dir="auto">{escape(_line(text))}</h2>'
        case Strong(text):
            yield f'<p class="strong" dir="auto">{escape(_line(text))}</p>'
        case Blank(label):
            yield f'<p class="blank">{escape(_line(label))} <i></i></p>'
        case Table(head, rows):
            is_number = [all(_is_number(row[i]) for row in rows) for i in range(len(head))]
            yield '<div class="scroll" tabindex="0"><table>'
            for kind, line in [("th", head), *(("td", row) for row in rows)]:
                styles = [' class="n"' if number else "" for number in is_number]
                cells = [
                    f'<{kind}{style} dir="auto">{escape(_line(cell))}</{kind}>'
                    for cell, style in zip(line, styles, strict=True)
                ]
                yield f"<tr>{''.join(cells)}</tr>"
            yield "</table></div>"
        case _:
            yield f'<p dir="auto">{escape(_line(part))}</p>'
