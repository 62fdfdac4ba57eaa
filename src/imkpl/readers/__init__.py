"""Data files as people have them: guesses are made, and said.

`text`, `columnar`, `arrays`, `weka` and `timeseries` each parse one family of formats into a
`RawFile`; `target`, `identifiers` and `columns` decide what its columns are; `training` and `new`
put it together for `fit` and for everything that comes after. Nothing in a file is executed.
"""

from imkpl.readers.data_file import DataFile, InputError
from imkpl.readers.new import ExpectedColumns, read_new_file
from imkpl.readers.parse import ReadOptions
from imkpl.readers.training import read_training_file

__all__ = [
    "DataFile",
    "ExpectedColumns",
    "InputError",
    "ReadOptions",
    "read_new_file",
    "read_training_file",
]
