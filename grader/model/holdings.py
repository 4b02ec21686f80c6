"""Blocks of memory that a computation holds: their bytes now, at most, and over one call."""

from __future__ import annotations

from collections.abc import Callable

from grader.model.held_series import HeldRecorder, HeldSeries


class Holdings:
    """Blocks of memory that are held; `peak` is the most bytes that lived at once.

    A release is noticed when something is seen or looked for after it.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[Callable[[], bool], int]] = {}
        self._recorder = HeldRecorder(0)
        self.peak = 0

    def see(self, key: int, size: int, alive: Callable[[], bool]) -> None:
        """Record `size` bytes, known by `key`, that are held while `alive()` is true."""
        self.look()
        self._held[key] = (alive, size)
        self._note()

    def look(self) -> None:
        """Record what was released."""
        held = {key: block for key, block in self._held.items() if block[0]()}
        if len(held) < len(self._held):
            self._held = held
            self._note()

    def begin(self) -> None:
        """Begin a call, of which `over_call` returns the series."""
        self.look()
        self._recorder = HeldRecorder(self._now)

    def over_call(self) -> HeldSeries:
        """Return the bytes held since `begin`, what the call has released by now included."""
        self.look()
        return self._recorder.series()

    @property
    def _now(self) -> int:
        return sum(size for _, size in self._held.values())

    def _note(self) -> None:
        now = self._now
        self.peak = max(self.peak, now)
        self._recorder.note(now)
