"""What the speed step makes of its samples: noise, the verdict, and when to stop. No GPU needed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader import backends
from grader.course import catalog
from grader.grading.steps.speed import STEP
from grader.grading.steps.speed import measure as timing
from grader.grading.steps.speed.measure import _clocks, fair_ceiling, finding, hopeless
from grader.machine.nvml import Process, Reading
from grader.model.cases import Case
from grader.model.outcomes import Limit, Outcome
from grader.model.results import Failure, Memory, Speed
from grader.model.scored import Gates
from grader.sandbox.arena import view
from grader.sandbox.executor import Call, KernelFailure
from grader.speed import alternation, noise, reference_kernel
from grader.speed.alternation import Samples, _enough_cycles
from grader.speed.bounds.bandwidth import BOUND
from grader.speed.clock import MAX_UNDERCLAIM, BatchTime, Evidence, corrected_s
from grader.speed.noise import noise_cause
from grader.speed.scored_case import arena_bytes, scored_case
from grader.speed.slots import Slots

ROOT = Path(__file__).parents[3]
QUIET = Reading(
    sm_mhz=1980, memory_mhz=3201, most_memory_mhz=3201, temperature_c=45, slowdowns=("power limit",)
)

MEASURED = "7,104 × 65,536 in float32: 2,752 GB/s, 64.6 % of the ceiling"


def speed(share: float = 0.646, half_width: float = 0.001) -> Speed:
    return Speed(
        case="7,104 × 65,536 in float32",
        bytes_moved=3_724_541_952,
        time_ms=1.35,
        bandwidth_gbps=2752.0,
        ceiling_gbps=4260.0,
        share=share,
        share_low=share - half_width,
        share_high=share + half_width,
        passing=0.56,
        great=0.80,
        goes=10,
        calls_per_go=16,
        first_call_s=0.5,
        latency_case="1 × 1,024 in float32",
        latency_us=18.0,
    )


def explained(found: Speed) -> Speed:
    said = {"limit": Limit.SHAPE, "explanation": ("Look at the block size.",)}
    return found.model_copy(update=said)


GIB = 1 << 30  # bytes
STEADY = BatchTime(0.0166, 0.0151, GIB)


def samples(*ceilings: float, reading: Reading = QUIET) -> Samples:
    readings, goes = [reading] * len(ceilings), [STEADY] * len(ceilings)
    return Samples(Evidence(goes, goes, goes), ceilings=list(ceilings), readings=readings)


def went(overheads_ms: list[float], claimed_ms: float) -> list[BatchTime]:
    return [BatchTime((claimed_ms + over) / 1e3, claimed_ms / 1e3, GIB) for over in overheads_ms]


# What goes took beside their calls, as seen on an H200 with 16 cores: of 05's solution, of a worker
# that claims half of its time, and of trusted ones in between.
QUIET_HONEST = [1.83, 1.82, 1.76, 1.8, 2.14, 1.83, 1.67, 1.47, 1.7, 1.62]
QUIET_TRUSTED = [2.05, 1.38, 1.71, 1.57, 1.56, 1.66, 1.73, 1.64, 1.52, 1.33]
LIES = [9.55, 9.17, 9.07, 9.08, 8.99, 9.09, 9.33, 9.07, 9.28, 9.16]
BESIDE_LIES = [1.27, 1.18, 1.34, 1.33, 1.08, 1.28, 1.23, 1.39, 1.18, 1.38]
# The same with one process on each core, and with three.
BUSY_HONEST = [5.51, 1.45, 3.97, 1.3, 1.01, 1.18, 4.6, 1.09, 1.38, 1.81]
BUSY_TRUSTED = [1.07, 5.53, 4.72, 0.91, 1.1, 3.92, 1.24, 2.84, 1.27, 1.28]
TAKEN_HONEST = [8.52, 8.53, 8.54, 16.53, 12.53, 12.71, 20.67, 19.53, 16.38, 20.43]
TAKEN_TRUSTED = [5.46, 8.85, 10.93, 9.21, 7.14, 7.23, 8.09, 8.89, 5.55, 1.12]


def timed(honest: list[float], trusted: list[float], claimed_ms: float = 15.8) -> Samples:
    """Whose trusted goes beside the kernel are as they were before it was started."""
    beside = went(trusted, 15.2)
    seen = Evidence(beside, went(honest, claimed_ms), beside)
    return replace(samples(*[100.0] * 10), evidence=seen)


# -- what is believed

TOOK, OVERHEAD, CEILING = 0.0151, 0.0013, 4e12  # seconds, seconds, bytes per second


def cycled(claims: list[float], took: list[float]) -> Samples:
    """Cycles as `alternate` has them, of goes that moved what the ceiling moves in TOOK seconds."""
    goes = [BatchTime(t + OVERHEAD, c, GIB) for c, t in zip(claims, took, strict=True)]
    trusted = [BatchTime(TOOK + OVERHEAD, TOOK, GIB)] * len(goes)
    shares = [TOOK / claim for claim in claims]
    work = [int(TOOK * CEILING)] * len(shares)
    ceilings = [CEILING] * len(shares)
    return Samples(Evidence(trusted, goes, trusted), shares, ceilings, work=work)


def shares_of(found: Samples) -> list[float]:
    return alternation.corrected_shares(found, CEILING)


@given(factors=st.lists(st.floats(0.1, 10.0), min_size=10, max_size=48))
def test_batches_with_different_work_have_one_rate(factors: list[float]):
    """As where the inputs decide how much must be read: time is in proportion to the work."""
    took = [factor * TOOK for factor in factors]
    found = cycled(took, took)
    found.work[:] = [factor * TOOK * CEILING for factor in factors]
    found.evidence.kernel[:] = [BatchTime(claim, claim, GIB) for claim in took]
    assert alternation.corrected_rate(found) == pytest.approx(CEILING)


@given(factors=st.lists(st.floats(0.001, 1.08), min_size=10, max_size=48))
@example(factors=[0.5, 1.0] * 20 + [1.0, 1.0])
@example(factors=[0.3, 1.08] * 8)
def test_no_pattern_of_lies_gains_more_than_the_trust(factors: list[float]):
    """Half of the time in just under half of the goes came to 141 % when a sample was two goes."""
    claims = [factor * TOOK for factor in factors]
    shares = shares_of(cycled(claims, [TOOK] * len(claims)))
    assert statistics.median(shares) <= 1 / (1 - MAX_UNDERCLAIM) * (1 + 1e-9)


def test_the_share_is_the_bandwidth_of_the_reported_time():
    claims = [TOOK * (1 + k / 100) for k in (0, 3, 1, 2, 9, 1, 0, 2, 4, 3)]
    found = cycled(claims, claims)
    seconds = statistics.median(claims)
    assert statistics.median(shares_of(found)) == pytest.approx(TOOK / seconds)
    assert corrected_s(found.evidence) == seconds


def test_the_samples_keep_how_far_they_lie_apart():
    claims = [TOOK * (1 + k / 100) for k in (0, 3, 1, 2, 9, 1, 0, 2, 4, 3)]
    found = cycled(claims, claims)
    moved = {round(b / a, 12) for a, b in zip(found.shares, shares_of(found), strict=True)}
    assert len(moved) == 1


@pytest.mark.parametrize(
    ("before", "after", "ceiling"),
    [
        (100.0, 100.0, 99.8),  # as it wanders by itself
        (100.4, 99.0, 99.898),  # 0.6 % faster before: 0.1 % is taken off the share
        (99.0, 104.0, 103.48),
    ],
)
def test_who_holds_the_ceiling_down_gains_half_a_percent(
    before: float, after: float, ceiling: float
):
    assert fair_ceiling([99.8, 99.7, 99.9], before, after) == pytest.approx(ceiling)


# -- what disturbs a measurement


def test_a_quiet_gpu_is_no_noise():
    """A power limit is how every large card runs under load."""
    assert noise_cause(samples(100.0, 101.0, 100.0), 100.0, 101.0, []) is None


@pytest.mark.parametrize(
    ("found", "before", "after", "others", "told"),
    [
        (
            *(samples(100.0, 100.0), 100.0, 100.0, [Process(7, "blender")]),
            "another program uses the GPU: blender (process 7)",
        ),
        (
            *(samples(100.0, reading=replace(QUIET, slowdowns=("hot (hardware)",))), 100.0, 100.0),
            *([], "the GPU slowed itself down: hot (hardware)"),
        ),
        (  # somebody, or the kernel file, lowered the memory's clock
            *(samples(100.0, reading=replace(QUIET, memory_mhz=2619)), 100.0, 100.0, []),
            "the GPU's memory ran at 2,619 of 3,201 MHz",
        ),
        (
            *(samples(100.0, 96.0, 104.0), 100.0, 100.0, []),
            "the GPU's own bandwidth varied by 8 % during the measurement",
        ),
        (  # slower only while the kernel's process lived
            *(samples(100.0, 100.0), 104.0, 100.0, []),
            "the GPU's own bandwidth varied by 4 % during the measurement",
        ),
        (
            *(samples(100.0, 100.0), 100.0, 95.0, []),
            "the GPU's own bandwidth varied by 5 % during the measurement",
        ),
    ],
    ids=["other program", "hot", "memory clock", "wanders", "was faster before", "slower after"],
)
def test_what_disturbs_is_named(found, before, after, others, told: str):
    assert noise_cause(found, before, after, others) == told


def test_a_clock_that_contradicts_the_worker_on_a_busy_host_is_noise():
    """An honest kernel came out 18 % too slow there."""
    told = (
        "the overhead of the calls varied by 41 % of their time; other programs probably keep the "
        "processors busy"
    )
    assert noise_cause(timed(TAKEN_HONEST, TAKEN_TRUSTED), 100.0, 100.0, []) == told


def test_a_machine_that_became_busy_when_the_kernel_was_started_is_noise():
    """All goes have 0.6 ms more by then, which the judge's clock would hold against the kernel."""
    later = [1.3 + 0.6] * 10
    found = timed(later, [1.3] * 10)
    beside = went(later, 15.2)
    shifted = replace(found, evidence=replace(found.evidence, beside=beside))
    assert noise_cause(shifted, 100.0, 100.0, []) is not None
    little = went([1.3 + 0.1] * 10, 15.8)
    near = replace(found.evidence, beside=little, kernel=little)
    assert noise_cause(replace(found, evidence=near), 100.0, 100.0, []) is None
    believed = replace(found.evidence, beside=beside, kernel=went([1.3] * 10, 15.8))
    assert noise_cause(replace(found, evidence=believed), 100.0, 100.0, []) is None


