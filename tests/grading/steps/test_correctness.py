"""The built-in steps: what they try, how small a failure gets, and what a step earns."""

from __future__ import annotations

import errno
import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from messages import text_of
from specs import with_spec
from syrupy.assertion import SnapshotAssertion
from torch import Tensor

from grader.course import catalog, stubs
from grader.course.exercise import Exercise
from grader.grading import recording, steps
from grader.grading.options import Options
from grader.grading.recording import run
from grader.grading.result import result_of
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.correctness import explained as explained_step
from grader.grading.steps.correctness.compare import correctness
from grader.grading.steps.speed import speed
from grader.grading.trials import with_last_run
from grader.grading.workers import Bench
from grader.model.arguments import Inputs
from grader.model.cases import Case, Draw
from grader.model.device_report import Origin
from grader.model.errors import BrokenExercise, CannotGrade
from grader.model.exercise import Spec
from grader.model.messages import TensorRef
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure
from grader.model.specialisations import Specialisation
from grader.model.verdict import exit_code
from grader.sandbox.arena import HostArena, view
from grader.sandbox.executor import Call, KernelFailure, NotSimulated
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.remote_kernel import RemoteKernel

pytestmark = pytest.mark.slow

STEPS = steps.every()
ROOT = Path(__file__).parents[3]
SOFTMAX = catalog.find(ROOT, "04_online_softmax")
DOUBLE = catalog.find(Path(__file__).parents[2] / "courses" / "small", "01_double")

Values = Mapping[str, Tensor]
Kernel = Callable[[Values], None]


class Here:
    """An executor that calls `kernel` in this process, and counts."""

    def __init__(self, spec: Spec, kernel: Kernel, memory: Tensor) -> None:
        self._names = [argument.name for argument in spec.arguments]
        self._kernel, self._memory = kernel, memory
        self.shapes: list[tuple[int, ...]] = []

    def load(self) -> None: ...

    def call(self, calls: Sequence[Call], *, other_order: bool = False) -> None:
        for call in calls:
            refs = [value for value in call if isinstance(value, TensorRef)]
            self.shapes.append(refs[0].shape)
            self._kernel(dict(zip(self._names, (view(self._memory, r) for r in refs), strict=True)))

    def watch(self, call: Call) -> None:
        self.call([call])
        self.shapes.pop()  # of a case that was tried before

    def sightings(self) -> None:
        """No device is there to see anything."""

    def without_kernels(self, call: Call) -> bool:
        """What `kernel` does is taken for the work of kernels."""
        return True

    def count(self, call: Call) -> Mapping[str, int]:
        """Nothing here counts."""
        return {}

    def kernels(self) -> Sequence[Specialisation]:
        """Nothing here is compiled."""
        return ()

    def origins(self) -> tuple[Origin, ...]:
        return ()

    def close(self) -> str:
        return ""


@pytest.fixture
def grade(tmp_path: Path):
    """Makes a grading whose kernel is a function in this process."""
    made: list[Grading] = []

    def make(kernel: Kernel, spec: Spec | None = None, **options: object) -> Grading:
        file = tmp_path / "kernel.py"
        file.write_text("# the work is done by the executor\n")
        chosen = Options(**{"seed": 1} | options)
        exercise = with_spec(SOFTMAX, spec or short(SOFTMAX.spec))
        grading = Grading(exercise, file, chosen, ForkServers())
        arena = HostArena(1 << 24)
        here = Here(grading.spec, kernel, arena.memory)
        grading.workers.benches["cpu"] = Bench(arena, here, RemoteKernel(grading.spec, here, arena))
        made.append(grading)
        return grading

    yield make
    for grading in made:
        grading.close()


def short(spec: Spec, *edges: Case) -> Spec:
    return replace(spec, edges=edges or (Case((1, 1), "float32"), Case((3, 1500), "float16")))


