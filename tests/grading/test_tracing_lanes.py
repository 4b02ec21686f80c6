"""Traces of programs, by real workers and their device: what each lane touches, and what stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.tracing import trace_of
from grader.model.cases import Case
from grader.model.trace import Trace
from grader.model.trace_queries import accesses_by_element
from grader.sandbox.fork_servers import ForkServers

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ADD = catalog.find(ROOT, "01_vector_add")
BLOCKS = ("BLOCK = 1024", "BLOCK = 4")


@pytest.fixture
def traced(fork_servers: ForkServers, tmp_path: Path):
    """The trace of an exercise's solution with these changes."""

    def run(*changes: tuple[str, str], exercise: Exercise = ADD, shape: str = "10") -> Trace:
        kernel = exercise.solution.read_text(encoding="utf-8")
        for old, new in changes:
            assert old in kernel, old
            kernel = kernel.replace(old, new)
        file = tmp_path / "kernel.py"
        file.write_text(kernel)
        grading = Grading(exercise, file, Options(seed=1), fork_servers)
        try:
            return trace_of(grading, Case.parse(f"{shape},float32"))
        finally:
            grading.close()

    return run


def line_of(trace: Trace, text: str) -> int:
    (found,) = [number for number, line in enumerate(trace.source, 1) if text in line]
    return found


def test_a_right_kernel(traced):
    trace = traced(BLOCKS)
    assert (trace.unit, trace.failure, trace.wrong, trace.cut) == ("lanes", None, {}, 0)
    assert [(one.kernel, one.grid) for one in trace.launches] == [("add_kernel", (3, 1, 1))]
    assert [(one.kind, one.name, one.shape) for one in trace.operations] == [
        ("load", "x", (4,)),
        ("load", "y", (4,)),
        ("store", "", (4,)),
    ]
    assert [line_of(trace, "x = tl.load"), line_of(trace, "tl.store")] == [
        trace.operations[0].line,
        trace.operations[2].line,
    ]
    assert [act.active for act in trace.acts if act.operation == 0] == [4, 4, 2]
    x, y, out = (accesses_by_element(trace.accesses, number) for number in range(3))
    for element in range(10):
        ((a,), (b,), (total,)) = x[element], y[element], out[element]
        assert (a.block, a.thread, a.kind) == (element // 4, element % 4, "read")
        assert float(total.value) == pytest.approx(float(a.value) + float(b.value), rel=1e-5)


def test_programs_without_a_mask_stop_where_they_leave_the_array(traced):
    trace = traced(BLOCKS, ("offsets < n", "offsets < n + 9"))
    assert trace.failure is not None
    assert trace.failure.kind == "out_of_bounds"
    outside = [access for access in trace.accesses if access.fault]
    assert [(each.block, each.thread, each.index) for each in outside] == [
        (2, 2, (10,)),
        (2, 3, (11,)),
    ]
    assert trace.stopped is not None
    assert (trace.stopped.block, trace.stopped.operations) == (2, (1, 2))
    assert all(act.stopped for act in trace.acts)


def test_turns_of_a_loop_are_parts_of_a_launch(traced):
    softmax = catalog.find(ROOT, "04_online_softmax")
    trace = traced(("BLOCK = 4096", "BLOCK = 4"), exercise=softmax, shape="2x10")
    first, second = (
        number for number, line in enumerate(trace.source, 1) if "for start in range" in line
    )
    (launch,) = trace.launches
    assert [[(turn.line, turn.turn) for turn in part.loops] for part in launch.parts] == [
        *([(first, turn)] for turn in range(3)),
        [],
        *([(second, turn)] for turn in range(3)),
    ]
    masked = next(act for act in trace.acts if act.active == 2)
    assert (masked.step, masked.other) == (2, "-inf")
    highest = [act for act in trace.acts if trace.operations[act.operation].name == "new_max"]
    assert [len(act.results) for act in highest] == [1] * 6


def test_both_programs_of_a_race_are_marked(traced):
    old = "tl.store(out_ptr + offsets, x.to(tl.float32)"
    trace = traced(BLOCKS, (old, old.replace("offsets", "offsets % 4")))
    assert trace.failure is not None
    assert trace.failure.kind == "race"
    racing = [access for access in trace.accesses if access.fault == "race"]
    assert len({access.block for access in racing}) == 2
    assert len({access.element for access in racing}) == 1


def test_a_value_that_a_mask_left_undefined_is_marked_where_it_is_stored(traced):
    load = "x = tl.load(x_ptr + offsets, mask=inside)"
    trace = traced(BLOCKS, (load, load.replace("inside", "offsets < 9")))
    assert [access.element for access in trace.accesses if access.fault == "undefined"] == [9]


def test_scratch_and_an_atomic(traced):
    update = "tl.atomic_add(count_ptr + offsets % 2, 1, mask=inside)"
    trace = traced(
        BLOCKS,
        ("n, BLOCK: tl", "n, count_ptr, BLOCK: tl"),
        ("    tl.store(", f"    {update}\n    tl.store("),
        ("out, n, BLOCK", "out, n, torch.zeros(2, dtype=torch.int32, device=x.device), BLOCK"),
    )
    assert trace.failure is None
    scratch = trace.arrays[-1]
    assert (scratch.role, scratch.shape) == ("scratch", (2,))
    updates = [access for access in trace.accesses if access.kind == "update"]
    assert {access.value for access in updates} == {"5"}
    assert len(updates) == 10


def test_of_a_large_block_the_ends_are_kept(traced):
    trace = traced(("BLOCK = 1024", "BLOCK = 8192"), shape="20000")
    assert trace.failure is None
    assert len(trace.accesses) <= 8000
    assert len(trace.accesses) + trace.cut == 3 * 20_000
    assert {0, 8191} <= {access.thread for access in trace.accesses if access.block == 0}


@pytest.mark.parametrize(
    "body",
    ["    raise NotImplementedError('write it')\n", "    import os; os._exit(3)\n", "    pass\n"],
)
def test_a_kernel_of_which_nothing_is_known(traced, body: str):
    trace = traced(("    n = out.numel()\n", body))
    assert trace.failure is not None
    assert (trace.accesses, trace.acts) == ((), ())
