"""The lines that kernels print, as a GPU would have put them out, up to a limit."""

from __future__ import annotations

MOST_LINES = 1000
LONGEST_LINE = 1000  # characters


class Printed:
    """The lines of the launches since the last `take`."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._left_out = 0

    @property
    def free(self) -> int:
        """The number of lines that still fit."""
        return MOST_LINES - len(self._lines)

    def add(self, line: str) -> None:
        if self.free:
            self._lines.append(line[:LONGEST_LINE])
        else:
            self._left_out += 1

    def leave_out(self, count: int) -> None:
        self._left_out += count

    def take(self) -> str:
        """Return all lines, and forget them."""
        lines = list(self._lines)
        if self._left_out:
            lines.append(f"({self._left_out} more lines of tl.device_print are left out)")
        self._lines, self._left_out = [], 0
        return "".join(f"{line}\n" for line in lines)
