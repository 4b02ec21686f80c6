"""The bounds other than bandwidth, by the course in tests/courses/bounds. No GPU needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.authoring import lesson
from grader.course import catalog
from grader.grading import steps
from grader.grading.plan import steps_of
from grader.grading.steps.speed import measure as timing
from grader.model.cases import Case
from grader.model.errors import BrokenExercise, CannotGrade
from grader.model.exercise import Spec
from grader.model.results import Failure, Roof, Speed, Traffic
from grader.model.scored import Scored
from grader.reports.figures import speed_rows
from grader.sandbox.executor import Call, KernelFailure
from grader.sandbox.pretender import Pretender, zeros
from grader.speed import ceilings, reference_kernel
from grader.speed.bounds import arithmetic, bound_of, find_bound
from grader.speed.clock import BatchTime
from grader.speed.implementation import Implementation
from grader.speed.occupancy import Multiprocessor
from grader.speed.reference_kernel import ReferenceKernel
from grader.speed.scored_case import arena_bytes, scored_case
from grader.speed.slots import Slots
from grader.speed.spot_checks import SlotContents

COURSE = Path(__file__).parents[1] / "courses" / "bounds"
SPECS = {exercise.name: exercise.spec for exercise in catalog.exercises(COURSE)}
POLYNOMIAL, RMS, PRODUCT, ONE_ROW = (SPECS[name] for name in sorted(SPECS))


H100 = Multiprocessor(32, 2048, 32, 65536, 228 << 10, 1024, 128)


def scored(spec: Spec, **changes: object) -> Spec:
    return replace(spec, scored=replace(spec.scored, **changes))


# -- what a spec must have


@pytest.mark.parametrize(
    "text",
    [
        "rms = other.rms",
        "from other import rms",
        "from other import *",
        "class rms: ...",
        "if True:\n    def rms(x, out): ...",
    ],
)
def test_the_implementation_may_define_its_entry_in_any_way(text: str, tmp_path: Path):
    file = tmp_path / "eager.py"
    file.write_text(text)
    assert steps_of(scored(RMS, against=file))


@pytest.mark.parametrize(
    "text", ["rms(1, 2)", "def other():\n    rms = 1", "class Other:\n    def rms(self): ..."]
)
def test_the_implementation_must_define_its_entry(text: str, tmp_path: Path):
    file = tmp_path / "eager.py"
    file.write_text(text)
    with pytest.raises(BrokenExercise, match=r"does not define rms: eager\.py"):
        steps_of(scored(RMS, against=file))


def test_an_implementation_to_be_compiled_defines_the_function_on_tensors(tmp_path: Path):
    """An entry of numba takes numba's arrays, which torch.compile cannot."""
    file = tmp_path / "eager.py"
    file.write_text("def rms(x, out): ...")
    with pytest.raises(BrokenExercise, match=r"does not define rms_tensors: eager\.py"):
        steps_of(scored(replace(RMS, backend="numba"), against=file))


@pytest.mark.parametrize(
    "spec",
    [
        scored(RMS, bound="bandwidth", rows=4096),
        replace(POLYNOMIAL, flops=None),
        scored(POLYNOMIAL, dtype="int32"),
        scored(POLYNOMIAL, bound="roofline", rows=4096),
        replace(POLYNOMIAL, flops=None, scored=Scored(dtype="float32", bound="roofline")),
        scored(RMS, against=None),
        scored(RMS, against=COURSE / "gone.py"),
        replace(RMS, entry="root_mean_square"),
        scored(RMS, against=COURSE / "exercises" / "02_rms" / "README.md"),
        scored(POLYNOMIAL, bound="aritmetic"),
        replace(POLYNOMIAL, flops=lambda case: 0),
        replace(POLYNOMIAL, flops=lambda case: math.nan),
        replace(PRODUCT, flops=lambda case: case.columns),
    ],
    ids=[
        *("rows", "no flops", "no peak", "rows of a roofline", "no flops of it"),
        *("no file named", "no file", "no such entry in the file", "no Python", "no such bound"),
        *("no operations", "NaN operations", "flops that fail"),
    ],
)
def test_a_spec_that_lacks_what_its_bound_needs_is_broken(spec: Spec, snapshot: SnapshotAssertion):
    with pytest.raises(BrokenExercise) as caught:
        steps_of(spec)
    assert text_of(caught.value) == snapshot


