"""Fingerprints of a file: hashes of runs of symbols, some of which are kept (winnowing).

After Schleimer, Wilkerson and Aiken, "Winnowing: local algorithms for document fingerprinting"
(2003): of every WINDOW runs the one with the smallest hash is kept. A passage of RUN + WINDOW - 1
symbols that two files share gives both one fingerprint at least.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from zlib import crc32

from grader.classroom.similarity.symbols import Symbol

# Calibrated by bench/similarity.py, whose results docs/grading.md cites.
RUN = 12  # symbols
WINDOW = 4


@dataclass(frozen=True)
class Runs:
    """The hash of each run of symbols of a file, in their order, and the line of each symbol."""

    hashes: tuple[int, ...]
    lines: tuple[int, ...]

    def kept(self, ignored: Collection[int] = frozenset()) -> frozenset[int]:
        """Return the fingerprints, without those in `ignored`."""
        hashes = self.hashes
        windows = range(max(len(hashes) - WINDOW + 1, 1)) if hashes else ()
        return frozenset(min(hashes[at : at + WINDOW]) for at in windows) - frozenset(ignored)

    def lines_of(self, shared: Collection[int]) -> frozenset[int]:
        """Return the lines with a symbol of one of these runs."""
        return frozenset(
            line
            for at, one in enumerate(self.hashes)
            if one in shared
            for line in self.lines[at : at + RUN]
        )


def runs(symbols: Sequence[Symbol]) -> Runs:
    numbers = [crc32(symbol.text.encode(errors="surrogatepass")) for symbol in symbols]
    # Python mixes numbers in a tuple's hash alike in every process: only texts are salted.
    hashes = (hash(tuple(numbers[at : at + RUN])) for at in range(len(numbers) - RUN + 1))
    return Runs(tuple(hashes), tuple(symbol.line for symbol in symbols))
