"""Data sets: the paper's and further ones by name, and some that are made on the spot."""

from imkpl.datasets.real import Dataset, available, fingerprint, load, rarest_label
from imkpl.datasets.registry import DatasetInfo
from imkpl.datasets.synthetic import make_paper_series

__all__ = [
    "Dataset",
    "DatasetInfo",
    "available",
    "fingerprint",
    "load",
    "make_paper_series",
    "rarest_label",
]
