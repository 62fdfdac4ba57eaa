"""Multivariate time series of unequal length, in one block of memory."""

from imkpl.series.collection import SeriesSet
from imkpl.series.prepare import difference, resample
from imkpl.series.read import read_series

__all__ = ["SeriesSet", "difference", "read_series", "resample"]
