"""Progress for somebody who waits: one changing line on a terminal, else few lines."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.text import Text

PATIENCE_S = 5.0  # after which somebody who waits wants to know why


class Progress(Protocol):
    def __call__(self, text: str) -> None:
        """Show what is running."""

    def step(self, text: str, why: str) -> None:
        """Show what is running, and after `PATIENCE_S` why it takes long, if that is known."""

    def close(self) -> None:
        """Show nothing any more."""


class OnTerminal:
    """One line on standard error, which rich draws again several times a second."""

    def __init__(self) -> None:
        from rich.console import Console

        self._show("starting", "")
        self._status = Console(stderr=True).status(self)
        self._status.start()

    def __call__(self, text: str) -> None:
        self._show(text, "")

    def step(self, text: str, why: str) -> None:
        self._show(text, why)

    def close(self) -> None:
        self._status.stop()

    def _show(self, text: str, why: str) -> None:
        self._text, self._why, self._began = text, why, time.monotonic()

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(words(self._text, self._why, time.monotonic() - self._began))


class InLines:
    """Lines for a log. They name what is running without its steps, or the log would be long."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def __call__(self, text: str) -> None:
        self._write(text)

    def step(self, text: str, why: str) -> None:
        """Show nothing: a log has no line that could change."""

    def close(self) -> None:
        """Show nothing more than before."""


def words(text: str, why: str, elapsed_s: float) -> str:
    """Return the text and, where it takes long, for how long it does and why."""
    if elapsed_s < PATIENCE_S:
        return text
    waited = f"{text} {int(elapsed_s)} s"
    return f"{waited}: {why}" if why else waited
