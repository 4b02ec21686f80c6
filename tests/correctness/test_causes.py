"""Each detector of causes: at least two kernels that show it, and two near misses.

The examples are in `tests/cause_examples`. A detector must be silent on its near misses: a question
that misleads is worse than none.
"""

from __future__ import annotations

import pkgutil
from collections import Counter
from importlib import import_module

import cause_examples
import pytest
from cause_examples.example import Example
from cause_examples.kernel_files import kernel_files
from evidences import cause_of

from grader.correctness import causes
from grader.correctness.cause import Cause
from grader.model import discover

KNOWN = discover(causes.__name__, "CAUSE", Cause)
EXAMPLES: dict[str, Example] = {}
for module in pkgutil.iter_modules(cause_examples.__path__):
    named = import_module(f"cause_examples.{module.name}")
    found = getattr(named, "EXAMPLES", {}) | getattr(named, "NEAR_HINTS", {})
    assert not EXAMPLES.keys() & found
    EXAMPLES |= found
SHOWN = [title for title, example in EXAMPLES.items() if example.word]
NEAR = [title for title, example in EXAMPLES.items() if not example.word]


@pytest.mark.parametrize("detector", KNOWN)
def test_a_detector_has_two_kernels_that_show_it_and_two_near_misses(detector: str) -> None:
    files = [file.shows for file in kernel_files() if file.detector == detector]
    by_hand = [bool(each.word) for each in EXAMPLES.values() if each.detector == detector]
    count = Counter([*files, *by_hand])
    assert count[True] >= 2
    assert count[False] >= 2


def test_examples_are_of_detectors() -> None:
    named = {each.detector for each in (*EXAMPLES.values(), *kernel_files())}
    assert named <= set(KNOWN)


@pytest.mark.parametrize("title", SHOWN)
def test_a_kernel_that_shows_it(title: str) -> None:
    example = EXAMPLES[title]
    evidence = example.make()
    assert evidence.failure.kind in KNOWN[example.detector].kinds
    assert KNOWN[example.detector].explain(evidence) is not None
    word, line = cause_of(evidence) or ("", 0)
    assert word == example.word
    assert example.line in (None, line)


@pytest.mark.parametrize("title", NEAR)
def test_a_near_miss(title: str) -> None:
    example = EXAMPLES[title]
    evidence = example.make()
    assert evidence.failure.kind in KNOWN[example.detector].kinds, "nobody asks the detector"
    assert KNOWN[example.detector].explain(evidence) is None
