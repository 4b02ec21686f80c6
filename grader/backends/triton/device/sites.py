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

    def line_of(self, site: Site) -> int:
        """Return the outermost line in the file that led to an operation; 0 where none did."""
        places = (*reversed(site.callers), site)
        return next((place.line for place in places if place.file == self.file), 0)

    def quoted(self, site: Site) -> str:
        """Quote the line of an operation: `line 12 (tl.store(out + i, x))`."""
        line = self.line_of(site)
        if not line:
            return "another file"
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return f"line {line} ({text})" if text else f"line {line}"
