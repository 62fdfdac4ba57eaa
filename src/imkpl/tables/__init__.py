"""Tables with numbers, categories and missing cells."""

from imkpl.tables.read import read_table
from imkpl.tables.table import Column, Table

__all__ = ["Column", "Table", "read_table"]

# Texts that stand for a missing cell in a file. In memory an empty text is a category. "none" is
# not on the list: it is a common category.
MISSING_TEXTS = tuple(
    ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "NULL", "null", "?", "#N/A", "#NA"]
)