@pytest.mark.parametrize(
    "found",
    [
        timed(QUIET_HONEST, QUIET_TRUSTED),
        timed(BUSY_HONEST, BUSY_TRUSTED),  # unsteady, but both clocks agree
        timed(LIES, BESIDE_LIES, claimed_ms=7.6),  # a steady clock that contradicts is believed
    ],
    ids=["quiet", "busy", "lies"],
)
def test_a_clock_that_agrees_or_is_steady_is_no_noise(found: Samples):
    assert noise_cause(found, 100.0, 100.0, []) is None


def test_clocks_are_reported_from_the_lowest_to_the_highest():
    hotter = replace(QUIET, sm_mhz=1755, temperature_c=61, slowdowns=("hot (software)",))
    clocks = _clocks([QUIET, hotter])
    assert clocks.model_dump() == {
        "sm_mhz": (1755, 1980),
        "memory_mhz": (3201, 3201),
        "temperature_c": 61,
        "slowdowns": ("hot (software)", "power limit"),
    }
    assert _clocks([]) is None


# -- the verdict


def test_a_share_above_the_gate_passes_with_its_explanation(snapshot: SnapshotAssertion):
    found = finding(BOUND, MEASURED, speed(), explained(speed()), True, None)
    assert (found.outcome, found.failure) == (Outcome.PASS, None)
    assert found.speed.limit is Limit.SHAPE
    assert found.summary == snapshot


