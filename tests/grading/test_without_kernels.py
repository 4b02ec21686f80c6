"""An answer that is right although no kernel had any effect is not a kernel's: real workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent, indent

import pytest
from messages import text_of
from specs import with_spec
from syrupy.assertion import SnapshotAssertion

from grader.correctness.acceptance import shares_right
from grader.correctness.no_kernel import MOST_WITHOUT
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import steps
from grader.grading.options import Options
from grader.grading.recording import run
from grader.grading.session import Grading
from grader.grading.steps.correctness import compare
from grader.grading.steps.correctness.compare import without_kernels
from grader.grading.trials import try_case
from grader.model.base_spec import Limits
from grader.model.errors import GraderError
from grader.model.outcomes import Outcome
from grader.model.results import Failure
from grader.sandbox.fork_servers import ForkServers

pytestmark = pytest.mark.slow

STEPS = steps.every()
ROOT = catalog.find_root(Path(__file__).parents[1])
SMALL = Path(__file__).parents[1] / "courses" / "small"
DOUBLE = catalog.find(SMALL, "01_double")
COPY = catalog.find(SMALL, "p01_copy")
HONEST = ROOT / "tests" / "redteam" / "honest"
LIMITS = {"cpu": Limits(call_s=5.0), "cuda": Limits()}

Try = Callable[..., Failure | None]


@pytest.fixture
def graded(fork_servers: ForkServers, tmp_path: Path) -> Iterator[Callable[..., Grading]]:
    """Makes a grading of a kernel file, or of its text."""
    made: list[Grading] = []

    def make(exercise: Exercise, kernel: Path | str, device: str = "cpu") -> Grading:
        path = tmp_path / "kernel.py" if isinstance(kernel, str) else kernel
        if isinstance(kernel, str):
            path.write_text(kernel, encoding="utf-8")
        limited = with_spec(exercise, replace(exercise.spec, limits=LIMITS[device]))
        grading = Grading(limited, path, Options(seed=1, device=device), fork_servers)
        made.append(grading)
        return grading

    yield make
    for grading in made:
        grading.close()


@pytest.fixture
def tried(graded: Callable[..., Grading]) -> Try:
    """What the call without kernels finds."""

    def work(exercise: Exercise, kernel: Path | str, device: str = "cpu") -> Failure | None:
        grading = graded(exercise, kernel, device)
        assert try_case(grading, exercise.spec.counted) is None  # the answer is right
        found = without_kernels(grading)
        assert try_case(grading, exercise.spec.counted) is None  # and stays so
        return found

    return work


TRITON = """
import threading

import torch
import triton
import triton.language as tl

SCRATCH = {}


@triton.jit
def twice(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, offsets < n), offsets < n)


@triton.jit
def no_mask(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets))


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, offsets < n), offsets < n)


def launch(x, out):
    twice[triton.cdiv(x.numel(), 128),](x, out, x.numel(), BLOCK=128)


def double(x, out):
"""
NUMBA = """
import numpy as np
from numba import cuda


@cuda.jit
def copy_kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


