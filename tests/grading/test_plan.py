"""The steps of an exercise: their order, their points, and specs that fit no kind."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import reported
from messages import text_of
from specs import with_spec
from syrupy.assertion import SnapshotAssertion

from grader.classroom.board import site
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import kinds, steps
from grader.grading.kinds.kernel import KIND
from grader.grading.options import Options
from grader.grading.plan import has_step, ordered, points_of, steps_of
from grader.grading.session import Grading
from grader.grading.step import Finding, Step
from grader.grading.steps.speed.measure import finding
from grader.model.base_spec import BaseSpec
from grader.model.errors import BrokenExercise, UsageError
from grader.model.exercise import Budget, Spec
from grader.model.outcomes import Outcome
from grader.sandbox.fork_servers import ForkServers
from grader.speed import alternation
from grader.speed.bounds import find_bound
from grader.speed.clock import BatchTime

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SOFTMAX = catalog.find(ROOT, "04_online_softmax")
PUZZLE = catalog.find(ROOT, "p01_map")
SPEED = reported.timed().steps[-1].speed


def step(name: str, *needs: str) -> Step:
    return Step(name=name, title=name, needs=needs, run=lambda grading: Finding(""))


def names(order: list[Step]) -> list[str]:
    return [step.name for step in order]


LISTED = [step("a"), step("b", "a"), step("c", "b")]


# -- order


@pytest.mark.parametrize(
    ("joining", "expected"),
    [
        ([], "abc"),
        ([step("x", "a")], "axbc"),
        ([step("x", "b", "a")], "abxc"),
        ([step("x")], "abcx"),
        ([step("x", "a"), step("y", "a")], "axybc"),
        ([step("x", "y"), step("y", "a")], "ayxbc"),
        ([step("x", "a"), step("y", "x"), step("z", "b")], "axybzc"),
        ([step("x", "gone")], "abcx"),
    ],
)
def test_a_step_that_joins_stands_behind_what_it_needs(joining: list[Step], expected: str):
    for some in itertools.permutations(joining):
        assert "".join(names(ordered(LISTED, some))) == expected


def test_steps_that_need_each_other_are_broken(snapshot: SnapshotAssertion):
    with pytest.raises(BrokenExercise) as caught:
        ordered(LISTED, [step("x", "y"), step("y", "x"), step("z")])
    assert text_of(caught.value) == snapshot


def test_the_steps_of_exercises_and_puzzles():
    assert names(steps_of(SOFTMAX.spec)) == [
        *("load", "correctness", "properties", "traffic", "memory", "compile", "speed"),
    ]
    puzzle = replace(PUZZLE.spec, budgets=())
    assert names(steps_of(puzzle)) == ["load", "correctness", "properties", "traffic"]
    counted = replace(puzzle, budgets=(Budget("transactions", most=8, best=4),))
    assert names(steps_of(counted))[-1] == "counts"
    assert has_step(SOFTMAX.spec, "speed")
    assert not has_step(PUZZLE.spec, "speed")


def test_every_step_of_a_kind_stands_behind_those_that_it_needs():
    known = steps.every()
    for place, name in enumerate(KIND.steps):
        assert set(known[name].needs) <= set(KIND.steps[:place])


def test_steps_and_kinds_import_nothing_heavy():
    """`grader list` reads the points of each."""
    code = (
        "import sys; from grader.grading import kinds, steps; "
        "steps.every(); kinds.discover(kinds.__name__, 'KIND', kinds.Kind); "
        "heavy = {'torch', 'pydantic', 'pytest', 'hypothesis', 'triton', 'numba'}; "
        "print(*sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


# -- points


def test_points_are_the_steps_own_unless_the_spec_overrides_them():
    own = points_of(SOFTMAX.spec)
    assert own == {
        "load": 0,
        "correctness": 3,
        "properties": 2,
        "traffic": 1,
        "memory": 1,
        "compile": 0,
        "speed": 3,
    }
    assert points_of(replace(SOFTMAX.spec, points={"speed": 5})) == own | {"speed": 5}


@pytest.mark.parametrize("name", ["sunrise", "counts"])
def test_points_for_a_step_that_an_exercise_lacks_are_broken(name: str):
    with pytest.raises(BrokenExercise, match=f"gives points for '{name}'"):
        points_of(replace(SOFTMAX.spec, points={name: 1}))


# -- kinds


def test_a_kind_that_does_not_exist_is_broken(snapshot: SnapshotAssertion):
    with pytest.raises(BrokenExercise) as error:
        kinds.kind_of(replace(SOFTMAX.spec, kind="kernle"))
    assert text_of(error.value) == snapshot


def test_a_spec_of_another_kinds_type_is_broken(added: Path, snapshot: SnapshotAssertion):
    with pytest.raises(BrokenExercise) as caught:
        kinds.kind_of(replace(SOFTMAX.spec, kind="quiz"))
    assert text_of(caught.value) == snapshot


def test_a_kind_with_an_unknown_step_is_broken(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    odd = replace(KIND, steps=("load", "sunrise"))
    monkeypatch.setattr(kinds, "discover", lambda *_: {"kernel": odd})
    with pytest.raises(BrokenExercise) as caught:
        steps_of(SOFTMAX.spec)
    assert text_of(caught.value) == snapshot


def test_a_kind_with_steps_in_the_wrong_order_is_broken(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    odd = replace(KIND, steps=("correctness", "load"))
    monkeypatch.setattr(kinds, "discover", lambda *_: {"kernel": odd})
    with pytest.raises(BrokenExercise) as caught:
        steps_of(SOFTMAX.spec)
    assert text_of(caught.value) == snapshot


def test_a_step_that_needs_one_that_does_not_exist_is_broken(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setattr(steps, "discover", lambda *_: {"x": step("x", "sunrise")})
    with pytest.raises(BrokenExercise) as caught:
        steps.every()
    assert text_of(caught.value) == snapshot


def test_an_exercise_of_another_kind_has_no_kernels_spec(added: Path, snapshot: SnapshotAssertion):
    quiz = catalog.find(added, "p02_bytes")
    assert quiz.kernel.name == "answers.toml"
    with pytest.raises(UsageError) as caught:
        _ = quiz.spec
    assert text_of(caught.value) == snapshot


def test_tests_that_no_step_runs_are_the_exercises_fault(
    added: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setattr(Exercise, "tests", property(lambda self: added / "course.toml"))
    quiz = catalog.find(added, "p02_bytes")
    with pytest.raises(BrokenExercise) as caught:
        Grading(quiz, quiz.solution, Options(), ForkServers())
    assert text_of(caught.value, added) == snapshot


def test_a_kinds_spec_is_held_to_its_own_type_alone(snapshot: SnapshotAssertion):
    other = with_spec(SOFTMAX, BaseSpec(title="A", summary="B", kind="kernel"))
    assert not isinstance(other.any_spec, Spec)
    with pytest.raises(BrokenExercise) as caught:
        steps_of(other.any_spec)
    assert text_of(caught.value) == snapshot


# -- bounds


def test_a_bound_that_does_not_exist_is_broken(snapshot: SnapshotAssertion):
    odd = replace(SOFTMAX.spec, scored=replace(SOFTMAX.spec.scored, bound="bandwith"))
    with pytest.raises(BrokenExercise) as error:
        steps_of(odd)
    assert text_of(error.value) == snapshot


def test_a_bound_in_a_file_has_its_own_work_and_rate(added: Path, monkeypatch: pytest.MonkeyPatch):
    """Of 16 calls in 32 ms, where its reference makes 1,000 a second: half of that rate."""
    exercise = catalog.find(added, "01_copy")
    assert "speed" in names(steps_of(exercise.spec))
    bound = find_bound(exercise.spec.scored.bound)
    slots = SimpleNamespace(least_bytes=1 << 20, calls=16)
    batch = BatchTime(window_s=0.033, claimed_s=0.032, available=1 << 30)
    monkeypatch.setattr(alternation, "time_batch", lambda kernel, slots: batch)
    monkeypatch.setattr(alternation, "require_idle_gpu", lambda kernel: None)
    monkeypatch.setattr(alternation.nvml, "read", lambda uuid: None)
    monkeypatch.setattr(alternation.gpu_lock, "uuid", str)
    reference = bound.reference(slots, None, None)
    kernel = SimpleNamespace(stop=lambda: None)
    found = alternation.alternate(kernel, reference, slots, batch, bound, 0.4, [batch])
    assert found.shares == pytest.approx([0.5] * len(found.shares))
    assert bound.rate_text(500.0) == "0 calls/ms"
    assert bound.rate_text(12_345_678.0) == "12,346 calls/ms"


def test_a_bound_without_a_limit_makes_no_share_impossible(added: Path):
    bound, fast = find_bound("calls"), SPEED.model_copy(update={"share": 3.0, "bound": "calls"})
    assert finding(bound, "fast", fast, fast, True, None).outcome is Outcome.PASS
    found = finding(find_bound("bandwidth"), "fast", fast, fast, True, None)
    assert found.failure.kind == "impossible"
    slow = SPEED.model_copy(update={"share": 0.1, "explanation": ()})
    assert finding(bound, "slow", slow, slow, False, None).failure.kind == "too_slow"


def test_a_board_lists_an_exercise_without_a_kernel(added: Path):
    listed = {task.name: task for task in site.tasks(catalog.exercises(added))}
    assert (listed["p02_bytes"].backend, listed["p02_bytes"].gates) == ("quiz", None)
    assert (listed["p01_copy"].backend, listed["p01_copy"].gates) == ("numba", None)
    assert listed["01_copy"].gates == catalog.find(added, "01_copy").spec.gates