def test_a_share_below_the_gate_fails_and_says_what_limits_it(snapshot: SnapshotAssertion):
    found = finding(BOUND, MEASURED, speed(0.41), explained(speed(0.41)), False, None)
    assert (found.outcome, found.failure.kind) == (Outcome.FAIL, "too_slow")
    assert text_of(found.failure) == snapshot
    assert found.failure.expected == "at least 56 % of the ceiling"


@pytest.mark.parametrize("passed", [True, False, None])
@pytest.mark.parametrize("share", [0.3, 0.9, 1.2])
def test_noise_never_counts_for_or_against_anybody(
    passed: bool | None, share: float, snapshot: SnapshotAssertion
):
    found = finding(BOUND, MEASURED, speed(share), explained(speed(share)), passed, "it is hot")
    assert (found.outcome, found.failure.kind) == (Outcome.NOISY, "noisy")
    assert text_of(found.failure) == snapshot
    assert found.speed.explanation == ()


def test_too_close_to_the_gate_is_noise(snapshot: SnapshotAssertion):
    found = finding(BOUND, MEASURED, speed(0.5612, 0.004), speed(), None, None)
    assert (found.outcome, found.failure.kind) == (Outcome.NOISY, "too_close")
    assert text_of(found.failure) == snapshot


def test_faster_than_the_memory_is_impossible_and_never_great(snapshot: SnapshotAssertion):
    found = finding(BOUND, MEASURED, speed(1.06), explained(speed(1.06)), True, None)
    assert (found.outcome, found.failure.kind) == (Outcome.FAIL, "impossible")
    assert text_of(found.failure) == snapshot
    assert found.speed.explanation == ()
    assert finding(BOUND, MEASURED, speed(1.05), speed(1.05), True, None).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("took_s", "quickest_s", "calls"),
    [
        # 13_rmsnorm on an H100 whose host was busy: 3.4 % "by a single call", and 85 % in truth.
        ([0.03, 0.0037, 0.0032, 1.0], 0.0032, 3),
        ([2.0, 0.003], 2.0, 1),  # a kernel that is slow is not called again and again
    ],
)
def test_one_slow_call_makes_no_kernel_hopeless(monkeypatch, took_s, quickest_s, calls):
    clock, left = SimpleNamespace(now=0.0), list(took_s)

    def time_calls(*_: object) -> tuple[BatchTime, bool]:
        clock.now += left[0]
        return BatchTime(left[0], left.pop(0), 0), False

    monkeypatch.setattr(timing, "time_calls", time_calls)
    monkeypatch.setattr(timing.time, "monotonic", lambda: clock.now)
    assert timing._quickest_s(None, [], [], None) == quickest_s
    assert len(took_s) - len(left) == calls


