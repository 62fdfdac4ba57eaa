"""What hatchling asks while it builds: links that depend on where the repository is hosted.

`home` in pyproject.toml ([tool.imkpl]) is the one place for that address. With it, the metadata
have project URLs and the README's links lead there; without it, the README has their text alone.
"""

from __future__ import annotations

import pathlib
import re
import tomllib
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# Text or picture, and a target inside the repository.
LINK = re.compile(r"(!?)\[((?:!\[[^\]]*\]\([^)]*\)|[^\]])*)\]\((?!https?:|#)([^)]+)\)")


def point_to(home: str, tag: str, text: str) -> str:
    """Relative links of a page made absolute, or replaced by their text if there is no home."""

    def replace(link: re.Match[str]) -> str:
        is_picture, label, target = link[1], LINK.sub(replace, link[2]), link[3]
        if not home:
            return "" if is_picture else label
        view = "raw" if is_picture else "blob"
        return f"{is_picture}[{label}]({home}/{view}/{tag}/{target})"

    return LINK.sub(replace, text)


class CustomMetadataHook(MetadataHookInterface):
    """Adds `readme` and `urls` to the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what pyproject.toml declares as dynamic."""
        root = pathlib.Path(self.root)
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        home = project["tool"]["imkpl"]["home"].rstrip("/")
        readme = (root / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": point_to(home, f"v{metadata['version']}", readme),
        }
        if home:
            metadata["urls"] = {
                "Homepage": home,
                "Documentation": f"{home}/tree/main/docs",
                "Source": home,
                "Issues": f"{home}/issues",
                "Changelog": f"{home}/blob/main/CHANGELOG.md",
                "Security": f"{home}/security/policy",
            }
