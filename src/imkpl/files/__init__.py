"""Models as files that are safe to open: arrays and JSON with a checksum, never a pickle."""

from imkpl.files.portable import export
from imkpl.files.store import ModelFileError, load, save

__all__ = ["ModelFileError", "export", "load", "save"]
