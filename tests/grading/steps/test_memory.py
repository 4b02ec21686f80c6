"""The memory step: what a call holds beyond its arguments, in simulation and on a GPU."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from messages import text_of
from one_step import one_step
from specs import with_spec
from syrupy.assertion import SnapshotAssertion

from grader.backends.numba import compiled as numba_compiled
from grader.backends.triton import compiled as triton_compiled
from grader.course import catalog, wrong_kernels
from grader.course.exercise import Exercise
from grader.grading import check, counting, steps
from grader.grading.options import Options
from grader.grading.plan import with_step
from grader.grading.step import Finding
from grader.grading.steps.memory import limits
from grader.grading.steps.memory import measure as memory
from grader.grading.steps.memory.over_call import over_call
from grader.machine import nvml
from grader.model.arguments import ITEMSIZE
from grader.model.cases import Case
from grader.model.exercise import a_hundredth
from grader.model.held_series import HeldSeries
from grader.model.memory_words import limit_in_words
from grader.model.messages import Launched
from grader.model.outcomes import Outcome
from grader.model.results import Failure, Step
from grader.sandbox.arena import HostArena
from grader.sandbox.executor import KernelFailure
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.worker_link import WorkerLink, entry_of
from grader.speed import clock, reserved_memory
from grader.speed.scored_case import bytes_per_row, scored_case
from grader.worker.allocations import Allocations
from grader.worker.bounds import Span
from grader.worker.loop import Worker
from grader.worker.torch_operations import Allocating

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
STEPS = steps.every()
TIMED = with_step(catalog.parts(ROOT), "speed")
ADD = catalog.find(ROOT, "01_vector_add")
DOT = catalog.find(ROOT, "02_dot_reduction")
ONLINE = catalog.find(ROOT, "04_online_softmax")
MIB = 2**20
BLENDER = nvml.Process(7, "blender", held=1 << 30)


def memory_step(
    fork_servers: ForkServers, file: Path, exercise: Exercise, **options: object
) -> Step:
    """The memory step alone, with all before it taken as passed."""
    return one_step("memory", exercise, file, fork_servers, **options)


@pytest.fixture
def held(fork_servers: ForkServers, tmp_path: Path):
    """Runs the memory step alone on the text of a kernel file."""

    def run(exercise: Exercise, kernel: str) -> Step:
        file = tmp_path / "kernel.py"
        file.write_text(kernel)
        return memory_step(fork_servers, file, exercise)

    return run


def adding(scratch: str, before: str = "") -> str:
    """A vector add in torch operations whose entry also makes `scratch`."""
    body = f"    {scratch}\n    out.copy_(x + y)\n"
    return f"import torch\n{before}\n\ndef vector_add(x, y, out):\n{body}"


def test_a_counted_call_does_not_import_torchs_compiler(held):
    """It takes a second, of every check of a Triton kernel."""
    body = "    assert 'torch._dynamo' not in sys.modules\n    torch.add(x, y, out=out)\n"
    step = held(ADD, f"import sys\n\nimport torch\n\n\ndef vector_add(x, y, out):\n{body}")
    assert step.failure is None


def test_a_simulated_worker_for_numba_has_torch_only_if_the_file_imports_it(held):
    """To import it takes half the time of a puzzle's check; behind the walls a file still can."""
    text = "import sys\n\nassert 'torch' not in sys.modules\n\nimport torch\n\n"
    step = held(DOT, text + DOT.solution.read_text())
    assert step.failure is None


# What torch's own x + y takes at 1 GiB of arguments, before it is copied into out.
TEMPORARY = 357_913_940


# -- in simulation


def test_a_kernel_without_scratch_holds_nothing(held, snapshot: SnapshotAssertion):
    step = held(ONLINE, ONLINE.solution.read_text())
    assert (step.outcome, step.points) == (Outcome.PASS, 1)
    assert step.memory.model_dump() == {
        "case": "4,095 × 32,771 in float32",
        "peak_bytes": 0,
        "most_bytes": 4095 * 32771 * 4 // 4,
        "rule": limits.QUARTER,
        "held_bytes": None,
        "simulated": True,
        "over_call": {
            "case": "2 × 32,771 in float32 (row padding 3)",
            "kernel": ((0, 0),),
            "torch": ((0, 0), (1, 2 * 32771 * 4)),
            "torch_outputs": 2 * 32771 * 4,
            "missing": "",
        },
    }
    assert step.summary == snapshot


