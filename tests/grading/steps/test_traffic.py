"""The traffic step with real workers: what is counted, what fails, and what passes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from messages import text_of
from one_step import one_step
from syrupy.assertion import SnapshotAssertion

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check, steps
from grader.grading.check import Request
from grader.grading.options import Options
from grader.grading.recording import run
from grader.grading.session import Grading
from grader.machine import toolkit
from grader.model.outcomes import Outcome, Status
from grader.model.results import Result, Step
from grader.model.verdict import exit_code
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.worker_link import WorkerLink

pytestmark = pytest.mark.slow

STEPS = steps.every()
ROOT = Path(__file__).parents[3]
DOT = catalog.find(ROOT, "02_dot_reduction")
THREE_PASS = catalog.find(ROOT, "03_three_pass_softmax")
ONLINE = catalog.find(ROOT, "04_online_softmax")
HISTOGRAM = catalog.find(ROOT, "p17_histogram")
DOUBLE = catalog.find(Path(__file__).parents[2] / "courses" / "small", "01_double")


@pytest.fixture
def counted(fork_servers: ForkServers, tmp_path: Path):
    """Runs the traffic step alone on the text of a kernel file."""

    def counted_step(exercise: Exercise, kernel: str, **options: object) -> Step:
        file = tmp_path / "kernel.py"
        file.write_text(kernel)
        return one_step("traffic", exercise, file, fork_servers, **options)

    return counted_step


def moves(step: Step) -> dict[str, tuple[float, float]]:
    """Reads and writes of each argument."""
    return {count.argument: (count.reads, count.writes) for count in step.traffic}


def solution(exercise: Exercise, *changes: tuple[str, str]) -> str:
    text = exercise.solution.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old), old
        text = text.replace(old, new)
    return text


# -- the course


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("01_vector_add", {"x": (1, 0), "y": (1, 0), "out": (0, 1)}),
        ("02_dot_reduction", {"a": (1, 0), "b": (1, 0), "out": (0, 1)}),
        ("03_three_pass_softmax", {"x": (3, 0), "out": (0, 1)}),
        ("04_online_softmax", {"x": (2, 0), "out": (0, 1)}),
        ("05_swiglu", {"gate": (1, 0), "up": (1, 0), "out": (0, 1)}),
        # The target's own logit is read once more than the 32,771 of its row.
        ("06_cross_entropy", {"logits": (2, 1), "target": (1, 0), "loss": (0, 1)}),
        ("08_gptoss_swiglu", {"x": (1, 0), "y": (1, 0), "out": (0, 1)}),
        (
            "09_swiglu_backward",
            {"dout": (1, 0), "gate": (1, 0), "up": (1, 0), "dgate": (0, 1), "dup": (0, 1)},
        ),
        ("11_sin_cos", {"x": (1, 0), "sin_out": (0, 1), "cos_out": (0, 1)}),
        # Two batches share the mask, and each reads it in two passes.
        ("15_masked_scores", {"q": (1, 0), "k": (2, 0), "mask": (4, 0), "out": (0, 1)}),
        # Each of three programs reads all coefficients.
        ("19_roofline", {"x": (1, 0), "c": (3, 0), "out": (0, 1)}),
        ("22_dropout_residual", {"x": (1, 0), "residual": (1, 0), "out": (0, 1)}),
    ],
)
def test_a_solution_moves_what_its_lesson_says(counted, name: str, expected: dict):
    exercise = catalog.find(ROOT, name)
    step = counted(exercise, solution(exercise))
    assert (step.outcome, step.points) == (Outcome.PASS, 1)
    assert moves(step) == expected
    for count in step.traffic:
        argument = next(a for a in exercise.spec.arguments if a.name == count.argument)
        assert (count.most_reads, count.most_writes) == (argument.most_reads, argument.most_writes)


def checked(exercise: Exercise, kernel: Path) -> Result:
    (result,) = check.run(
        [Request(exercise, kernel, Options(device="cpu", seed=1))], progress=print
    )
    return result


# The steps before traffic pass, and are not its subject: they try small cases, and no law but one.
SMALL_CASES = """
from dataclasses import replace

