"""A model and its decisions on one page: a plain dict, drawn by templates.

`summarize` makes the dict, `render_report` the page, and `write_report` does both. Every part of
the dict has a module, and every section of the page a template.
"""

from imkpl.report.render import render_report
from imkpl.report.summarize import summarize
from imkpl.report.write import save_json, write_report

__all__ = ["render_report", "save_json", "summarize", "write_report"]
