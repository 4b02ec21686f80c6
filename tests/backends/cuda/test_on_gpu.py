"""CUDA C++ on a GPU: compiled, launched, withheld, and held to its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from needs_nvrtc import NEEDS_NVRTC

from grader.course import catalog
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.steps.correctness.compare import without_kernels
from grader.grading.trials import try_case
from grader.sandbox.fork_servers import ForkServers

pytestmark = [
    *(pytest.mark.gpu, pytest.mark.slow, NEEDS_NVRTC),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU"),
]

COURSE = Path(__file__).parents[2] / "courses" / "cuda"
ADD = catalog.find(COURSE, "01_vector_add")
SOLUTION = (COURSE / "solutions/01_vector_add/kernel.py").read_text(encoding="utf-8")
BY_TORCH = "def vector_add(x, y, out):\n    out.copy_(x + y)\n"


@pytest.fixture
def graded(tmp_path: Path) -> Iterator[Callable[[str], Grading]]:
    """Makes a grading of a kernel file's text."""
    servers, made = ForkServers(), []

    def make(text: str) -> Grading:
        path = tmp_path / "kernel.py"
        path.write_text(text, encoding="utf-8")
        made.append(Grading(ADD, path, Options(seed=1, device="cuda"), servers))
        return made[-1]

    yield make
    for grading in made:
        grading.close()
    servers.close()


def test_the_sum_is_right_and_comes_from_the_kernel(graded):
    grading = graded(SOLUTION)
    for dtype in ADD.spec.dtypes:
        assert try_case(grading, replace(ADD.spec.counted, dtype=dtype)) is None
    assert without_kernels(grading) is None


def test_an_output_of_torchs_is_no_kernels(graded):
    failure = without_kernels(graded(BY_TORCH))
    assert failure is not None
    assert failure.kind == "no_kernel"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("x[i] + y[i]", "x[i] - y[i]", "value"),
        ("x[i] + y[i];", "x[i] + z[i];", "compile"),
        ("out[i] =", "out[i + (1ll << 40)] =", "out_of_bounds"),
        ("out.data_ptr(), n)", "out.data_ptr())", "launch_refused"),
    ],
)
def test_what_is_wrong_is_said(graded, old: str, new: str, kind: str):
    assert SOLUTION.count(old) == 1
    failure = try_case(graded(SOLUTION.replace(old, new)), ADD.spec.counted)
    assert failure is not None
    assert failure.kind == kind


def test_the_launched_kernel_has_its_figures(graded):
    grading = graded(SOLUTION)
    inputs = grading.remote.inputs(ADD.spec.counted)
    outputs = grading.remote.run(inputs)
    arguments = [(inputs | outputs)[argument.name] for argument in ADD.spec.arguments]
    (one,) = grading.remote._carry_out(arguments, grading.executor.resources)
    assert 4 <= one.registers <= 32
    assert (one.spills, one.shared_bytes, one.threads, one.launches) == (0, 0, 256, 1)
