"""The memory step: what a call holds beyond its arguments, in simulation and on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from grader import course, memory
from grader.course import Exercise
from grader.link import Counts, WorkerLink
from grader.results import Step
from grader.session import Finding, Grading, Options, Workshop
from grader.spec import Case, a_hundredth
from grader.terms import Outcome, StepName
from grader.wire import Launched
from grader.worker.allocations import Allocations, Watch
from grader.worker.guard import Span

ROOT = Path(__file__).parents[1]
ADD = course.find(ROOT, "01_vector_add")
DOT = course.find(ROOT, "02_dot_reduction")
ONLINE = course.find(ROOT, "04_online_softmax")
MIB = 2**20


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    made = Workshop()
    yield made
    made.close()


@pytest.fixture
def held(workshop: Workshop, tmp_path: Path):
    """Runs the memory step alone on the text of a kernel file."""

    def run(exercise: Exercise, kernel: str) -> Step:
        file = tmp_path / "kernel.py"
        file.write_text(kernel)
        grading = Grading(exercise, file, Options(seed=1), workshop)
        try:
            order = list(StepName)
            for earlier in order[: order.index(StepName.MEMORY)]:
                grading.run(earlier, lambda _: Finding("taken as passed"))
            return grading.run(StepName.MEMORY, memory.memory)
        finally:
            grading.close()

    return run


def adding(scratch: str, before: str = "") -> str:
    """A vector add in torch operations whose entry also makes `scratch`."""
    body = f"    {scratch}\n    out.copy_(x + y)\n"
    return f"import torch\n{before}\n\ndef vector_add(x, y, out):\n{body}"


# What torch's own x + y takes at 1 GiB of arguments, before it is copied into out.
TEMPORARY = 357_913_940


# -- in simulation


def test_a_kernel_without_scratch_holds_nothing(held):
    step = held(ONLINE, ONLINE.solution.read_text())
    assert (step.outcome, step.points) == (Outcome.PASS, 1)
    assert step.memory.model_dump() == {
        "case": "4095×32771 float32",
        "peak_bytes": 0,
        "most_bytes": 4095 * 32771 * 4 // 4,
        "simulated": True,
    }
    assert step.summary == ("4095×32771 float32: nothing beyond 1 GiB of arguments")


def test_a_copy_is_too_much(held):
    step = held(ADD, adding("total = x + y"))
    assert (step.outcome, step.points) == (Outcome.FAIL, 0)
    assert (step.failure.kind, step.failure.message) == (
        "memory",
        "one call holds 682.7 MiB beyond 1 GiB of arguments",
    )
    assert (step.failure.expected, step.failure.got) == ("at most 85.3 MiB", "682.7 MiB")
    assert "grows with the input" in step.failure.hint


@pytest.mark.parametrize(
    ("scratch", "copies"),
    [
        ("pass", 1),
        ("a = x * 2; del a; b = x * 3; del b", 1),  # one after the other
        ("a = x * 2; b = a.view(-1, 1).T; a = None; out.copy_(b.flatten())", 2),  # a view keeps it
        ("a = torch.empty(0); a.resize_(x.shape)", 2),
        ("a = x[::2] * 1.0", 1.5),
    ],
)
def test_what_lives_at_once_counts(held, scratch: str, copies: float):
    peak = held(ADD, adding(scratch)).memory.peak_bytes
    assert peak == pytest.approx(copies * TEMPORARY, rel=1e-3)


def test_what_a_file_keeps_from_call_to_call_counts(held):
    keeping = adding("KEPT.append(x * 2)", before="KEPT = []")
    assert held(ADD, keeping).memory.peak_bytes == pytest.approx(2 * TEMPORARY, rel=1e-3)


def test_scratch_that_does_not_grow_counts_as_what_it_is(held):
    step = held(DOT, DOT.solution.read_text() + "\nROOM = cuda.device_array(2**20, np.float32)\n")
    assert step.outcome is Outcome.PASS
    partials = step.memory.peak_bytes - 4 * MIB
    assert 0 < partials < MIB


@pytest.mark.parametrize(
    ("part", "outcome"), [(3, Outcome.FAIL), (5, Outcome.PASS)], ids=["copy", "may be capped"]
)
def test_scratch_that_grows_fails_where_no_cap_can_explain_it(held, part: int, outcome: Outcome):
    """An honest kernel keeps 128 partial sums a block of at most 1,024 blocks: 1 MiB on a GPU, and
    six percent of an argument where the counted case has fewer blocks than that."""
    step = held(
        ADD,
        "import torch\n\ndef vector_add(x, y, out):\n"
        f"    scratch = torch.empty(x.numel() // {part})\n    torch.add(x, y, out=out)\n",
    )
    assert step.outcome is outcome


def test_scratch_made_by_the_import_is_held_by_each_call(held):
    step = held(DOT, DOT.solution.read_text() + "\nROOM = cuda.device_array(2**21, np.float32)\n")
    assert (step.outcome, step.failure.got) == (Outcome.FAIL, "8.5 MiB")


@pytest.mark.parametrize(
    ("scratch", "vectors"),
    [
        ("cuda.device_array(a.size, np.float32)", 1),
        ("cuda.device_array_like(a)", 1),
        ("cuda.to_device(np.ones(a.size, np.float32))", 1),
        ("cuda.device_array(a.size, np.float32)[1:]", 1),
        ("cuda.device_array((2, a.size), np.float32).reshape(-1)", 2),
        ("a[1:]", 0),
    ],
)
def test_device_arrays_count_and_views_of_them_do_not(held, scratch: str, vectors: int):
    entry = "    blocks = min("
    text = DOT.solution.read_text()
    assert text.count("    per_block = ") == 1
    assert entry in text
    step = held(DOT, text.replace("    per_block = ", f"    scratch = {scratch}\n    per_block = "))
    assert step.memory.peak_bytes == pytest.approx(vectors * 512 * MIB, abs=MIB)


def test_a_worker_that_does_not_count_is_the_graders_fault(held, monkeypatch: pytest.MonkeyPatch):
    exchange = WorkerLink._exchange
    monkeypatch.setattr(
        WorkerLink, "_exchange", lambda self, *a, **k: replace(exchange(self, *a, **k), peak=None)
    )
    step = held(ADD, ADD.solution.read_text())
    assert (step.outcome, step.points) == (Outcome.ERROR, 0)
    assert step.failure.message == (
        "The worker did not count the memory that the kernel file holds."
    )


def test_a_kernel_that_fails_on_the_larger_case_is_told_with_it(held):
    text = adding("assert x.numel() < 10_000, 'too long for me'")
    step = held(ADD, text)
    assert (step.outcome, step.failure.case) == (Outcome.FAIL, "10006 float32")
    assert "--case '10006,float32" in step.failure.replay


def test_a_kernel_that_does_nothing_on_the_larger_case_is_wrong(held):
    """Or it would need no scratch there, and seem to need none however large the case is."""
    step = held(ADD, adding("if x.numel() > 10_000: return"))
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "never_written")
    assert step.failure.case == "10006 float32"


def test_less_than_before_is_no_credit(held, monkeypatch: pytest.MonkeyPatch):
    """A file that allocates less for more rows is not extrapolated below what it held."""
    peaks = iter([3 * MIB, MIB])
    count = WorkerLink.count
    monkeypatch.setattr(
        WorkerLink, "count", lambda self, call: Counts(count(self, call).counts, next(peaks))
    )
    assert held(ADD, ADD.solution.read_text()).memory.peak_bytes == 3 * MIB


# -- the budget


@pytest.mark.parametrize(("peak", "outcome"), [(5_000, Outcome.PASS), (5_001, Outcome.FAIL)])
def test_the_budget_itself_passes(peak: int, outcome: Outcome):
    found = memory._finding(Case((8, 8), "float32"), peak, 5_000, simulated=False)
    assert (found.outcome, found.memory.peak_bytes) == (outcome, peak)
    assert found.summary == f"8×8 float32: {peak:,} bytes beyond its arguments"


def test_one_percent_is_allowed_and_a_few_mebibytes_in_any_case():
    assert a_hundredth(Case((10, 10), "float32")) == 4 * MIB
    assert a_hundredth(Case((10_000, 100_000), "bfloat16")) == 20_000_000


# -- on a GPU, whose free memory is a list here


class Free:
    """Free bytes, as each event leaves them behind."""

    def __init__(self, **taken: int) -> None:
        self.now, self.taken = 1000 * MIB, taken

    def after(self, event: str) -> None:
        self.now -= self.taken.get(event, 0)


@pytest.mark.parametrize(
    ("taken", "peak"),
    [
        ({}, 0),
        ({"refill": 60 * MIB}, 0),  # the judge's own
        ({"start": 500 * MIB}, 0),  # the CUDA context
        ({"few": 30 * MIB}, 0),  # code and stack
        ({"load": 20 * MIB, "few": 90 * MIB}, 10 * MIB),  # more than code and stack can need
        ({"few": 30 * MIB, "scored": 40 * MIB}, 40 * MIB),
        ({"scored": 40 * MIB, "freed": -40 * MIB}, 40 * MIB),  # given back at the end of the call
        ({"few": 150 * MIB, "scored": 40 * MIB}, 90 * MIB),  # 50 MiB too many, and 40 more
    ],
)
def test_the_judge_sees_from_outside_what_a_call_takes(
    monkeypatch: pytest.MonkeyPatch, taken: dict[str, int], peak: int
):
    free, looked = Free(**taken), Event()
    monkeypatch.setattr(memory, "CODE", 30 * MIB)
    monkeypatch.setattr(memory, "_stack", lambda launched: launched * 70 * MIB)
    monkeypatch.setattr(memory, "_free", lambda: (looked.set(), free.now)[1])

    def slots(name: str) -> SimpleNamespace:
        def refill() -> tuple[list[str], list[object]]:
            free.after("refill" if name == "scored" else "")
            return [name], []

        return SimpleNamespace(refill=refill)

    def call(calls: list[str]) -> None:
        free.after(calls[0])
        looked.clear()
        while calls == ["scored"] and not looked.is_set():
            pass  # the call goes on until the judge has looked once
        if calls == ["scored"]:
            free.after("freed")

    kernel = SimpleNamespace(
        start=lambda: free.after("start"),
        load=lambda: free.after("load"),
        call=call,
        resources=lambda call: 1,
    )
    assert memory._peak(kernel, slots("few"), slots("scored")) == peak


def test_room_for_spilled_registers_is_what_the_worker_says_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
):
    gpu = SimpleNamespace(multi_processor_count=10, max_threads_per_multi_processor=2048)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: gpu)

    def kernel(spills: int | None) -> Launched:
        return Launched("k", registers=255, spills=spills, shared_bytes=0, threads=32, launches=1)

    threads = 20_480
    assert memory._stack([]) == 0
    assert memory._stack([kernel(0), kernel(512), kernel(8)]) == threads * 512
    assert memory._stack([kernel(None)]) == threads * memory.MOST_STACK
    assert memory._stack([kernel(1 << 30)]) == threads * memory.MOST_STACK


# -- what the worker notes


def test_the_arena_is_not_scratch():
    arena = torch.zeros(64, dtype=torch.uint8)
    allocations = Allocations(Span(arena.data_ptr(), arena.data_ptr() + 64, "arena"))
    with Watch(allocations):
        arena.view(torch.float32).add_(1)
        assert allocations.peak == 0
        kept = torch.ones(8)
        assert allocations.peak == 32
        del kept
        torch.ones(4)
    assert allocations.peak == 32


def test_memory_that_is_freed_makes_room():
    allocations = Allocations()
    first = np.zeros(100, np.uint8)
    allocations.see_array(first[10:20])
    allocations.see_array(first)
    assert allocations.peak == 100
    del first
    second = np.zeros(60, np.uint8)
    allocations.see_array(second)
    assert allocations.peak == 100
    third = np.zeros(50, np.uint8)
    allocations.see_array(third)
    assert allocations.peak == 110
