"""Traces with real workers: the record of a right kernel, and of each thing that goes wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader import backends
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.tracing import pictured, trace_of
from grader.model.backend import Abilities
from grader.model.cases import Case
from grader.model.channel import LONGEST_LINE, WireError
from grader.model.errors import UsageError
from grader.model.faults import Fault
from grader.model.messages import Reply
from grader.model.trace import Trace
from grader.model.trace_queries import accesses_by_element
from grader.model.traced import (
    MOST_ACCESSES,
    MOST_ARRAYS,
    MOST_LAUNCHES,
    ArrayRef,
    LaunchRef,
    Stop,
    Traced,
)
from grader.model.wire import LARGEST_COUNT, LONGEST_NAME
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.worker_link import WorkerLink

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TRANSPOSE = Exercise(
    Path(__file__).parents[1] / "courses" / "counted" / "puzzles" / "p01_transpose"
)


@pytest.fixture
def traced(fork_servers: ForkServers, tmp_path: Path):
    """The trace of a kernel file with this text, or of the solution with these changes."""

    def run(*changes: tuple[str, str], text: str | None = None, case: Case | None = None) -> Trace:
        kernel = TRANSPOSE.solution.read_text(encoding="utf-8") if text is None else text
        for old, new in changes:
            assert old in kernel, old
            kernel = kernel.replace(old, new)
        file = tmp_path / "kernel.py"
        file.write_text(kernel)
        grading = Grading(TRANSPOSE, file, Options(seed=1), fork_servers)
        try:
            return trace_of(grading, case)
        finally:
            grading.close()

    return run


def line_of(trace: Trace, text: str) -> int:
    (found,) = [number for number, line in enumerate(trace.source, 1) if text in line]
    return found


def test_a_right_kernel(traced):
    trace = traced()
    assert (trace.exercise, trace.case) == ("p01_transpose", "2 × 3 in float32 (integers)")
    assert (trace.failure, trace.wrong, trace.unwritten, trace.cut) == (None, {}, {}, 0)
    assert trace.source[0].startswith('"""Each block moves one tile')
    assert [(one.kernel, one.grid, one.block) for one in trace.launches] == [
        ("transpose_kernel", (1, 1, 1), (32, 32, 1))
    ]
    assert [(one.name, one.space, one.shape, one.role) for one in trace.arrays] == [
        ("x", "global", (2, 3), "in"),
        ("out", "global", (3, 2), "out"),
        ("tile", "shared", (32, 33), "shared"),
    ]
    x, out, tile = (accesses_by_element(trace.accesses, number) for number in range(3))
    # Thread (column, row) is number 32 * row + column.
    assert {e: [(a.thread, a.kind, a.step) for a in some] for e, some in x.items()} == {
        3 * row + column: [(32 * row + column, "read", 0)]
        for row in range(2)
        for column in range(3)
    }
    assert {e: [(a.thread, a.kind, a.step) for a in some] for e, some in out.items()} == {
        2 * row + column: [(32 * row + column, "write", 1)]
        for row in range(3)
        for column in range(2)
    }
    assert {e: [(a.kind, a.step) for a in some] for e, some in tile.items()} == {
        33 * row + column: [("write", 0), ("read", 1)] for row in range(2) for column in range(3)
    }
    assert {a.line for a in trace.accesses if a.step == 0} == {
        line_of(trace, "tile[row, column] =")
    }


def test_a_wrong_answer_marks_its_elements(traced, snapshot: SnapshotAssertion):
    trace = traced(("out[i, j] = tile[column, row]", "out[i, j] = 5000 + i"))
    assert trace.failure.kind == "value"
    assert text_of(trace.failure) == snapshot
    (name,) = trace.wrong
    assert name == "out"
    assert {one.element: one.got for one in trace.wrong["out"]} == {
        2 * row + column: f"{5000 + row}" for row in range(3) for column in range(2)
    }
    assert trace.unwritten == {}


def test_what_was_never_written_is_not_also_wrong(traced):
    trace = traced(("if i < out.shape[0] and", "if i < out.shape[0] - 1 and"))
    assert trace.failure.kind == "never_written"
    assert (trace.unwritten, trace.wrong) == ({"out": (4, 5)}, {})


