"""Models as files that are safe to open: JSON and arrays with a checksum, never a pickle.

`registry` lists the classes that a file may name, `write_tree` and `read_tree` turn a model into
plain values and back, and `store` puts it together with :mod:`imkpl.archives`.
"""

from imkpl.estimators._checkpoint import CheckpointError
from imkpl.files.errors import ModelFileError
from imkpl.files.registry import trusted_types
from imkpl.files.store import load, save

__all__ = ["CheckpointError", "ModelFileError", "load", "save", "trusted_types"]
