"""An index below 0, which counts from the end, and the elements that depend on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.correctness.causes.index_below_zero import explain
from grader.correctness.evidence import Evidence
from grader.model.traced import FROM_END, ArrayRef, LaunchRef, Traced


def launch(grid: tuple[int, int], block: tuple[int, int]) -> LaunchRef:
    return LaunchRef("kernel", (*grid, 1), (*block, 1))


class Seen:
    """The parts of an `Evidence` that this cause looks at."""

    def __init__(self, traced: Traced, wrong: Mapping[str, Tensor], source: Sequence[str]) -> None:
        self.traced, self.wrong, self.source = traced, wrong, source

    quoted = Evidence.quoted


def asked(traced: Traced, wrong: Mapping[str, Tensor], source: Sequence[str]) -> str | None:
    seen: Any = Seen(traced, wrong, source)
    found = explain(seen)
    return None if found is None else found.hint


def used(fault: int, thread: int = 1, line: int = 2) -> Traced:
    """Each of 4 threads writes its element of out; one has used tile[1, -1] or another index."""
    return Traced(
        (launch((1, 1), (4, 1)),),
        (ArrayRef("tile", "shared", (2, 3)), ArrayRef("out", "argument", (4,))),
        (
            (0, 0, 0, thread, 0, 5, 0, line, fault),
            *((0, 0, 0, each, 1, each, 1, 3, 0) for each in range(4)),
        ),
    )


WRONG = {"out": torch.tensor([False, True, True, False])}


def test_an_index_below_0_is_asked_about():
    source = ["import numba", "    before = tile[i, j - 1]"]
    question = (
        "{} uses an index below 0, which counts from the end: it reads tile[1, 2]. Is an `if` "
        "missing there, or wrong, or a sign?"
    )
    line = question.format("Line 2 (before = tile[i, j - 1])")
    assert asked(used(FROM_END), WRONG, source) == line
    assert asked(used(0), WRONG, source) is None
    for unknown in (0, 3):  # it is the worker that tells the number
        told = asked(used(FROM_END, line=unknown), WRONG, source)
        assert told == question.format("The kernel")


def test_an_index_below_0_of_who_wrote_nothing_wrong_is_not():
    """Such as in a sum whose first threads do nothing with what they read."""
    assert asked(used(FROM_END, thread=0), WRONG, []) is None
    late = used(FROM_END)
    over = replace(late, accesses=(*late.accesses, (0, 1, 0, 2, 1, 1, 1, 4, 0)))
    assert asked(over, {"out": WRONG["out"][:2]}, []) is None, "thread 2 wrote last"
    assert asked(late, {"other": WRONG["out"]}, []) is None


def test_an_index_below_0_that_led_to_what_another_thread_read_is_asked_about():
    late = used(FROM_END, thread=0)
    passed_on = ((0, 0, 0, 0, 0, 1, 1, 3, 0), (0, 1, 0, 2, 0, 1, 0, 4, 0))
    read_by_2 = replace(late, accesses=(late.accesses[0], *passed_on, *late.accesses[1:]))
    assert asked(read_by_2, WRONG, []) is not None
    other_block = (*passed_on[:1], (0, 1, 1, 2, 0, 1, 0, 4, 0))
    twice = replace(late, launches=(launch((2, 1), (4, 1)),))
    of_another = replace(twice, accesses=(late.accesses[0], *other_block, *late.accesses[1:]))
    assert asked(of_another, WRONG, []) is None