def softmax(values: Values) -> None:
    values["out"].copy_(values["x"].float().softmax(-1))


def first_1024_columns(values: Values) -> None:
    values["out"][:, :1024] = values["x"].float().softmax(-1)[:, :1024].to(values["x"].dtype)


def on(condition: Callable[[Tensor], bool], wrong: Kernel) -> Kernel:
    """A softmax that does `wrong` where the condition holds."""

    def kernel(values: Values) -> None:
        (wrong if condition(values["x"]) else softmax)(values)

    return kernel


def halved(values: Values) -> None:
    values["out"].copy_(values["x"].float().softmax(-1) / 2)


# -- what is tried


def test_every_edge_and_twenty_drawn_cases_are_tried(grade, snapshot: SnapshotAssertion):
    grading = grade(softmax)
    found = correctness(grading)
    assert found.outcome is Outcome.PASS
    assert found.summary == snapshot
    shapes = grading.executor.shapes
    assert shapes[:2] == [(1, 1), (3, 1500)]
    assert len(shapes) >= 2 + 20


def test_the_seed_decides_what_is_drawn(grade):
    def shapes(seed: int) -> list[tuple[int, ...]]:
        grading = grade(softmax, short(SOFTMAX.spec, Case((1, 1), "float32")), seed=seed)
        correctness(grading)
        return grading.executor.shapes

    assert shapes(1) == shapes(1)
    assert shapes(1) != shapes(2)


def test_the_seed_decides_the_values_of_the_edges(grade):
    def first_value(seed: int) -> float:
        seen: list[float] = []

        def kernel(values: Values) -> None:
            seen.append(values["x"].flatten()[-1].item())
            softmax(values)

        correctness(grade(kernel, seed=seed))
        return seen[1]

    assert first_value(1) == first_value(1)
    assert first_value(1) != first_value(2)


# -- the smallest failing case


def test_a_failing_edge_is_made_smaller(grade, snapshot: SnapshotAssertion):
    found = correctness(grade(first_1024_columns))
    assert found.outcome is Outcome.FAIL
    assert found.failure.case == "1 × 1,025 in float32 (counting)"
    assert found.failure.kind == "never_written"
    assert text_of(found.failure) == snapshot
    assert found.failure.where == "column 1024 of row 0 (1 of 1,025 elements)"
    assert found.failure.got == "what was there before the call"
    assert "--case '1x1025,float32" in found.failure.replay


def test_a_failing_drawn_case_is_made_smaller(grade):
    spec = short(SOFTMAX.spec, Case((1, 1), "float32"))
    found = correctness(grade(first_1024_columns, spec))
    assert found.failure.case == "1 × 1,025 in float32 (counting)"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_fails_in_one_dtype_only_is_shown_in_that_dtype(grade, dtype: str):
    kernel = on(lambda x: str(x.dtype) == f"torch.{dtype}", first_1024_columns)
    spec = short(SOFTMAX.spec, Case((2, 3), dtype), Case((3, 1500), dtype))
    assert correctness(grade(kernel, spec)).failure.case == f"1 × 1,025 in {dtype} (counting)"


def test_what_needs_several_rows_keeps_them(grade):
    kernel = on(lambda x: len(x) > 2, halved)
    spec = short(SOFTMAX.spec, Case((1, 1), "float32"), Case((7, 300), "bfloat16", pad=3))
    found = correctness(grade(kernel, spec))
    assert found.failure.case == "3 × 1 in float32 (counting)"
    assert (found.failure.kind, found.failure.expected) == ("value", "1 ± 6e-07")
    assert (found.failure.got, found.failure.where) == ("0.5", "every element (3 of 3 elements)")


