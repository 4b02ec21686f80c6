"""The compile step for numba's kernels: what a worker sends, and what NVIDIA's compiler makes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from needs_nvvm import NEEDS_NVVM
from one_step import take_as_passed

from grader.course import catalog
from grader.grading import compiling, plan, steps
from grader.grading.compiling import Job, Missing
from grader.grading.options import Options
from grader.grading.recording import run
from grader.grading.session import Grading
from grader.grading.steps.compile import findings
from grader.model.outcomes import Outcome
from grader.model.results import Step
from grader.model.specialisations import BuildOptions, Specialisation
from grader.sandbox.fork_servers import ForkServers

STEPS = steps.every()
ROOT = Path(__file__).parents[3]
DOT = catalog.find(ROOT, "02_dot_reduction")
PUZZLE = catalog.find(ROOT, "p10_shared")
# Each kernel takes something else from outside of its own code.
VARIED = """
import math
import numpy as np
from numba import cuda, float32
from numba.cuda import cg


@cuda.jit(max_registers=32)
def dynamic(a, out):
    shared = cuda.shared.array(0, float32)
    shared[cuda.threadIdx.x] = math.sin(cuda.ldcg(a, 0)) + cuda.activemask()
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[0] = shared[0]


@cuda.jit
def together(a, out):
    cg.this_grid().sync()
    if cuda.grid(1) == 0:
        cuda.atomic.max(out, 0, a[0])


@cuda.jit(fastmath=True)
def half(a, out):
    if cuda.grid(1) == 0:
        out[0] = float32(a[0] * a[0])


@cuda.jit(debug=True, opt=False)
def debugged(a, out):
    if cuda.grid(1) == 0:
        out[0] = a[0]


calls = []


@cuda.jit
def alone(a, b, out):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    out[0] = total


def dot(a, b, out):
    calls.append(a.size)
    if len(calls) > 1:
        others(a, out)
    alone[1, 1](a, b, out)


def others(a, out):
    dynamic[1, 40, 0, 400](a, out)
    together[2, 32](a, out)
    half[1, 32](cuda.to_device(np.ones(3, np.float16)), out)
    for threads in (32, 50, 64):
        debugged[1, threads](a, out)
"""


@pytest.fixture
def varied(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.py"
    file.write_text(VARIED)
    return file


def compiled(fork_servers: ForkServers, kernel: Path, calls: int = 0) -> Step:
    """Run the step after this many calls."""
    grading = Grading(DOT, kernel, Options(seed=1), fork_servers)
    try:
        for _ in range(calls):
            compiling.launched(grading)
        take_as_passed(grading, ("load", "correctness"))
        return run(grading, STEPS["compile"])
    finally:
        grading.close()


def test_an_exercise_without_a_graded_speed_has_no_optional_step():
    assert plan.has_step(DOT.spec, "compile")
    assert not plan.has_step(PUZZLE.spec, "compile")
    assert plan.has_step(replace(PUZZLE.spec, targets=(90,)), "compile")
    triton = catalog.find(ROOT, "01_vector_add").spec
    assert plan.has_step(replace(triton, scored=None, gates=None), "compile")


def test_a_slow_simulation_gets_the_small_case(fork_servers: ForkServers):
    dot = Grading(DOT, DOT.solution, Options(seed=1), fork_servers)
    assert compiling._case(dot, "float32").shape == DOT.spec.counted.shape
    add = catalog.find(ROOT, "01_vector_add")
    added = Grading(add, add.solution, Options(seed=1), fork_servers)
    assert compiling._case(added, "float16").shape == add.spec.sample_case.shape


def test_without_nvvm_the_step_is_skipped_with_the_command_that_adds_it(
    fork_servers: ForkServers, monkeypatch: pytest.MonkeyPatch
):
    kernel = Specialisation("dot", "{}", BuildOptions())
    monkeypatch.setattr(findings, "jobs", lambda _: [Job("float32", kernel, 90, True)])
    monkeypatch.setattr(findings, "build", lambda _: [Missing("NVVM")])
    finding = findings.compiled(Grading(DOT, DOT.solution, Options(seed=1), fork_servers))
    assert finding.outcome is Outcome.SKIP
    assert finding.summary == ("not compiled: NVVM is missing: pip install 'nvidia-nvvm>=13,<14'")


@pytest.mark.slow
def test_a_worker_sends_each_form_that_the_last_call_launched(
    fork_servers: ForkServers, varied: Path
):
    grading = Grading(DOT, varied, Options(seed=1), fork_servers)
    try:
        [once] = compiling.launched(grading).values()
        [kernels] = compiling.launched(grading).values()
    finally:
        grading.close()
    assert [one.kernel for one in once] == ["alone"]
    assert [(one.kernel, one.options.num_warps) for one in kernels] == [
        *(("dynamic", 2), ("together", 1), ("half", 1)),
        *(("debugged", 1), ("debugged", 2), ("alone", 1)),
    ]
    assert [(one.options.maxnreg, one.options.shared) for one in kernels[:2]] == [
        *((32, 400), (None, 0))
    ]
    sources = [json.loads(one.text) for one in kernels]
    assert [(one["fastmath"], one["opt"]) for one in sources[1:4]] == [
        *((False, True), (True, True), (False, False))
    ]
    assert "define internal float @___numba_atomic_float_max" in sources[1]["modules"][0]
    assert not any(kernel.trial for kernel in kernels)


@NEEDS_NVVM
@pytest.mark.slow
def test_the_solution_compiles(fork_servers: ForkServers):
    step = compiled(fork_servers, DOT.solution)
    assert step.outcome is Outcome.PASS
    assert {(one.kernel, one.target) for one in step.compiled} == {
        (kernel, target) for kernel in ("dot_partials", "sum_partials") for target in (75, 90, 100)
    }
    for one in step.compiled:
        assert (one.error, one.spills, one.shared_bytes, one.threads) == (None, 0, 1024, 256)
        assert bool(one.loads) is one.required


@NEEDS_NVVM
@pytest.mark.slow
def test_what_a_kernel_takes_from_outside_is_no_obstacle(fork_servers: ForkServers, varied: Path):
    step = compiled(fork_servers, varied, calls=1)
    assert step.outcome is Outcome.PASS
    assert {one.error for one in step.compiled} == {None}
    dynamic = step.compiled[0]
    assert (dynamic.kernel, dynamic.shared_bytes, dynamic.threads) == ("dynamic", 400, 64)
