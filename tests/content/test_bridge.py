"""The page between the two languages: its kernels are right, and what it says of them holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.check import Options, Request
from grader.model import Status

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "puzzles" / "from_threads_to_programs.md"
LANGUAGES = ("numba", "triton")

SPEC = """
from grader.spec import Case, Spec, Tolerance, reads, writes

SPEC = Spec(
    title="Row means",
    summary="The mean of each row.",
    backend="{backend}",
    entry="row_means",
    arguments=(
        reads("x"),
        writes("out", shape=lambda inputs: (inputs["x"].shape[0],), dtype="float32"),
    ),
    dtypes=("float32",),
    draws=("rows",),
    edges=(Case((1, 1), "float32"), Case((3, 63), "float32"), Case((2, 64), "float32")),
    largest=(4, 64),
    most_elements=128,
    inputs=lambda case, draw: {{"x": draw.tensor(case.shape)}},
    reference=lambda inputs: {{"out": inputs["x"].mean(-1)}},
    tolerance=Tolerance(
        terms=lambda case: case.shape[-1],
        magnitude=lambda inputs, expected: {{"out": inputs["x"].abs().mean(-1)}},
    ),
    counted=Case((3, 50), "float32"),
    hints=("a", "b", "c"),
)
"""
TESTS = """
from hypothesis import given
from grader.testing import cases_of


@given(case=cases_of(__file__))
def test_ones_have_the_mean_1(kernel, case):
    \"\"\"If all of x is 1, so is each mean.\"\"\"
    inputs = kernel.inputs(case)
    inputs["x"].fill_(1.0)
    assert kernel.run(inputs)["out"].eq(1.0).all()
"""


def kernels() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def exercise(folder: Path, backend: str) -> Exercise:
    made = Exercise(folder / "puzzles" / f"p01_{backend}")
    made.folder.mkdir(parents=True)
    (made.folder / "spec.py").write_text(SPEC.format(backend=backend))
    (made.folder / "test_kernel.py").write_text(TESTS)
    return made


def test_both_kernels_of_the_page_are_right(tmp_path: Path):
    requests = []
    for backend, kernel in zip(LANGUAGES, kernels(), strict=True):
        made = exercise(tmp_path, backend)
        made.kernel.write_text(kernel)
        requests.append(Request(made, made.kernel, Options(device="cpu", seed=1)))
    results = check.run(requests, lambda name: None)
    assert [result.status for result in results] == [Status.PASS, Status.PASS]


def test_readers_come_to_the_page_from_each_side():
    for lesson in ("puzzles/README.md", "puzzles/p21_softmax_row/README.md", "README.md"):
        assert PAGE.name in (ROOT / lesson).read_text(encoding="utf-8"), lesson
    assert PAGE.name in (ROOT / "puzzles/t01_programs/README.md").read_text(encoding="utf-8")