def test_a_smaller_case_that_fails_otherwise_is_not_shown(grade):
    """Shrinking must not slip from the failure that was found to another one."""

    def kernel(values: Values) -> None:
        x = values["x"]
        if x.shape[1] > 1000:
            values["out"].fill_(torch.nan)
        elif x.shape[1] > 500:
            halved(values)
        else:
            softmax(values)

    found = correctness(grade(kernel))
    assert (found.failure.kind, found.failure.case) == (
        "not_finite",
        "1 × 1,001 in float32 (counting)",
    )


@pytest.mark.parametrize(
    ("fails", "drawn", "plainest", "values"),
    [
        (lambda x: True, "rows", "counting", (1.0, 2.0, 3.0, 4.0)),
        (lambda x: bool((x < 0).any()), "sunken", "signs", (1.0, -2.0, 3.0, -4.0)),
        (lambda x: bool((x > 100).any()), "spikes", "hundreds", (200.0, 400.0, 600.0, 800.0)),
        (lambda x: bool((x < -100).all()), "sunken", "depths", (-200.0, -400.0, -600.0, -800.0)),
    ],
    ids=["any", "negative", "large", "deep"],
)
def test_the_plainest_numbers_that_fail_are_shown(
    grade,
    fails: Callable[[Tensor], bool],
    drawn: str,
    plainest: str,
    values: tuple[float, ...],
):
    """Also of the first edge, whose shape stays: it is as small as cases get."""
    spec = short(SOFTMAX.spec, Case((2, 2), "float32", draw=drawn, pad=1, offset=1))
    failure = correctness(grade(on(fails, halved), spec)).failure
    assert failure.case == f"2 × 2 in float32 ({plainest})"
    assert failure.numbers.inputs[0].values == values


def test_numbers_stay_as_they_were_drawn_where_no_plainer_ones_fail(grade):
    spec = short(SOFTMAX.spec, Case((2, 2), "float32", draw="sunken"))
    found = correctness(grade(on(lambda x: bool((x < -3000).all()), halved), spec))
    assert found.failure.case == "2 × 2 in float32 (sunken)"


def test_a_spec_that_cannot_draw_plain_numbers_is_not_broken_by_a_wrong_kernel(grade):
    def inputs(case: Case, draw: Draw) -> Inputs:
        assert case.draw in SOFTMAX.spec.draws
        return SOFTMAX.spec.inputs(case, draw)

    spec = replace(short(SOFTMAX.spec), inputs=inputs)
    found = correctness(grade(first_1024_columns, spec))
    assert (found.outcome, found.failure.kind) == (Outcome.FAIL, "never_written")


def test_the_numbers_of_a_failure_are_those_of_the_call_that_failed(grade):
    """A kernel that is wrong in another way each time."""
    calls = itertools.count(2)

    def kernel(values: Values) -> None:
        values["out"].fill_(next(calls))

    failure = correctness(grade(kernel)).failure
    (out,) = failure.numbers.outputs
    assert {str(int(value)) for value in out.values} == {failure.got}


def test_a_property_has_the_numbers_of_the_last_call(grade):
    grading = grade(halved)
    inputs = grading.remote.inputs(Case((1, 2), "float32", draw="counting"))
    inputs["x"].fill_(3.0)
    grading.remote.run(inputs)
    inputs["x"].zero_()  # as a test may do after the call
    failure = with_last_run(Failure(kind="property", message="it does not hold"), grading)
    (x,), (out,) = failure.numbers.inputs, failure.numbers.outputs
    assert (x.values, out.values, out.expected) == ((3.0, 3.0), (0.25, 0.25), (0.5, 0.5))


def test_a_property_has_no_numbers_where_the_reference_has_none(grade):
    def reference(inputs: Inputs) -> Mapping[str, Tensor]:
        assert (inputs["x"] > 0).all()
        return SOFTMAX.spec.reference(inputs)

    grading = grade(halved, replace(short(SOFTMAX.spec), reference=reference))
    inputs = grading.remote.inputs(Case((1, 2), "float32", draw="depths"))
    grading.remote.run(inputs)
    failure = Failure(kind="property", message="it does not hold")
    assert with_last_run(failure, grading) == failure


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_explained_by_what_it_is(
    grade, wrong: float, snapshot: SnapshotAssertion
):
    found = correctness(grade(lambda values: values["out"].fill_(wrong)))
    assert (found.failure.kind, found.failure.got) == ("not_finite", str(wrong))
    assert text_of(found.failure) == snapshot


