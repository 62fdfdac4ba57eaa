"""How far a long computation has come: announced once, shown by whoever listens.

``verbose=1`` listens and writes lines to standard error; the command line listens and draws a bar.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One announcement, such as ``Progress("IMKPL", "round 3/20: objective 12.5", 3, 20)``."""

    source: str
    message: str
    done: float | None = None
    total: float | None = None


Listener = Callable[[Progress], None]
_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hand every announcement within the block to a listener."""
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


def announce(
    source: str, message: str, done: float | None = None, total: float | None = None
) -> None:
    """Tell all listeners; without any, nothing happens."""
    for listener in _listeners.get():
        listener(Progress(source, message, done, total))


def write_line(progress: Progress) -> None:
    """The listener behind ``verbose=1``."""
    sys.stderr.write(f"[{progress.source}] {progress.message}\n")
