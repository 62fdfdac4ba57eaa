"""Check a built site: links inside it, and its pages in Chromium: errors, widths, lengths.

``python docs/check_site.py FOLDER [--pictures FOLDER]`` ends with 1 if something is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import pathlib
import shutil
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

PAGES = (
    "index.html",
    "guide/first_model.html",
    "cards.html",
    "gallery/index.html",
    "api/generated/imkpl.IMKPL.html",
)
# Name, width, height and colours of a screen.
SCREENS = (
    ("wide", 1280, 900, "light"),
    ("narrow", 390, 844, "light"),
    ("dark", 1280, 900, "dark"),
)


# Screens of text that a page may have in a row without picture or table, and how to count them;
# a list of parameters is a table.
MOST_SCREENS = 4
STRETCH = """() => {
  const article = (document.querySelector("article") ?? document.head).getBoundingClientRect();
  const kinds = "article :is(img, svg, table, iframe, dl.field-list)";
  const shown = [...document.querySelectorAll(kinds)]
    .map(one => one.getBoundingClientRect()).filter(box => box.height > 20)
    .sort((one, other) => one.top - other.top);
  let from = article.top, longest = 0;
  for (const box of [...shown, {top: article.bottom, bottom: article.bottom}]) {
    longest = Math.max(longest, box.top - from);
    from = Math.max(from, box.bottom);
  }
  return longest / innerHeight;
}"""


class Page(HTMLParser):
    """The links of a page, and the places that one can link to."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def find_pages(folder: pathlib.Path) -> list[pathlib.Path]:
    """The pages, without templates of the theme and the report, whose links its script makes."""
    files = sorted(path for path in folder.rglob("*.html") if "_static" not in path.parts)
    return [path for path in files if path.name != "live_report.html"]


def find_broken_links(folder: pathlib.Path) -> list[str]:
    """Links to files or places of the site that are not there."""
    pages = {path: Page(path) for path in find_pages(folder)}
    broken = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("#"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_place_missing = (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].places
            )
            if not target.exists() or is_place_missing:
                broken.append(f"{path.relative_to(folder)}: {link}")
    return broken


def look_at_pages(folder: pathlib.Path, pictures: pathlib.Path | None) -> list[str]:
    """What Chromium complains of; pictures of all pages on all screens if asked for."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    browser_path = next((path for path in map(shutil.which, names) if path), None)
    if browser_path is None:
        sys.stdout.write("There is no Chromium here: pages were not looked at.\n")
        return []
    handler = partial(QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}"
    wrong: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for name, width, height, colours in SCREENS:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=colours
            )
            tab = context.new_page()
            tab.on("console", partial(_note_error, wrong))
            tab.on("pageerror", lambda error: wrong.append(str(error)))
            for page in PAGES:
                tab.goto(f"{home}/{page}", wait_until="load")
                overflow = tab.evaluate(
                    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                )
                if overflow > 1:
                    wrong.append(f"{page} is {overflow} px too wide on the {name} screen")
                if pictures is not None:
                    pictures.mkdir(parents=True, exist_ok=True)
                    tab.screenshot(path=pictures / f"{page.replace('/', '-')}-{name}.png")
            if colours == "dark":
                theme = tab.evaluate("document.documentElement.dataset.theme")
                if theme != "dark":
                    wrong.append(f"the theme is {theme} where the system is dark")
            tab.goto(f"{home}/search.html?q=prototype", wait_until="load")
            tab.wait_for_selector("#search-results li", timeout=20_000)
            context.close()
        tab = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        for path in find_pages(folder):
            name = path.relative_to(folder).as_posix()
            tab.goto(f"{home}/{name}", wait_until="load")
            screens = tab.evaluate(STRETCH)
            # Pages of the reference are looked up, not read.
            if screens > MOST_SCREENS and not name.startswith("api/generated/"):
                wrong.append(f"{name} has {screens:.1f} screens without a picture or table")
        browser.close()
    server.shutdown()
    return wrong


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """A server without a log, for a browser that may leave before a picture has arrived."""

    def log_message(self, *arguments: object) -> None:
        """Write nothing."""

    def copyfile(self, source: object, outputfile: object) -> None:
        """Send a file."""
        with contextlib.suppress(ConnectionError):
            super().copyfile(source, outputfile)  # type: ignore[type-var]


def _note_error(wrong: list[str], message: object) -> None:
    if message.type == "error":  # type: ignore[attr-defined]
        wrong.append(f"{message.text} {message.location}")  # type: ignore[attr-defined]


def main() -> int:
    """Check, and say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, help="where to put pictures of the pages")
    options = parser.parse_args()
    folder = options.folder.resolve()
    wrong = [f"broken link in {one}" for one in find_broken_links(folder)]
    wrong += look_at_pages(folder, options.pictures)
    sys.stdout.write(
        ("\n".join(wrong) or "All links lead somewhere, and no page complains.") + "\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