def test_a_number_where_none_belongs_is_not_explained(grade):
    """The hints are about what the kernel wrote."""
    spec = replace(
        short(SOFTMAX.spec),
        reference=lambda inputs: {"out": inputs["x"].double() / 0},
        mistakes=(),  # of which one describes the right output
    )
    found = correctness(grade(softmax, spec))
    assert (found.failure.kind, found.failure.hint) == ("not_finite", None)


def test_a_fault_in_the_search_for_a_cause_leaves_the_failure(grade, monkeypatch):
    monkeypatch.setattr(Here, "watch", lambda self, call: 1 / 0)
    grading = grade(first_1024_columns)
    found = correctness(grading)
    assert (found.outcome, found.failure.kind) == (Outcome.FAIL, "never_written")
    assert "ZeroDivisionError" in grading.tracebacks[0]


def test_shrinking_ends_in_time_with_the_smallest_so_far(grade, monkeypatch):
    # A clock by which each look costs a second, of which there are ten.
    monkeypatch.setattr(
        explained_step, "time", SimpleNamespace(monotonic=itertools.count().__next__)
    )
    grading = grade(first_1024_columns)
    found = correctness(grading)
    for_its_cause = 1  # the failing case once more
    assert len(grading.executor.shapes) <= 2 + explained_step.SHRINK_S + for_its_cause
    assert (found.outcome, found.failure.kind) == (Outcome.FAIL, "never_written")
    case = Case.parse(found.failure.replay.split("--case '")[1].split("'")[0])
    assert case.shape in grading.executor.shapes
    assert 1024 < case.shape[1] <= 1500


def test_without_shrinking_the_first_failing_case_is_shown_as_it_is(grade):
    found = correctness(grade(first_1024_columns, shrink=False))
    assert found.failure.case == "3 × 1,500 in float16"


@pytest.mark.parametrize("kind", ["timeout", "not_started", "exit"])
def test_what_costs_a_time_limit_is_not_made_smaller(grade, kind: str):
    def kernel(values: Values) -> None:
        raise KernelFailure(Failure(kind=kind, message="it did"))

    spec = short(SOFTMAX.spec, Case((1, 2), "float32"), Case((1, 3), "float32"))
    grading = grade(on(lambda x: x.shape[1] > 2, kernel), spec)
    found = correctness(grading)
    assert (found.failure.kind, found.failure.case) == (kind, "1 × 3 in float32")
    assert len(grading.executor.shapes) == 2
    expected = Outcome.NOT_STARTED if kind == "not_started" else Outcome.FAIL
    assert found.outcome is expected


# -- kernels that fail only sometimes


def every(period: int, calls: list[int]) -> Kernel:
    def kernel(values: Values) -> None:
        calls.append(1)
        (halved if len(calls) % period == 0 else softmax)(values)

    return kernel


def test_a_failure_that_is_seen_once_is_not_lost_on_an_edge(grade):
    calls: list[int] = []

    def once(values: Values) -> None:
        calls.append(1)
        (halved if len(calls) == 2 else softmax)(values)

    found = correctness(grade(once))
    assert found.outcome is Outcome.FAIL
    assert found.failure.case == "3 × 1,500 in float16"


