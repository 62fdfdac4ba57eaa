"""The file of a report, which notebooks show as the page."""

from __future__ import annotations

import pathlib
from html import escape

# Height of the page in a notebook, in pixels.
HEIGHT = 720


class ReportFile(type(pathlib.Path())):  # type: ignore[misc]
    """The path of a report."""

    def _repr_html_(self) -> str:
        """The page in a frame of its own, or the path of what is no page."""
        if self.suffix.lower() == ".json" or not self.is_file():
            return f"<code>{escape(str(self))}</code>"
        page = escape(self.read_text(encoding="utf-8"), quote=True)
        return (
            f'<iframe srcdoc="{page}" title="{escape(self.name, quote=True)}" '
            'sandbox="allow-scripts allow-popups" '
            f'style="width:100%;height:{HEIGHT}px;border:1px solid rgba(128,128,128,.35)">'
            "</iframe>"
        )