SPEC = replace(SPEC, edges=SPEC.edges[:3], largest=(3, 200), most_elements=400)
"""
SECOND_LAW = "\n\n@given(case=cases)\ndef test_a_shift_changes_nothing("


@pytest.fixture
def quick_online(tmp_path: Path) -> Exercise:
    """A copy of the online softmax."""
    folder = shutil.copytree(ONLINE.folder, tmp_path / "exercises" / ONLINE.name)
    copy = catalog.find(tmp_path, ONLINE.name)
    with (folder / "spec.py").open("a", encoding="utf-8") as spec:
        spec.write(SMALL_CASES)
    first, found, _ = copy.tests.read_text(encoding="utf-8").partition(SECOND_LAW)
    assert found
    copy.tests.write_text(first, encoding="utf-8")
    return copy


def test_three_passes_are_too_many_for_the_online_softmax(
    quick_online: Exercise, tmp_path: Path, snapshot: SnapshotAssertion
):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(solution(THREE_PASS))
    result = checked(quick_online, kernel)
    assert (result.status, result.points) == (Status.FAIL, 5)
    outcomes = [step.outcome for step in result.steps]
    behind = [Outcome.NOT_RUN, Outcome.PASS, Outcome.NOT_RUN]  # memory, compile and speed
    assert outcomes == [Outcome.PASS] * 3 + [Outcome.FAIL, *behind]
    step = result.steps[3]
    assert (step.name, step.points, step.max_points) == ("traffic", 0, 1)
    assert step.summary == snapshot
    assert step.failure.kind == "traffic"
    assert text_of(step.failure, tmp_path) == snapshot
    assert (step.failure.expected, step.failure.got) == ("at most twice", "3 times")
    assert step.failure.case == "2 × 32,771 in float32 (row padding 3)"
    assert "--case '2x32771,float32" in step.failure.replay
    assert moves(step) == {"x": (3, 0), "out": (0, 1)}


def test_what_cannot_be_simulated_cannot_be_graded_on_a_machine_without_a_gpu(
    tmp_path: Path, snapshot: SnapshotAssertion
):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(INLINE_ASSEMBLY)
    result = checked(DOUBLE, kernel)
    stopped = result.steps[1]
    assert (stopped.name, stopped.outcome) == ("correctness", Outcome.CANNOT_GRADE)
    assert stopped.failure.kind == "not_simulated"
    assert text_of(stopped.failure) == snapshot
    assert result.steps[3].outcome is Outcome.NOT_RUN
    assert (result.status, result.points) == (Status.CANNOT_GRADE, 0)
    assert exit_code([result]) == 3


# -- honest kernels that read twice


PERSISTENT = """
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, rows, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        row_max = float("-inf")
        sums = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, columns, BLOCK):
            at = start + lanes
            x = tl.load(x_ptr + row * x_stride + at, mask=at < columns, other=float("-inf"))
            new_max = tl.maximum(row_max, tl.max(x, axis=0))
            sums = sums * tl.exp(row_max - new_max) + tl.exp(x - new_max)
            row_max = new_max
        total = tl.sum(sums, axis=0)
        for start in range(0, columns, BLOCK):
            at = start + lanes
            x = tl.load(x_ptr + row * x_stride + at, mask=at < columns)
            y = tl.exp(x - row_max) / total
            tl.store(out_ptr + row * out_stride + at, y, mask=at < columns)


def softmax(x, out):
    rows, columns = x.shape
    strides = x.stride(0), out.stride(0)
    softmax_kernel[(2,)](x, out, *strides, rows, columns, BLOCK=2048)
