"""Ends with an error if something that only a person can fill in is missing before a release."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def ask_git(*words: str) -> str:
    """What git answers."""
    return subprocess.run(
        ["git", "-C", str(ROOT), *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def find_problems(version: str) -> list[str]:
    """What stands against a release, in sentences."""
    source = (ROOT / "src" / "imkpl" / "__init__.py").read_text(encoding="utf-8")
    public = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["imkpl"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    problems = []
    if f'__version__ = "{version}"' not in source:
        problems.append(f"src/imkpl/__init__.py has another version than {version!r}.")
    problems += [
        f"{name!r} is empty in [tool.imkpl] of pyproject.toml."
        for name in public
        if not public[name]
    ]
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changes, re.MULTILINE):
        problems.append(f"CHANGELOG.md has no section {version} with a date.")
    if ask_git("status", "--porcelain"):
        problems.append("There are changes that are not committed.")
    if ask_git("tag", "--list", f"v{version}"):
        problems.append(f"The tag v{version} exists.")
    return problems


if __name__ == "__main__":
    sys.exit("\n".join(find_problems(sys.argv[1])) or 0)
