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


RIGHT = [("shapes", "01_ragged_sum"), ("entries", "01_scale")]
# And whether the first part comes to measuring.
WRONG = [
    ("toy", "p01_double", "wrong_last.py", False),
    ("entries", "01_scale", "wrong_backward_reads_twice.py", True),
    ("entries", "01_scale", "wrong_backward_drops_a_row.py", True),
]


@pytest.fixture(scope="module")
def graded() -> Graded:
    """Grade on the CPU what is left of each request: one judge grades them all.

    What explains a failure plays no part here, and is not looked for.
    """
    whole = [asked(*one) for one in (*RIGHT, *(wrong[:3] for wrong in WRONG))]
    parts = [(one, two_parts.first_part(one), two_parts.second_part(one)) for one in whole]
    requests = [part for each in parts for part in each]
    on_cpu = [
        replace(one, options=replace(one.options, device="cpu", shrink=False)) for one in requests
    ]
    results = check.run(on_cpu, lambda text: None)
    known: dict[Request, Result] = dict(zip(requests, results, strict=True))
    return lambda *asked: [known[one] for one in asked]


def shape(result: Result) -> object:
    """Return what both ways of grading must agree on."""
    steps = [(step.name, step.outcome, step.points, step.summary) for step in result.steps]
    entries = [(one.status, one.points, len(one.steps)) for one in result.entries]
    return result.status, result.points, result.max_points, steps, entries


@pytest.mark.parametrize(("course", "name"), RIGHT)
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


@pytest.mark.parametrize(("course", "name", "kernel", "measured"), WRONG)
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


def test_a_step_that_is_left_out_leaves_out_its_tests(tmp_path: Path):
    """They ran all the same, for nothing: most of a minute for a product of matrices on a GPU."""
    requests, ran = [], {}
    for left_out in ((), ("properties",)):
        root = shutil.copytree(COURSES / "small", tmp_path / f"without {len(left_out)}")
        exercise = catalog.find(root, "01_double")
        ran[left_out] = root / "ran"
        law = f"def test_is_called(kernel):\n    open({str(root / 'ran')!r}, 'w').close()\n"
        exercise.tests.write_text(law, encoding="utf-8")
        options = Options(device="cpu", seed=1, leave_out=left_out)
        requests.append(check.Request(exercise, exercise.solution, options))
    check.run(requests, lambda text: None)
    assert {left_out: path.exists() for left_out, path in ran.items()} == {
        (): True,
        ("properties",): False,
    }
