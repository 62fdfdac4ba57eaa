"""Tables with numbers, categories and missing cells."""

from imkpl.tables.read import read_table
from imkpl.tables.table import Column, Table

__all__ = ["Column", "Table", "read_table"]
