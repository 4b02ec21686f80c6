"""A check in two parts comes to the same as one: real judges, on the CPU."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.authoring import two_parts
from grader.authoring.trials import Trial
from grader.course import catalog
from grader.grading import check
from grader.grading.options import Options
from grader.model.outcomes import Outcome, Status
from grader.model.results import Result

pytestmark = pytest.mark.slow

COURSES = Path(__file__).parents[1] / "courses"
COMPARING = {"correctness", "properties"}


def trial(course: str, name: str, device: str, expected: str = "pass") -> Trial:
    exercise = catalog.find(COURSES / course, name)
    request = check.Request(exercise, exercise.solution, Options(device=device, seed=1))
    return Trial("solution", "solution", expected, request)


def graded(*trials: Trial) -> list[Result]:
    """Grade on the CPU what is left of each trial."""
    on_cpu = [
        replace(one.request, options=replace(one.request.options, device="cpu")) for one in trials
    ]
    return check.run(on_cpu, lambda text: None)


@pytest.mark.parametrize(("course", "name"), [("shapes", "01_ragged_sum"), ("entries", "01_scale")])
def test_both_parts_together_have_the_steps_and_points_of_a_whole_check(course: str, name: str):
    """Left out is what each part need not do: the tests of an exercise, too."""
    one = trial(course, name, "cuda")
    whole, first, second = graded(one, two_parts.first_part(one), two_parts.second_part(one))
    skipped = {step.name for step in second.steps if step.outcome is Outcome.SKIP}
    assert skipped >= COMPARING
    assert two_parts.has_no_fault(first)
    both = two_parts.joined(one, first, second)
    assert [(step.name, step.outcome, step.points) for step in both.steps] == [
        (step.name, step.outcome, step.points) for step in whole.steps
    ]
    assert (both.status, both.points) == (whole.status, whole.points)
    assert [entry.points for entry in both.entries] == [entry.points for entry in whole.entries]


def test_a_file_of_which_one_entry_failed_is_rejected_in_the_first_part():
    """All wrong kernels of 13 and 20 ran a second time on a GPU, one by one."""
    one = trial("entries", "01_scale", "cuda", "correctness of backward")
    wrong = one.request.exercise.folder.parents[1] / "solutions/01_scale"
    kernel = wrong / "wrong_backward_drops_a_row.py"
    part = two_parts.first_part(replace(one, request=replace(one.request, kernel=kernel)))
    (result,) = graded(part)
    assert result.status is Status.UNFINISHED
    assert two_parts.of_part(part, result).status is Status.FAIL
    (right,) = graded(two_parts.first_part(one))
    assert two_parts.of_part(two_parts.first_part(one), right).status is not Status.FAIL


@pytest.mark.parametrize("left_out", [(), ("properties",)], ids=["whole", "without properties"])
def test_a_step_that_is_left_out_leaves_out_its_tests(tmp_path: Path, left_out: tuple[str, ...]):
    """They ran all the same, for nothing: most of a minute for a product of matrices on a GPU."""
    root = shutil.copytree(COURSES / "small", tmp_path / "course")
    exercise = catalog.find(root, "01_double")
    ran = tmp_path / "ran"
    law = f"def test_is_called(kernel):\n    open({str(ran)!r}, 'w').close()\n"
    exercise.tests.write_text(law, encoding="utf-8")
    options = Options(device="cpu", seed=1, leave_out=left_out)
    check.run([check.Request(exercise, exercise.solution, options)], lambda text: None)
    assert ran.exists() is not bool(left_out)


@pytest.mark.parametrize(
    ("device", "expected", "measured"),
    [
        ("cuda", "pass", True),
        ("cuda", "memory", True),
        ("cuda", "traffic of scale", True),
        ("cuda", "properties", False),
        ("cuda", "not_started", False),
        ("cpu", "pass", False),
    ],
)
def test_what_passes_all_comparisons_comes_to_be_measured(
    device: str, expected: str, measured: bool
):
    one = trial("small", "01_double", device, expected)
    assert two_parts.comes_to_be_measured(one) is measured
