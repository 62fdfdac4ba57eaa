"""Fits and predictions on a Dask cluster."""

from imkpl.scale.dask import DaskBank

__all__ = ["DaskBank"]
