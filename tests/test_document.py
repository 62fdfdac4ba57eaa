"""A document says the same as Markdown and as HTML, whatever names are in it."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imkpl._document import Blank, Document, Heading, Strong, Table

# What Markdown, HTML and tables could take for something else.
names = st.text(
    st.sampled_from(list("ab1 |*_`<>&\\[]()#!~-+=.:\n\u05d0\u2028{}$%'\"")), max_size=12
)


class Reader(HTMLParser):
    """Collects the text within each element."""

    def __init__(self, page):
        super().__init__()
        self.found, self.tags = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag in ("h1", "h2", "p", "th", "td"):
            self.found.append("")

    def handle_data(self, text):
        if self.found:
            self.found[-1] += text


def read(page):
    return [" ".join(text.replace("_" * 30, "").split()) for text in Reader(page).found]


@given(names, names, names)
def test_both_forms_say_the_same(first, second, third):
    markdown_it = pytest.importorskip("markdown_it")
    table = Table(["one", f"x{first}"], [[f"y {second}", 3], [f"z{third}", "4 %"]])
    parts = [f"A {first} b", Heading(f"H{second}"), Strong(f"S{third}"), Blank(f"B{first}"), table]
    document = Document(f"T{third}", parts)
    rendered = markdown_it.MarkdownIt("commonmark").enable("table").render(document.to_markdown())
    page = document.to_html()
    # Strong text is the same paragraph; a blank is its label and a line.
    expected = [text.rstrip(": ") for text in read(page[page.index("<main>") :])]
    assert [text.rstrip(": ") for text in read(rendered)] == expected
    known = {"main", "h1", "h2", "p", "i", "div", "table", "tr", "th", "td"}
    assert set(Reader(page[page.index("<main>") :]).tags) <= known