def test_show_a_check_and_its_record_say_one_limit_for_one_reason(held):
    step = held(ADD, ADD.solution.read_text())
    kept = step.memory
    assert (kept.rule, kept.case) == (limits.QUARTER, "89,478,485 elements of float32")
    assert step.summary.endswith(f"; {limit_in_words(kept.most_bytes, kept.rule)}")
    asked = limits.asks(ADD.spec)
    assert f"at most 4 MiB for 65,536 elements of float32 ({limits.HUNDREDTH})" in asked
    assert limit_in_words(kept.most_bytes, kept.rule, kept.case) in asked


def test_an_exercise_with_a_limit_of_its_own_says_so():
    own = replace(ADD.spec, memory_budget=lambda case: 1 << 29)  # more than a quarter
    assert limits.OWN in limits.asks(own)
    assert "without a GPU" not in limits.asks(own)
    assert limits.simulated(own, Case((1 << 26,), "float32")).rule == limits.OWN


def test_fixed_scratch_is_held_to_the_budget_even_in_simulation():
    """A quarter is for what may stop growing."""
    large = Case((1 << 26,), "float32")
    assert limits.simulated(ADD.spec, large, 4 * MIB).rule == limits.QUARTER
    assert limits.simulated(ADD.spec, large, 4 * MIB + 1) == limits.budget(ADD.spec, large)


def test_a_copy_is_too_much(held, snapshot: SnapshotAssertion):
    step = held(ADD, adding("total = x + y"))
    assert (step.outcome, step.points) == (Outcome.FAIL, 0)
    assert step.failure.kind == "memory"
    assert text_of(step.failure) == snapshot
    assert step.failure.expected == f"at most 85.3 MiB ({limits.QUARTER})"
    assert step.failure.got == "682.7 MiB"


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


def test_memory_that_no_operation_of_torchs_makes_counts_when_a_kernel_gets_it(held):
    scratch = "torch.empty(1, device=x.device); scratch.untyped_storage().resize_(4 * x.numel())"
    kernel = (
        "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def touch(scratch):\n    tl.store(scratch, 1.0)\n\n\n"
        f"def vector_add(x, y, out):\n    scratch = {scratch}\n    touch[(1,)](scratch)\n"
        "    torch.add(x, y, out=out)\n"
    )
    assert held(ADD, kernel).memory.peak_bytes == pytest.approx(TEMPORARY, rel=1e-3)


def test_what_a_file_keeps_from_call_to_call_counts(held):
    keeping = adding("KEPT.append(x * 2)", before="KEPT = []")
    # Of two calls: the one that is counted comes after another.
    assert held(ADD, keeping).memory.peak_bytes == pytest.approx(3 * TEMPORARY, rel=1e-3)


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


@pytest.mark.parametrize(
    ("scratch", "outcome"),
    [
        ("torch.empty(20 * min(len(x), 20_000))", Outcome.PASS),
        ("torch.empty(20 * min(len(x), 30_000))", Outcome.FAIL),
    ],
)
def test_a_case_of_its_own_shows_where_scratch_stops_growing(held, scratch: str, outcome: Outcome):
    """Partial sums of so many programs grow between two cases of fewer rows than programs."""
    body = f"    part = {scratch}\n    torch.add(x, y, out=out)\n"
    kernel = f"import torch\n\ndef vector_add(x, y, out):\n{body}"
    large = replace(ADD.spec, memory_counted=Case((20_000,), "float32"))
    assert held(with_spec(ADD, large), kernel).outcome is outcome


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


def test_a_worker_that_does_not_count_is_the_graders_fault(
    held, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    exchange = WorkerLink._exchange
    monkeypatch.setattr(
        WorkerLink, "_exchange", lambda self, *a, **k: replace(exchange(self, *a, **k), peak=None)
    )
    step = held(ADD, ADD.solution.read_text())
    assert (step.outcome, step.points) == (Outcome.ERROR, 0)
    assert text_of(step.failure) == snapshot


def test_a_kernel_that_fails_on_the_larger_case_is_reported_with_it(held):
    text = adding("assert x.numel() < 10_000, 'too long for me'")
    step = held(ADD, text)
    assert (step.outcome, step.failure.case) == (Outcome.FAIL, "10,006 elements of float32")
    assert "--case '10006,float32" in step.failure.replay


def test_a_kernel_that_does_nothing_on_the_larger_case_is_wrong(held):
    """Or it would need no scratch there, and seem to need none however large the case is."""
    step = held(ADD, adding("if x.numel() > 10_000: return"))
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "never_written")
    assert step.failure.case == "10,006 elements of float32"


def test_less_than_before_is_no_credit(held, monkeypatch: pytest.MonkeyPatch):
    """A file that allocates less for more rows is not extrapolated below what it held."""
    peaks = iter([3 * MIB, MIB])
    count = WorkerLink.count
    monkeypatch.setattr(
        WorkerLink, "count", lambda self, call: replace(count(self, call), peak=next(peaks))
    )
    assert held(ADD, ADD.solution.read_text()).memory.peak_bytes == 3 * MIB