@pytest.mark.parametrize("period", [2, 3, 7, 11])
def test_a_kernel_that_fails_now_and_then_fails_the_step(grade, period: int):
    found = correctness(grade(every(period, [])))
    assert found.outcome is Outcome.FAIL
    assert found.failure.kind == "value"
    assert found.failure.case


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_an_edge_that_fails_by_chance_fails_the_step(grade, seed: int):
    chance, calls = random.Random(seed), []

    def kernel(values: Values) -> None:
        calls.append(1)
        (halved if len(calls) == 2 or chance.random() < 0.3 else softmax)(values)

    spec = short(SOFTMAX.spec, Case((1, 1), "float32"), Case((3, 150), "float16"))
    found = correctness(grade(kernel, spec))
    assert (found.outcome, found.failure.kind) == (Outcome.FAIL, "value")


def test_a_failure_that_is_seen_once_is_not_lost_among_drawn_cases(grade):
    calls: list[int] = []

    def once(values: Values) -> None:
        calls.append(1)
        (halved if len(calls) == 12 else softmax)(values)

    found = correctness(grade(once))
    assert found.outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (CannotGrade("A process was killed.", ""), Outcome.CANNOT_GRADE),
        (NotSimulated("a call of its own"), Outcome.CANNOT_GRADE),
        (BrokenExercise("The reference failed.", ""), Outcome.ERROR),
        (MemoryError(), Outcome.ERROR),  # of the executor, which no spec asks for memory
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.name,
)
def test_what_is_raised_once_among_drawn_cases_is_no_pass(
    grade, error: Exception, outcome: Outcome
):
    """Hypothesis called again, took it for chance, and no case had failed: a wrong kernel that
    raised an exception of that name once had all points."""
    drawn: list[int] = []

    def kernel(values: Values) -> None:
        softmax(values)
        if tuple(values["x"].shape) in edges:
            return
        drawn.append(1)
        if len(drawn) == 12:
            raise error

    edges = {case.shape for case in short(SOFTMAX.spec).edges}
    grading = grade(kernel)
    run(grading, STEPS["load"])
    assert run(grading, STEPS["correctness"]).outcome is outcome


def test_what_is_raised_after_a_failure_does_not_take_it_back(grade):
    calls: list[int] = []

    def kernel(values: Values) -> None:
        calls.append(1)
        if len(calls) > 12:
            raise CannotGrade("A process was killed.", "")
        (halved if len(calls) == 12 else softmax)(values)

    assert correctness(grade(kernel)).outcome is Outcome.FAIL


# -- one case


def test_a_single_case_is_tried_alone_and_earns_nothing(grade, snapshot: SnapshotAssertion):
    case = Case((2, 5), "float16", seed=3)
    grading = grade(softmax, case=case)
    ran = [run(grading, STEPS["load"]), run(grading, STEPS["correctness"])]
    assert [step.outcome for step in ran] == [Outcome.PASS, Outcome.PASS]
    assert [step.points for step in ran] == [0, 0]
    assert ran[1].max_points == 3
    assert grading.executor.shapes == [(2, 5)]
    assert text_of(result_of(grading)) == snapshot


def test_a_single_failing_case_is_reported_as_it_is(grade):
    found = correctness(grade(halved, case=Case((2, 5), "float16", seed=3)))
    assert found.failure.case == "2 × 5 in float16"
    assert "--case '2x5,float16,seed=3'" in found.failure.replay


def test_a_replayed_case_has_the_values_that_failed(grade):
    seen: list[Tensor] = []

    def kernel(values: Values) -> None:
        seen.append(values["x"].clone())
        first_1024_columns(values)

    found = correctness(grade(kernel))
    case = Case.parse(found.failure.replay.split("--case '")[1].split("'")[0])
    tried = list(seen)
    correctness(grade(kernel, case=case))
    assert any(x.shape == seen[-1].shape and torch.equal(x, seen[-1]) for x in tried)


# -- points and order


def test_steps_earn_their_points_when_they_pass(grade):
    grading = grade(softmax)
    assert run(grading, STEPS["load"]).points == 0
    assert run(grading, STEPS["correctness"]).points == 3