def test_an_access_out_of_bounds(traced, snapshot: SnapshotAssertion):
    trace = traced(("if i < x.shape[0] and j < x.shape[1]:", "if True:"))
    last = trace.accesses[-1]
    # The threads of launches with this shape run from the last to the first.
    assert (last.fault, last.element, last.index) == ("out_of_bounds", None, (31, 31))
    assert (last.thread, trace.arrays[last.array].name, last.kind) == (1023, "x", "read")
    assert trace.failure.kind == "out_of_bounds"
    assert text_of(trace.failure) == snapshot
    # Nothing can be said of an answer that was not finished.
    assert (trace.wrong, trace.unwritten) == ({}, {})


def test_an_index_below_0(traced):
    """Python and GPUs count from the end: nothing fails there, and the answer comes out wrong."""
    change = ("tile[row, column] = x[i, j]", "tile[row, column] = x[i - 1, j]")
    trace = traced(change, case=Case((2, 3), "float32"))
    assert trace.failure.kind == "value"
    marked = [access for access in trace.accesses if access.fault]
    # Of x, 2 × 3, row -1 is row 1.
    assert {access.fault for access in marked} == {"from_end"}
    assert sorted((access.thread, access.element) for access in marked) == [(0, 3), (1, 4), (2, 5)]


def test_an_index_below_0_that_led_to_nothing_wrong(traced):
    """Only what else is wrong is to blame, in the element that thread (0, 0) writes."""
    change = ("tile[row, column] = x[i, j]", "tile[row, column] = x[i - x.shape[0], j]")
    other = ("out[i, j] = tile[column, row]", "out[i, j] = tile[column, row] if i + j else 5000.0")
    trace = traced(change, other, case=Case((2, 3), "float32"))
    assert [each.element for each in trace.wrong["out"]] == [0]
    assert [access.element for access in trace.accesses if access.fault] == [0]


def test_an_index_below_0_that_is_meant(traced):
    trace = traced(("tile[row, column] = x[i, j]", "tile[row, column] = x[i - x.shape[0], j]"))
    assert trace.failure is None
    assert {access.fault for access in trace.accesses} == {""}


def test_a_missing_barrier(traced):
    trace = traced(("    cuda.syncthreads()\n", ""))
    assert trace.failure.kind == "race"
    read, wrote = (access for access in trace.accesses if access.fault == "race")
    assert (read.kind, wrote.kind, read.element) == ("read", "write", wrote.element)
    assert read.thread != wrote.thread


def test_a_changed_input_is_reported_with_all_accesses(traced):
    trace = traced(("tile[row, column] = x[i, j]", "tile[row, column] = x[i, j]; x[i, j] += 1"))
    assert trace.failure.kind == "input_changed"
    assert len(trace.accesses) == 6 * 6


def test_scratch_and_several_launches(traced):
    trace = traced(
        ("    transpose_kernel[grid, (TILE, TILE)](x, out)", "    y = cuda.device_array_like(x)\n"
         "    copy[1, (3, 2)](x, y)\n    transpose_kernel[grid, (TILE, TILE)](y, out)"),
        ("def transpose(", "@cuda.jit\ndef copy(x, out):\n    i, j = cuda.grid(2)\n"
         "    out[j, i] = x[j, i]\n\n\ndef transpose("),
    )  # fmt: skip
    assert trace.failure is None
    assert [one.kernel for one in trace.launches] == ["copy", "transpose_kernel"]
    # The kernel `copy` calls it out, which is an argument's name already.
    assert [(one.name, one.role) for one in trace.arrays] == [
        *(("x", "in"), ("out", "out"), ("out 2", "scratch"), ("tile", "shared"))
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("def transpose(x, out):\n    raise NotImplementedError('write it')\n", "not_started"),
        ("def transpose(x, out:\n", "syntax"),
        ("import os\n\ndef transpose(x, out):\n    os._exit(3)\n", "exit"),
    ],
)
def test_a_kernel_of_which_nothing_is_known(traced, text: str, kind: str):
    trace = traced(text=text)
    assert (trace.failure.kind, trace.accesses, trace.launches) == (kind, (), ())
    assert [one.name for one in trace.arrays] == ["x", "out"]


