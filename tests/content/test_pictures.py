"""The case that `show --trace` draws shows what the exercise is about."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path

import pytest

from grader.course import Exercise, catalog
from grader.grading import Options, Request, WarmJudge, check
from grader.model import Trace
from grader.reports.trace_terminal import drawing

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LINES = 22  # of a terminal of 24
# Blocks as long as these make a picture of two turns too large to read: the row is one block, or
# each of many programs has one.
LONG_BLOCKS = (
    "03_three_pass_softmax",
    "06_cross_entropy",
    "07_fused_linear_cross_entropy",
    "12_fused_mse",
)

OF_PROGRAMS = [each for each in catalog.parts(ROOT) if each.spec.backend == "triton"]


@pytest.fixture(scope="module")
def judge() -> Iterator[WarmJudge]:
    with WarmJudge() as one:
        yield one


@pytest.fixture(scope="module", params=OF_PROGRAMS, ids=lambda exercise: exercise.name)
def drawn(request: pytest.FixtureRequest, judge: WarmJudge) -> tuple[Exercise, Trace]:
    exercise = request.param
    asked = Request(exercise, exercise.solution, Options(seed=1))
    return exercise, check.trace(asked, judge=judge)


def test_programs_turns_and_masks_can_be_compared(drawn: tuple[Exercise, Trace]):
    exercise, trace = drawn
    assert trace.failure is None
    # One launch at least shows it; another may be a single program that adds up what is left.
    assert 2 <= max(prod(launch.grid) for launch in trace.launches) <= 4
    turns = [
        {turn.turn for part in launch.parts for turn in part.loops} for launch in trace.launches
    ]
    assert not any(turns) or max(map(len, turns)) >= 2 or exercise.name in LONG_BLOCKS
    masked = [act for act in trace.acts if act.active < prod(trace.operations[act.operation].shape)]
    assert masked or not any("mask=" in line for line in trace.source)


def test_a_small_terminal_shows_two_programs_a_load_and_a_store(drawn: tuple[Exercise, Trace]):
    _, trace = drawn
    text = drawing(trace, lines=LINES).plain
    assert len(text.rstrip("\n").splitlines()) <= LINES
    first, *_, last = sorted({act.block for act in trace.acts})
    names = (line for line in text.splitlines() if ", program " in line)
    assert len({line.partition(", program ")[2].partition(" of ")[0] for line in names}) == 2
    assert first != last
    assert "tl.load(" in text
    assert "tl.store(" in text
