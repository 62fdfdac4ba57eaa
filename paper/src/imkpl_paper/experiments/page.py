"""Rows to one page: Markdown, or HTML that needs no other file."""

from __future__ import annotations

import base64
import pathlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jinja2 import Environment, PackageLoader

from imkpl_paper.experiments.figures import VIEWS
from imkpl_paper.experiments.published import read_published
from imkpl_paper.experiments.views import Entry, Found, Picture, Pieces, Table

TITLE = "The paper's tables and figures, measured again"
MARK = "<!-- rows -->"


@dataclass(frozen=True)
class Section:
    """An item on the page."""

    name: str
    title: str
    printed: str  # what it is called in the paper
    pieces: Pieces
    notes: tuple[str, ...] = ()


def make_section(found: Found) -> Section:
    """What is shown of an item."""
    item = found.plan.item
    printed = read_published()[item.name]
    n_missing = sum(cell.key not in found.rows for cell in found.plan.cells)
    n_older = sum(bool(found.rows.get(c.key, {}).get("is_older")) for c in found.plan.cells)
    notes = list(item.notes)
    if n_missing:
        notes.append(f"Not measured yet: {n_missing} of {len(found.plan.cells)} cells.")
    if n_older:
        notes.append(f"Measured with another version of the source: {n_older} cells.")
    notes += [f"Skipped: {reason}" for reason in found.plan.skipped]
    notes += found.failures()
    where = printed["printed"]
    if printed["label"]:
        where += f" of the paper, {printed['label']}"
    return Section(item.name, item.title, where, VIEWS[item.view](found), tuple(notes))


def introduce(*, quick: bool) -> tuple[str, ...]:
    """What a reader has to know about all items."""
    parts = (
        "Random stratified 80/20 splits with the split's number as seed; everything is learned on "
        "the training part. Means over splits, ± the standard deviation of one split.",
        "Bold: the best mean, and all that do not differ from it at the 5 % level by a paired "
        "two-sided t-test over the splits, as in the paper. Training parts of random splits "
        "overlap, so that this test finds differences too readily. Italic: differs from the best "
        "by that test, but not with the correction of Nadeau and Bengio for the overlap.",
        "Columns named paper have the published numbers. An asterisk marks a data set that stands "
        "in for one that is not available.",
    )
    if not quick:
        return parts
    warning = (
        "Quick sizes: small data that come with scikit-learn or are made on the spot, few splits. "
        "They show that everything runs, and compare with no number of the paper."
    )
    return (warning, *parts)


def as_markdown(sections: Sequence[Section], introduction: Sequence[str], images: str = "") -> str:
    """The page in Markdown; a note on a data set comes once."""
    told: set[str] = set()
    blocks = [f"# {TITLE}", *(_plain(text) for text in introduction)]
    for section in sections:
        blocks += [f"## {_plain(section.title)}", _plain(section.printed) + "."]
        for piece in section.pieces:
            if isinstance(piece, Picture):
                path = f"{images}/{piece.file}" if images else piece.file
                blocks.append(f"![{_plain(piece.caption)}]({path})")
            else:
                new = tuple(note for note in piece.notes if note not in told)
                blocks += _table_blocks(replace(piece, notes=new))
                told.update(new)
        blocks += _note_blocks(section.notes)
    return "\n\n".join(blocks) + "\n"


def _note_blocks(notes: Sequence[str]) -> list[str]:
    return ["\n".join(f"* {_plain(note)}" for note in notes)] if notes else []


def _table_blocks(table: Table) -> list[str]:
    blocks = [f"**{_plain(table.caption)}**"] if table.caption else []
    lines = [
        f"| {' | '.join(_plain(name) for name in table.header)} |",
        "|---" * len(table.header) + "|",
        *(f"| {' | '.join(_mark(entry) for entry in row)} |" for row in table.rows),
    ]
    return [*blocks, "\n".join(lines), *(_plain(note) for note in table.notes)]


def _mark(entry: Entry) -> str:
    text = _plain(entry.text)
    mark = "**" if entry.is_bold else "*" if entry.is_italic else ""
    return f"{mark}{text}{mark}" if text else text


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no cell borders, no line breaks."""
    return re.sub(r"([\\`*_|<>\[\]~#])", r"\\\1", " ".join(text.split()))


def as_html(sections: Sequence[Section], introduction: Sequence[str]) -> str:
    """The page in HTML, with style and figures inside; it loads nothing and runs nothing."""
    environment = Environment(loader=PackageLoader(__package__, "."), autoescape=True)
    environment.filters["base64"] = lambda content: base64.b64encode(content).decode()
    template = environment.get_template("page.html")
    return template.render(title=TITLE, sections=sections, introduction=introduction)


def write_page(
    sections: Sequence[Section], introduction: Sequence[str], folder: pathlib.Path
) -> pathlib.Path:
    """Write index.html, page.md and the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_figures(sections, folder / "figures")
    text = as_markdown(sections, introduction, "figures")
    (folder / "page.md").write_text(text, encoding="utf-8")
    page = folder / "index.html"
    page.write_text(as_html(sections, introduction), encoding="utf-8")
    return page


def write_document(
    sections: Sequence[Section], introduction: Sequence[str], path: pathlib.Path
) -> None:
    """Write the page into a Markdown document, below its handwritten part.

    A table of which the handwritten part has the mark, `<!-- name -->`, comes there, up to the next
    heading.
    """
    _write_figures(sections, path.parent / "images" / "reproduction")
    head = path.read_text(encoding="utf-8").split(MARK)[0] if path.exists() else f"# {TITLE}\n\n"
    below = []
    for section in sections:
        mark = f"<!-- {section.name} -->"
        before, found, after = head.partition(mark)
        if not found:
            below.append(section)
            continue
        tables = [piece for piece in section.pieces if isinstance(piece, Table)]
        blocks = [block for table in tables for block in _table_blocks(table)]
        rest = after[after.find("\n## ") :] if "\n## " in after else "\n"
        head = "\n\n".join([f"{before}{mark}", *blocks, *_note_blocks(section.notes)]) + f"\n{rest}"
    text = as_markdown(below, introduction, "images/reproduction")
    # The document has a title of its own.
    body = text.removeprefix(f"# {TITLE}\n\n")
    path.write_text(f"{head}{MARK}\n\n{body}", encoding="utf-8")


def _write_figures(sections: Sequence[Section], folder: pathlib.Path) -> None:
    pictures = [p for section in sections for p in section.pieces if isinstance(p, Picture)]
    for picture in pictures:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / picture.file).write_bytes(picture.image)
