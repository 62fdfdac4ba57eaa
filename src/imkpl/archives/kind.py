"""What a file is for, and what is said when it is not fit for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileKind:
    """A kind of files.

    Parameters
    ----------
    name : str
        What such a file is called, such as "model".
    document : str
        The name of the first member, by which a file is known.
    format_version : int
        The newest version of the format that is read, and the one that is written.
    error : type
        What is raised, a kind of ValueError.
    not_one : str
        What to say of a file that is of no such kind.
    remedy : str
        What to do about a file that was cut short or altered.
    source : str
        Where to get a file whose content fits together.
    """

    name: str
    document: str
    format_version: int
    error: type[ValueError]
    not_one: str
    remedy: str
    source: str

    @property
    def format(self) -> str:
        """The entry "format" of the document."""
        return f"imkpl {self.name}"

    @property
    def seal(self) -> bytes:
        """The comment at the end of the archive, followed by a checksum of all that precedes it."""
        return f"{self.format}, sha256 ".encode()

    def misfit(self, problem: str) -> ValueError:
        """The error of a file that this library cannot have written."""
        return self.error(f"{problem}. {self.source}")
