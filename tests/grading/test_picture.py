"""Which failed check is drawn, and the command that draws."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.cli import main
from grader.course import Exercise, catalog
from grader.grading import picture
from grader.model.cases import Case
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Step, parse_result

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PUZZLE = catalog.find(ROOT, "p01_map")
TRITON = catalog.find(ROOT, "01_vector_add")
PASSED = parse_result((Path(__file__).parents[1] / "courses" / "result.json").read_bytes())


CASE = Case((8,), "float32", seed=7)


def drawn(
    kind: str = "value", case: Case | None = CASE, exercise: Exercise = PUZZLE
) -> Case | None:
    """The case that is drawn of a check that failed in this way, at this case."""
    failure = Failure(kind=kind, message="wrong", case=case and case.headline)
    step = Step(
        name="correctness",
        outcome=Outcome.FAIL,
        points=0,
        max_points=3,
        summary="",
        duration_s=0.1,
        failure=failure,
    )
    result = PASSED.model_copy(update={"status": Status.FAIL, "steps": (step,)})
    return picture.case_of(result, exercise.spec, {failure: case} if case else {})


def test_a_small_case_that_failed_is_drawn():
    assert drawn() == CASE
    assert drawn(exercise=TRITON) == CASE


@pytest.mark.parametrize("kind", ["timeout", "crash", "exception", "property", "too_slow"])
def test_what_the_accesses_do_not_show_is_not_drawn(kind: str):
    """Least of all a call that never comes back."""
    assert drawn(kind) is None


@pytest.mark.parametrize("kind", ["divergent_barrier", "divergent_shuffle", "traffic"])
def test_what_the_accesses_show_is_drawn(kind: str):
    assert drawn(kind) == CASE


def test_nothing_else_is_drawn():
    assert drawn(case=Case((65,), "float32")) is None, "too large to look at"
    assert drawn(case=None) is None, "no case shows it"
    assert picture.case_of(PASSED, PUZZLE.spec, {}) is None, "nothing is wrong"


def run(capsys: pytest.CaptureFixture[str], *line: str) -> tuple[int, str, str]:
    code = main(line)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_failing_check_of_a_puzzle_draws_above_its_verdict(capsys: pytest.CaptureFixture[str]):
    kernel = PUZZLE.answers / "wrong_off_by_one.py"
    code, out, _ = run(capsys, "check", "p01_map", "--kernel", str(kernel), "-v")
    assert code == 1
    _, drawing = out.split("\nadd_ten_kernel, 1 block of 1 thread\n")
    assert "FAIL  0/7 points" in drawing
    assert "» thread 0 reads a[1], where a has 1 element, a[0]: line 12" in drawing


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("out[0] += a[0] + 10", "out[0] still has its first value, although thread 0 writes to it"),
        ("value = a[0] + 10", "out[0] was never written"),
    ],
)
def test_an_element_that_is_added_to_is_not_reported_as_left_out(
    statement: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "from numba import cuda\n@cuda.jit\ndef kernel(a, out):\n"
        f"    {statement}\ndef add_ten(a, out):\n    kernel[1, 1](a, out)\n"
    )
    code, out, _ = run(capsys, "check", "p01_map", "--kernel", str(kernel), "-v")
    assert code == 1
    _, drawing = out.split("\nkernel, 1 block of 1 thread\n")
    assert " ".join(drawing.split()).count(said) == 1
    assert ("│ t0 ○ │" in drawing) == ("+=" in statement)


def test_a_failing_check_of_programs_draws_above_its_verdict(capsys: pytest.CaptureFixture[str]):
    kernel = TRITON.answers / "wrong_no_mask.py"
    code, out, _ = run(capsys, "check", "01_vector_add", "--kernel", str(kernel))
    assert code == 1
    _, drawing = out.split("\nadd_kernel, 1 program\n")
    assert "the error stopped the kernel here" in drawing
    assert len(out.splitlines()) <= 30
    _, whole, _ = run(capsys, "check", "01_vector_add", "--kernel", str(kernel), "-v")
    assert "⊘ never ran, because the error ended the simulation: line" in whole


def test_a_race_with_a_likely_cause_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    exercise = catalog.find(ROOT, "t03_tile")
    mask = "(row[:, None] < rows) & (column[None, :] < columns)"
    kernel = tmp_path / "kernel.py"
    solution = (exercise.answers / "kernel.py").read_text(encoding="utf-8")
    kernel.write_text(solution.replace(mask, "offsets < rows * columns"), encoding="utf-8")
    code, out, _ = run(
        capsys, "check", "t03_tile", "--kernel", str(kernel), "--case", "2x1,float32"
    )
    assert code == 1
    assert "mask by `column[None, :] < columns`, too" in out
    assert "! a race: two lanes touch this element and nothing orders them" in out


def test_for_programs_there_is_only_the_result(capsys: pytest.CaptureFixture[str]):
    kernel = PUZZLE.answers / "wrong_off_by_one.py"
    code, out, _ = run(capsys, "check", "p01_map", "--kernel", str(kernel), "--json")
    assert code == 1
    assert len(out.splitlines()) == 1


def test_show_draws_a_kernel_and_writes_a_page(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    page = tmp_path / "p01.html"
    line = ("show", "p01_map", "--trace", "--solution", "--html", str(page))
    code, out, err = run(capsys, *line)
    assert code == 0
    assert "│ t0 │ t1 │ t2 │ t3 │ t4 │ t5 │ t6 │ t7 │" in out
    assert "✔ In this case every access is in bounds and every output is right." in out
    assert "`grader check` tries many other cases." in " ".join(out.split())
    assert f"{page}: written; open it in a web browser" in err
    assert "<title>p01_map: threads and memory</title>" in page.read_text()


def test_show_draws_programs_and_writes_a_page(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    page = tmp_path / "01.html"
    line = ("show", "01_vector_add", "--trace", "--solution", "--html", str(page))
    code, out, _ = run(capsys, *line)
    assert code == 0
    assert "add_kernel, program 1 of 2" in out
    assert "1,018 of 1,024 lanes are masked off" in out
    assert "<title>01_vector_add: programs and memory</title>" in page.read_text()


@pytest.mark.parametrize(
    ("line", "said", "code"),
    [
        (("show", "p01", "--solution"), "--kernel and --case belong to --trace.\nnext: Add", 2),
        (("show", "p01", "--trace", "--solution", "--case", "8x8,float32"), "has 2 dimensions", 2),
        (("show", "p01", "--trace", "--kernel", "gone.py"), "gone.py does not exist", 2),
        (
            ("show", "p01", "--trace", "--solution", "--html", "gone/p.html"),
            "gone/p.html cannot",
            2,
        ),
    ],
)
def test_a_trace_that_cannot_be_drawn_is_refused(
    capsys: pytest.CaptureFixture[str], line: tuple[str, ...], said: str, code: int
):
    found, out, err = run(capsys, *line)
    assert (found, out) == (code, "")
    assert said in err
