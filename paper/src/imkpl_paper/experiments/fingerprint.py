"""When a row has to be measured again: a digest of the source that it depends on."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import pathlib
from functools import cache

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
# Parts that show, store or describe models, and change no number.
SILENT = frozenset({"archives", "cli", "explanations", "files", "plots", "readers", "report"})
# What of the experiments decides on a number; of a peer's, the adapters too.
MEASURING = ("methods.py", "protocol.py", "studies.py", "tuning.py")
# Module -> distribution, where the names differ.
DISTRIBUTIONS = {"interpret": "interpret-core"}


@cache
def versions_fingerprint(group: str, requires: tuple[str, ...]) -> str:
    """A digest that changes with what rows of a method depend on.

    Of this package the source counts, not comments and docstrings: of all parts for our methods,
    with the baselines for these, and of kernels, series and adapters for peers. Of other packages
    the version counts.
    """
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        if _counts(path.relative_to(PACKAGE).parts, group):
            digest.update(_digest(path))
    for module in requires:
        digest.update(_version(module).encode())
    return digest.hexdigest()[:12]


def _counts(parts: tuple[str, ...], group: str) -> bool:
    home = parts[0]
    if home == "experiments":
        return parts[-1] in MEASURING or (group == "peer" and parts[-1] == "peers.py")
    if group == "peer":
        return home in ("kernels", "series", "datasets")
    return home not in SILENT and (home != "baselines" or group == "baseline")


@cache
def _digest(path: pathlib.Path) -> bytes:
    return hashlib.sha256(_normalize(path.read_text(encoding="utf-8")).encode()).digest()


def _normalize(source: str) -> str:
    """The syntax tree without docstrings, in words."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return ast.dump(tree)


def _version(module: str) -> str:
    try:
        return importlib.metadata.version(DISTRIBUTIONS.get(module, module))
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