@pytest.mark.parametrize(
    ("once_s", "rough_s", "batches"),
    [
        # 21_paged_gather on an H100 whose host graded on three others: 9 % "by a single call", and
        # 94 % in truth.
        (0.01, 0.001, 1),
        (0.5, 0.5, 0),  # a kernel that is slow is not called for seconds
    ],
)
def test_a_batch_decides_what_a_single_call_makes_hopeless(monkeypatch, once_s, rough_s, batches):
    timed = []

    def time_calls(kernel: object, calls: list[int], *_: object) -> tuple[BatchTime, bool]:
        timed.append(calls)
        return BatchTime(0.03, 0.001 * len(calls), 0), True

    monkeypatch.setattr(timing, "time_calls", time_calls)
    assert timing._in_a_batch_s(None, [0] * 16, [], None, once_s) == rough_s
    assert len(timed) == batches


@pytest.mark.parametrize(
    ("disturbed", "others", "measured"),
    [
        (0, False, 1),
        (1, False, 2),
        (9, False, 3),  # and then it is noisy
        (9, True, 1),  # another program does not end meanwhile
    ],
)
def test_what_disturbed_a_measurement_may_be_over_at_the_next(disturbed, others, measured):
    """18 and 19 on an H100 whose host graded on three others: each was noisy once."""
    rounds = [
        finding(
            BOUND,
            MEASURED,
            speed(0.9),
            explained(speed(0.9)),
            True,
            "busy" * (i < disturbed) or None,
        )
        for i in range(9)
    ]
    left = iter(rounds)
    found = timing._undisturbed(lambda: next(left), others)
    assert found is rounds[measured - 1]


