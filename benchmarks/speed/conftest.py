"""Every benchmark records a row in results/speed.json; all rows are printed as a table."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from shared import ROOT, as_table

ROWS = ROOT / "results" / "speed.json"


def pytest_addoption(parser):
    """Add the option that writes the page."""
    parser.addoption("--write", action="store_true", help="write docs/performance.md")


@pytest.fixture
def record():
    """A function that stores a row: name, target, result, and details."""

    def keep(name, *, asked, found, met, details=""):
        rows = load_rows()
        rows[name] = {"asked": asked, "found": found, "met": bool(met), "details": details}
        ROWS.parent.mkdir(exist_ok=True)
        ROWS.write_text(json.dumps(rows, indent=1))

    return keep


def load_rows():
    """Rows of this run and of earlier ones."""
    return json.loads(ROWS.read_text()) if ROWS.is_file() else {}


def pytest_terminal_summary(terminalreporter, config):
    """Print the table, and write the page if asked to."""
    rows = [
        [name, row["asked"], row["found"] + ("" if row["met"] else " (missed)"), row["details"]]
        for name, row in load_rows().items()
    ]
    table = as_table(["what", "asked", "found", ""], rows)
    terminalreporter.section("speed")
    terminalreporter.write_line(table)
    if config.getoption("--write"):
        page = ROOT / "docs" / "performance.md"
        before, _, rest = page.read_text().partition("<!-- table -->\n")
        _, _, after = rest.partition("<!-- end of table -->\n")
        page.write_text(f"{before}<!-- table -->\n\n{table}\n\n<!-- end of table -->\n{after}")
