"""Data files as people have them: whatever is guessed about a file is reported in notes.

`formats` parses a file into a `RawFile`; `column_roles` decides what its columns are; `read` puts
it together, for `fit` and for fitted models; `check` finds what to correct before a fit. Nothing
in a file is executed.
"""

from imkpl.readers.formats import InputError, ReadOptions
from imkpl.readers.read import read_training_file

__all__ = ["InputError", "ReadOptions", "read_training_file"]
