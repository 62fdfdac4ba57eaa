"""Models as files that are safe to open: JSON and arrays with a checksum, never a pickle."""

from imkpl.estimators._checkpoint import CheckpointError
from imkpl.files.portable import export
from imkpl.files.store import ModelFileError, load, save, trusted_types

__all__ = ["CheckpointError", "ModelFileError", "export", "load", "save", "trusted_types"]
