"""What the benchmarks share: timing, splits, rows kept in a CSV file, and tables in a page."""

from __future__ import annotations

import csv
import hashlib
import pathlib
import time
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Fingerprint of methods that are not ours.
PEER = "peer"


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def count_splits(n_samples: int) -> int:
    """Ten splits, or forty if fewer than 40 samples are held out, a fifth."""
    return 10 if round(0.2 * n_samples) >= 40 else 40


def fingerprint() -> str:
    """A digest of the source; rows of our methods are measured again when it changes."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src" / "imkpl").rglob("*.py")):
        if "cli" not in path.parts:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def read_rows(path: pathlib.Path) -> list[dict[str, str]]:
    """Rows measured so far that are still valid."""
    if not path.exists():
        return []
    valid = {PEER, fingerprint()}
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["fingerprint"] in valid]


def add_row(path: pathlib.Path, fields: list[str], row: dict[str, Any]) -> None:
    """Append a row, after a header if the file is new."""
    path.parent.mkdir(exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fields)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def as_table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- ", "|---")


def write_page(page: pathlib.Path, title: str, marker: str, text: str) -> None:
    """Replace what follows the marker of a page."""
    head = page.read_text().split(marker)[0] if page.exists() else f"# {title}\n\n"
    page.write_text(f"{head}{marker}\n\n{text}\n")