def test_a_hopeless_kernel_is_reported_at_once(snapshot: SnapshotAssertion):
    found = hopeless(0.013, BOUND)
    assert (found.outcome, found.failure.kind) == (Outcome.FAIL, "too_slow")
    assert text_of(found.failure) == snapshot


# -- when enough is measured


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """A clock that stands still at the value that it is given."""

    def stand(at: float) -> None:
        monkeypatch.setattr(alternation.time, "monotonic", lambda: at)

    return stand


@pytest.mark.parametrize(
    ("shares", "elapsed_s", "enough"),
    [
        ([0.9] * 9, 100.0, False),  # the fewest cycles are made whatever it takes
        ([0.9, 0.9001] * 5, 0.1, True),  # narrow, and far from the gate
        ([0.9, 0.8, 0.9, 1.0, 0.9] * 2, 0.1, False),  # wide
        ([0.9, 0.8, 0.9, 1.0, 0.9] * 2, 3.1, True),  # wide, but out of time
        ([0.5601, 0.56, 0.5599, 0.56, 0.56] * 2, 0.1, False),  # narrow, and at the gate
        ([0.56, 0.561] * 24, 0.1, True),  # the most cycles
    ],
)
def test_cycles_end_when_they_have_decided_or_cannot(clock, shares, elapsed_s, enough: bool):
    clock(1000.0 + elapsed_s)
    assert _enough_cycles(replace(samples(100.0), shares=shares), 0.56, 1000.0) is enough


@pytest.mark.parametrize(
    "found",
    [timed(TAKEN_HONEST, TAKEN_TRUSTED), timed(LIES, BESIDE_LIES, claimed_ms=7.6)],
    ids=["busy", "lies"],
)
def test_cycles_go_on_while_the_judges_clock_contradicts_the_worker(clock, found: Samples):
    clock(1000.1)
    found = replace(found, shares=[0.9] * 10)
    assert not _enough_cycles(found, 0.56, 1000.0)
    clock(1003.1)
    assert _enough_cycles(found, 0.56, 1000.0)


