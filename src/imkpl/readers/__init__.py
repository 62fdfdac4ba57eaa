"""Data files as people have them: whatever is guessed about a file is reported in notes.

`formats` and `text` parse a file into a `RawFile`; `column_roles` decides what its columns are;
`read` puts it together, for `fit` and for fitted models; `check` finds what to correct
before a fit. Nothing in a file is executed.
"""

from imkpl.readers.data_file import DataFile, Finding, InputError, ReadOptions
from imkpl.readers.read import ExpectedColumns, read_new_file, read_training_file

__all__ = [
    "DataFile",
    "ExpectedColumns",
    "Finding",
    "InputError",
    "ReadOptions",
    "read_new_file",
    "read_training_file",
]