def test_what_each_call_keeps_counts_although_few_rows_came_before(held):
    """Two calls keep a third of a vector. The growth of one alone would be within the quarter."""
    text = """
import torch

KEPT = []


def vector_add(x, y, out):
    KEPT.append(torch.empty(len(x) // 6))
    torch.add(x, y, out=out)
"""
    assert held(ADD, text).outcome is Outcome.FAIL


# -- the bytes over one call

VECTOR = 4 * 5_003  # bytes of an argument of the counted case


def test_the_bytes_over_a_call_are_drawn_beside_torchs(held):
    over = held(ADD, adding("a = x * 2; b = a + 1; del a")).memory.over_call
    assert (over.case, over.missing) == ("5,003 elements of float32", "")
    # The sum is made while b lives, and both end with the call.
    copies = (0, 1, 2, 1, 2, 0)
    assert over.kernel == tuple((number, n * VECTOR) for number, n in enumerate(copies))
    assert over.torch == ((0, 0), (1, VECTOR))
    assert over.torch_outputs == VECTOR


def test_what_a_file_keeps_is_there_when_the_call_begins(held):
    over = held(ADD, adding("KEPT.append(x * 2)", before="KEPT = []")).memory.over_call
    assert over.kernel[0] == (0, VECTOR)
    assert over.kernel[-1][1] == 2 * VECTOR


def test_device_arrays_are_drawn(held):
    text = DOT.solution.read_text()
    scratch = "    scratch = cuda.device_array(a.size, np.float32)\n    del scratch\n"
    over = held(
        DOT, text.replace("    per_block = ", f"{scratch}    per_block = ")
    ).memory.over_call
    size = Case.of_headline(over.case).elements * 4
    assert size in [held for _, held in over.kernel]
    assert over.torch[-1] == (1, 4)


@pytest.mark.parametrize(
    ("forged", "words"),
    [
        ("HeldSeries(((0, 0), (1, 10**9)))", "a peak of 1,000,000,000 bytes"),
        ("HeldSeries(((0, 0), (1, -5)))", "something else than a series"),
        ("HeldSeries(tuple((n, 0) for n in range(10_000)))", "something else than a series"),
        ("None", "sent no series"),
    ],
    ids=["another peak", "negative", "too long", "none"],
)
def test_a_forged_series_is_missing_and_no_verdict_depends_on_it(held, forged: str, words: str):
    forging = (
        "from grader.model.held_series import HeldSeries\n"
        "from grader.worker.allocations import Allocations\n"
        f"Allocations.over_call = lambda self: {forged}\n"
    )
    step = held(ADD, ADD.solution.read_text() + forging)
    assert (step.outcome, step.points, step.memory.peak_bytes) == (Outcome.PASS, 1, 0)
    assert step.memory.over_call.kernel == ()
    assert words in step.memory.over_call.missing


def test_memory_that_the_simulated_gpu_was_given_contradicts_a_series_without_it(held):
    cheat = Path(__file__).parents[2] / "redteam" / "cheats" / "c11_forges_the_memory.py"
    step = held(ADD, cheat.read_text())
    assert step.outcome is Outcome.FAIL
    assert "a peak of 0 bytes, and the step counted at least" in step.memory.over_call.missing


@pytest.mark.parametrize("rejected", ["", "the kernel's process sent no series"])
def test_a_reference_that_fails_in_the_inputs_dtypes_is_named_and_decides_nothing(rejected: str):
    """Beside the reason why the kernel's own series is missing, if it is."""

    def reference(inputs):
        raise RuntimeError("not implemented for 'Half'")

    points = () if rejected else ((0, 0), (1, 4))
    held = HeldSeries(points, rejected)
    one = SimpleNamespace(case=Case((8,), "float16"), inputs={}, held=held)
    found = over_call(SimpleNamespace(reference=reference), one)
    assert found.missing == (
        (rejected and f"{rejected}; ")
        + """torch's own call failed, RuntimeError("not implemented for 'Half'")"""
    )
    assert (found.kernel, found.torch) == (points, ())


def test_on_a_gpu_the_series_is_that_of_the_simulated_call(on_gpu):
    assert on_gpu(0, 0).memory.over_call is None
    one = SimpleNamespace(
        case=Case((8,), "float32"),
        inputs={"x": torch.ones(8), "y": torch.ones(8)},
        held=HeldSeries(((0, 0), (1, 4))),
    )
    found = on_gpu(0, 0, counted=one).memory
    assert not found.simulated
    assert (found.over_call.kernel, found.over_call.torch) == (((0, 0), (1, 4)), ((0, 0), (1, 32)))


