"""Every benchmark records a row; rows are kept in results/speed.json and printed as a table."""

from __future__ import annotations

import json
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = ROOT / "results" / "speed.json"


def pytest_addoption(parser):
    """Add the option that writes the page."""
    parser.addoption("--write", action="store_true", help="write docs/performance.md")


@pytest.fixture
def record():
    """A function that keeps a row: name, what is wanted, what was found, and details."""

    def keep(name, *, asked, found, met, details=""):
        rows = load_rows()
        rows[name] = {"asked": asked, "found": found, "met": bool(met), "details": details}
        ROWS.parent.mkdir(exist_ok=True)
        ROWS.write_text(json.dumps(rows, indent=1))

    return keep


def load_rows():
    """The rows found so far, of this run and of those before."""
    return json.loads(ROWS.read_text()) if ROWS.is_file() else {}


def as_table(rows):
    """The rows as a Markdown table."""
    lines = ["| what | asked | found | |", "|---|---|---|---|"]
    for name, row in rows.items():
        found = row["found"] + ("" if row["met"] else " (missed)")
        lines.append(f"| {name} | {row['asked']} | {found} | {row['details']} |")
    return "\n".join(lines)


def pytest_terminal_summary(terminalreporter, config):
    """Print the table, and put it into the page where that was asked for."""
    table = as_table(load_rows())
    terminalreporter.section("speed")
    terminalreporter.write_line(table)
    if config.getoption("--write"):
        page = ROOT / "docs" / "performance.md"
        before, _, rest = page.read_text().partition("<!-- table -->\n")
        _, _, after = rest.partition("<!-- end of table -->\n")
        page.write_text(f"{before}<!-- table -->\n\n{table}\n\n<!-- end of table -->\n{after}")
