"""The paper's tables and figures, measured again.

An item is a declaration (`items`): data sets, methods, measures and splits. `plan` finds what can
be run, `run` measures what is missing, cell by cell (`protocol`), and appends rows to a file.
`views` and `figures` make tables and drawings of rows, beside the paper's numbers
(published.toml), and `page` writes them as HTML and Markdown.
"""

from imkpl_paper.experiments.reproduction import Outcome, available, reproduce

__all__ = ["Outcome", "available", "reproduce"]