# -- the budget


@pytest.mark.parametrize(("peak", "outcome"), [(5_000, Outcome.PASS), (5_001, Outcome.FAIL)])
def test_the_budget_itself_passes(peak: int, outcome: Outcome):
    most = limits.MemoryLimit(5_000, "as asked")
    found = memory._finding(Case((8, 8), "float32"), peak, most, "too many", 7_000)
    assert (found.outcome, found.memory.peak_bytes) == (outcome, peak)
    assert (found.memory.held_bytes, found.memory.simulated) == (7_000, False)
    passing = "; at most 5,000 bytes (as asked)" if outcome is Outcome.PASS else ""
    assert found.summary == f"8 × 8 in float32: {peak:,} bytes too many{passing}"


def test_one_percent_is_allowed_and_a_few_mebibytes_in_any_case():
    assert a_hundredth(Case((10, 10), "float32")) == 4 * MIB
    assert a_hundredth(Case((10_000, 100_000), "bfloat16")) == 20_000_000


# -- on a GPU: what counts of what is held at half the rows and at all of them

sizes = st.integers(0, 1 << 36)  # bytes


def taken(scratch: int) -> int:
    """What torch takes of the GPU for one tensor (PYTORCH_CUDA_ALLOC_CONF, "kSmallSize" and so on):
    segments of 2 MiB up to 1 MiB, of 20 MiB up to 10 MiB, else whole pages of 2 MiB."""
    if scratch <= MIB:
        return 2 * MIB if scratch else 0
    return limits.SEGMENT if scratch < 10 * MIB else -(-scratch // (2 * MIB)) * 2 * MIB


@given(fixed=st.integers(0, reserved_memory.FIXED_ALLOWANCE))
def test_what_does_not_grow_is_free_up_to_its_room(fixed: int):
    assert memory.counted_bytes(fixed, fixed, reserved_memory.FIXED_ALLOWANCE) == 0
    beyond = memory.counted_bytes(
        fixed + reserved_memory.FIXED_ALLOWANCE,
        fixed + reserved_memory.FIXED_ALLOWANCE,
        reserved_memory.FIXED_ALLOWANCE,
    )
    assert beyond == fixed


@given(scratch=sizes, fixed=st.integers(0, reserved_memory.FIXED_ALLOWANCE))
def test_what_grows_counts_in_full_whatever_is_fixed_beside_it(scratch: int, fixed: int):
    scratch -= scratch % 2
    counted = memory.counted_bytes(
        fixed + scratch // 2, fixed + scratch, reserved_memory.FIXED_ALLOWANCE
    )
    assert counted == scratch


@given(scratch=sizes, fixed=st.integers(0, reserved_memory.FIXED_ALLOWANCE))
def test_torchs_segments_are_allowed_for(scratch: int, fixed: int):
    """So nobody fails who holds what is allowed."""
    scratch -= scratch % 2
    half, whole = fixed + taken(scratch // 2), fixed + taken(scratch)
    assert (
        abs(memory.counted_bytes(half, whole, reserved_memory.FIXED_ALLOWANCE) - scratch)
        <= limits.GRANULARITY
    )


def test_the_allowance_for_segments_is_needed():
    """Scratch of just over 1 MiB takes a segment, and half of it 2 MiB."""
    seen = memory.counted_bytes(taken(MIB), taken(2 * MIB), reserved_memory.FIXED_ALLOWANCE)
    assert limits.SEGMENT < seen - 2 * MIB <= limits.GRANULARITY


@given(half=st.integers(-MIB, 1 << 36), whole=st.integers(-MIB, 1 << 36), allowance=sizes)
def test_the_growth_and_the_excess_over_the_allowance_count(half: int, whole: int, allowance: int):
    """The growth is never negative, even if another program frees memory meanwhile."""
    grown = memory.growing_bytes(half, whole)
    assert grown >= 0
    assert memory.counted_bytes(half, whole, allowance) == grown + max(0, whole - grown - allowance)


@pytest.mark.parametrize("arguments", [294 * MIB, 5 << 30])  # of a T4's scored case, an H200's
@pytest.mark.parametrize("exercise", TIMED, ids=lambda one: one.name)
def test_a_copy_of_an_argument_is_too_much_on_any_card(exercise: Exercise, arguments: int):
    """As the `wrong_*` that must fail at this step hold one, and so whatever is fixed beside it."""
    case = scored_case(exercise.spec, arguments // bytes_per_row(exercise.spec))
    copy = taken(case.elements * ITEMSIZE[case.dtype])
    most = exercise.spec.memory_budget(case) + limits.GRANULARITY
    for fixed in (0, reserved_memory.FIXED_ALLOWANCE):
        assert (
            memory.counted_bytes(fixed + copy // 2, fixed + copy, reserved_memory.FIXED_ALLOWANCE)
            > most
        )


@pytest.mark.parametrize("arguments", [294 * MIB, 10 << 30])
@pytest.mark.parametrize("exercise", TIMED, ids=lambda one: one.name)
def test_four_gibibytes_are_too_much_although_they_do_not_grow(exercise: Exercise, arguments: int):
    case = scored_case(exercise.spec, arguments // bytes_per_row(exercise.spec))
    most = exercise.spec.memory_budget(case) + limits.GRANULARITY
    assert memory.counted_bytes(4 << 30, 4 << 30, reserved_memory.FIXED_ALLOWANCE) > most


# -- on a GPU, which is a number of free bytes here


@dataclass
class Card:
    """A GPU, the judge on it, and a worker whose kernel takes `scratch(rows)` in each call."""

    scratch: Callable[[int], int] = lambda rows: 0
    keeps: Callable[[int], int] = lambda rows: 0  # more for each call, which stays
    once: int = 0  # by the first call of a worker, for code and the like
    tuning: int = 0  # as the same, but given back when the worker settles
    gives_back: bool = True  # the scratch, at the end of the call
    right: bool = True
    free: int = 100 << 30
    judges: int = 0  # what the judge holds of it by torch
    held: int = 0  # by the worker
    cached: int = 0  # a part of it, which settling gives back
    done: list[str] = field(default_factory=list)
    looked: Event = field(default_factory=Event)

    def take(self, size: int) -> None:
        self.free -= size
        self.held += size

    def look(self) -> int:
        self.looked.set()
        return self.free

    def start(self) -> None:
        self.done = ["start"]
        self.take(-self.held)
        self.cached = 0
        self.take(500 * MIB)  # the CUDA context

    def load(self) -> None:
        self.done.append("load")

    def call(self, calls: list[int]) -> None:
        (rows,) = calls
        if "call" not in self.done:
            self.take(self.once + self.tuning)
            self.cached += self.tuning
        self.done.append("call")
        self.take(self.keeps(rows))
        scratch = self.scratch(rows)
        self.take(scratch)
        self.looked.clear()
        while self.done.count("call") == 2 and not self.looked.is_set():
            pass  # the call goes on until the judge has looked once
        if self.gives_back:
            self.take(-scratch)
        else:
            self.cached += scratch

    def settle(self) -> None:
        self.done.append("settle")
        self.take(-self.cached)
        self.cached = 0

    def slots(self, rows: int) -> SimpleNamespace:
        def refill() -> tuple[list[int], SimpleNamespace]:
            self.done.append("refill")
            more = (7 if rows > 50 else 3) * MIB
            self.judges += more
            self.free -= more
            return [rows], SimpleNamespace(outputs_right=lambda: self.right)

        return SimpleNamespace(refill=refill)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch):
    """What the judge takes to be held at half of 100 rows, and at all of them."""

    def held(card: Card) -> tuple[int, int]:
        for module in (memory, reserved_memory):
            monkeypatch.setattr(module, "free_bytes", card.look)
        monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: card.judges)
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
        half, whole = (memory._held(card, card.slots(rows)) for rows in (50, 100))
        return half, whole

    return held


@pytest.mark.parametrize(
    ("card", "half", "whole"),
    [
        (Card(), 0, 0),  # neither the context counts nor what the judge takes
        (Card(once=78 * MIB), 78 * MIB, 78 * MIB),
        (Card(tuning=256 * MIB), 0, 0),
        (Card(scratch=lambda rows: rows * MIB), 50 * MIB, 100 * MIB),
        (Card(scratch=lambda rows: rows * MIB, gives_back=False), 50 * MIB, 100 * MIB),
        (Card(keeps=lambda rows: rows * MIB), 100 * MIB, 200 * MIB),  # by two calls
        (Card(scratch=lambda rows: rows * MIB, once=9 * MIB), 59 * MIB, 109 * MIB),
    ],
)
def test_the_judge_sees_from_outside_what_a_second_call_holds(
    seen, card: Card, half: int, whole: int
):
    assert seen(card) == (half, whole)
    assert card.done == ["start", "load", "call", "settle", "refill", "call"]


def test_a_kernel_that_is_wrong_where_it_is_watched_fails(seen, monkeypatch: pytest.MonkeyPatch):
    """Who does nothing there holds nothing."""
    monkeypatch.setattr(
        clock, "wrong_output", lambda contents: Failure(kind="wrong_at_scale", message="")
    )
    with pytest.raises(KernelFailure) as caught:
        seen(Card(right=False))
    assert caught.value.failure.kind == "wrong_at_scale"


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch):
    """The finding on a kernel that holds so many bytes at half the rows and at all of them."""

    def found(
        half: int,
        whole: int,
        *,
        spilled: int = 0,
        others: Sequence[nvml.Process] = (),
        then: Sequence[nvml.Process] | None = None,
        counted: object = None,
    ) -> Finding:
        held = iter([half, whole])
        listed = iter([others, others if then is None else then])
        asked = []
        link = SimpleNamespace(resources=lambda call: (), close=lambda: None)
        slots = SimpleNamespace(plan=lambda: SimpleNamespace(calls=[["call"]]))
        for name, fake in {
            "CudaArena": lambda size: SimpleNamespace(memory=None, close=lambda: None),
            "WorkerLink": lambda *_: link,
            "Slots": lambda spec, case, calls, memory: (asked.append(case.shape[0]), slots)[1],
            "_held": lambda kernel, slots: next(held),
            "_stack": lambda launched: spilled,
        }.items():
            monkeypatch.setattr(memory, name, fake)
        monkeypatch.setattr(memory.gpu_lock, "exclusive_gpu", nullcontext)
        monkeypatch.setattr(memory.gpu_lock, "others", lambda: next(listed))
        grading = SimpleNamespace(
            spec=ADD.spec,
            sizing=SimpleNamespace(rows=1 << 28),
            kernel=b"",
            options=SimpleNamespace(device="cuda"),
            executor=SimpleNamespace(close=lambda: None),
            fork_servers=SimpleNamespace(fork_server=lambda *_: None),
            done={counting.count: counted}.get,
        )
        finding = memory.memory(grading)
        assert asked == [1 << 27, 1 << 28]
        return finding

    return found


def test_growing_memory_is_distinguished_from_fixed_memory(on_gpu):
    """1 GiB an argument: its hundredth may be held, and torch's steps."""
    most = (1 << 30) // 100 + limits.GRANULARITY
    rule = f"{limits.HUNDREDTH}; and 40 MiB more, because torch takes memory in segments"
    for half, whole, told in (
        (500 * MIB, 500 * MIB, "nothing growing with its arguments"),
        (500 * MIB, 512 * MIB, "24 MiB growing with its arguments"),
        (900 * MIB, 1400 * MIB, "1,000 MiB growing with its arguments"),
        (600 * MIB, 600 * MIB, "88 MiB beyond its arguments and a fixed 512 MiB"),
    ):
        found = on_gpu(half, whole)
        assert found.summary.startswith(f"268,435,456 elements of float32: {told}")
        passing = found.memory.peak_bytes <= most
        assert found.summary.endswith(f"; at most 50.2 MiB ({rule})") == passing
        assert found.memory.rule == rule
        assert not found.memory.simulated
        assert found.memory.most_bytes == most
        assert found.outcome is (Outcome.FAIL if found.memory.peak_bytes > most else Outcome.PASS)


def test_a_failure_reports_the_limit(on_gpu, snapshot: SnapshotAssertion):
    failure = on_gpu(5 << 30, 5 << 30).failure
    assert text_of(failure) == snapshot
    assert failure.kind == "memory"
    assert failure.expected.startswith(f"at most 50.2 MiB ({limits.HUNDREDTH}; and 40 MiB more")


def test_spilled_registers_have_room_of_their_own(on_gpu):
    assert on_gpu(700 * MIB, 700 * MIB, spilled=188 * MIB).memory.peak_bytes == 0


def test_beside_another_program_too_much_is_noise(on_gpu):
    found = on_gpu(0, 500 * MIB, others=[BLENDER])
    assert (found.outcome, found.failure.kind) == (Outcome.NOISY, "noisy")
    assert on_gpu(0, 0, others=[BLENDER]).outcome is Outcome.PASS


@pytest.mark.parametrize("then", [[], [replace(BLENDER, held=1 << 20)]], ids=["ended", "gave back"])
def test_what_another_program_gives_back_hides_nothing(on_gpu, then: list[nvml.Process]):
    assert on_gpu(0, 0, others=[BLENDER], then=then).outcome is Outcome.NOISY


@pytest.mark.parametrize("held", [0, 500 * MIB])
def test_a_program_that_comes_during_the_measurement_makes_it_uncertain(on_gpu, held: int):
    found = on_gpu(0, held, then=[BLENDER])
    assert found.outcome is Outcome.NOISY
    assert "another program uses the GPU: blender (process 7)" in found.failure.message


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
    allocations = Allocations()
    with Allocating(allocations, Span(arena.data_ptr(), arena.data_ptr() + 64, "arena")):
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


# -- what the worker gives back


def test_a_worker_settles_when_garbage_is_collected():
    class Ring:
        def __init__(self) -> None:
            self.itself = self

    ring = weakref.ref(Ring())
    found = []
    backend = SimpleNamespace(settle=lambda: found.append(ring()))
    assert Worker(backend, None).do({"op": "settle"}) == {}
    assert found == [None]


def test_torch_gives_back_what_it_caches(monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: done.append("torch"))
    triton_compiled.Compiled().settle()
    assert done == ["torch"]


def test_numba_frees_what_it_put_off(monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []
    put_off = SimpleNamespace(clear=lambda: done.append("numba"))
    context = SimpleNamespace(memory_manager=SimpleNamespace(deallocations=put_off))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: done.append("torch"))
    monkeypatch.setattr(numba_compiled.cuda, "current_context", lambda: context)
    numba_compiled.Compiled().settle()
    assert done == ["numba", "torch"]


@pytest.mark.parametrize("exercise", [ADD, DOT], ids=["Triton", "numba"])
def test_a_simulated_worker_has_nothing_to_give_back(fork_servers: ForkServers, exercise: Exercise):
    fork_server = fork_servers.fork_server(exercise.spec.backend, "cpu")
    arena = HostArena(1 << 20)
    text = exercise.solution.read_bytes()
    with (
        closing(arena),
        closing(WorkerLink(entry_of(exercise.spec), text, fork_server, arena)) as link,
    ):
        link.load()
        link.settle()


# -- in hardened mode: what is left for the speed step


@pytest.mark.parametrize(
    ("free", "held", "taken"),
    [
        (80 << 30, 6 << 30, (74 << 30) - reserved_memory.SLACK),
        (80 << 30, 100 * MIB, (80 << 30) - reserved_memory.FIXED_ALLOWANCE),
        (600 * MIB, 500 * MIB, None),  # less is free than may be held
    ],
)
def test_all_is_held_back_but_what_was_held_before(monkeypatch, free, held, taken):
    monkeypatch.setattr(reserved_memory, "free_bytes", lambda: free)
    monkeypatch.setattr(torch, "empty", lambda size, dtype, device: (size, dtype, device))
    expected = None if taken is None else (taken, torch.uint8, "cuda")
    assert reserved_memory.reserve_from_kernel(held) == expected


def test_before_that_the_judge_takes_room_to_spare(monkeypatch):
    """Torch has ten pieces, of which three are free: they are taken first, and are not enough."""
    piece, free, taken = 100 * MIB, 3, 0

    def empty(size: int, dtype: torch.dtype, device: str) -> object:
        nonlocal taken
        assert (size, dtype, device) == (piece, torch.uint8, "cuda")
        taken += 1
        return object()

    monkeypatch.setattr(torch, "empty", empty)
    monkeypatch.setattr(
        torch.cuda, "memory_reserved", lambda: 10 * piece + max(0, taken - free) * piece
    )
    reserved_memory.reserve_for_judge(piece)
    assert taken == free + reserved_memory.PIECES


# -- on a real GPU: python -m pytest -m gpu tests/grading/steps/test_memory.py

SMALL_CARD = 2 << 30  # bytes, on which a scored call has arguments of some 300 MB, as on a T4
# Their rows are long or fixed.
TOO_LARGE = ("15_masked_scores", "17_tiled_matmul")
HONEST = ROOT / "tests" / "redteam" / "honest"
HOLDS_MUCH = (
    *(f"01_vector_add/{name}" for name in ("side_stream", "autotuned", "cuda_graph")),
    *("03_three_pass_softmax/atomics", "04_online_softmax/last_part_combines"),
)
HERE = re.compile(r"Rejected at: memory(?: of (\w+))?")
WRONG = sorted(
    file
    for file in ROOT.glob("solutions/*/wrong_*.py")
    if HERE.search(file.read_text()) and not wrong_kernels.needs_simulator(file)
)


workshop_of_this_process = cache(ForkServers)


def apart(file: Path, name: str, card: int | None) -> Step:
    """What the process for CUDA does."""
    exercise = catalog.find_entry(ROOT, name)
    return memory_step(workshop_of_this_process(), file, exercise, device="cuda", gpu_memory=card)


def end() -> None:
    workshop_of_this_process().close()


@pytest.fixture(scope="module")
def other_process() -> Iterator[ProcessPoolExecutor]:
    """A CUDA context of this process would make it another program to the judges of later tests."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool
        pool.submit(end).result()


@pytest.fixture
def on_card(other_process: ProcessPoolExecutor, tmp_path: Path):
    """As `held`, on this machine's GPU."""

    def run(exercise: Exercise, kernel: str, gpu_memory: int | None = None) -> Step:
        if gpu_memory == SMALL_CARD and exercise.name in TOO_LARGE:
            pytest.skip("the small card cannot measure it, and says so")
        file = tmp_path / "kernel.py"
        file.write_text(kernel)
        return other_process.submit(apart, file, exercise.name, gpu_memory).result()

    return run


@pytest.mark.gpu
@pytest.mark.parametrize("card", [None, SMALL_CARD], ids=["whole card", "small card"])
@pytest.mark.parametrize("name", HOLDS_MUCH)
def test_an_honest_kernel_may_hold_what_does_not_grow(on_card, name: str, card: int | None):
    exercise = catalog.find(ROOT, name.partition("/")[0])
    step = on_card(exercise, (HONEST / f"{name}.py").read_text(), gpu_memory=card)
    assert step.outcome is Outcome.PASS, step
    assert not step.memory.simulated


@pytest.mark.gpu
@pytest.mark.parametrize("card", [None, SMALL_CARD], ids=["whole card", "small card"])
@pytest.mark.parametrize("exercise", TIMED, ids=lambda one: one.name)
def test_a_solution_passes_on_a_gpu(on_card, exercise: Exercise, card: int | None):
    step = on_card(exercise, exercise.solution.read_text(), gpu_memory=card)
    assert step.outcome is Outcome.PASS, step


@pytest.mark.gpu
@pytest.mark.parametrize("card", [None, SMALL_CARD], ids=["whole card", "small card"])
@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.parent.name)
def test_a_wrong_kernel_fails_on_a_gpu(on_card, file: Path, card: int | None):
    text = file.read_text()
    entry = HERE.search(text)[1]  # of an exercise with several
    exercise = replace(catalog.find(ROOT, file.parent.name), entry=entry)
    step = on_card(exercise, text, gpu_memory=card)
    assert (step.outcome, step.failure and step.failure.kind) == (Outcome.FAIL, "memory"), step


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("scratch", "vectors"),
    [
        ("pass", 1),
        ("a = x * 2; del a", 1),  # one after the other
        ("a = x * 2", 2),
        ("a = x[::2] * 1.0", 1.5),
    ],
)
def test_what_lives_at_once_is_seen_on_a_gpu(on_card, scratch: str, vectors: float):
    """Beside what torch makes for x + y."""
    step = on_card(ADD, adding(scratch))
    (length,) = Case.of_headline(step.memory.case).shape
    assert step.memory.peak_bytes == pytest.approx(4 * vectors * length, abs=limits.GRANULARITY)


