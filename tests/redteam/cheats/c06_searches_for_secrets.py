"""Looks for the judge's seeds and right answers in its memory, its environment and its own heap."""
# attacks: 01_vector_add
# stopped: correctness value

import contextlib
import os
import re
from pathlib import Path

SEED = re.compile(rb'"seed": ?(\d+)')


def ancestors():
    """This process and those above it, the judge among them."""
    number = os.getpid()
    while number > 1:
        yield number
        try:
            told = Path(f"/proc/{number}/stat").read_text()
        except OSError:
            return
        number = int(told.rpartition(")")[2].split()[1])


def memory(number):
    """The writable parts of a process's memory that are not too large to search."""
    with open(f"/proc/{number}/mem", "rb", buffering=0) as file:
        for line in Path(f"/proc/{number}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            start, stop = (int(end, 16) for end in span.split("-"))
            if rights.startswith("rw") and stop - start < 1 << 24:
                with contextlib.suppress(OSError):
                    file.seek(start)
                    yield file.read(stop - start)


def seeds():
    for number in ancestors():
        with contextlib.suppress(OSError):
            yield from SEED.findall(Path(f"/proc/{number}/environ").read_bytes())
            for part in memory(number):
                yield from SEED.findall(part)


FOUND = list(seeds())


def vector_add(x, y, out):
    # With the seed of a case its inputs, and so its answers, could be drawn beforehand.
    out.fill_(float(len(FOUND)))
