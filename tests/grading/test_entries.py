"""A file with several entries: each is graded by itself, and one result says what all came to."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from reported import SPEED, ended, step

from grader.authoring import trials, verify
from grader.authoring.verify import Verified
from grader.course import catalog
from grader.grading import check
from grader.grading.entries import together
from grader.grading.options import Options
from grader.grading.plugin import Gradings
from grader.model.cases import Case
from grader.model.errors import BrokenExercise
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Result, parse_result, result_json
from grader.model.verdict import exit_code, first_problem

pytestmark = pytest.mark.slow

COURSE = Path(__file__).parents[1] / "courses" / "entries"
SCALE = catalog.find(COURSE, "01_scale")
FORWARD, BACKWARD = SCALE.parts
WRONG = [path.stem for path in SCALE.wrong_kernels]


# -- in real processes


@pytest.fixture(scope="module")
def verified() -> dict[str, Verified]:
    """The verdict of `grader verify` on each kernel of the exercise."""
    found = verify.run([SCALE], "cpu", lambda text: None, trials.Sample(count=1))
    return {one.kernel: one for one in found}


@pytest.fixture(scope="module")
def graded(
    verified: dict[str, Verified], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Result]:
    """Results of those kernels, of unfinished files and of single entries."""
    half = tmp_path_factory.mktemp("kernels") / "half.py"
    source = SCALE.solution.read_text(encoding="utf-8")
    launch = source.index("    scale_backward_kernel[")
    half.write_text(source[:launch] + '    raise NotImplementedError("write this")\n')
    less = half.with_name("less.py")
    less.write_text(source[: source.index("def scale_backward(")])
    files = {
        "half": (SCALE, half),
        "less": (SCALE, less),
        "half, forward": (FORWARD, half),
        "half, backward": (BACKWARD, half),
    }
    how = Options(device="cpu", shrink=False)
    # In one case a half is worth no points, but passes: here only that is asked for.
    in_one = replace(how, case=Case((3, 257), "float16"))
    requests = [
        check.Request(exercise, file, in_one if file is less else how)
        for exercise, file in files.values()
    ]
    results = check.run(requests, lambda text: None)
    return {
        **{name: one.result for name, one in verified.items()},
        **dict(zip(files, results, strict=True)),
    }


def outcomes(result: Result) -> dict[str, dict[str, str]]:
    """The steps that were decided, by entry; no GPU, no speed."""
    return {
        one.entry: {s.name: s.outcome.value for s in one.steps if s.name != "speed"}
        for one in result.entries
    }


def test_a_right_file_passes_each_step_of_each_entry(graded: dict[str, Result]):
    result = graded["solution"]
    assert (result.status, result.exercise, result.title) == (Status.PASS, "01_scale", "Scale")
    steps = ("load", "correctness", "properties", "traffic", "memory", "compile")
    assert outcomes(result) == {
        "scale": dict.fromkeys(steps, "pass"),
        "scale_backward": dict.fromkeys(steps, "pass"),
    }
    points = {s.name: s.max_points for s in result.steps}
    assert (points["correctness"], points["properties"]) == (3 + 4, 2 + 2)
    assert result.points == sum(one.points for one in result.entries) == 15
    assert result.max_points == sum(points.values()) == 21


def test_each_entry_has_its_own_properties(graded: dict[str, Result]):
    forward, backward = graded["solution"].entries
    (of_forward,) = (s.summary for s in forward.steps if s.name == "properties")
    (of_backward,) = (s.summary for s in backward.steps if s.name == "properties")
    assert of_forward == "1 property holds: weights of one change nothing"
    assert of_backward == "1 property holds: no gradient gives none"


def test_a_stub_is_not_started(graded: dict[str, Result]):
    assert graded["stub"].status is Status.NOT_STARTED
    assert graded["stub"].points == 0


def test_forward_is_graded_while_backward_is_not_started(graded: dict[str, Result]):
    result = graded["half"]
    forward, backward = result.entries
    assert (forward.status, forward.points) == (Status.PASS, 7)
    assert (backward.status, backward.points) == (Status.NOT_STARTED, 0)
    assert (result.status, result.points) == (Status.NOT_STARTED, 7)
    assert exit_code([result]) == 1
    assert first_problem(result).failure.message.startswith("scale_backward: ")


def test_forward_is_graded_while_backward_is_missing(graded: dict[str, Result]):
    forward, backward = graded["less"].entries
    assert forward.status is Status.PASS
    assert (backward.status, backward.steps[0].failure.kind) == (Status.FAIL, "missing_entry")
    assert graded["less"].status is Status.FAIL


def test_one_entry_alone_can_be_checked(graded: dict[str, Result]):
    """Its name says so in the result: whoever reads records of the exercise finds none of it."""
    forward, backward = graded["half, forward"], graded["half, backward"]
    assert (forward.exercise, forward.status) == ("01_scale:scale", Status.PASS)
    assert (backward.exercise, backward.status) == ("01_scale:scale_backward", Status.NOT_STARTED)
    assert (forward.points, forward.max_points) == (7, 10)
    assert not forward.entries


@pytest.mark.parametrize(
    ("wrong", "entry", "rejected_at"),
    [
        ("wrong_forward_adds", "scale", "correctness"),
        ("wrong_backward_drops_a_row", "scale_backward", "correctness"),
        ("wrong_backward_reads_twice", "scale_backward", "traffic"),
        ("wrong_state_in_a_global", "scale_backward", "correctness"),
    ],
)
def test_a_wrong_entry_fails_alone_and_the_file_with_it(
    wrong: str, entry: str, rejected_at: str, graded: dict[str, Result]
):
    result = graded[wrong]
    assert {one.entry for one in result.entries if one.status is Status.FAIL} == {entry}
    assert result.status is Status.FAIL
    problem = first_problem(result)
    assert problem.name == rejected_at
    assert problem.failure.message.startswith(f"{entry}: ")
    assert f"grader check 01_scale:{entry} --kernel " in problem.failure.replay


def test_every_wrong_kernel_of_the_course_is_tried_above():
    tried = test_a_wrong_entry_fails_alone_and_the_file_with_it.pytestmark[0].args[1]
    assert sorted(WRONG) == sorted(name for name, _, _ in tried)


def test_a_result_with_entries_crosses_whole(graded: dict[str, Result]):
    result = graded["wrong_backward_drops_a_row"]
    assert parse_result(result_json(result)) == result


def test_verify_holds_each_entry_to_what_it_must_reject(verified: dict[str, Verified]):
    assert [one.kernel for one in verified.values() if not one.ok] == []
    assert {one.exercise for one in verified.values()} == {"01_scale"}
    no_work = [one.kernel for one in verified.values() if one.kind == "no_work"]
    assert {name.partition(" of ")[2] for name in no_work} == {"scale", "scale_backward"}
    cheat = verified["wrong_state_in_a_global"]
    assert cheat.expected == cheat.actual == "correctness of scale_backward"


@pytest.mark.parametrize(
    ("said", "ok"),
    [
        ("correctness of scale_backward", True),
        ("correctness", True),
        ("correctness of scale", False),
        ("traffic", False),
    ],
)
def test_verify_asks_for_the_entry_that_a_wrong_kernel_names(
    said: str, ok: bool, graded: dict[str, Result]
):
    kernel = SCALE.answers / "wrong_state_in_a_global.py"
    trial = trials.Trial("wrong", kernel.stem, said, check.Request(SCALE, kernel))
    assert verify._judged(trial, graded[kernel.stem]).ok == ok


def test_an_entry_that_the_exercise_does_not_have_is_no_place_to_be_rejected(tmp_path: Path):
    kernel = tmp_path / "wrong_guess.py"
    kernel.write_text('"""Wrong.\n\nRejected at: speed of sideways\n"""\n')
    with pytest.raises(BrokenExercise, match="names the entry 'sideways', which its exercise"):
        trials._rejecting_step(SCALE, kernel)


@pytest.mark.gpu
def test_on_a_gpu_each_entry_is_timed_and_held_to_its_own_gate():
    how = Options(device="cuda", require_speed=True, shrink=False)
    (result,) = check.run([check.Request(SCALE, SCALE.solution, how)], lambda text: None)
    assert result.status is Status.PASS
    speeds = [s.speed for one in result.entries for s in one.steps if s.name == "speed"]
    assert [speed.passing for speed in speeds] == [0.3, 0.2]
    (whole,) = (s.speed for s in result.steps if s.name == "speed")
    assert whole == min(speeds, key=lambda speed: speed.share / speed.passing)


# -- from records alone

FAILED = Failure(kind="value", message="out[0] is wrong", replay="grader check 01_double")
RIGHT = ended(
    Status.PASS,
    *(step(name, Outcome.PASS) for name in ("load", "correctness", "properties")),
    *(step(name, Outcome.PASS) for name in ("traffic", "memory")),
    step("speed", Outcome.SKIP),
)
WRONG_VALUE = ended(
    Status.FAIL, step("load", Outcome.PASS), step("correctness", Outcome.FAIL, FAILED)
)
NOT_STARTED = ended(
    Status.NOT_STARTED, step("load", Outcome.PASS), step("correctness", Outcome.NOT_STARTED)
)


def with_status(status: Status) -> Result:
    return RIGHT.model_copy(update={"status": status})


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        (Status.PASS, Status.PASS, Status.PASS),
        (Status.PASS, Status.NOT_STARTED, Status.NOT_STARTED),
        (Status.NOT_STARTED, Status.FAIL, Status.FAIL),
        (Status.PASS, Status.CANNOT_GRADE, Status.CANNOT_GRADE),
        # It failed for certain, whatever another machine may find of the other entry.
        (Status.CANNOT_GRADE, Status.FAIL, Status.FAIL),
        (Status.FAIL, Status.UNFINISHED, Status.UNFINISHED),
        (Status.FAIL, Status.ERROR, Status.ERROR),
        (Status.PASS, Status.INTERRUPTED, Status.INTERRUPTED),
    ],
)
def test_a_file_is_worth_its_gravest_entry(first: Status, second: Status, whole: Status):
    assert together(SCALE, [with_status(first), with_status(second)]).status is whole
    assert together(SCALE, [with_status(second), with_status(first)]).status is whole


def test_every_status_of_an_entry_has_its_rank():
    for status in Status:
        assert together(SCALE, [with_status(status)] * 2).status is status


def test_a_later_failure_comes_before_a_part_that_is_not_started():
    slow = Failure(kind="traffic", message="x is read twice")
    steps = [step(name, Outcome.PASS) for name in ("load", "correctness", "properties")]
    reads_twice = ended(Status.FAIL, *steps, step("traffic", Outcome.FAIL, slow))
    whole = together(SCALE, [reads_twice, NOT_STARTED])
    assert first_problem(whole).failure.message == "scale: x is read twice"
    assert first_problem(together(SCALE, [RIGHT, NOT_STARTED])).outcome is Outcome.NOT_STARTED


def test_a_step_has_the_points_of_all_its_entries_and_the_worst_outcome():
    whole = together(SCALE, [RIGHT, WRONG_VALUE])
    by_name = {one.name: one for one in whole.steps}
    assert by_name["correctness"].outcome is Outcome.FAIL
    assert (by_name["correctness"].points, by_name["correctness"].max_points) == (3, 6)
    assert by_name["traffic"].outcome is Outcome.NOT_RUN
    assert by_name["speed"].outcome is Outcome.NOT_RUN
    assert whole.points == RIGHT.points + WRONG_VALUE.points
    assert [one.entry for one in whole.entries] == ["scale", "scale_backward"]
    assert whole.entries[1].steps == WRONG_VALUE.steps


@pytest.mark.parametrize(
    ("first", "second", "decides"),
    [((0.9, 0.8), (0.6, 0.5), 0.9), ((0.9, 0.5), (0.6, 0.5), 0.6), ((0.5, 0.5), (0.9, 0.8), 0.5)],
)
def test_the_speed_of_a_file_is_that_of_the_entry_nearest_to_its_gate(
    first: tuple[float, float], second: tuple[float, float], decides: float
):
    """`(0.9, 0.8)` is a share of 0.9 where 0.8 passes. A board ranks one number for each file."""

    def timed(share: float, passing: float) -> Result:
        speed = SPEED.model_copy(update={"share": share, "passing": passing})
        return ended(Status.PASS, *RIGHT.steps[:-1], step("speed", Outcome.PASS, speed=speed))

    whole = together(SCALE, [timed(*first), timed(*second)])
    assert whole.steps[-1].speed.share == decides


def test_a_file_of_which_one_entry_was_not_timed_has_no_speed():
    timed = ended(Status.PASS, *RIGHT.steps[:-1], step("speed", Outcome.PASS, speed=SPEED))
    whole = together(SCALE, [timed, RIGHT])
    assert (whole.steps[-1].outcome, whole.steps[-1].speed) == (Outcome.SKIP, None)


def test_the_workers_of_one_entry_have_ended_when_another_begins():
    """A process that the forward pass left running must help no backward pass."""
    closed: list[str] = []
    gradings = Gradings(None, Options(), None, shared=True)
    forward, backward = (
        SimpleNamespace(close=partial(closed.append, name)) for name in ("forward", "backward")
    )
    gradings._by_folder[SCALE.folder] = {"scale": forward, "scale_backward": backward}
    gradings.begin(backward)
    assert closed == ["forward"]