@pytest.mark.parametrize("name", SPECS)
def test_the_speed_is_graded_with_its_own_bound(name: str, snapshot: SnapshotAssertion):
    assert steps.every()["speed"].asks(SPECS[name]) == snapshot


@pytest.mark.parametrize("name", SPECS)
def test_a_new_lesson_says_what_speed_is_compared_with(name: str, snapshot: SnapshotAssertion):
    lines = lesson.skeleton(catalog.find(COURSE, name), SPECS[name]).split("\n")
    first = next(n for n, line in enumerate(lines) if "**speed**" in line)
    assert "\n".join(lines[first : first + 8]) == snapshot


# -- work


def test_work_is_operations_or_calls():
    slots = SimpleNamespace(spec=PRODUCT, case=Case((8192, 4096), "bfloat16"))
    assert find_bound("arithmetic").work(slots) == 2 * 8192 * 4096 * 4096
    assert find_bound("reference").work(slots) == 1.0


def test_the_product_of_a_dtype_does_its_operations(monkeypatch: pytest.MonkeyPatch):
    """An edge of 8,192 gives 1.1e12 of them for one call."""
    seen: list[object] = []
    monkeypatch.setattr(
        reference_kernel, "ReferenceKernel", lambda timed, file, server, arena: seen.append(timed)
    )
    slots = SimpleNamespace(spec=PRODUCT, case=Case((8192, 4096), "bfloat16"), calls=16)
    servers = SimpleNamespace(fork_server=lambda *_, **__: None)
    find_bound("arithmetic").reference(slots, servers, None)
    [timed] = seen
    assert (timed.entry.name, timed.calls, timed.spare) == (
        *("product_bfloat16", [[8192]] * 16),
        [8192],
    )
    assert timed.work == 2 * 8192**3


# -- the lower of two roofs


class FakeRoof:
    """A reference that can be measured. Of the two, at most one runs at a time, as in a server."""

    running: ClassVar[list[str]] = []
    done: ClassVar[list[str]] = []

    def __init__(self, name: str, rate: float) -> None:
        assert not FakeRoof.running, "a fork server ends its worker when it starts another"
        FakeRoof.running.append(name)
        self._name, self._rate, self.roofs = name, rate, ()

    def ceiling(self) -> float:
        FakeRoof.done.append(self._name)
        return self._rate

    def close(self) -> None:
        FakeRoof.running.remove(self._name)


