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
        """Return an operation's outermost place in the file; an empty Site if it has none."""
        places = (*reversed(site.callers), site)
        return next(filter(self.holds, places), Site())

    def holds(self, site: Site) -> bool:
        """Report whether a site is in the kernel file, whichever worker's copy it names.

        Workers of a check share Triton's cache, and each has the file in a folder of its own.
        """
        return _without_folder(site.file) == _without_folder(self.file)

    def line_of(self, site: Site) -> int:
        """Return the line of an operation's outermost place in the file; 0 if it has none."""
        return self.place(site).line

    def quoted(self, site: Site) -> str:
        """Quote the line of an operation: `line 12 (tl.store(out + i, x))`."""
        line = self.line_of(site)
        if not line:
            return "another file"
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return f"line {line} ({text})" if text else f"line {line}"


def _without_folder(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[0], name
