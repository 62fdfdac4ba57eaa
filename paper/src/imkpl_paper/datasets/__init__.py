"""Data sets: the paper's and further ones by name, and some that are made on the spot."""

from imkpl_paper.datasets.real import Dataset, available, fingerprint, load, rarest_label
from imkpl_paper.datasets.registry import DatasetInfo
from imkpl_paper.datasets.synthetic import make_paper_series

__all__ = [
    "Dataset",
    "DatasetInfo",
    "available",
    "fingerprint",
    "load",
    "make_paper_series",
    "rarest_label",
]
