"""Inputs that decide how much must be read: tests/courses/shapes sums rows up to their lengths."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from one_step import one_step

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading.kinds.kernel.contract import sections
from grader.model.arguments import Inputs, reads
from grader.model.exercise import Spec
from grader.model.outcomes import Outcome
from grader.sandbox.fork_servers import ForkServers
from grader.speed.scored_case import rounds, usually_needed

COURSE = Path(__file__).parents[2] / "courses" / "shapes"


@pytest.fixture(scope="module")
def ragged() -> Exercise:
    return catalog.find(COURSE, "01_ragged_sum")


def asking(spec: Spec, asked: Callable[[Inputs], int]) -> Spec:
    x, *others = spec.arguments
    assert x.name == "x"
    return replace(spec, arguments=(reads("x", bytes=asked), *others))


@pytest.mark.slow
def test_reads_are_counted_by_what_the_inputs_ask_for(ragged: Exercise, fork_servers: ForkServers):
    step = one_step("traffic", ragged, ragged.solution, fork_servers, device="cpu")
    assert step.outcome is Outcome.PASS
    assert {one.argument: one.reads for one in step.traffic} == {"x": 1.0, "lengths": 1.0, "out": 0}


@pytest.mark.slow
def test_reading_what_is_not_asked_for_fails(ragged: Exercise, fork_servers: ForkServers):
    """About half of each row is padding: it is read, and masked afterwards."""
    file = ragged.solution.with_name("wrong_reads_padding.py")
    step = one_step("traffic", ragged, file, fork_servers, device="cpu")
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "traffic")
    assert 1.7 < step.traffic[0].reads < 2.3
    assert "that the inputs ask for" in step.failure.message
    assert "do not ask for" in step.failure.hint


@pytest.mark.parametrize("asked", ["0", "-4", "1 << 40", "1 / 0"])
def test_a_spec_that_asks_for_nothing_or_too_much_is_broken(
    ragged: Exercise, fork_servers: ForkServers, tmp_path: Path, asked: str
):
    shutil.copytree(COURSE, tmp_path, dirs_exist_ok=True)
    broken = catalog.find(tmp_path, ragged.name)
    text = (broken.folder / "spec.py").read_text()
    (broken.folder / "spec.py").write_text(
        text.replace('int(inputs["lengths"].sum()) * inputs["x"].element_size()', asked)
    )
    step = one_step("traffic", broken, ragged.solution, fork_servers, device="cpu")
    assert step.outcome is Outcome.ERROR
    assert "The exercise is broken: the number of bytes of x fails" in step.failure.message


def test_the_contract_has_the_least_bytes_of_its_inputs(ragged: Exercise):
    rows = dict(dict(sections(ragged.spec))["least traffic"])
    assert rows["x"].startswith("read once, ")
    assert rows["x"].endswith(", as the inputs ask")


def test_sizes_of_the_scored_case_follow_from_few_rows(ragged: Exercise):
    """Lengths are uniform: half of x, on average. The rest is a number for each row."""
    columns = ragged.spec.scored.columns
    sizes = {"x": 1000 * columns * 4, "lengths": 8000, "out": 4000}
    needed = usually_needed(ragged.spec, sizes)
    assert 0.4 < needed["x"] / sizes["x"] < 0.6
    assert (needed["lengths"], needed["out"]) == (8000, 4000)
    assert rounds(ragged.spec) == pytest.approx(needed["x"] / sizes["x"], abs=1e-3)
    whole = asking(ragged.spec, lambda inputs: inputs["x"].nbytes)
    assert usually_needed(whole, sizes) == sizes
