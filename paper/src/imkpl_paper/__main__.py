"""``python -m imkpl_paper`` is the command ``imkpl-paper``."""

from imkpl_paper.cli import main

main()