class Turns:
    """A kernel and a reference that only take down what is asked of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        monkeypatch.setattr(alternation, "time_batch", lambda kernel, slots: self.went("kernel"))
        monkeypatch.setattr(alternation, "require_idle_gpu", self.looked_for)
        self.reference = SimpleNamespace(
            prepare=lambda: self.done.append("gets ready"),
            rest=lambda: self.done.append("rest"),
            time_batch=lambda contents: self.went("ceiling"),
            rate=lambda go: 1e9,
        )
        self.kernel = SimpleNamespace(stop=lambda: self.done.append("kernel stops"))

    def went(self, what: str) -> BatchTime:
        self.done.append(what)
        return BatchTime(window_s=0.02, claimed_s=0.016, available=GIB)

    def looked_for(self, kernel: object) -> None:
        self.done.append("GPU idle of the kernel" if kernel is self.kernel else "GPU idle")


def test_while_one_is_timed_nothing_of_the_other_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(alternation.nvml, "read", lambda uuid: None)
    monkeypatch.setattr(alternation.gpu_lock, "uuid", str)
    turns, alone = Turns(monkeypatch), [BatchTime(window_s=0.02, claimed_s=0.016, available=GIB)]
    slots = SimpleNamespace(least_bytes=1 << 20, calls=16)
    found = alternation.alternate(turns.kernel, turns.reference, slots, [], BOUND, 0.5, alone)
    one = ["gets ready", "kernel", "kernel stops", "rest", "GPU idle of the kernel", "ceiling"]
    assert turns.done == one * alternation.MIN_CYCLES
    assert found.evidence.alone == alone
    assert found.shares[0] == pytest.approx(16 * (1 << 20) / 0.016 / 1e9)
    made = found.shares, found.ceilings, found.evidence.kernel, found.evidence.beside
    assert {len(each) for each in made} == {alternation.MIN_CYCLES}


def test_before_the_kernel_is_started_the_trusted_one_goes_as_it_does_beside_it(
    monkeypatch: pytest.MonkeyPatch,
):
    """Its overheads are compared: without the rest and the look it is 0.3 ms of a go of 16 ms."""
    turns = Turns(monkeypatch)
    assert len(alternation.time_reference_batches(turns.reference, [], 2)) == 2
    assert turns.done == ["gets ready", "rest", "GPU idle", "ceiling"] * 2


def test_the_trusted_kernel_rests_before_it_goes(monkeypatch: pytest.MonkeyPatch):
    """As the learner's does while its inputs come: what it loses by that is taken off the other's
    time."""
    done: list[str] = []
    now = iter(
        [
            7.0,
            7.0,
            9.0,
            9.0 + 0.25 * reference_kernel.REST_S,
            11.0,
            11.0 + 3 * reference_kernel.REST_S,
        ]
    )
    clock = SimpleNamespace(
        monotonic=lambda: next(now),
        sleep=lambda seconds: done.append(f"rests {seconds / reference_kernel.REST_S:.2f} of it"),
    )
    monkeypatch.setattr(reference_kernel, "time", clock)
    reference = object.__new__(reference_kernel.ReferenceKernel)
    reference._timed = SimpleNamespace(calls=[])
    reference._link = SimpleNamespace(
        prepare=lambda calls: done.append("is told"), stop=lambda: done.append("stops")
    )
    for _ in range(3):
        reference.prepare()
        reference.rest()
    begins = ["is told", "stops"]
    assert done == [
        *(*begins, "rests 1.00 of it"),
        *(*begins, "rests 0.75 of it"),
        *(*begins, "rests 0.00 of it"),
    ]


def test_the_trusted_kernel_warms_up_as_the_other_does(monkeypatch: pytest.MonkeyPatch):
    seen: list[object] = []
    reference = object.__new__(reference_kernel.ReferenceKernel)
    reference._timed = SimpleNamespace(calls=[["a"], ["b"], ["c"]], spare=["few of c"])
    reference._link = "link"
    monkeypatch.setattr(reference_kernel, "window", lambda *told: seen.append(told))
    monkeypatch.setattr(reference_kernel, "claimed_time", lambda link, calls, window: calls)
    assert reference.time_batch("contents") == 3
    assert seen == [("link", ["few of c"], "contents")]


# -- what the kernel holds while it is timed


def held(*gib: float) -> Evidence:
    """Of a card with 100 GiB, by the kernel, when its goes began."""
    kernel = [BatchTime(0.02, 0.016, int((100 - one) * GIB)) for one in gib]
    return Evidence([STEADY], kernel, [STEADY])


def watched(held_bytes: int | None) -> Memory:
    return Memory(case="1", peak_bytes=0, most_bytes=0, simulated=False, held_bytes=held_bytes)


def test_who_keeps_more_than_a_call_needs_is_not_timed_well_enough():
    """Another program may have taken it, so that it counts against nobody."""
    assert noise.excess_memory(100 * GIB, held(1.1, 1.1), watched(GIB)) is None
    assert noise.excess_memory(100 * GIB, held(1.2), watched(GIB)) is not None
    assert noise.excess_memory(100 * GIB, held(0.5), watched(0)) is None
    assert noise.excess_memory(100 * GIB, held(1.1, 6.2, 1.1), watched(GIB)) == (
        "6.2 GiB of the GPU's memory were held before the calls, by the kernel or by another "
        "program, where one call holds 1.0"
    )


@pytest.mark.parametrize("memory", [None, watched(None)], ids=["not watched", "simulated"])
def test_what_a_call_holds_must_be_known_for_that(memory: Memory | None):
    assert noise.excess_memory(100 * GIB, held(6.2), memory) is None


# -- in hardened mode, what the kernel does not get


@pytest.mark.parametrize(
    ("hardened", "held", "expected"),
    [(True, 5, "all but 5"), (True, None, None), (False, 5, None)],
)
def test_only_a_hardened_judge_holds_memory_back(monkeypatch, hardened, held, expected):
    room: list[int] = []
    monkeypatch.setattr(timing.reserved_memory, "reserve_for_judge", room.append)
    monkeypatch.setattr(
        timing.reserved_memory, "reserve_from_kernel", lambda held: f"all but {held}"
    )
    seen = Memory(case="", peak_bytes=0, most_bytes=0, simulated=held is None, held_bytes=held)
    grading = SimpleNamespace(
        options=SimpleNamespace(hardened=hardened),
        steps={"memory": SimpleNamespace(memory=seen)},
    )
    slots = SimpleNamespace(sizes={"x": 100, "loss": 4})
    assert timing._reserved_memory(grading, slots) == expected
    assert room == ([200] if expected else [])


def test_each_measurement_begins_without_what_the_last_one_reserved(monkeypatch):
    """Else the judge takes it for memory of its own, and finds none for what it reserves beyond."""
    done: list[str] = []
    reference = SimpleNamespace(close=lambda: None)
    bound = SimpleNamespace(by_host=False, reference=lambda *_: reference)
    monkeypatch.setattr(timing, "bound_of", lambda spec: bound)
    monkeypatch.setattr(timing.devices, "release_cached_memory", lambda: done.append("released"))
    monkeypatch.setattr(timing, "_timed", lambda *_: done.append("timed") or hopeless(0.01, BOUND))
    slots = SimpleNamespace(spec=catalog.find(ROOT, "01_vector_add").spec)
    for _ in range(2):
        timing._measure(SimpleNamespace(fork_servers=None), slots, None, None, [])
    assert done == ["released", "timed"] * 2


# -- a call without kernels, at the scored size


class WithoutKernels:
    """A worker's line on which a call without kernels does what `work` does."""

    def __init__(self, work: Callable[[Call], bool]) -> None:
        self.without_kernels = work


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_the_reference_imports_early_only_where_speed_is_measured(device: str):
    asked = []
    grading = SimpleNamespace(
        spec=catalog.find(ROOT, "01_vector_add").spec,
        options=SimpleNamespace(device=device, require_speed=False),
        fork_servers=SimpleNamespace(fork_server=lambda *given, **named: asked.append(given)),
    )
    STEP.prepare(grading)
    assert asked == ([(backends.reference().name, "cuda")] if device == "cuda" else [])


