"""The lines that a report adds to the one that stores a wrong output.

The mistake may lie in what that line depends on. A report therefore adds the one or two lines that
decide most, as the text of the file shows them.
"""

from __future__ import annotations

import time
from dataclasses import replace

from grader.correctness.accesses import lines_of
from grader.correctness.cause import OUTPUTS
from grader.correctness.deciding.further import sentences
from grader.correctness.deciding.place import of_access, of_place
from grader.correctness.deciding.value import of_branch, of_value
from grader.correctness.evidence import Evidence, OutOfTime
from grader.correctness.source import statement_at

SEARCH_S = 1.0  # that the search for them may take; it takes some milliseconds


def stores_of(evidence: Evidence, name: str) -> list[int]:
    """Return the lines that store an output: those that were seen, else those of the text."""
    seen = {use.line for use in evidence.uses if use.argument == name and use.writes}
    return sorted(seen) or lines_of(evidence.text, name, reading=False)


def with_deciding_lines(evidence: Evidence, line: int) -> tuple[int, str]:
    """Return the line to name, and sentences about what decides its work.

    `line` is the one that a cause names, or 0. One that only stores a wrong output, or computes
    what is stored, may be far from the mistake: only then are there sentences.
    """
    try:
        return _with_deciding_lines(replace(evidence, deadline=time.monotonic() + SEARCH_S), line)
    except OutOfTime:
        return line, ""


def _with_deciding_lines(evidence: Evidence, line: int) -> tuple[int, str]:
    output = _wrong_output(evidence)
    if output is None:
        return line, "" if line else of_access(evidence)
    stores, computed = stores_of(evidence, output), evidence.line_of(output)
    places = evidence.failure.kind == "never_written"
    store = max(stores, default=0)
    if line and line not in (computed, store):
        return line, sentences(evidence, line, of_branch(evidence, line, stores))
    line = line or (store if places else computed) or store
    kernel = evidence.text.around(line)
    statement = None if kernel is None else statement_at(kernel, line)
    if kernel is None or statement is None or kernel not in evidence.text.kernels:
        return line, ""
    if places:
        further = sentences(evidence, line, of_place(evidence, kernel, statement))
        return line, f"Line {line} stores {output}. {further}" if further else ""
    further = sentences(evidence, line, of_value(evidence, kernel, statement, store))
    return line, f"Line {line} computes what is stored to {output}. {further}" if further else ""


def _wrong_output(evidence: Evidence) -> str | None:
    if evidence.failure.kind not in OUTPUTS:
        return None
    unwritten = [n for n, gap in evidence.main.unwritten.items() if bool(gap.any())]
    if evidence.failure.kind == "never_written" and unwritten:
        return unwritten[0]
    return next(iter(evidence.bad), None)
