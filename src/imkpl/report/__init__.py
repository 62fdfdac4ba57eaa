"""A model and its decisions on one page.

`summarize` collects everything in a dict, `render_report` turns the dict into a page, and
`write_report` does both.
"""

from imkpl.report.page import render_report, save_json, write_report
from imkpl.report.summarize import summarize

__all__ = ["render_report", "save_json", "summarize", "write_report"]
