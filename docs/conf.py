"""How Sphinx builds the site; `make docs` runs it."""

from __future__ import annotations

import pathlib
import re
import warnings

import imkpl

HERE = pathlib.Path(__file__).parent
# Written during the build: the report that the first page shows.
LIVE = HERE / "_live"
LIVE.mkdir(exist_ok=True)

project = "imkpl"
author = "imkpl developers"
version = release = imkpl.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_live", "images/*.py", "gallery/*.ipynb"]
templates_path = ["_templates"]

# Markdown: links to headings, definition lists for the glossary, and boxes.
myst_enable_extensions = ["colon_fence", "deflist", "html_image"]
myst_heading_anchors = 3

# Reference pages are made from the docstrings, which follow numpydoc.
autosummary_generate = True
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
add_module_names = False
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 5,
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "imkpl"
html_static_path = ["_static"]
html_extra_path = ["_live"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}
project_copyright = "imkpl developers, BSD 3-Clause"


def drop_outer_links(app: object, name: str, source: list[str]) -> None:
    """Links to files of the repository that are not on the site become plain text."""
    files = "README|SECURITY|CONTRIBUTING|CITATION|GOVERNANCE|CODE_OF_CONDUCT|pyproject"
    outer = rf"\[([^\]]+)\]\((?:\.\./)*(?:paper/|{files}|\.github)[^)]*\)"
    source[0] = re.sub(outer, r"\1", source[0])
    if name == "changelog":
        text = (HERE.parent / "CHANGELOG.md").read_text(encoding="utf-8")
        source[0] = re.sub(outer, r"\1", text).replace("](docs/", "](")


def write_live_report(app: object) -> None:
    """Fit a model to a real data set and write its report, for the first page."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    path = LIVE / "live_report.html"
    if path.exists():
        return
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    train, test, y_train, y_test = train_test_split(
        data.data, labels, stratify=labels, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = imkpl.IMKPL().fit(train, y_train)
        model.report(test, y_test, path, train=(train, y_train))


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", write_live_report)  # type: ignore[attr-defined]
    app.connect("source-read", drop_outer_links)  # type: ignore[attr-defined]
