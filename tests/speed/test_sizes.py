"""Several scored cases, and the latency of a small one. Measured figures are made up: no GPU."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader import backends, cli
from grader.authoring import lesson
from grader.authoring.calibrate import calibration
from grader.classroom.attempts import Unusable, _require_possible
from grader.course import catalog
from grader.grading import steps
from grader.grading.step import Finding
from grader.grading.steps.speed import measure as timing
from grader.grading.steps.speed.verdict import hopeless, together
from grader.model.errors import BrokenExercise
from grader.model.outcomes import Limit, Outcome, Status
from grader.model.results import Failure, Resources, Speed, parse_result, result_json
from grader.model.scored import Gates, Scored
from grader.reports.figures import speed_rows
from grader.sandbox.executor import KernelFailure
from grader.speed import reference_kernel
from grader.speed.bound import STEADY
from grader.speed.bounds import bound_of, find_bound, is_impossible
from grader.speed.bounds.bandwidth import BOUND
from grader.speed.bounds.latency import CALLS, explain
from grader.speed.noise import noise_cause
from grader.speed.several_sizes import SEVERAL, mean_gates, mean_speed
from grader.speed.sizing import Gpu, Sizing, fixed_size

COURSE = Path(__file__).parents[1] / "courses" / "sizes"
RMS = catalog.find(COURSE, "01_rms")
SPEC = RMS.spec
LONG, LONGER, SMALL = (
    "65,536 × 4,096 in float32",
    "16,384 × 16,384 in float32",
    "1 × 1,024 in float32",
)
RESULT = parse_result((COURSE.parent / "result.json").read_bytes())


def speed(case: str = LONG, share: float = 0.9, **changes: object) -> Speed:
    return Speed(
        **{
            "case": case,
            "bytes_moved": 2 << 30,
            "time_ms": 0.5 / share,
            "bandwidth_gbps": 4295 * share,
            "ceiling_gbps": 4295.0,
            "rate": 4295 * share,
            "reference_rate": 4295.0,
            "share": share,
            "share_low": share - 0.01,
            "share_high": share + 0.005,
            "passing": 0.7,
            "great": 0.95,
            "goes": 10,
            "calls_per_go": 16,
            "first_call_s": 0.5,
            "latency_case": "1 × 1,024 in float32",
            "latency_us": 18.0,
        }
        | changes
    )


def latency(share: float = 0.625, **changes: object) -> Speed:
    figures = {
        "bound": "latency",
        "bytes_moved": 8192,
        "time_ms": 0.0125 / share,
        "rate": 80e3 * share,
        "reference_rate": 80e3,
        "passing": 0.4,
        "great": 0.9,
    }
    return speed(SMALL, share, **figures | changes)


# -- the mean


SHARES = st.floats(0.01, 4.0)


@given(st.lists(st.tuples(SHARES, st.floats(0, 0.5), st.floats(0, 0.5)), min_size=1, max_size=8))
def test_the_mean_and_its_interval_lie_between_the_extremes(drawn):
    speeds = [
        speed(share=share, share_low=share * (1 - below), share_high=share * (1 + above))
        for share, below, above in drawn
    ]
    mean = mean_speed(speeds)
    assert mean.share_low <= mean.share * (1 + 1e-12)
    assert mean.share <= mean.share_high * (1 + 1e-12)
    for name in ("share", "share_low", "share_high", "time_ms", "rate"):
        values = [getattr(one, name) for one in speeds]
        assert min(values) <= getattr(mean, name) <= max(values)


@given(SHARES, st.integers(1, 6))
def test_the_mean_of_equal_shares_is_their_share(share: float, count: int):
    mean = mean_speed([speed(share=share)] * count)
    assert (mean.share, mean.share_low) == (share, share - 0.01)


def test_one_size_keeps_the_record_that_it_always_had():
    """Older readers know no other."""
    one = speed()
    assert mean_speed([one]) is one
    assert one.sizes == ()


def test_a_small_share_weighs_as_much_as_a_large_one():
    mean = mean_speed([speed(share=0.9), speed(share=0.1)])
    assert mean.share == pytest.approx(0.3)
    assert mean.share == pytest.approx(mean.bandwidth_gbps / mean.ceiling_gbps)


def test_rates_of_bounds_that_differ_have_no_mean():
    mean = mean_speed([speed(), latency()])
    assert (mean.bound, mean.rate, mean.reference_rate) == (SEVERAL, None, None)
    assert [one.bound for one in mean.sizes] == ["bandwidth", "latency"]
    assert mean.share == pytest.approx(math.sqrt(0.9 * 0.625))


# -- the verdict


def passed(one: Speed) -> Finding:
    return Finding(f"{one.case}: fast", speed=one)


def failed(one: Speed, kind: str = "too_slow") -> Finding:
    failure = Failure(kind=kind, message="right, but too slow", hint="Fewer bytes.")
    return Finding(f"{one.case}: slow", failure, Outcome.FAIL, one)


def noisy(one: Speed, kind: str = "noisy") -> Finding:
    failure = Failure(kind=kind, message="the speed is uncertain")
    return Finding(f"{one.case}: who knows", failure, Outcome.NOISY, one)


def test_one_size_is_decided_as_before():
    found = failed(speed())
    assert together([(LONG, found)]) is found


def test_all_sizes_above_their_gates_pass():
    found = together([(LONG, passed(speed())), (SMALL, passed(latency()))])
    assert (found.outcome, found.failure) == (Outcome.PASS, None)
    assert found.summary == "75 % in the geometric mean of 2 sizes"
    assert len(found.speed.sizes) == 2


@pytest.mark.parametrize("place", range(3))
def test_the_size_that_fails_is_named_wherever_it_stands(place: int):
    """A mean above the mean of the gates must not hide it."""
    speeds = [speed(LONG, 0.99), speed(LONGER, 0.99), latency(0.99)]
    found = [
        (one.case, failed(one) if at == place else passed(one)) for at, one in enumerate(speeds)
    ]
    step = together(found)
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "too_slow")
    assert step.failure.case == speeds[place].case
    assert step.speed.share > step.speed.passing


@pytest.mark.parametrize("kind", ["noisy", "too_close"])
def test_one_noisy_size_makes_the_step_noisy(kind: str):
    step = together([(LONG, passed(speed())), (SMALL, noisy(latency(), kind))])
    assert (step.outcome, step.failure.kind, step.failure.case) == (Outcome.NOISY, kind, SMALL)


def test_a_size_that_fails_counts_though_another_is_noisy():
    step = together([(LONG, noisy(speed())), (SMALL, failed(latency()))])
    assert (step.outcome, step.failure.case) == (Outcome.FAIL, SMALL)


def test_a_hopeless_size_fails_and_leaves_no_mean(snapshot: SnapshotAssertion):
    """A mean of the other sizes would look like the kernel's speed."""
    step = together([(LONG, hopeless(0.02, BOUND)), (SMALL, passed(latency()))])
    assert (step.outcome, step.speed, step.failure.case) == (Outcome.FAIL, None, LONG)
    assert step.summary == snapshot