def launch(x, out, threads=64):
    copy_kernel[(x.size + threads - 1) // threads, threads](x, out)


def copy(x, out):
"""


def triton_file(body: str) -> str:
    return TRITON + indent(dedent(body), "    ")


def numba_file(body: str) -> str:
    return NUMBA + indent(dedent(body), "    ")


BY_TORCH = {
    "torch": "torch.mul(x, 2, out=out)",
    "kernel whose result nobody uses": """
        launch(x, torch.empty_like(x))
        out.copy_(2 * x)
    """,
    "kernel whose result is overwritten": """
        launch(x, out)
        out.copy_(2 * x)
    """,
    "torch, and all that a kernel does is to restore what torch changed": """
        x.div_(2)
        torch.mul(x, 4, out=out)
        launch(x, x)
    """,
    "torch once the kernel has failed": """
        try:
            no_mask[(1,)](x, out, BLOCK=3)  # no power of two
        except Exception:
            out.copy_(2 * x)
    """,
}


@pytest.mark.parametrize("body", BY_TORCH.values(), ids=BY_TORCH)
def test_what_torch_computes_is_no_kernels(tried: Try, body: str):
    found = tried(DOUBLE, triton_file(body))
    assert found is not None
    assert found.kind == "no_kernel"
    assert (found.expected, found.got) == ("at most 10 % right without kernels", "100 %")
    assert found.replay is None  # it is the file that fails, and not the case


def test_half_by_torch_is_too_much(tried: Try, snapshot: SnapshotAssertion):
    body = "launch(x[:500], out[:500])\nout[500:] = 2 * x[500:]"
    found = tried(DOUBLE, triton_file(body))
    assert found is not None
    assert text_of(found) == snapshot


BY_KERNELS = {
    "plain": "launch(x, out)",
    "a remainder by torch": "launch(x[:-100], out[:-100])\nout[-100:] = 2 * x[-100:]",
    "through scratch of its own": """
        scratch = torch.zeros_like(x)
        launch(x, scratch)
        out.copy_(scratch)
    """,
    "through scratch that it keeps": """
        scratch = SCRATCH.setdefault(x.shape, torch.empty_like(x))
        launch(x, scratch)
        out.copy_(scratch)
    """,
    "in two launches, of which one needs the other": """
        scratch = torch.empty_like(x)
        launch(x, scratch)
        launch(scratch, out)
        out.div_(2)
    """,
    "autotuned": "tuned[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, out, x.numel())",
    "with a check that raises": """
        launch(x, out)
        assert out.isfinite().all()
    """,
    "never ending unless the kernel runs": """
        flag = torch.zeros(1, device=x.device)
        while not flag:
            launch(x, out)
            launch(torch.ones_like(flag), flag)
            threading.Event().wait(0.01)  # leaves the processor to other tests
    """,
}


@pytest.mark.parametrize("body", BY_KERNELS.values(), ids=BY_KERNELS)
def test_what_needs_a_kernel_is_accepted(tried: Try, body: str):
    assert tried(DOUBLE, triton_file(body)) is None


@pytest.mark.parametrize(
    "body",
    [
        "out.copy_to_device(x)",
        "out[:] = x.copy_to_host()",
        "launch(x, cuda.device_array_like(x))\nout.copy_to_device(x)",
        "try:\n    launch(x, out, threads=2048)\nexcept Exception:\n    out.copy_to_device(x)",
    ],
)
def test_what_numba_copies_without_a_kernel_is_no_kernels(tried: Try, body: str):
    found = tried(COPY, numba_file(body))
    assert found is not None
    assert found.kind == "no_kernel"


@pytest.mark.parametrize(
    "body",
    [
        "launch(x, out)",
        "scratch = cuda.device_array_like(x)\nlaunch(x, scratch)\nlaunch(scratch, out)",
        "scratch = np.zeros(x.shape, x.dtype)\nlaunch(x, scratch)\nout.copy_to_device(scratch)",
        "copy_kernel[1, 1024](cuda.In(x.copy_to_host()), out)",
        "launch(x, out)\nassert (out.copy_to_host() == x.copy_to_host()).all()",
    ],
)
def test_what_needs_a_numba_kernel_is_accepted(tried: Try, body: str):
    assert tried(COPY, numba_file(body)) is None


def test_a_kernel_gets_what_its_device_functions_return(tried: Try):
    """They ran without a value once: the call failed, and each such failure counted as evidence."""
    puzzle = catalog.find(ROOT, "p21_softmax_row")
    assert tried(puzzle, puzzle.solution.read_text(encoding="utf-8")) is None


NO_EVIDENCE = {
    "raises before a launch": ("raise ValueError('no')", "exception"),
    "ends": ("import os; os._exit(7)", "exit"),
    # It waits: to count for as long would only take the processor from other tests.
    "never ends": ("threading.Event().wait()", "timeout"),
    "leaves by a launch": ("launch(x, out); import os; os._exit(7)", "exit"),
}


@pytest.mark.parametrize(("act", "kind"), NO_EVIDENCE.values(), ids=NO_EVIDENCE)
def test_a_call_that_fails_for_another_reason_is_a_failure(
    graded: Callable[..., Grading], act: str, kind: str, snapshot: SnapshotAssertion
):
    """The first call is right; the second, without kernels, goes wrong, and nothing shows why."""
    body = f"""
        CALLS = SCRATCH.setdefault("calls", [])
        CALLS.append(x)
        if len(CALLS) == 2:
            {act}
        launch(x, out)
    """
    grading = graded(DOUBLE, triton_file(body))
    assert try_case(grading, DOUBLE.spec.counted) is None
    found = without_kernels(grading)
    assert found is not None
    assert found.kind == kind
    assert text_of(found) == snapshot
    assert found.replay is not None


def test_a_failure_of_the_graders_own_part_is_no_pass(
    graded: Callable[..., Grading], snapshot: SnapshotAssertion
):
    """A file cannot break the grader's part by accident: this one stands for a new numba."""
    body = """
        from grader.backends.numba.simulator import setup
        setup.memory_of = None
        launch(x, out)
    """
    grading = graded(COPY, numba_file(body))
    with pytest.raises(GraderError) as caught:
        without_kernels(grading)
    assert caught.value.exit_code == 4
    assert text_of(caught.value) == snapshot


def test_correctness_says_it_once_all_answers_are_right(graded: Callable[..., Grading]):
    grading = graded(DOUBLE, triton_file("out.copy_(2 * x)"))
    run(grading, STEPS["load"])
    step = run(grading, STEPS["correctness"])
    assert (step.outcome, step.points) == (Outcome.FAIL, 0)
    assert step.failure is not None
    assert step.failure.kind == "no_kernel"


def test_a_wrong_output_is_reported_first(graded: Callable[..., Grading]):
    grading = graded(DOUBLE, triton_file("out.copy_(3 * x)"))
    run(grading, STEPS["load"])
    failure = run(grading, STEPS["correctness"]).failure
    assert failure is not None
    assert failure.kind == "value"


def test_what_an_earlier_call_left_is_not_right_for_the_new_values(
    graded: Callable[..., Grading],
):
    """A mean, such as the loss of exercise 07, is right for the values of another call, too.

    On a GPU the solution's `torch.empty` may hold the losses of the call before. Of the seeds
    here, some make a loss that is right for them as well.
    """
    exercise = catalog.find(ROOT, "07_fused_linear_cross_entropy")
    grading = graded(exercise, exercise.solution)
    spec = exercise.spec

    def shares(seed: int) -> dict[str, float]:
        inputs, expected = compare._answer(grading, replace(spec.counted, seed=seed))
        return dict(shares_right(expected, stale, {}, inputs))

    stale = compare._stored(spec, *compare._answer(grading, replace(spec.counted, seed=1)))
    assert 0 < sum(shares(seed)["loss"] for seed in range(2, 42)) < 40
    for _ in range(5):
        case, inputs, expected = compare._unlike(grading, stale)
        assert max(shares(case.seed).values()) <= MOST_WITHOUT
        again = shares_right(expected, stale, {}, inputs, stale)
        assert dict(again) == dict.fromkeys(stale, 0.0)


def test_an_output_that_is_right_by_luck_is_called_again(tried: Try):
    """What lies in fresh memory may be right for one call: a right kernel failed on a GPU by it."""
    body = """
        CALLS = SCRATCH.setdefault("calls", [])
        CALLS.append(x)
        launch(x, out)
        if len(CALLS) == 2:  # the first one without kernels
            out.copy_(2 * x)
    """
    assert tried(DOUBLE, triton_file(body)) is None


HONEST_SAMPLE = [
    ("02_dot_reduction", "many_launches"),
    ("02_dot_reduction", "last_block_finishes"),
    ("02_dot_reduction", "atomic_add"),
    ("03_three_pass_softmax", "atomics"),
    ("04_online_softmax", "split_rows"),
    ("05_swiglu", "autotuned"),
    ("06_cross_entropy", "two_launches"),
    ("06_cross_entropy", "ignored_apart"),
    ("07_fused_linear_cross_entropy", "dx_by_a_kernel"),
]


@pytest.mark.parametrize(("name", "kernel"), HONEST_SAMPLE)
def test_honest_kernels_are_accepted(graded: Callable[..., Grading], name: str, kernel: str):
    grading = graded(catalog.find(ROOT, name), HONEST / name / f"{kernel}.py")
    assert without_kernels(grading) is None


ON_A_GPU = [
    (DOUBLE, triton_file("torch.mul(x, 2, out=out)")),
    (DOUBLE, triton_file("launch(x, torch.empty_like(x))\nout.copy_(2 * x)")),
    (DOUBLE, triton_file("launch(x, out)\nout.copy_(2 * x)")),
    (DOUBLE, triton_file("tuned.fn[(8,)](x, out, x.numel(), BLOCK=128)\nout.copy_(2 * x)")),
    (COPY, numba_file("out.copy_to_device(x)")),
    (COPY, numba_file("launch(x, cuda.device_array_like(x))\nout.copy_to_device(x)")),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("exercise", "text"), ON_A_GPU)
def test_what_no_kernel_computes_is_found_on_a_gpu(tried: Try, exercise: Exercise, text: str):
    found = tried(exercise, text, "cuda")
    assert found is not None
    assert found.kind == "no_kernel"


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "kernel"), HONEST_SAMPLE)
def test_honest_kernels_are_accepted_on_a_gpu(tried: Try, name: str, kernel: str):
    """And are right afterwards (`tried` looks), whatever they tuned or recorded meanwhile.

    bench/honest.py grades all of them there.
    """
    for entry in catalog.find(ROOT, name).parts:
        assert tried(entry, HONEST / name / f"{kernel}.py", "cuda") is None