def test_of_a_large_case_the_first_accesses_are_kept(traced):
    trace = traced(case=Case((48, 48), "float32"))
    assert trace.failure is None
    assert (len(trace.accesses), trace.cut) == (8000, 4 * 48 * 48 - 8000)


def test_the_smallest_edge_is_drawn_where_no_case_is_named():
    dot = catalog.find(ROOT, "02_dot_reduction").spec
    assert pictured(replace(dot, pictured=None)) == Case((1,), "float32")
    assert pictured(TRANSPOSE.spec) == TRANSPOSE.spec.pictured


def test_a_judge_hands_a_trace_over():
    trace = check.trace(
        Request(TRANSPOSE, TRANSPOSE.solution, Options(seed=1, case=Case.parse("1x2,float32")))
    )
    assert (trace.case, trace.failure) == ("1 × 2 in float32", None)
    assert len(trace.accesses) == 8


def test_a_backend_that_traces_nothing_has_no_pictures(
    snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
):
    softmax = catalog.find(ROOT, "04_online_softmax")
    mute = replace(backends.find("triton"), can=Abilities(simulate=True))
    monkeypatch.setattr(backends, "find", lambda name: mute)
    with pytest.raises(UsageError) as caught:
        check.trace(Request(softmax, softmax.solution))
    assert text_of(caught.value) == snapshot


def test_values_are_what_was_read_and_what_was_left(traced):
    trace = traced(case=Case((2, 3), "float32", draw="integers"))
    held = {(each.array, each.kind, each.element): each.value for each in trace.accesses}
    for row in range(2):
        for column in range(3):
            read = held[0, "read", 3 * row + column]
            assert float(read) == int(float(read))
            assert held[1, "write", 2 * column + row] == read
            assert held[2, "read", 33 * row + column] == read


def test_an_error_keeps_threads_from_running(traced):
    trace = traced(("if i < x.shape[0] and j < x.shape[1]:", "if True:"))
    # The threads of launches with this shape run from the last to the first; the last one fails.
    assert (trace.stopped.step, trace.stopped.block, trace.stopped.blocks) == (0, 0, ())
    assert sorted(trace.stopped.threads) == list(range(1023))
    assert traced().stopped is None


def test_a_race_ends_the_drawing_and_what_follows_it_never_ran(traced):
    trace = traced(("    cuda.syncthreads()\n", ""))
    assert trace.stopped.threads
    assert {access.thread for access in trace.accesses}.isdisjoint(trace.stopped.threads)


def test_a_worker_that_tells_nothing_is_no_trace(traced, monkeypatch: pytest.MonkeyPatch):
    answer = WorkerLink._answer

    def silent(self: WorkerLink, operation: str, limit_s: float) -> Reply:
        return Reply(seq=answer(self, operation, limit_s).seq)

    monkeypatch.setattr(WorkerLink, "_answer", silent)
    with pytest.raises(Exception, match="The worker did not report the work of the threads"):
        traced()


# --- over the wire --------------------------------------------------------------------------------

TOLD = Traced(
    launches=(LaunchRef("f", (2, 1, 1), (4, 1, 1)),),
    arrays=(ArrayRef("x", "argument", (3, 2)), ArrayRef("s", "shared", ())),
    accesses=(
        (0, 0, 1, 3, 0, 5, 0, 9, 0),
        (0, 2, 0, 0, 1, 0, 2, 0, 2),
        (0, 2, 0, 1, 0, -1, 1, 1, 1),
        (0, 2, 0, 2, 0, 4, 0, 1, 4),
    ),
    outside=(-7, 2),
    cut=4,
    fault=Fault("race", "two threads", ((3, "f", "x[0] = 1"),)),
    stop=Stop(0, 2, 0, (2, 3), (1,)),
    values=(-(2**63), 0, None, 7),
)
STOP = vars(TOLD.stop)


def sent(**changes: object) -> dict[str, object]:
    message = Reply(seq=1, traced=TOLD).dump()
    message["traced"] |= changes
    return message


def test_a_trace_crosses_the_wire():
    assert Reply.parse(sent()).traced == TOLD
    assert Reply.parse(sent(accesses=[], values=[], fault=None)).traced.fault is None