def test_a_scored_output_that_needs_no_kernel_fails(snapshot: SnapshotAssertion):
    spec = catalog.find(ROOT, "01_vector_add").spec
    arena = SimpleNamespace(memory=torch.zeros(arena_bytes(spec, 3000, 2), dtype=torch.uint8))
    slots = Slots(spec, scored_case(spec, 3000), 2, arena.memory)

    def add(call: Call) -> bool:
        x, y, out = (view(arena.memory, ref) for ref in call)
        torch.add(x, y, out=out)
        return True

    def fail(call: Call) -> bool:
        raise KernelFailure(Failure(kind="exception", message="it failed"))

    def told(work: Callable[[Call], bool]) -> Failure | None:
        return timing._without_kernels(WithoutKernels(work), slots, arena)

    found = told(add)
    assert found is not None
    assert found.kind == "no_kernel"
    assert text_of(found) == snapshot
    assert told(lambda call: True) is None  # nothing was written
    assert told(lambda call: add(call) and False) is None  # it failed for want of its kernels
    failed = told(fail)
    assert failed is not None
    assert failed.message == "it failed"


# -- the figures of a bound


@pytest.mark.parametrize(
    ("work", "rate", "ceiling_gbps", "said", "by_host"),
    [
        (1 << 30, 2 * (1 << 30) / 1e-3, 2 * (1 << 30) / 1e-3 / 1e9, "1,074 GB/s", False),
        (1.0, 2000.0, 2 * (1 << 30) / 1e-3 / 1e9, "1,000 calls/s", False),
        (1.0, 2000.0, 2 * (1 << 30) / 1e-3 / 1e9, "1,000 calls/s", True),
    ],
    ids=["bytes", "calls", "calls that the host takes the time for"],
)
def test_a_speed_has_the_same_figures_whatever_the_bound_counts(
    monkeypatch: pytest.MonkeyPatch,
    work: float,
    rate: float,
    ceiling_gbps: float,
    said: str,
    by_host: bool,
):
    """A call of 1 GiB takes 1 ms, and the reference does twice as much in this time."""
    batch = BatchTime(window_s=0.017, claimed_s=0.016, available=GIB)
    reference = SimpleNamespace(
        rate=lambda batch: rate, median_rate=lambda batches: rate, close=lambda: None, roofs=()
    )
    begun: list[str] = []
    judged: list[Evidence] = []
    moved: list[list[str]] = []  # whose processes were there at each move to one core
    done: list[str] = []

    @contextmanager
    def one_core() -> Iterator[Callable[[], None]]:
        yield lambda: moved.append([*begun])

    bound = replace(
        BOUND,
        unit="GB/s" if work > 1 else "calls/s",
        scale=1e9 if work > 1 else 1.0,
        work=lambda slots: work,
        reference=lambda slots, fork_servers, arena: begun.append("reference") or reference,
        explain=None,
        by_host=by_host,
    )
    found = Samples(Evidence([batch] * 10, [batch] * 10, [batch] * 10), [0.5] * 10, [rate] * 10)
    found.work += [16 * work] * 10
    worker = SimpleNamespace(start=lambda: begun.append("kernel"), close=lambda: None)
    monkeypatch.setattr(timing, "one_core", one_core)
    for name, fake in {
        "bound_of": lambda spec: bound,
        "time_reference_batches": lambda *_: done.append("reference") or [batch],
        "WorkerLink": lambda *_: worker,
        "_first_calls": lambda *_: done.append("kernel") or (0.5, 1e-3, ()),
        "alternate": lambda kernel, reference, slots, contents, one, gate, alone: found,
        "_latency": lambda *_: (Case((1024,), "float32"), 2e-6),
        "_without_kernels": lambda *_: None,
        "noise_cause": lambda samples, *_: judged.append(samples.evidence),
    }.items():
        monkeypatch.setattr(timing, name, fake)
    monkeypatch.setattr(timing.reserved_memory, "available", lambda: GIB)
    spec = catalog.find(ROOT, "01_vector_add").spec
    spec = replace(spec, gates=Gates(passing=0.4, great=0.9))
    grading = SimpleNamespace(
        spec=spec,
        kernel=b"",
        steps={},
        options=SimpleNamespace(hardened=False, device="cuda"),
        fork_servers=SimpleNamespace(fork_server=lambda *_: None),
    )
    slots = SimpleNamespace(
        spec=spec,
        least_bytes=1 << 30,
        calls=16,
        case=Case((1 << 28,), "float32"),
        spare=None,
        refill=lambda: done.append("filled") or ([], None),
    )
    step = timing._measure(grading, slots, None, SimpleNamespace(calls=16, rows=1), [])
    assert (step.outcome, step.summary) == (
        Outcome.PASS,
        f"268,435,456 elements of float32: {said}, 50 % of the ceiling",
    )
    assert step.speed.share == pytest.approx(0.5)
    assert step.speed.time_ms == pytest.approx(1.0)
    assert step.speed.ceiling_gbps == pytest.approx(ceiling_gbps)
    assert step.speed.bandwidth_gbps == pytest.approx(step.speed.share * ceiling_gbps)
    assert moved == ([["reference"], ["reference", "kernel"]] if by_host else [])
    # The numbers among a call's arguments belong to what was filled with them.
    assert done == ["filled", "reference", "filled", "kernel", "reference"]
    assert [made.paired for made in judged] == [by_host]
