"""Whatever a spec says of speed, and whatever is claimed of time, nothing passes that should not.

Hypothesis draws scored cases, gates, functions of a hostile spec, and times of hostile workers.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fuzzing import fuzz
from hypothesis import example, given
from hypothesis import strategies as st

from grader.authoring import lesson
from grader.course import catalog
from grader.grading.plan import steps_of
from grader.grading.step import Finding
from grader.grading.steps import every
from grader.grading.steps.speed import measure as timing
from grader.grading.steps.speed.verdict import together
from grader.machine import nvml
from grader.model.arguments import reads, writes
from grader.model.cases import Case
from grader.model.errors import BrokenExercise
from grader.model.exercise import Spec
from grader.model.outcomes import Outcome
from grader.model.results import Failure, Speed
from grader.model.scored import Gates, Scored
from grader.speed import alternation
from grader.speed.alternation import (
    MAX_CYCLES,
    Samples,
    alternate,
    corrected_shares,
)
from grader.speed.bounds import find_bound, is_impossible
from grader.speed.clock import MAX_UNDERCLAIM, MIN_CLAIM, BatchTime, Window, claimed_time
from grader.speed.noise import noise_cause
from grader.speed.several_sizes import mean_gates, mean_speed
from grader.speed.sizing import Sizing
from grader.speed.statistics import decide

pytestmark = pytest.mark.slow

COURSES = Path(__file__).parents[1] / "courses"
BOUNDS = {exercise.name: exercise.spec for exercise in catalog.exercises(COURSES / "bounds")}
POLYNOMIAL = BOUNDS["01_polynomial"]
SIZES = catalog.find(COURSES / "sizes", "01_rms")
EAGER = COURSES / "bounds" / "exercises" / "02_rms" / "eager.py"
NAMES = ("bandwidth", "arithmetic", "roofline", "reference", "latency")
EPSILON = 1e-9  # relative: what sums and quotients of floats lose


def refusal(work: Callable[[], Any], kind: type[Exception]) -> tuple[Any, str | None]:
    """Return what work returns, or the words of its refusal."""
    try:
        return work(), None
    except kind as error:
        return None, str(error)


# -- specs

SHARES = st.sampled_from([0.4, 0.7, 0.95, 1.0]) | st.floats() | st.just(math.nan)
GATES = st.builds(lambda passing, great: {"passing": passing, "great": great}, SHARES, SHARES)
EXTENTS = st.sampled_from([1, 7, 1024, 4096, 65536, 65537, 0, -1, -4096, 10**30])
SCORED = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["float32", "bfloat16", "int32", "complex64", "", "float"]),
        "columns": st.none() | EXTENTS | st.lists(EXTENTS, max_size=3).map(tuple),
        "bound": st.sampled_from([*NAMES, *NAMES, "bandwith", "", "../bandwidth", "__init__"]),
        "rows": st.none() | EXTENTS,
        "against": st.sampled_from([None, EAGER, EAGER.parent, Path("/nowhere/eager.py")]),
        "compiled": st.booleans(),
        "gates": st.none() | GATES,
    }
)


@fuzz(200)
@given(st.lists(SCORED, min_size=1, max_size=4), GATES, st.booleans())
def test_a_spec_with_any_scored_cases_is_whole_or_refused(cases, gates, with_flops):
    """Whoever reads an accepted one later, finds no extent below 1 and no gate that is no share."""
    first, *more = (
        Scored(**{**case, "gates": case["gates"] and Gates(**case["gates"])}) for case in cases
    )
    made = {"scored": first, "also_scored": tuple(more), "gates": Gates(**gates)}
    made["flops"] = POLYNOMIAL.flops if with_flops else None
    spec, refused = refusal(lambda: replace(SIZES.spec, **made), ValueError)
    if refused is not None:
        assert refused
        assert "\n" not in refused
        return
    for one in spec.scored_specs:
        scored, own = one.timed
        assert all(extent >= 1 for extent in scored.extents)
        assert scored.rows is None or scored.rows >= 1
        assert 0 < own.passing <= own.great <= 1
    mean = mean_gates(spec)
    each = [one.timed[1] for one in spec.scored_specs]
    assert min(gate.passing for gate in each) <= mean.passing <= mean.great
    steps, refused = refusal(lambda: steps_of(spec), BrokenExercise)
    if refused is not None:
        assert "cannot be held to its bound" in refused or "There is no bound" in refused
        return
    assert "speed" in [step.name for step in steps]
    assert {one.timed[0].bound for one in spec.scored_specs} <= set(NAMES)
    assert every()["speed"].asks(spec).count(";") == len(cases) - 1
    assert lesson.skeleton(SIZES, spec).count("| pass |") == len(cases)


# -- functions of a spec


class Odd:
    """A value of which every conversion fails."""

    def __int__(self) -> int:
        raise RuntimeError("no number")

    def __float__(self) -> float:
        raise RuntimeError("no number")


VALUES = (
    st.integers(-5, 5000)
    | st.floats()
    | st.sampled_from([True, None, "12", "many", b"12", 10**400, -(10**400), math.nan, math.inf])
    | st.sampled_from([Odd(), [1], torch.tensor(64), torch.tensor(math.nan), torch.zeros(3)])
    | st.sampled_from([torch.tensor(-1), torch.tensor(1 << 62), torch.zeros(0), 1j, Exception])
)


def returning(value: object) -> Callable[..., Any]:
    def work(*_: object) -> Any:
        if value is Exception:
            raise ZeroDivisionError("the spec divides by zero")
        return value

    return work


@fuzz(150)
@given(VALUES, st.integers(1, 4096))
def test_bytes_of_any_kind_are_a_part_of_the_argument_or_break_the_exercise(value, size):
    """A number that is no share of the argument would make a share of nothing."""
    arguments = (reads("x", bytes=returning(value)), writes("out", like="x"))
    spec = replace(SIZES.spec, arguments=arguments)
    sizes = {"x": size, "out": size}
    needed, refused = refusal(
        lambda: spec.needed_bytes({"x": torch.zeros(1)}, sizes), BrokenExercise
    )
    if refused is not None:
        assert "bytes" in refused
        return
    assert type(needed["x"]) is int
    assert 0 < needed["x"] <= size
    assert sum(spec.least_bytes(needed)) == needed["x"] + size


@fuzz(150)
@given(VALUES)
@example(0)
@example(math.nan)
def test_operations_of_any_kind_are_a_finite_work_or_break_the_exercise(value):
    """Of no operations every kernel is too slow, and of endlessly many every one is fast enough."""
    spec = replace(POLYNOMIAL, flops=returning(value))
    slots = SimpleNamespace(spec=spec, case=Case((4096,), "float32"))
    work, refused = refusal(lambda: find_bound("arithmetic").work(slots), BrokenExercise)
    if refused is not None:
        assert "flops" in refused
        return
    assert type(work) is float
    assert 0 < work < math.inf


# -- times

SECONDS = st.floats(1e-6, 10.0)
RATES = st.floats(1e3, 1e16)


@st.composite
def batches(draw: st.DrawFn) -> BatchTime:
    """A batch as `claimed_time` leaves it: whatever was claimed, it is a part of the window."""
    window_s = draw(SECONDS)
    claimed_s = window_s * draw(st.floats(MIN_CLAIM, 1.0))
    return BatchTime(window_s, min(max(claimed_s, MIN_CLAIM * window_s), window_s), 1 << 30)


@st.composite
def steady(draw: st.DrawFn) -> list[BatchTime]:
    """Batches of about 20 ms, on a machine that varies by less than 1 %: the ones that can pass."""
    claimed, factors = draw(st.floats(0.5, 0.97)), st.floats(0.996, 1.004)
    windows = [0.02 * draw(factors) for _ in range(draw(st.integers(1, 9)))]
    return [BatchTime(w, w * claimed * draw(factors), 1 << 30) for w in windows]


WILD = st.lists(batches(), min_size=1, max_size=9)
SOME = steady() | steady() | steady() | WILD
READINGS = st.none() | st.builds(
    nvml.Reading,
    sm_mhz=st.integers(100, 2000),
    memory_mhz=st.integers(100, 3000),
    most_memory_mhz=st.integers(100, 3000),
    temperature_c=st.integers(20, 100),
    slowdowns=st.lists(st.sampled_from(["hot", "hot: memory", "power cap"]), max_size=2).map(tuple),
)


@fuzz(100)
@given(st.lists(st.floats(0, allow_infinity=False), max_size=20), st.integers(1, 16), SECONDS)
@example([5e-324] * 16, 16, 1.0)
@example([1.7e308] * 16, 16, 1.0)
def test_a_claim_of_any_size_is_a_part_of_the_window(claims, calls, window_s):
    kernel = SimpleNamespace(times=lambda: tuple(claims))
    found = claimed_time(kernel, calls, Window(window_s, 0, untouched=True, right=True))
    assert MIN_CLAIM * window_s <= found.claimed_s <= window_s


class Alternating:
    """Kernel and reference of which only the times are drawn."""

    def __init__(self, patch: pytest.MonkeyPatch, draw: st.DrawFn) -> None:
        self.kernel, self.beside = draw(SOME), draw(SOME)
        self.reference_work = draw(RATES)
        self.work = draw(st.floats(0.05, 3.0)) * self.reference_work
        self.turn = 0
        readings = draw(st.just([None]) | st.lists(READINGS, min_size=1, max_size=3))
        patch.setattr(alternation, "time_batch", lambda *_: self.kernel[self.next])
        patch.setattr(alternation, "time_reference_batch", lambda *_: self.after())
        reads_now = SimpleNamespace(read=lambda _: readings[self.turn % len(readings)])
        patch.setattr(alternation, "nvml", SimpleNamespace(read=reads_now.read))
        patch.setattr(alternation, "gpu_lock", SimpleNamespace(uuid=lambda: "gpu"))
        patch.setattr("grader.speed.statistics.RESAMPLES", 40)

    @property
    def next(self) -> int:
        return self.turn % len(self.kernel)

    def after(self) -> BatchTime:
        batch = self.beside[self.turn % len(self.beside)]
        self.turn += 1
        return batch

    def prepare(self) -> None: ...

    def rate(self, batch: BatchTime) -> float:
        return self.reference_work / batch.claimed_s


SLOTS = SimpleNamespace(calls=16)


@fuzz(60)
@given(st.data())
def test_no_claims_pass_a_gate_that_the_judges_clock_does_not(data: st.DataObject):
    """The whole way from batches to the step's outcome, with the functions that grade."""
    bound = find_bound(data.draw(st.sampled_from(NAMES)))
    alone = data.draw(SOME)
    before, after = data.draw(RATES), data.draw(RATES)
    with pytest.MonkeyPatch.context() as patch:
        drawn = Alternating(patch, data.draw)
        gate = data.draw(st.floats(0.05, 1.0))
        if data.draw(st.booleans()):  # near the gate, and on a machine at rest: else little passes
            alone = drawn.beside
            before = after = statistics.median(map(drawn.rate, drawn.beside))
            claims = statistics.median(one.claimed_s for one in drawn.kernel)
            rough = drawn.work / claims / before * data.draw(st.floats(0.5, 1.1))
            gate = min(max(rough, 0.05), 1.0)
        samples = alternate(
            *(None, drawn, SLOTS, None),
            *(replace(bound, work=lambda _: drawn.work / SLOTS.calls), gate, alone),
        )
        found = graded(patch, bound, samples, gate, before, after)
    assert bound.cycles <= len(samples.shares) <= MAX_CYCLES
    speed = found.speed
    assert speed is not None
    assert 0 < speed.share < math.inf
    assert speed.share_low <= speed.share * (1 + EPSILON)
    assert speed.share <= speed.share_high * (1 + EPSILON)
    assert speed.share <= most_share(samples, drawn.work, before, after) * (1 + EPSILON)
    cause = noise_cause(samples, before, after, [], bound.steady, bound.leeway)
    if found.outcome is Outcome.PASS:
        assert cause is None
        assert speed.share > gate
        shares = corrected_shares(samples, timing.fair_ceiling(samples.ceilings, before, after))
        assert decide(shares, gate, bound.indifference) is True
        assert not is_impossible(speed)
    else:
        assert found.failure is not None
    if cause is not None:
        assert found.outcome is Outcome.NOISY


