"""CUDA C++ on a GPU: compiled, launched, withheld, and held to its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from needs_nvrtc import NEEDS_NVRTC

from grader.course import catalog
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.steps.correctness.compare import without_kernels
from grader.grading.steps.traffic import counters
from grader.grading.trials import try_case
from grader.model import Outcome
from grader.sandbox.fork_servers import ForkServers

pytestmark = [pytest.mark.gpu, pytest.mark.slow, NEEDS_NVRTC]

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


HONEST = Path(__file__).parents[2] / "redteam" / "honest" / "cuda" / "01_vector_add"
CHEATS = Path(__file__).parents[2] / "redteam" / "cheats"


@pytest.mark.parametrize("kernel", sorted(HONEST.glob("*.py")), ids=lambda path: path.stem)
def test_honest_kernels_are_right_and_do_the_work(graded, kernel: Path):
    """Clusters, bulk copies, tensor maps, graphs of torch and the driver's launches among them."""
    grading = graded(kernel.read_text(encoding="utf-8"))
    for dtype in ADD.spec.dtypes:
        assert try_case(grading, replace(ADD.spec.counted, dtype=dtype)) is None
    assert without_kernels(grading) is None


@pytest.mark.parametrize(
    ("cheat", "kinds"),
    [
        ("c27_graph_of_cuda_core", {"launch_refused"}),
        ("c49_writes_by_ptx", {"stray_write", "out_of_bounds"}),
        ("c65_ready_made_machine_code", {"launch_refused"}),
    ],
)
def test_cheats_fail_in_their_first_call(graded, cheat: str, kinds: set[str]):
    text = (CHEATS / f"{cheat}.py").read_text(encoding="utf-8")
    failure = try_case(graded(text), ADD.spec.counted)
    assert failure is not None
    assert failure.kind in kinds


def test_a_dead_kernel_of_the_driver_is_withheld(graded):
    """Its launch is seen, and the output is torch's."""
    text = (CHEATS / "c35_dead_kernel_by_the_driver.py").read_text(encoding="utf-8")
    failure = without_kernels(graded(text))
    assert failure is not None
    assert failure.kind == "no_kernel"


def test_a_call_is_recorded_with_all_its_launches(graded):
    """The launches of a call that the step `traffic` has another process make again."""
    grading = graded((HONEST / "several_kernels.py").read_text(encoding="utf-8"))
    inputs = grading.remote.inputs(ADD.spec.counted)
    outputs = grading.remote.run(inputs)
    arguments = [(inputs | outputs)[argument.name] for argument in ADD.spec.arguments]
    recording = grading.remote._carry_out(arguments, grading.executor.record)
    assert recording.refused == ""
    assert [launch.threads for launch in recording.launches] == [256, 256]
    assert [kind for kind, _ in recording.launches[0].parameters] == ["arena"] * 3
    assert recording.launches[1].parameters[3] == ("u64", 1000)


def test_traffic_is_counted_or_says_why_not(graded):
    finding = counters.traffic(graded(SOLUTION), "not simulated")
    assert finding.outcome in (Outcome.PASS, Outcome.SKIP)
    assert finding.outcome is Outcome.PASS or "no hardware counters" in finding.summary
