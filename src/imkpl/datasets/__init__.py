"""Data sets that are made on the spot."""

from imkpl.datasets.synthetic import make_paper_series

__all__ = ["make_paper_series"]