@pytest.mark.gpu
@pytest.mark.parametrize(("mebibytes", "outcome"), [(300, Outcome.PASS), (4096, Outcome.FAIL)])
def test_a_fixed_buffer_counts_where_it_is_large(on_card, mebibytes: int, outcome: Outcome):
    before = f"ROOM = torch.empty({mebibytes} << 20, dtype=torch.uint8, device='cuda')"
    text = adding("pass", before).replace("out.copy_(x + y)", "torch.add(x, y, out=out)")
    step = on_card(ADD, text)
    assert step.outcome is outcome, step
    assert ("and a fixed" in step.summary) == (outcome is Outcome.FAIL)


@pytest.mark.gpu
def test_who_does_nothing_where_it_is_watched_fails_on_a_gpu(on_card):
    lazy = "SEEN = []"
    step = on_card(ADD, adding("SEEN.append(1)\n    if len(SEEN) == 2: return", lazy))
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "wrong_at_scale"), step


HOLDS_MORE_WHEN_TIMED = """
SEEN, KEPT = [], []
right = vector_add


def vector_add(x, y, out):
    right(x, y, out)
    if x.numel() > 1 << 20:
        SEEN.append(1)
    if len(SEEN) == 5:  # the memory step has two such calls of one worker
        KEPT.append(torch.empty(1 << 30, dtype=torch.uint8, device=x.device))
"""


@pytest.mark.gpu
@pytest.mark.parametrize("hardened", [False, True])
def test_a_hardened_judge_leaves_a_kernel_what_it_held_before(tmp_path: Path, hardened: bool):
    exercise = catalog.find(ROOT, "01_vector_add")
    file = tmp_path / "kernel.py"
    file.write_text(exercise.solution.read_text() + HOLDS_MORE_WHEN_TIMED)
    request = check.Request(exercise, file, Options(device="cuda", hardened=hardened))
    (result,) = check.run([request], print)
    speed = next(step for step in result.steps if step.name == "speed")
    refused = speed.failure is not None and speed.failure.kind == "out_of_memory"
    assert refused == hardened, speed