class Sized:
    """A grading on a GPU that is made up; what it measures is too."""

    spec = SPEC

    def __init__(self, monkeypatch: pytest.MonkeyPatch, found: dict[str, Finding | Failure]):
        self.executor = SimpleNamespace(close=lambda: None)
        self.found, self.arenas = found, []
        gpu = SimpleNamespace(exclusive_gpu=lambda: SizedLock(), others=list)
        monkeypatch.setattr(timing, "gpu_lock", gpu)
        monkeypatch.setattr(timing, "CudaArena", self.arena)
        monkeypatch.setattr(timing, "Slots", lambda spec, case, calls, memory: case)
        monkeypatch.setattr(timing, "_measure", self.measure)

    def arena(self, size: int) -> SimpleNamespace:
        self.arenas.append(size)
        return SimpleNamespace(memory=None, close=lambda: None)

    def sizing_of(self, spec) -> Sizing:
        rows = spec.scored.rows
        return Sizing(rows, CALLS) if rows else Sizing(2**28 // spec.scored.columns, 16)

    def measure(self, grading, case, arena, sizing, others) -> Finding:
        found = self.found[case.headline]
        if isinstance(found, Failure):
            raise KernelFailure(found)
        return found


class SizedLock:
    def __enter__(self) -> None: ...
    def __exit__(self, *problem: object) -> None: ...


def test_every_scored_case_is_measured_in_one_arena(monkeypatch: pytest.MonkeyPatch):
    found = {LONG: passed(speed()), LONGER: failed(speed(LONGER, 0.2)), SMALL: passed(latency())}
    grading = Sized(monkeypatch, found)
    step = timing.measure(grading)
    assert [one.case for one in step.speed.sizes] == [LONG, LONGER, SMALL]
    assert step.failure.case == LONGER
    assert len(grading.arenas) == 1
    assert grading.arenas[0] > 16 * 2 * 2**30


def test_a_kernel_that_breaks_at_one_size_is_told_at_which(monkeypatch: pytest.MonkeyPatch):
    broken = Failure(kind="wrong_at_scale", message="the kernel is wrong on large cases")
    with pytest.raises(KernelFailure) as caught:
        timing.measure(Sized(monkeypatch, {LONG: passed(speed()), LONGER: broken}))
    assert caught.value.failure.case == LONGER


# -- latency


def of_bound(**changes: object):
    return replace(SPEC, scored=replace(SPEC.also_scored[1], **changes), also_scored=())


@pytest.mark.parametrize(
    "spec",
    [of_bound(rows=None), of_bound(rows=1025)],
    ids=["no rows", "too large"],
)
def test_a_latency_needs_a_small_case(spec, snapshot: SnapshotAssertion):
    with pytest.raises(BrokenExercise) as caught:
        bound_of(spec)
    assert text_of(caught.value) == snapshot


def test_a_mistake_in_a_further_case_is_found_when_the_steps_are_worked_out():
    broken = replace(SPEC, also_scored=(Scored(dtype="float32", columns=8, bound="latency"),))
    with pytest.raises(BrokenExercise, match="needs `rows`"):
        steps.every()["speed"].applies(broken)


@pytest.mark.parametrize("backend", backends.names())
def test_the_latency_is_of_the_specs_own_backend(monkeypatch: pytest.MonkeyPatch, backend: str):
    """A launch takes longer in one language than in another."""
    made = []
    monkeypatch.setattr(reference_kernel, "ReferenceKernel", lambda *given: made.append(given))
    servers = SimpleNamespace(fork_server=lambda *names, reference: (names, reference))
    slots = SimpleNamespace(spec=replace(SPEC, backend=backend), calls=CALLS)
    size = (1 << 20) + 24  # no multiple of what it holds
    arena = SimpleNamespace(memory=SimpleNamespace(numel=lambda: size))
    find_bound("latency").reference(slots, servers, arena)
    [(timed, file, server, _)] = made
    trial = backends.find(backend).trial
    assert server == ((backend, "cuda"), True)
    assert file == (backends.folder(backend) / trial.file).read_bytes()
    assert (timed.entry.name, len(timed.calls), timed.work) == (trial.entry, CALLS, 1.0)
    places = sorted(ref.offset for ref in timed.spare)
    assert places[0] >= size - (1 << 20) // 16
    assert all(b - a >= 4096 for a, b in zip(places, [*places[1:], size], strict=True))


def test_a_small_case_has_more_calls_in_a_batch():
    gpu = Gpu(bandwidth=4e12, l2=50 << 20, free=1 << 36)
    assert fixed_size(gpu, 8192, 1, find_bound("latency").calls) == Sizing(1, CALLS)
    assert fixed_size(gpu, 8192, 1).calls == 16


@pytest.mark.parametrize(
    ("bound", "beside", "too_far"),
    [
        # The best batches on a quiet core, and the clock of an H200 at its power limit.
        ("latency", [100.0, 93.0, 100.0], [100.0, 88.0, 100.0]),
        ("reference", [100.0, 93.0, 100.0], [100.0, 88.0, 100.0]),
    ],
)
def test_some_rates_may_vary_more_than_a_bandwidth(
    bound: str, beside: list[float], too_far: list[float], monkeypatch: pytest.MonkeyPatch
):
    def cause(rates: list[float], steady: float = STEADY) -> str | None:
        samples = SimpleNamespace(ceilings=rates, readings=[], evidence=None)
        return noise_cause(samples, 100.0, 100.0, [], steady)

    monkeypatch.setattr("grader.speed.noise._clock_in_doubt", lambda samples, leeway: False)
    allowed = find_bound(bound).steady
    assert cause(beside) is not None
    assert cause(beside, allowed) is None
    assert cause(too_far, allowed) is not None


KERNEL = Resources(
    kernel="k", registers=30, spills=0, shared_bytes=0, threads=256, launches=1, occupancy=1.0
)


@pytest.mark.parametrize(
    ("share", "launches", "limit"),
    [(0.95, 1, Limit.NONE), (0.1, 10, Limit.LAUNCHES), (0.3, 1, Limit.HOST)],
)
def test_a_latency_says_what_a_learner_can_do(
    monkeypatch: pytest.MonkeyPatch, share: float, launches: int, limit: Limit, snapshot
):
    kernels = (KERNEL.model_copy(update={"launches": launches}),)
    monkeypatch.setattr(
        "grader.speed.explanation.with_explanation",
        lambda speed, *_: speed.model_copy(update={"resources": kernels}),
    )
    found = explain(latency(share))
    assert found.limit is limit
    assert found.explanation == snapshot


# -- specs


@pytest.mark.parametrize(
    "changes",
    [
        {"scored": None, "gates": None},
        {"also_scored": (SPEC.scored,)},
        {"also_scored": (replace(SPEC.scored, gates=Gates(passing=0.1, great=0.2)),)},
        {"also_scored": (Scored(dtype="float32", gates=Gates(passing=0.9, great=0.8)),)},
        {"also_scored": (Scored(dtype="float32", gates=Gates(passing=0, great=0.8)),)},
    ],
    ids=["no first", "twice", "twice with other gates", "gates the wrong way", "no gate"],
)
def test_a_spec_with_such_cases_is_refused_in_one_sentence(changes, snapshot: SnapshotAssertion):
    with pytest.raises(ValueError, match=r".") as caught:
        replace(SPEC, **changes)
    assert str(caught.value) == snapshot


def test_a_case_has_the_specs_gates_unless_it_has_its_own():
    gates = [one.timed[1].passing for one in SPEC.scored_specs]
    assert gates == [0.7, 0.7, 0.4]
    own = replace(SPEC, scored=replace(SPEC.scored, gates=Gates(passing=0.2, great=0.3)))
    assert own.timed[1].passing == 0.2
    assert [one.also_scored for one in SPEC.scored_specs] == [(), (), ()]


def test_a_dtype_that_the_backend_lacks_is_found_in_a_further_case(tmp_path: Path):
    from grader.course.backend_fit import misfit

    numba = replace(SPEC, backend="numba", also_scored=(Scored(dtype="bfloat16", columns=64),))
    assert "bfloat16" in (misfit(numba) or "")


# -- records and reports


MEAN = mean_speed(
    [
        speed(LONG, 0.9),
        speed(LONGER, 0.5, explanation=("The kernel moves the least bytes: look at its blocks.",)),
        latency(),
    ]
)


def test_a_record_survives_with_its_sizes():
    steps_ = [
        step.model_copy(update={"speed": MEAN}) if step.name == "speed" else step
        for step in RESULT.steps
    ]
    result = RESULT.model_copy(update={"steps": tuple(steps_)})
    assert parse_result(result_json(result)) == result
    old = json.loads(result_json(result))
    for step in old["steps"]:
        if step["speed"]:
            del step["speed"]["sizes"]
    found = parse_result(json.dumps(old))
    assert all(step.speed is None or step.speed.sizes == () for step in found.steps)


def test_a_report_has_a_line_for_each_size(snapshot: SnapshotAssertion):
    text = speed_rows(MEAN, 100)
    assert text.plain == snapshot
    red = [text.plain[span.start : span.end] for span in text.spans if span.style == "red"]
    assert [LONGER in line for line in red] == [True]


def test_a_lesson_and_the_contract_name_each_size(snapshot: SnapshotAssertion):
    assert steps.every()["speed"].asks(SPEC) == snapshot
    assert lesson.skeleton(RMS, SPEC).count("| pass |") == 3


def test_list_and_show_know_the_exercise(monkeypatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(COURSE)
    assert cli.main(["list"]) == 0
    assert cli.main(["show", "01_rms"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "one row of 1,024: 40 % of the rate of single launches passes" in shown


def test_a_share_above_the_ceiling_is_impossible_in_any_size():
    """A latency above 1 is not, and must not be lost in the mean or make it impossible."""
    assert not is_impossible(mean_speed([speed(share=0.9), latency(1.4)]))
    assert is_impossible(mean_speed([speed(share=1.2), latency(0.3)]))


def test_a_mean_that_no_sizes_have_is_no_attempt():
    def with_speed(found: Speed):
        return RESULT.model_copy(
            update={"steps": (RESULT.steps[-1].model_copy(update={"speed": found}),)}
        )

    _require_possible(with_speed(MEAN))
    with pytest.raises(Unusable, match="no mean"):
        _require_possible(with_speed(MEAN.model_copy(update={"share": 0.99, "share_high": 1.0})))


def test_gates_are_proposed_for_each_size():
    """A kernel that must be too slow counts for the size at which it is slow."""

    def run(*shares: float):
        cases = zip((LONG, LONGER), shares, strict=True)
        found = mean_speed([*(speed(case, share) for case, share in cases), latency(0.8)])
        last = RESULT.steps[-1].model_copy(
            update={"name": "speed", "outcome": Outcome.PASS, "failure": None, "speed": found}
        )
        return RESULT.model_copy(update={"status": Status.PASS, "steps": (last,), "message": ""})

    runs = {"kernel": [run(0.9, 0.8)] * 3, "wrong_slow": [run(0.9, 0.3)] * 3}
    found = [calibration(RMS, runs, place) for place in range(3)]
    assert [one.case for one in found] == [LONG, LONGER, SMALL]
    assert [one.passing for one in found] == [0.7, 0.7, 0.4]
    assert [one.proposed.passing for one in found] == [0.76, 0.68, 0.68]


def test_a_board_shows_the_means_of_the_gates():
    gates = mean_gates(SPEC)
    assert gates.passing == pytest.approx((0.7 * 0.7 * 0.4) ** (1 / 3))
    assert mean_gates(SPEC.scored_specs[0]) == SPEC.gates