ROOFLINE = scored(POLYNOMIAL, bound="roofline")
SLOTS = SimpleNamespace(
    spec=ROOFLINE,
    case=Case((1 << 20,), "float32"),
    least_bytes=8 << 20,
    refill=lambda: FakeRoof.done.append("filled"),
)
SERVERS = SimpleNamespace(fork_server=lambda *_, **__: None)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the roofs whose workers run; each test begins with none."""
    monkeypatch.setattr(FakeRoof, "running", [])
    monkeypatch.setattr(FakeRoof, "done", [])
    return FakeRoof.running


@pytest.mark.parametrize("lower", ["memory", "arithmetic"])
def test_the_reference_is_that_of_the_lower_roof(
    lower: str, running: list[str], monkeypatch: pytest.MonkeyPatch
):
    """A degree of 256 makes 64 operations a byte, so 1 TB/s allow 64 TFLOP/s and 3 allow 192."""
    bandwidth = {"memory": 1e12, "arithmetic": 3e12}[lower]

    def moving(*_: object, work_per_byte: float) -> FakeRoof:
        return FakeRoof("memory", bandwidth * work_per_byte)

    monkeypatch.setattr(ceilings, "moving", moving)
    monkeypatch.setattr(arithmetic, "reference", lambda *_: FakeRoof("arithmetic", 100e12))
    found = find_bound("roofline").reference(SLOTS, SERVERS, None)
    assert found.roofs == (("memory", bandwidth * 64), ("arithmetic", 100e12))
    assert running == [lower]
    assert FakeRoof.done == ["filled", "memory", "arithmetic"]  # moving zeros takes less power


def test_a_roof_that_cannot_be_measured_leaves_no_worker(
    running: list[str], monkeypatch: pytest.MonkeyPatch
):
    def fails(*_: object) -> FakeRoof:
        raise CannotGrade("The GPU is taken.", "Wait.")

    monkeypatch.setattr(ceilings, "moving", lambda *_, **__: FakeRoof("memory", 1e12))
    monkeypatch.setattr(arithmetic, "reference", fails)
    with pytest.raises(CannotGrade):
        find_bound("roofline").reference(SLOTS, SERVERS, None)
    assert running == []


@pytest.mark.parametrize(
    ("share", "roofs"),
    [(0.8, (640.0, 55.0)), (0.95, (640.0, 55.0)), (0.8, (10.0, 55.0)), (0.95, (10.0, 55.0))],
    ids=["below the peak", "at the peak", "below memory", "as fast as memory"],
)
def test_the_report_says_which_roof_counts(
    share: float, roofs: tuple[float, float], snapshot: SnapshotAssertion
):
    named = zip(("memory", "arithmetic"), roofs, strict=True)
    both = tuple(Roof(name=name, rate=rate) for name, rate in named)
    speed = timed("roofline", share=share, rate=share * min(roofs), roofs=both)
    none = {"most_reads": None, "most_writes": None}
    counted = [
        Traffic(argument="x", reads=1.0, writes=0.0, **none),
        Traffic(argument="out", reads=0.0, writes=1.0, **none),
    ]
    sizes = {"x": 1 << 26, "out": 1 << 26}
    explained = find_bound("roofline").explain(speed, ROOFLINE, counted, sizes, (), H100)
    assert (explained.limit, explained.explanation) == snapshot


# -- another implementation


class FakeLink:
    """A worker on the CPU that computes RMS in the arena; `answer` may be another one."""

    def __init__(self, arena: object, answer: Callable[..., None]) -> None:
        self._pretender = Pretender(RMS, answer, arena)
        self.prepared: list[Call] = []

    def call(self, calls: Sequence[Call]) -> None:
        self._pretender.call(calls)

    def prepare(self, calls: Sequence[Call]) -> None:
        self.prepared = list(calls)

    def stop(self) -> None: ...

    def close(self) -> None: ...


def right(spec: Spec, inputs: object, outputs: dict[str, torch.Tensor]) -> None:
    outputs["out"].copy_(spec.reference(inputs)["out"])


def failing(spec: Spec, inputs: object, outputs: object) -> None:
    raise KernelFailure(Failure(kind="exception", message="NameError: no such name"))


def implementation(monkeypatch: pytest.MonkeyPatch, answer: Callable[..., None]) -> Implementation:
    spec = scored(RMS, columns=40)
    arena = SimpleNamespace(memory=torch.zeros(arena_bytes(spec, 8, 2), dtype=torch.uint8))
    slots = Slots(spec, scored_case(spec, 8), 2, arena.memory)
    link = FakeLink(arena, answer)
    monkeypatch.setattr(reference_kernel, "WorkerLink", lambda *_: link)
    monkeypatch.setattr(reference_kernel, "REST_S", 0.0)
    made = Implementation(slots, b"", None, arena)
    made.arena, made.link = arena, link
    return made


def test_an_implementation_gets_fresh_inputs_before_each_batch(monkeypatch: pytest.MonkeyPatch):
    """A kernel may leave numbers in the slots that take long, such as denormals."""
    made = implementation(monkeypatch, right)
    made.arena.memory.fill_(255)
    made.prepare()
    assert bool((made.arena.memory == 255).all())  # they come while it is stopped
    made.rest()
    inputs = [made._slots._slots[n][0].view.clone() for n in range(2)]
    assert not any(bool(each.isnan().any()) for each in inputs)
    made.prepare()
    made.rest()
    assert not torch.equal(inputs[0], made._slots._slots[0][0].view)
    assert len(made.link.prepared) == 2


def test_an_implementation_is_timed_on_the_inputs_that_were_filled_for_it(
    monkeypatch: pytest.MonkeyPatch,
):
    """Elements of earlier inputs were written over them: rules that hold for all of an input's
    elements together, such as their order, would be broken."""
    made = implementation(monkeypatch, right)
    _, earlier = made._slots.refill()
    found: list[bool] = []

    def window(link: FakeLink, spare: Call, contents: SlotContents) -> None:
        contents.complete()
        link.call(made._timed.calls)
        found.append(contents.outputs_right())

    monkeypatch.setattr(reference_kernel, "window", window)
    monkeypatch.setattr(reference_kernel, "claimed_time", lambda *_: None)
    for _ in range(2):
        made.prepare()
        made.rest()
        made.time_batch(earlier)
    assert found == [True, True]


def test_a_reference_that_fails_is_not_the_kernels_fault(
    monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    """Another program had its memory, and the learner read that the kernel asked for too much."""

    def fails(*_: object) -> None:
        raise KernelFailure(Failure(kind="out_of_memory", message="it asked for 2 GiB"))

    made = implementation(monkeypatch, right)
    made.link.call = made.link.prepare = fails
    monkeypatch.setattr(reference_kernel, "window", fails)
    starting = partial(ReferenceKernel, made._timed, b"", None, made.arena)
    texts: set[str] = set()
    for work in (starting, made.prepare, made.time_batch):
        with pytest.raises(CannotGrade) as caught:
            work()
        texts.add(text_of(caught.value))
    [text] = texts
    assert text == snapshot


@pytest.mark.parametrize("answer", [zeros, failing], ids=["wrong", "fails"])
def test_an_implementation_that_is_wrong_breaks_the_exercise(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[..., None], snapshot: SnapshotAssertion
):
    with pytest.raises(BrokenExercise) as caught:
        implementation(monkeypatch, answer)
    assert text_of(caught.value) == snapshot


# -- sizes


def test_an_arena_holds_tensors_that_do_not_grow():
    """The second factor of 03_product has one size, however many rows the first one has."""
    spec = scored(PRODUCT, columns=64)
    few, many = (arena_bytes(spec, rows, 1) for rows in (64, 4096))
    assert many - few == (4096 - 64) * 2 * 64 * 2
    two = arena_bytes(spec, 64, 2)
    assert two - few > 3 * 64 * 64 * 2


def test_rows_too_few_to_be_timed_are_the_authors_fault(snapshot: SnapshotAssertion):
    batch = BatchTime(window_s=0.002, claimed_s=0.00067, available=1 << 30)
    with pytest.raises(BrokenExercise) as caught:
        timing._require_long_batches(PRODUCT, bound_of(PRODUCT), [batch] * 9)
    assert text_of(caught.value) == snapshot
    timing._require_long_batches(PRODUCT, bound_of(PRODUCT), [replace(batch, claimed_s=0.0065)] * 9)
    timing._require_long_batches(scored(PRODUCT, rows=None), bound_of(PRODUCT), [batch] * 9)


# -- reports


def timed(bound: str, **figures: object) -> Speed:
    plain = {"case": "8,192 × 4,096 in bfloat16", "bytes_moved": 1 << 27, "time_ms": 0.475}
    plain |= {"bandwidth_gbps": 282.0, "ceiling_gbps": 385.0, "share": 0.733, "share_low": 0.729}
    plain |= {"share_high": 0.735, "passing": 0.4, "great": 0.9, "goes": 10, "calls_per_go": 16}
    plain |= {"first_call_s": 0.5, "latency_case": "1 × 1,024 in bfloat16", "latency_us": 61.5}
    return Speed(bound=bound, **plain | figures)


@pytest.mark.parametrize(
    "speed",
    [
        timed("arithmetic", rate=579.2, reference_rate=790.4),
        timed("reference", rate=1006.0, reference_rate=1017.0),
        timed("bandwidth"),
        timed("not_known_here", rate=3.0, reference_rate=4.0),
    ],
    ids=["arithmetic", "reference", "before other bounds", "of a bound that is gone"],
)
def test_figures_are_in_the_unit_of_the_bound(speed: Speed, snapshot: SnapshotAssertion):
    assert speed_rows(speed, 80).plain.splitlines()[:2] == snapshot


def test_every_bound_has_its_own_words():
    moves = replace(POLYNOMIAL, scored=Scored(dtype="float32"))
    specs = (POLYNOMIAL, ROOFLINE, RMS, ONE_ROW, moves)
    words = [(bound_of(spec).unit, bound_of(spec).held_to) for spec in specs]
    assert len(set(words)) == len(words)