def most_share(samples: Samples, work: float, before: float, after: float) -> float:
    """Return what a kernel can reach of the ceiling if its claims are believed as far as they may.

    Written anew from docs/measuring.md: quiet windows, less the smaller of two overheads.
    """

    def quiet(seconds: Sequence[float]) -> float:
        return sorted(seconds)[len(seconds) // 4]

    overheads = [
        quiet([one.window_s - one.claimed_s for one in some])
        for some in (samples.evidence.alone, samples.evidence.beside)
    ]
    windows = quiet([one.window_s for one in samples.evidence.kernel])
    claims = statistics.median(one.claimed_s for one in samples.evidence.kernel)
    seconds = max(claims, (1 - MAX_UNDERCLAIM) * (windows - min(overheads)))
    ceiling = max(statistics.median(samples.ceilings), 0.995 * before, 0.995 * after)
    return work / seconds / ceiling


def graded(
    patch: pytest.MonkeyPatch, bound, samples: Samples, gate: float, before: float, after: float
) -> Finding:
    """Return what the speed step makes of these samples."""
    spec: Spec = replace(
        SIZES.spec,
        scored=Scored(dtype="float32", columns=4096),
        also_scored=(),
        gates=Gates(passing=gate, great=1.0),
    )
    case = Case((64, 4096), "float32")
    made = replace(
        bound,
        work=lambda slots: samples.work[0] / SLOTS.calls,
        reference=lambda *_: SimpleNamespace(close=lambda: None, roofs=()),
        explain=None,
    )
    timed = timing._Timed(samples, before, after, 1 << 30, 0.1, (), (case, 1e-5), None)
    patch.setattr(timing, "bound_of", lambda spec: made)
    patch.setattr(timing, "_timed", lambda *_: timed)
    grading = SimpleNamespace(fork_servers=None, steps={})
    slots = SimpleNamespace(spec=spec, case=case, least_bytes=1 << 20)
    return timing._measure(grading, slots, None, Sizing(64, SLOTS.calls), [])


ONE_CALL = find_bound("latency")


@fuzz(60)
@given(st.data())
def test_more_leeway_calls_nothing_noisy_that_was_not(data: st.DataObject):
    alone = data.draw(steady())
    with pytest.MonkeyPatch.context() as patch:
        drawn = Alternating(patch, data.draw)
        samples = alternate(None, drawn, SLOTS, None, ONE_CALL, 0.5, alone)
    near = statistics.median(samples.ceilings)
    before, after = (near * data.draw(st.floats(0.95, 1.05)) for _ in range(2))
    if noise_cause(samples, before, after, []) is None:
        assert noise_cause(samples, before, after, [], leeway=4.0) is None
        assert noise_cause(samples, before, after, [], steady=0.1, leeway=4.0) is None
    others = [nvml.Process(pid=1, name="game")]
    assert noise_cause(samples, before, after, others, math.inf, leeway=1e9)


@fuzz(100)
@given(st.data())
def test_a_reference_that_was_slowed_counts_as_it_was_without_the_kernel(data: st.DataObject):
    beside = data.draw(st.lists(RATES, min_size=1, max_size=9))
    before, after, slowed = data.draw(RATES), data.draw(RATES), data.draw(st.floats(0.001, 1.0))
    honest = timing.fair_ceiling(beside, before, after)
    held = timing.fair_ceiling([rate * slowed for rate in beside], before, after)
    assert held <= honest
    assert held >= (1 - timing.HELD_DOWN) * max(before, after)
    at_rest = timing.fair_ceiling([slowed * before] * 9, before, before)
    assert before / at_rest <= 1 / (1 - timing.HELD_DOWN) * (1 + EPSILON)


# -- several sizes

FIGURES = st.floats(1e-200, 1e200)


@st.composite
def speeds(draw: st.DrawFn) -> Speed:
    share, gate = draw(FIGURES), draw(st.floats(1e-6, 1.0))
    return Speed(
        case=draw(st.sampled_from(["1 × 1,024 in float32", "64 × 4,096 in float32"])),
        bound=draw(st.sampled_from([*NAMES, "gone"])),
        bytes_moved=draw(st.integers(1, 1 << 60)),
        time_ms=draw(FIGURES),
        bandwidth_gbps=draw(FIGURES),
        ceiling_gbps=draw(FIGURES),
        share=share,
        rate=draw(st.none() | FIGURES),
        reference_rate=draw(st.none() | FIGURES),
        share_low=share * draw(st.floats(0.5, 1)),
        share_high=share * draw(st.floats(1, 2)),
        passing=gate,
        great=min(1.0, gate * draw(st.floats(1, 2))),
        goes=10,
        calls_per_go=16,
        first_call_s=0.1,
        latency_case="",
        latency_us=1.0,
    )


@fuzz(100)
@given(st.lists(speeds(), min_size=2, max_size=8))
def test_the_mean_of_any_sizes_lies_between_them(sizes: list[Speed]):
    mean = mean_speed(sizes)
    for name in ("share", "share_low", "share_high", "passing", "great", "time_ms", "ceiling_gbps"):
        values = [getattr(one, name) for one in sizes]
        assert min(values) <= getattr(mean, name) <= max(values)
    assert mean.share_low <= mean.share * (1 + 1e-6)
    assert mean.share <= mean.share_high * (1 + 1e-6)
    assert is_impossible(mean) is any(map(is_impossible, sizes))
    again = mean_speed(list(reversed(sizes)))
    assert again.share == pytest.approx(mean.share)


ENDS = st.sampled_from([Outcome.PASS, Outcome.PASS, *Outcome])


@fuzz(150)
@given(st.lists(st.tuples(ENDS, st.booleans(), st.none() | speeds()), min_size=2, max_size=6))
def test_a_step_passes_when_every_size_does_and_never_otherwise(ends):
    """A failure that says nothing of itself, or a size that was skipped, is no pass either."""
    found = [
        Finding(
            f"{number}: so",
            Failure(kind=outcome.value, message="why")
            if said and outcome is not Outcome.PASS
            else None,
            outcome,
            speed,
        )
        for number, (outcome, said, speed) in enumerate(ends)
    ]
    step = together([(f"case {number}", one) for number, one in enumerate(found)])
    outcomes = {outcome for outcome, _, _ in ends}
    if outcomes == {Outcome.PASS}:
        assert step.outcome is Outcome.PASS
        return
    assert step.outcome is not Outcome.PASS
    assert step.outcome in outcomes
    if Outcome.FAIL in outcomes:
        assert step.outcome is Outcome.FAIL
    elif outcomes <= {Outcome.PASS, Outcome.NOISY}:
        assert step.outcome is Outcome.NOISY
    if any(one.speed is None for one in found):
        assert step.speed is None