def test_a_failed_step_earns_nothing_and_stops_the_rest(grade, snapshot: SnapshotAssertion):
    grading = grade(halved)
    run(grading, STEPS["load"])
    assert run(grading, STEPS["correctness"]).points == 0
    after = run(grading, STEPS["speed"])
    assert after.outcome is Outcome.NOT_RUN
    assert after.summary == snapshot
    assert result_of(grading).status is Status.FAIL


def test_nothing_runs_before_the_file_is_loaded(grade, snapshot: SnapshotAssertion):
    step = run(grade(softmax), STEPS["correctness"])
    assert step.outcome is Outcome.NOT_RUN
    assert step.summary == snapshot


def test_an_empty_file_is_named(grade):
    grading = grade(softmax)
    grading.kernel = b" \n"
    step = run(grading, STEPS["load"])
    assert (step.outcome, step.failure.kind) == (Outcome.FAIL, "empty")
    assert step.failure.hint == stubs.recovery(grading.exercise, grading.kernel_path)


def test_a_broken_reference_is_the_exercise_s_fault(grade, snapshot: SnapshotAssertion):
    def broken(inputs: Inputs) -> Mapping[str, Tensor]:
        raise ZeroDivisionError("division by zero")

    grading = grade(softmax, replace(short(SOFTMAX.spec), reference=broken))
    run(grading, STEPS["load"])
    step = run(grading, STEPS["correctness"])
    assert (step.outcome, step.points) == (Outcome.ERROR, 0)
    assert str(grading.remote.last_case) in step.failure.message
    assert text_of(step.failure) == snapshot


def test_inputs_that_cannot_be_drawn_are_the_exercise_s_fault(grade, snapshot: SnapshotAssertion):
    def broken(case: Case, draw: Draw) -> Inputs:
        return {"x": draw.tensor(case.shape, dtype="complex")}

    grading = grade(softmax, replace(short(SOFTMAX.spec), inputs=broken))
    run(grading, STEPS["load"])
    step = run(grading, STEPS["correctness"])
    assert step.outcome is Outcome.ERROR
    assert text_of(step.failure) == snapshot


# -- a GPU that disappears


def test_a_gpu_that_disappears_stops_the_check_and_keeps_the_steps_before(
    grade, snapshot: SnapshotAssertion
):
    """The judge's own torch hears of it first: its process runs no kernel of a learner's."""

    def asks_the_gpu(grading: Grading) -> Finding:
        raise RuntimeError("CUDA error: unspecified launch failure\nCompile with TORCH_USE_CUDA")

    grading = grade(softmax)
    run(grading, STEPS["load"])
    run(grading, STEPS["correctness"])
    step = run(grading, replace(STEPS["properties"], run=asks_the_gpu))
    assert (step.outcome, step.points) == (Outcome.CANNOT_GRADE, 0)
    assert text_of(step.failure) == snapshot
    result = result_of(grading)
    assert result.status is Status.CANNOT_GRADE
    assert exit_code([result]) == 3
    assert result.points == 3


def test_a_gpu_without_memory_for_the_judge_has_not_stopped_answering(
    grade, snapshot: SnapshotAssertion
):
    def takes_much(grading: Grading) -> Finding:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    grading = grade(softmax)
    run(grading, STEPS["load"])
    step = run(grading, replace(STEPS["correctness"], run=takes_much))
    assert step.outcome is Outcome.CANNOT_GRADE
    assert text_of(step.failure) == snapshot


NO_SPACE = Failure(kind="exception", message="OSError: [Errno 28] No space left on device")


