"""Exercises of every dtype that a backend takes, graded by the steps in simulation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch

from grader.backends import find
from grader.course.exercise import Exercise
from grader.grading.counting import count
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.steps.correctness import no_work
from grader.grading.steps.correctness.compare import correctness, without_kernels
from grader.grading.steps.traffic import traffic
from grader.grading.tracing import trace_of
from grader.grading.trials import try_case
from grader.model.cases import DRAWS, Case
from grader.model.outcomes import Outcome
from grader.model.scored import Scored
from grader.sandbox.arena import CudaArena
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.poison import Poison
from grader.sandbox.pretender import ANSWERS
from grader.sandbox.worker_link import WorkerLink, entry_of
from grader.speed.clock import time_batch
from grader.speed.scored_case import arena_bytes, scored_case
from grader.speed.slots import Slots

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COURSE = Path(__file__).parents[1] / "courses" / "dtypes" / "exercises"
TRITON, NUMBA = (Exercise(COURSE / name) for name in ("01_triton", "02_numba"))
PAIRS = [(one, dtype) for one in (TRITON, NUMBA) for dtype in find(one.spec.backend).dtypes]
each_dtype = pytest.mark.parametrize(
    ("exercise", "dtype"), PAIRS, ids=[f"{one.spec.backend}-{dtype}" for one, dtype in PAIRS]
)
# A worker takes cases of every dtype, as in a check: to start one for each takes most of the time.
each_exercise = pytest.mark.parametrize(
    "exercise", [TRITON, NUMBA], ids=lambda one: one.spec.backend
)
# The same sums by torch, without a kernel.
WITHOUT = """
import torch

def add(x, acc, out, shift, keep):
    a = torch.roll(torch.as_tensor(x), -shift)
    kind = torch.float32 if a.is_floating_point() else a.dtype
    total = (a.to(kind) + torch.as_tensor(acc).to(kind)).to(a.dtype)
    out.copy_(total)
    acc.copy_(a if keep else total)
"""


@pytest.fixture
def grading_of(fork_servers: ForkServers, tmp_path: Path) -> Iterator[Callable[..., Grading]]:
    """Makes a grading of an exercise's own kernel, or of one in which a text is replaced."""
    made: list[Grading] = []

    def make(exercise: Exercise, old: str = "", new: str = "", **options: object) -> Grading:
        source = (exercise.folder / "kernel.py").read_text()
        assert old in source
        (tmp_path / "kernel.py").write_text(source.replace(old, new) if old else source)
        chosen = Options(**{"device": "cpu", "shrink": False, "seed": 1} | options)
        made.append(Grading(exercise, tmp_path / "kernel.py", chosen, fork_servers))
        return made[-1]

    yield make
    for grading in made:
        grading.close()


def dtypes_of(exercise: Exercise) -> tuple[str, ...]:
    return find(exercise.spec.backend).dtypes


@each_exercise
def test_right_kernels_pass_with_every_distribution(grading_of, exercise: Exercise):
    grading = grading_of(exercise)
    for dtype in dtypes_of(exercise):
        for number, draw in enumerate(DRAWS):
            case = Case((70,), dtype, draw=draw, offset=number % 2, seed=number + 1)
            assert try_case(grading, case) is None, case


@each_exercise
def test_elements_that_are_never_written_are_named(grading_of, exercise: Exercise):
    inside = "at < n" if exercise is TRITON else "i < out.size"
    # Four of them: one may begin as what is right.
    grading = grading_of(exercise, inside, inside.replace("<", "< -4 +"))
    for dtype in dtypes_of(exercise):
        failure = try_case(grading, Case((70,), dtype, seed=3))
        assert failure is not None, dtype
        assert failure.kind == "never_written", dtype
        begins_as_nan = "float" in dtype and "float8" not in dtype
        assert ("begins as NaN" in failure.hint) == begins_as_nan, dtype


@pytest.mark.parametrize(
    ("dtype", "by"), [("int8", 1), ("int32", -1), ("uint8", 1), ("int64", 2**61)]
)
def test_a_wrong_number_is_shown_as_a_number(grading_of, dtype: str, by: int):
    # Four of them: one may be what the output began as.
    grading = grading_of(NUMBA, "total = a + acc[i]", f"total = a + acc[i] + (i % 20 == 5) * {by}")
    failure = try_case(grading, Case((70,), dtype, seed=3))
    assert failure is not None
    assert failure.kind == "value"
    assert int(failure.got) == int(failure.expected) + by


def test_bools_are_shown_as_such_and_in_pictures_too(grading_of):
    grading = grading_of(NUMBA, "total = a + acc[i]", "total = a and acc[i]")
    failure = try_case(grading, Case((70,), "bool", seed=3))
    assert failure is not None
    assert (failure.kind, failure.expected, failure.got) == ("value", "True", "False")
    trace = trace_of(grading, Case((30,), "bool", seed=3))
    assert {(one.expected, one.got) for one in trace.wrong["out"]} == {("True", "False")}


@each_exercise
def test_traffic_counts_elements_of_every_size(grading_of, exercise: Exercise):
    grading = grading_of(exercise)
    for dtype in dtypes_of(exercise):
        grading.forget(count)
        grading.spec = replace(grading.spec, counted=Case((1000,), dtype))
        found = traffic(grading)
        assert found.outcome is Outcome.PASS, dtype
        assert [(one.argument, one.reads, one.writes) for one in found.traffic] == [
            *(("x", 1.0, 0.0), ("acc", 1.0, 1.0), ("out", 0.0, 1.0)),
        ], dtype


