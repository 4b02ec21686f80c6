"""A check in two parts comes to the same as one: real judges, on the CPU."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course import catalog
from grader.grading import Request, check, two_parts
from grader.grading.options import Options
from grader.model.outcomes import Outcome, Status
from grader.model.results import Result

pytestmark = pytest.mark.slow

COURSES = Path(__file__).parents[1] / "courses"
COMPARING = {"correctness", "properties"}
Graded = Callable[..., list[Result]]


def asked(course: str, name: str, kernel: str = "") -> Request:
    exercise = catalog.find(COURSES / course, name)
    file = exercise.answers / kernel if kernel else exercise.solution
    return Request(exercise, file, Options(device="cuda", seed=1))


@pytest.fixture(scope="module")
def graded() -> Graded:
    """Grade on the CPU what is left of each request; of equal ones, which tests share, the first.

    What explains a failure plays no part here, and is not looked for.
    """
    known: dict[Request, Result] = {}

    def grade(*requests: Request) -> list[Result]:
        new = [one for one in requests if one not in known]
        on_cpu = [replace(one.options, device="cpu", shrink=False) for one in new]
        asked = [replace(one, options=o) for one, o in zip(new, on_cpu, strict=True)]
        if new:
            known.update(zip(new, check.run(asked, lambda text: None), strict=True))
        return [known[one] for one in requests]

    return grade


def shape(result: Result) -> object:
    """Return what both ways of grading must agree on."""
    steps = [(step.name, step.outcome, step.points, step.summary) for step in result.steps]
    entries = [(one.status, one.points, len(one.steps)) for one in result.entries]
    return result.status, result.points, result.max_points, steps, entries


@pytest.mark.parametrize(("course", "name"), [("shapes", "01_ragged_sum"), ("entries", "01_scale")])
def test_both_parts_together_have_the_steps_and_points_of_a_whole_check(
    course: str, name: str, graded: Graded
):
    """Left out is what each part need not do: the tests of an exercise, too."""
    one = asked(course, name)
    whole, first, second = graded(one, two_parts.first_part(one), two_parts.second_part(one))
    skipped = {step.name for step in second.steps if step.outcome is Outcome.SKIP}
    assert skipped >= COMPARING
    assert two_parts.has_no_fault(first)
    assert two_parts.reaches_measuring(one, first)
    assert shape(two_parts.joined(one, first, second)) == shape(whole)


@pytest.mark.parametrize(
    ("course", "name", "kernel", "measured"),
    [
        ("toy", "p01_double", "wrong_last.py", False),
        ("entries", "01_scale", "wrong_backward_reads_twice.py", True),
        ("entries", "01_scale", "wrong_backward_drops_a_row.py", True),
    ],
)
def test_a_kernel_that_fails_in_either_part_fails_as_in_a_whole_check(
    course: str, name: str, kernel: str, measured: bool, graded: Graded
):
    # A step that a failing one comes before is not run; the first part left it out. Of a file with
    # two entries the right one is measured all the same.
    one = asked(course, name, kernel)
    whole, first, second = graded(one, two_parts.first_part(one), two_parts.second_part(one))
    assert two_parts.reaches_measuring(one, first) is measured
    assert whole.status is Status.FAIL
    assert shape(two_parts.joined(one, first, second if measured else None)) == shape(whole)


def test_a_file_of_which_one_entry_failed_is_rejected_in_the_first_part(graded: Graded):
    """All wrong kernels of 13 and 20 ran a second time on a GPU, one by one."""
    one = asked("entries", "01_scale", "wrong_backward_drops_a_row.py")
    part = two_parts.first_part(one)
    (result,) = graded(part)
    assert result.status is Status.UNFINISHED
    assert two_parts.of_part(part, result).status is Status.FAIL
    right = two_parts.first_part(asked("entries", "01_scale"))
    (result,) = graded(right)
    assert two_parts.of_part(right, result).status is not Status.FAIL


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