@pytest.mark.parametrize(
    ("error", "free", "outcome"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 1 << 30, Outcome.CANNOT_GRADE),
        (OSError(errno.EIO, "Input/output error"), 0, Outcome.ERROR),
        (KernelFailure(NO_SPACE), 1000, Outcome.CANNOT_GRADE),
        (KernelFailure(NO_SPACE), 1 << 30, Outcome.FAIL),  # a file may say it without a reason
    ],
    ids=["the judge's", "another error", "the worker's", "the worker's alone"],
)
def test_a_full_disk_is_not_the_kernels_fault(
    grade, monkeypatch: pytest.MonkeyPatch, error: Exception, free: int, outcome: Outcome
):
    """Triton's cache could not be written, and a right kernel was said to fail."""

    def writes(grading: Grading) -> Finding:
        raise error

    there = SimpleNamespace(f_bavail=free, f_frsize=1, f_files=1000, f_favail=900)
    monkeypatch.setattr(recording, "os", SimpleNamespace(statvfs=lambda path: there))
    grading = grade(softmax)
    run(grading, STEPS["load"])
    step = run(grading, replace(STEPS["correctness"], run=writes))
    assert step.outcome is outcome


def test_a_full_disk_reads_like_this(grade, monkeypatch, snapshot: SnapshotAssertion):
    def writes(grading: Grading) -> Finding:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recording.tempfile, "gettempdir", lambda: "/tmp")
    grading = grade(softmax)
    run(grading, STEPS["load"])
    assert text_of(run(grading, replace(STEPS["correctness"], run=writes)).failure) == snapshot


def test_an_error_of_ours_is_not_put_down_to_the_gpu(grade, snapshot: SnapshotAssertion):
    def broken(grading: Grading) -> Finding:
        raise RuntimeError("a fault of the grader's own")

    grading = grade(softmax)
    run(grading, STEPS["load"])
    step = run(grading, replace(STEPS["correctness"], run=broken))
    assert step.outcome is Outcome.ERROR
    assert text_of(step.failure) == snapshot


# -- speed without a GPU


def test_speed_is_skipped_without_a_gpu(grade, snapshot: SnapshotAssertion):
    found = speed(grade(softmax))
    assert found.outcome is Outcome.SKIP
    assert found.summary == snapshot


def test_speed_that_is_required_cannot_be_graded_without_a_gpu(grade):
    assert speed(grade(softmax, require_speed=True)).outcome is Outcome.CANNOT_GRADE


def test_speed_that_is_left_out_needs_no_gpu(grade):
    step = run(grade(softmax, leave_out=("speed",), require_speed=True), STEPS["speed"])
    assert step.outcome is Outcome.SKIP


def test_a_check_that_leaves_out_a_step_which_counts_passes_nothing(grade):
    """Only a step that may be skipped, such as speed, does not cost the pass."""
    grading = grade(softmax, leave_out=("memory", "speed"))
    for step in grading.order:
        run(grading, step)
    outcomes = {step.name: step.outcome for step in grading.steps.values()}
    assert outcomes["memory"] is Outcome.SKIP
    assert result_of(grading).status is not Status.PASS


# -- and once with everything real


def test_a_real_worker_is_graded_like_this(tmp_path: Path, snapshot: SnapshotAssertion):
    right = DOUBLE.solution.read_text()
    first_block_only = tmp_path / "first_block.py"
    every_block = "(triton.cdiv(x.numel(), 128),)"
    assert every_block in right
    first_block_only.write_text(right.replace(every_block, "(1,)"))
    fork_servers = ForkServers()
    try:
        assert graded(DOUBLE, DOUBLE.solution, fork_servers).outcome is Outcome.PASS
        step = graded(DOUBLE, first_block_only, fork_servers)
        assert step.outcome is Outcome.FAIL
        assert step.failure.case == "129 elements of float32 (counting)"
        assert text_of(step.failure, tmp_path) == snapshot
    finally:
        fork_servers.close()


def graded(exercise: Exercise, kernel: Path, fork_servers: ForkServers) -> object:
    grading = Grading(exercise, kernel, Options(seed=1), fork_servers)
    try:
        run(grading, STEPS["load"])
        return run(grading, STEPS["correctness"])
    finally:
        grading.close()