"""
LAST_PASS = (
    "for start in range(0, columns, BLOCK):\n        offsets = start + lanes\n        inside"
)
TWO_READS = {
    "small-blocks": solution(ONLINE, ("BLOCK = 4096", "BLOCK = 128")),
    "one-block-that-is-read-twice": solution(ONLINE, ("BLOCK = 4096", "BLOCK = 16384")),
    "blocks-that-overlap": solution(ONLINE, (LAST_PASS, LAST_PASS.replace("BLOCK)", "BLOCK - 8)"))),
    "backwards": solution(
        ONLINE, (LAST_PASS, LAST_PASS.replace("start + lanes", "columns - 1 - start - lanes"))
    ).replace("inside = offsets < columns", "inside = (offsets >= 0) & (offsets < columns)"),
    "persistent-programs": PERSISTENT,
    "scratch-like-x": solution(
        ONLINE,
        ("    rows, columns = x.shape\n", "    rows, columns = x.shape\n    torch.empty_like(x)\n"),
    ),
}


@pytest.mark.parametrize("kernel", TWO_READS.values(), ids=TWO_READS)
def test_an_honest_kernel_that_reads_twice_passes(counted, kernel: str):
    step = counted(ONLINE, kernel)
    assert step.outcome is Outcome.PASS, step.failure
    reads, writes = moves(step)["x"][0], moves(step)["out"][1]
    assert 2 <= reads <= 2.02
    assert 1 <= writes <= 1.01


# -- work outside of kernels


def entry(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"import numpy as np\nimport torch\n\n\ndef softmax(x, out):\n{body}"


def test_torch_operations_count_as_traffic(counted):
    step = counted(ONLINE, entry("torch.softmax(x, -1, out=out)"))
    assert moves(step) == {"x": (1, 0), "out": (0, 1)}


def test_torch_operations_that_pass_over_the_data_too_often_fail(counted):
    step = counted(
        ONLINE,
        entry(
            "row_max = x.amax(-1, keepdim=True)",
            "total = (x - row_max).exp().sum(-1, keepdim=True)",
            "out.copy_((x - row_max).exp() / total)",
        ),
    )
    assert step.outcome is Outcome.FAIL
    assert (step.failure.kind, step.failure.got) == ("traffic", "3 times")


def test_reads_beside_a_kernel_that_reads_twice_are_seen(counted):
    launch = "    softmax_kernel[(rows,)]("
    step = counted(ONLINE, solution(ONLINE, (launch, f"    x.amax()\n{launch}")))
    assert (step.failure.kind, step.failure.got) == ("traffic", "3 times")


def test_an_output_that_is_written_twice_fails(counted):
    launch = "    softmax_kernel[(rows,)]("
    step = counted(ONLINE, solution(ONLINE, (launch, f"    out.zero_()\n{launch}")))
    assert step.outcome is Outcome.FAIL
    assert (step.failure.kind, step.failure.got) == ("traffic", "twice")


SEEN = (  # of a tensor as torch does not see it
    "seen = lambda of: np.ctypeslib.as_array("
    "ctypes.cast(of.data_ptr(), ctypes.POINTER(ctypes.c_float)), "
    "(of.shape[0], of.stride(0)))[:, : of.shape[1]]"
)
OPEN = (  # the pages of a tensor, as the worker does for torch's operations
    "pages = lambda of: (of.data_ptr() & -4096, (4 * of.shape[0] * of.stride(0) | 4095) + 4097)",
    "allow = ctypes.CDLL(None).mprotect",
    "opened = lambda of: allow(ctypes.c_void_p(pages(of)[0]), pages(of)[1], 3)",
)


@pytest.mark.parametrize(
    "work",
    [
        "opened(x); out.copy_(torch.from_numpy(seen(x).copy()).softmax(-1))",
        "y = x.softmax(-1).cpu().numpy(); opened(out); seen(out)[:] = y",
    ],
    ids=["reads", "writes"],
)
def test_work_that_no_count_sees_fails(counted, work: str, snapshot: SnapshotAssertion):
    step = counted(ONLINE, entry("import ctypes", SEEN, *OPEN, work))
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "uncounted")
    assert text_of(step.failure) == snapshot


def test_an_argument_at_its_address_is_out_of_reach_as_on_a_gpu(counted):
    step = counted(ONLINE, entry("import ctypes", SEEN, "seen(out)[:] = 0"))
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "crash")


# -- numba


READ = "total += a[i] * b[i]"


@pytest.mark.parametrize(
    "again",
    [
        "total += a[i] * b[i] + a[i] - a[i]",
        "total += a[i] * b[i] + a[i:][0] - a[: i + 1][i]",
        "total += a[i] * b[i] + a.reshape((1, a.size))[0, i] - a.T[i]",
    ],
)
def test_an_array_that_is_read_again_is_seen(counted, again: str):
    step = counted(DOT, solution(DOT, (READ, again)))
    assert step.outcome is Outcome.FAIL, step
    assert (step.failure.kind, step.failure.got) == ("traffic", "3 times")
    assert moves(step)["b"] == (1, 0)


def test_an_array_that_is_copied_to_the_host_is_read(counted):
    kernel = "def dot(a, b, out):\n    out[0] = a.copy_to_host() @ b.copy_to_host()\n"
    step = counted(DOT, kernel)
    assert moves(step) == {"a": (1, 0), "b": (1, 0), "out": (0, 1)}


def test_an_atomic_addition_reads_its_element_once(counted):
    """Simulated, it reads it a second time to write it."""
    step = counted(HISTOGRAM, solution(HISTOGRAM))
    blocks = -(-HISTOGRAM.spec.counted.shape[0] // 64)
    assert moves(step)["out"] == (blocks, 1 + blocks)


# -- when nothing, or nothing of worth, was counted


INLINE_ASSEMBLY = """
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.inline_asm_elementwise(
        "add.f32 $0, $1, $1; nanosleep.u32 1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out_ptr + at, y, mask=at < n)


def double(x, out):
    double_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
"""


def test_what_only_a_gpu_can_run_is_skipped_where_there_is_one(
    counted, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setattr(toolkit, "find", lambda name: None)
    step = counted(DOUBLE, INLINE_ASSEMBLY, device="cuda")
    assert (step.outcome, step.points) == (Outcome.SKIP, 0)
    assert step.summary == snapshot


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (("at < n", "at <= n"), "out_of_bounds"),
        (("tl.store(out_ptr + at, y, mask=at < n)", "tl.store(out_ptr + at % 64, y)"), "race"),
    ],
    ids=["bounds", "race"],
)
def test_a_gpu_forgives_no_fault_that_the_simulator_saw(counted, change, kind: str):
    plain = INLINE_ASSEMBLY[: INLINE_ASSEMBLY.index("    y = ")] + "    y = x + x\n"
    kernel = plain + INLINE_ASSEMBLY[INLINE_ASSEMBLY.index("    tl.store") :]
    assert counted(DOUBLE, kernel, device="cuda").outcome is Outcome.PASS
    step = counted(DOUBLE, kernel.replace(*change), device="cuda")
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, kind)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Reply.dump = lambda reply: {'seq': 'one'}", "protocol"),
        ("raise SystemExit", "exit"),
    ],
)
def test_on_a_gpu_no_file_evades_its_count_by_what_it_does_to_its_process(counted, line, kind: str):
    """It was told as a kernel that no simulator can run, and could pass."""
    kernel = f"from grader.model.messages import Reply\n\n\ndef double(x, out):\n    {line}\n"
    step = counted(DOUBLE, kernel, device="cuda")
    assert (step.outcome, step.points, step.failure.kind) == (Outcome.FAIL, 0, kind)


def test_nobody_is_excused_who_was_simulated_before(counted):
    step = counted(
        DOUBLE,
        "class NotSimulated(Exception): ...\n\n\ndef double(x, out):\n    raise NotSimulated\n",
    )
    assert (step.outcome, step.points) == (Outcome.CANNOT_GRADE, 0)
    assert step.failure.kind == "not_simulated"


@pytest.mark.parametrize("sent", [{}, {"reads.x": 1000, "writes.x": 0}], ids=["none", "some"])
def test_a_worker_that_does_not_count_is_the_graders_fault(
    counted,
    monkeypatch: pytest.MonkeyPatch,
    sent: Mapping[str, int],
    snapshot: SnapshotAssertion,
):
    count = WorkerLink.count
    monkeypatch.setattr(
        WorkerLink, "count", lambda self, call: replace(count(self, call), counts=sent)
    )
    step = counted(DOUBLE, solution(DOUBLE))
    assert (step.outcome, step.points, step.traffic) == (Outcome.ERROR, 0, ())
    assert text_of(step.failure) == snapshot


def test_a_wrong_output_of_the_counted_case_is_reported(counted):
    step = counted(DOUBLE, "def double(x, out):\n    out.copy_(3 * x)\n")
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "value")
    assert step.failure.case == "1,000 elements of float32"
    assert "--case '1000,float32" in step.failure.replay


def test_a_failing_call_is_reported_with_its_case(counted):
    step = counted(DOUBLE, "def double(x, out):\n    raise ValueError('not today')\n")
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "exception")
    assert step.failure.case == "1,000 elements of float32"


def test_what_is_missing_before_is_not_counted(fork_servers: ForkServers):
    grading = Grading(DOUBLE, DOUBLE.solution, Options(seed=1), fork_servers)
    try:
        step = run(grading, STEPS["traffic"])
    finally:
        grading.close()
    assert step.outcome is Outcome.NOT_RUN