@pytest.mark.parametrize(
    "row",
    [
        (1, 0, 0, 0, 0, 0, 0, 1, 0),  # no such launch
        (-1, 0, 0, 0, 0, 0, 0, 1, 0),
        (0, -1, 0, 0, 0, 0, 0, 1, 0),
        (0, 0, 2, 0, 0, 0, 0, 1, 0),  # no such block
        (0, 0, 0, 4, 0, 0, 0, 1, 0),  # no such thread
        (0, 0, 0, 0, 2, 0, 0, 1, 0),  # no such array
        (0, 0, 0, 0, -1, 0, 0, 1, 0),
        (0, 0, 0, 0, 0, 6, 0, 1, 0),  # no such element
        (0, 0, 0, 0, 1, 1, 0, 1, 0),
        (0, 0, 0, 0, 0, -2, 0, 1, 0),
        (0, 0, 0, 0, 0, 0, 3, 1, 0),  # no such kind
        (0, 0, 0, 0, 0, 0, 0, -1, 0),  # no such line
        (0, 0, 0, 0, 0, 0, 0, 1, 5),  # no such fault
        (0, 0, 0, 0, 0, -1, 0, 1, 4),  # from the end, and outside
        (0, 0, 0, 0, 0, 0, 0, 1, 1),  # out of bounds, and inside
        (0, 0, 0, 0, 0, -1, 0, 1, 0),
        (0, 0, 0, 0, 0, 0, 0, 1),
        (0, 0, 0, 0, 0, 0, 0, 1, 0, 0),
        (0, 0, 0, 0, 0, 0, 0, 1, True),
        (0, 0, 0, 0, 0, 0, 0, 1.0, 0),
        "000000010",
        None,
    ],
)
def test_a_row_that_speaks_of_what_is_not_there_is_refused(row: object):
    with pytest.raises(WireError):
        Reply.parse(sent(accesses=[row], values=[]))


@pytest.mark.parametrize(
    "changes",
    [
        {"launches": [{"kernel": "f", "grid": [0, 1, 1], "block": [1, 1, 1]}]},
        {"launches": [{"kernel": "f", "grid": [1, 1], "block": [1, 1, 1]}]},
        {"launches": [{"kernel": 3, "grid": [1, 1, 1], "block": [1, 1, 1]}]},
        {"arrays": [{"name": "x", "space": "elsewhere", "shape": [1]}]},
        {"arrays": [{"name": "x", "space": "shared", "shape": [-1]}]},
        {"arrays": [{"name": "x", "space": "shared", "shape": [1] * 9}]},
        {"accesses": None},
        {"accesses": [TOLD.accesses[0]] * 8001},
        {"outside": ["3"]},
        {"cut": -1},
        {"cut": True},
        {"fault": 3},
        {"values": [1]},
        {"values": [2**63] * 4},
        {"values": [1.0] * 4},
        {"stop": {**STOP, "launch": 1}},
        {"stop": {**STOP, "block": 2}},
        {"stop": {**STOP, "threads": [4]}},
        {"stop": {**STOP, "blocks": [0] * 1025}},
        {"stop": 3},
    ],
    ids=str,
)
def test_a_trace_of_another_form_is_refused(changes: dict[str, object]):
    with pytest.raises(WireError):
        Reply.parse(sent(**changes))


def test_the_longest_trace_fits_into_a_line():
    row = (MOST_LAUNCHES, 10**6, 10**9, 1023, MOST_ARRAYS, LARGEST_COUNT, 2, 10**6, 3)
    launch = LaunchRef("k" * LONGEST_NAME, (LARGEST_COUNT,) * 3, (1024,) * 3)
    array = ArrayRef("a" * LONGEST_NAME, "argument", (LARGEST_COUNT,) * 8)
    longest = Traced((launch,) * MOST_LAUNCHES, (array,) * MOST_ARRAYS, (row,) * MOST_ACCESSES)
    longest = replace(
        longest,
        values=(-(2**63),) * MOST_ACCESSES,
        stop=Stop(1, 1, 1, (LARGEST_COUNT,) * 1024, (LARGEST_COUNT,) * 1024),
    )
    line = json.dumps(Reply(seq=1, traced=longest).dump(), separators=(",", ":"))
    assert len(line) < LONGEST_LINE - (1 << 17)  # a fault's texts beside it
