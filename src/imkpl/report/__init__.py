"""A model and its decisions on one page.

`summarize` collects everything in a dict, `render_report` turns the dict into a page, and
`write_report` does both; ``imkpl.report(...)`` is `write_report`.
"""

import sys
from types import ModuleType
from typing import Any

from imkpl.report.page import render_report, write_report
from imkpl.report.summarize import summarize

__all__ = ["render_report", "summarize", "write_report"]


class _CallableModule(ModuleType):
    """Lets ``imkpl.report`` be a function beside `imkpl.explain` and `imkpl.save`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Write a report: see `write_report`."""
        return write_report(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
