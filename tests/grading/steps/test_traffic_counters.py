"""The traffic step by hardware counters: its budget, its verdicts, and when it is skipped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from messages import text_of
from one_step import one_step
from syrupy.assertion import SnapshotAssertion

from grader.course import catalog
from grader.grading.counting import FailedInSimulation
from grader.grading.options import Options
from grader.grading.plan import with_step
from grader.grading.step import Finding
from grader.grading.steps.traffic import counters, limits
from grader.model.arguments import reads, updates, writes
from grader.model.exercise import Spec
from grader.model.outcomes import Outcome
from grader.model.results import MeasuredTraffic
from grader.sandbox.fork_servers import ForkServers
from grader.speed.memory_traffic import Moved
from grader.speed.ncu import NotCounted
from grader.speed.profile import sizes
from grader.speed.scored_case import scored_case

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
ONLINE = catalog.find(ROOT, "04_online_softmax")
ROWS = 16_384
CASE = scored_case(ONLINE.spec, ROWS)
SIZE = ROWS * 65_536 * 4  # bytes of `x`, and of `out`
WHY = "not simulated: assembly"


def grading(spec: Spec = ONLINE.spec, **options: object) -> SimpleNamespace:
    return SimpleNamespace(
        spec=spec,
        options=Options(device="cuda", **options),
        kernel=b"",
        executor=SimpleNamespace(close=lambda: None),
        fork_servers=SimpleNamespace(fork_server=lambda *_: None),
        sizing=SimpleNamespace(rows=ROWS),
    )


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finding]:
    """Runs the step where one call moves so much, in times of an argument."""

    def measure(
        read: float | NotCounted, written: float = 1.0, others: str | None = None, **given: object
    ) -> Finding:
        def moved(*_: object) -> Moved:
            if isinstance(read, NotCounted):
                raise read
            held = {"x": SIZE, "out": SIZE}
            return Moved(CASE, held, 1, round(read * SIZE), round(written * SIZE))

        lock = SimpleNamespace(
            exclusive_gpu=nullcontext, others=lambda: (), describe_others=lambda _: others
        )
        monkeypatch.setattr(counters, "gpu_lock", lock)
        monkeypatch.setattr(counters, "find_ncu", lambda: None)
        monkeypatch.setattr(counters, "moved", moved)
        return counters.traffic(grading(**given), WHY)

    return measure


# -- verdicts


def test_two_passes_of_an_online_softmax_pass(measure, snapshot: SnapshotAssertion):
    found = measure(2.01)
    assert (found.outcome, found.failure, found.traffic) == (Outcome.PASS, None, ())
    scratch = ONLINE.spec.memory_budget(CASE)
    assert found.measured == MeasuredTraffic(
        case=CASE.headline,
        launches=1,
        read_bytes=round(2.01 * SIZE),
        written_bytes=SIZE,
        most_read_bytes=2 * SIZE + scratch,
        most_written_bytes=SIZE + scratch,
    )
    assert found.summary == snapshot


@pytest.mark.parametrize(("read", "written"), [(3, 1), (2, 2)], ids=["read", "written"])
def test_a_pass_too_many_fails(measure, read: float, written: float, snapshot: SnapshotAssertion):
    found = measure(read, written)
    assert found.outcome is Outcome.FAIL
    assert found.failure.kind == "traffic"
    assert found.failure.case == CASE.headline
    assert text_of(found.failure) == snapshot
    assert found.measured.read_bytes == read * SIZE


def test_with_others_on_the_gpu_too_much_is_uncertain_and_little_enough_is_not(measure):
    others = "python (pid 7) uses the GPU"
    assert measure(3, others=others).outcome is Outcome.NOISY
    assert measure(3, others=others).failure.kind == "noisy"
    assert measure(2, others=others).outcome is Outcome.PASS


def test_less_than_must_be_read_earns_nothing(measure, snapshot: SnapshotAssertion):
    found = measure(0.8)
    assert (found.outcome, found.measured) == (Outcome.SKIP, None)
    assert found.summary == snapshot


# -- the budget


def budget(*arguments: object, scratch: int = 0) -> counters.Budget:
    spec = replace(ONLINE.spec, arguments=arguments)
    held = {"x": 100, "y": 10, "out": 50, "few": 1}
    return counters.budget_of(spec, held, scratch)


def test_a_budget_is_the_sum_of_what_each_argument_allows():
    found = budget(reads("x", at_most=2), reads("y"), writes("out", like="x"), scratch=7)
    assert found == counters.Budget(least_read=110, most_read=217, most_written=57)


def test_an_argument_that_is_updated_counts_both_ways():
    found = budget(updates("x", reads_at_most=3))
    assert found == counters.Budget(least_read=100, most_read=300, most_written=100)


def test_an_output_may_be_read_between_two_writes():
    assert budget(reads("x"), writes("out", like="x", at_most=3)).most_read == 100 + 2 * 50


@pytest.mark.parametrize(
    "argument", [reads("x", at_most=None), writes("out", like="y", at_most=None)]
)
def test_without_a_limit_no_sum_can_be_judged(argument):
    with pytest.raises(NotCounted, match=f"lets {argument.name} be moved any number of times"):
        budget(argument, updates("y"))


def test_a_small_argument_needs_no_limit():
    found = budget(updates("x"), reads("few", at_most=None))
    assert found == counters.Budget(least_read=101, most_read=101, most_written=100)


@pytest.mark.parametrize(
    "exercise",
    [e for e in with_step(catalog.parts(ROOT), "speed") if e.spec.scored.bound == "bandwidth"],
    ids=lambda exercise: exercise.name,
)
def test_every_exercise_that_is_held_to_bandwidth_can_be_judged(exercise):
    case = scored_case(exercise.spec, 1 << 28)
    held = sizes(exercise.spec, 1 << 28)
    budget = partial(counters.budget_of, exercise.spec, held, exercise.spec.memory_budget(case))
    unlimited = {
        one.name
        for one in exercise.spec.arguments
        if one.most_writes is None or (one.role != "out" and one.most_reads is None)
    }
    if any(held[name] > counters.SMALL * sum(held.values()) for name in unlimited & held.keys()):
        with pytest.raises(NotCounted, match="any number of times"):
            budget()
        return
    found = budget()
    assert 0 < found.least_read <= found.most_read < 4 * sum(held.values())


# -- skipped


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"read": NotCounted("This machine hides them.")}, "This machine hides them"),
        ({"read": 2, "hardened": True}, "--hardened runs no profiler"),
        ({"read": 2, "spec": replace(ONLINE.spec, scored=None, gates=None)}, "no scored case"),
    ],
    ids=["machine", "hardened", "puzzle"],
)
def test_where_nothing_is_counted_the_step_is_skipped(measure, given: dict, why: str):
    found = measure(**given)
    assert (found.outcome, found.failure, found.measured) == (Outcome.SKIP, None, None)
    assert found.summary == f"{WHY}; no hardware counters: {why}" or why in found.summary


@pytest.mark.parametrize("outcome", [Outcome.SKIP, Outcome.FAIL])
def test_counters_are_read_only_where_the_simulation_was_skipped(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch
):
    first, second = Finding(WHY, outcome=outcome), Finding("by counters")
    monkeypatch.setattr(limits, "counted", lambda _: first)
    monkeypatch.setattr(counters, "traffic", lambda _, why: second if why == WHY else None)
    found = limits.traffic(grading())
    assert found is (second if outcome is Outcome.SKIP else first)


@pytest.mark.parametrize(
    ("passes", "outcome"), [(2, Outcome.SKIP), (3, Outcome.FAIL)], ids=["passes", "fails"]
)
def test_who_fails_in_simulation_alone_can_only_fail_by_counters(
    measure, passes: int, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
):
    """A file can fail there on purpose, and hide its passes from the counters in the L2 cache."""
    by_counters = measure(passes)
    monkeypatch.setattr(limits, "counted", lambda _: FailedInSimulation(WHY, outcome=Outcome.SKIP))
    monkeypatch.setattr(counters, "traffic", lambda *_: by_counters)
    found = limits.traffic(grading())
    assert (found.outcome, found.measured) == (outcome, by_counters.measured)


def test_a_pass_by_counters_earns_the_points(
    measure, monkeypatch: pytest.MonkeyPatch, fork_servers: ForkServers
):
    by_counters = measure(2)
    monkeypatch.setattr(limits, "traffic", lambda _: by_counters)
    step = one_step("traffic", ONLINE, ONLINE.solution, fork_servers)
    assert (step.outcome, step.points, step.traffic) == (Outcome.PASS, 1, ())
    assert step.measured == by_counters.measured


# -- on a GPU

ASSEMBLY = """
        y = tl.inline_asm_elementwise(
            "mov.f32 $0, $1; nanosleep.u32 1;", "=f,f", [y], dtype=tl.float32, is_pure=True, pack=1
        )
"""


def assembled(name: str) -> str:
    """Return a solution with one line of assembly that no simulator executes."""
    lines = catalog.find(ROOT, name).solution.read_text(encoding="utf-8").splitlines()
    return "\n".join(line + ASSEMBLY * line.startswith("        y = ") for line in lines)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "outcome", "passes"),
    [("04_online_softmax", Outcome.PASS, 2), ("03_three_pass_softmax", Outcome.FAIL, 3)],
)
def test_a_line_of_assembly_is_no_way_around_the_count(
    name: str, outcome: Outcome, passes: int, fork_servers: ForkServers, tmp_path: Path
):
    file = tmp_path / "kernel.py"
    file.write_text(assembled(name))
    step = one_step("traffic", ONLINE, file, fork_servers, device="cuda")
    assert step.outcome is outcome, step
    assert (step.points, step.traffic) == (int(outcome is Outcome.PASS), ())
    size = step.measured.most_written_bytes / 1.01  # a hundredth is allowed for scratch
    assert step.measured.read_bytes == pytest.approx(passes * size, rel=0.05)
    assert step.measured.written_bytes == pytest.approx(size, rel=0.05)
