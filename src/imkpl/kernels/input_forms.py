"""In which form a bank of kernels reads samples."""

from __future__ import annotations


class InputForms:
    """The forms of samples, as claims that a bank overrides."""

    @property
    def requires_vector_input(self) -> bool:
        """Whether the samples must be rows of a numeric 2-D array."""
        return True

    @property
    def reads_similarities(self) -> bool:
        """Whether X holds kernel values with all training samples instead of samples."""
        return False

    @property
    def reads_series(self) -> bool:
        """Whether the samples are time series, in any form that `read_series` reads."""
        return False

    @property
    def reads_tables(self) -> bool:
        """Whether the samples are rows of a table, in any form that `read_table` reads."""
        return False

    @property
    def columns_suffice(self) -> bool:
        """Whether the kernels read X by ``X[:, columns]`` alone, so that it may be a source."""
        return False

    @property
    def reads(self) -> str:
        """What the samples are, in one word."""
        if self.requires_vector_input:
            return "columns" if self.columns_suffice else "vectors"
        if self.reads_tables:
            return "tables"
        if self.reads_similarities:
            return "similarities"
        return "series" if self.reads_series else "anything"
