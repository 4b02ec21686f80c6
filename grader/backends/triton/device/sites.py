"""The learner's line of an operation, as messages quote it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.backends.triton.device.ttir.records import Site


@dataclass(frozen=True)
class Source:
    """The kernel file: its path in the locations of TTIR and, where known, its lines."""

    file: str = ""
    lines: Sequence[str] = ()

    def place(self, site: Site) -> Site:
        """Return the outermost place in the file that led to an operation, if there is one."""
        places = (*reversed(site.callers), site)
        return next((place for place in places if place.file == self.file), Site())

    def line_of(self, site: Site) -> int:
        """Return the outermost line in the file that led to an operation; 0 where none did."""
        return self.place(site).line

    def quoted(self, site: Site) -> str:
        """Quote the line of an operation: `line 12 (tl.store(out + i, x))`."""
        line = self.line_of(site)
        if not line:
            return "another file"
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return f"line {line} ({text})" if text else f"line {line}"
