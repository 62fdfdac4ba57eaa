"""A model with its report, one whose names are all hostile, and a browser."""

import shutil
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_wine

from imkpl import IMKPL
from imkpl._json import to_json
from imkpl.report import render_report, summarize
from imkpl.report.subject import read_subject

# Names that are something else to JavaScript, Python, HTML or a template.
HOSTILE = (
    "<script>alert(1)</script>",
    "__proto__",
    "constructor",
    "</script><img src=x onerror=alert(1)>",
    "\"quoted\" and 'quoted' & more",
    "{{ 7 * 7 }}{% raw %}",
    "toString",
    "hasOwnProperty",
    "__class__",
    "$&",
    "line\u2028separator",
    "\U0001f480 emoji",
    "\u05e2\u05d1\u05e8\u05d9\u05ea",
)


def describe(part, model, X, y=None, train=None):
    """One part of a report alone."""
    return to_json(part(read_subject(model, X, y, train)), 6)


def make_case(X, y, model, **settings):
    """A model fitted to every other sample, with a report on the rest."""
    train, test = slice(0, None, 2), slice(1, None, 2)
    model.fit(X[train], y[train])
    found = summarize(model, X[test], y[test], train=(X[train], y[train]), **settings)
    return SimpleNamespace(
        model=model, X=X[test], y=y[test], train=(X[train], y[train]), found=found
    )


@pytest.fixture(scope="session")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.index = [f"bottle {i}" for i in range(len(X))]
    names = np.array(["Barolo", "Grignolino", "Barbera"])
    return make_case(X, names[y], IMKPL(sparsity=3, max_kernels=5, n_prototypes=9))


@pytest.fixture(scope="session")
def wine_page(wine):
    return render_report(wine.found)


@pytest.fixture(scope="session")
def hostile():
    """Classes, columns, categories and samples with these names."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.columns = [HOSTILE[-i - 1] for i in range(X.shape[1])]
    X["category"] = np.array(HOSTILE)[(np.arange(len(X)) % 3 == 0) * 3 + y]
    X.index = [f"{HOSTILE[i % 13]} {i}" for i in range(len(X))]
    X = X.rename(index={X.index[2 * i + 1]: name for i, name in enumerate(HOSTILE)})
    model = IMKPL(sparsity=2, max_kernels=7, n_prototypes=6)
    case = make_case(
        X, np.array(HOSTILE[:3], dtype=object)[y], model, title=HOSTILE[3] + HOSTILE[5]
    )
    case.page = render_report(case.found)
    return case


BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("There is no Chromium: apt-get install chromium, or let make browser try.")
    with sync_api.sync_playwright() as driver:
        # Root has no sandbox, and containers have little shared memory.
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        opened = driver.chromium.launch(executable_path=path, args=options)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def wine_file(wine_page, tmp_path_factory):
    return save(wine_page, tmp_path_factory.mktemp("wine"))


@pytest.fixture
def open_page(browser):
    """Opens a file, and fails at the end if the page complained or asked for anything."""
    trouble, contexts = [], []

    def open_file(path, width=1280, link="", **settings):
        viewport = {"width": width, "height": 800}
        context = browser.new_context(viewport=viewport, **settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append("dialog") or dialog.dismiss())
        url = path.as_uri()
        page.on(
            "request",
            lambda request: request.url.split("#")[0] != url and trouble.append(request.url),
        )
        page.goto(url + link)
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert not trouble


def save(page, folder):
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    return path


class Reader(HTMLParser):
    """Collects elements, text, and the text of each block."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self.scripts, self.stack, self.blocks = [], [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.stack.append(tag)
        if tag in ("h1", "h2", "p", "th", "td"):
            self.blocks.append("")

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag:
            pass

    def handle_data(self, data):
        if self.blocks:
            self.blocks[-1] += data
        (self.scripts if self.stack and self.stack[-1] == "script" else self.text).append(data)

    def find(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]