@each_exercise
def test_an_honest_kernel_is_wrong_without_its_launches(grading_of, exercise: Exercise):
    """By chance, too: a bool that nobody wrote would be right half of the time."""
    grading = grading_of(exercise)
    for dtype, length in product(dtypes_of(exercise), (1, 70)):
        grading.spec = replace(grading.spec, counted=Case((length,), dtype))
        assert [without_kernels(grading) for _ in range(6)] == [None] * 6, (dtype, length)


def test_sums_by_torch_are_found_to_need_no_kernel(fork_servers: ForkServers, tmp_path: Path):
    (tmp_path / "kernel.py").write_text(WITHOUT)
    options = Options(device="cpu", shrink=False, seed=1)
    with closing(Grading(TRITON, tmp_path / "kernel.py", options, fork_servers)) as grading:
        for dtype in dtypes_of(TRITON):
            grading.spec = replace(grading.spec, counted=Case((70,), dtype, draw="ties"))
            assert try_case(grading, Case((70,), dtype, seed=3)) is None, dtype
            failure = without_kernels(grading)
            assert failure is not None, dtype
            assert failure.kind == "no_kernel", dtype


@each_dtype
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_that_is_no_work_is_rejected(
    grading_of, exercise: Exercise, dtype: str, answer: str
):
    grading = grading_of(exercise, pretend=answer)
    # Not of `rows`: all of a narrow row may round to one float8, which is its mean.
    draws = ("extremes", "ties", "integers", "spikes")
    cases = [Case((1,), dtype), *(Case((70,), dtype, draw=draw) for draw in draws)]
    grading.spec = replace(grading.spec, edges=tuple(cases), counted=Case((200,), dtype))
    found = no_work.every_case(grading)
    assert found.outcome is Outcome.FAIL, found.summary


def test_a_number_of_another_type_is_the_exercises_fault(grading_of):
    grading = grading_of(NUMBA)
    drawn = grading.spec.inputs
    grading.spec = replace(
        grading.spec, inputs=lambda case, draw: drawn(case, draw) | {"shift": 1.0}
    )
    grading.remote.spec = grading.spec
    with pytest.raises(Exception, match="shift is declared as int, and `inputs` draws float"):
        correctness(grading)


def test_the_authors_table_lists_what_each_backend_takes():
    page = (ROOT / "docs" / "authoring.md").read_text()
    rows = re.findall(r"^\| (number: )?`(\w+)` \| (yes|no) \| (yes|no) \|", page, re.MULTILINE)
    for place, backend in enumerate((find("triton"), find("numba"))):
        taken = [(bool(number), name) for number, name, *yes in rows if yes[place] == "yes"]
        assert taken == [(False, d) for d in backend.dtypes] + [(True, s) for s in backend.scalars]


def test_a_wrong_number_that_the_output_began_with_was_written(
    grading_of, monkeypatch: pytest.MonkeyPatch
):
    """One int8 begins as what a kernel writes in one of 256 calls: another call decides."""
    case = Case((1,), "int8", draw="constant", seed=3)
    grading = grading_of(TRITON, "total = a + b", "total = a - a")
    unlike = try_case(grading, case)
    begins = [Poison(0, 2, seed) for seed in range(2_000)]
    one = torch.empty(1, dtype=torch.int8)
    by_first = {}
    for poison in begins:
        poison.fill(one)
        by_first.setdefault(int(one), poison)
    calls = [by_first[0], by_first[77]]
    monkeypatch.setattr(Poison, "fresh", lambda: calls.pop(0))
    failure = try_case(grading, case)
    assert calls == [], "the first call began with the 0 that the kernel writes"
    assert failure.kind == unlike.kind == "value"


def test_an_output_that_no_call_writes_was_never_written(grading_of):
    grading = grading_of(TRITON, "tl.store(out + at, total, mask=inside)", "pass")
    assert try_case(grading, Case((1,), "int8", seed=3)).kind == "never_written"


@pytest.mark.gpu
@each_dtype
def test_a_gpu_compiles_every_dtype_and_its_batches_are_right(
    grading_of, fork_servers: ForkServers, exercise: Exercise, dtype: str
):
    grading = grading_of(exercise, device="cuda")
    for number, draw in enumerate(DRAWS):
        case = Case((5000,), dtype, draw=draw, offset=number % 2, seed=number + 1)
        assert try_case(grading, case) is None
    grading.close()
    # In spot checks an output takes one element of each input.
    drawn = exercise.spec.inputs
    spec = replace(
        exercise.spec,
        inputs=lambda case, draw: drawn(case, draw) | {"shift": 0},
        scored=Scored(dtype=dtype),
    )
    rows, source = 1 << 20, (exercise.folder / "kernel.py").read_bytes()
    with closing(CudaArena(arena_bytes(spec, rows, 4))) as arena:
        slots = Slots(spec, scored_case(spec, rows), 4, arena.memory)
        server = fork_servers.fork_server(spec.backend, "cuda")
        with closing(WorkerLink(entry_of(spec), source, server, arena)) as kernel:
            for _ in range(3):
                assert time_batch(kernel, slots).claimed_s > 0
            (call,), contents = Slots(spec, slots.case, 1, arena.memory).refill()
            kernel.without_kernels(call)
            assert max(check.share_right() for check in contents.spot_checks) == 0.0
