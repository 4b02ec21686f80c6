"""Kernels whose accesses are logged; tests/backends/numba/test_simulator.py runs this file."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32, int32

from grader.backends.numba.simulator import setup
from grader.backends.numba.simulator.access_log import KINDS, MARKS, Log
from grader.backends.numba.simulator.counts import facts
from grader.backends.numba.simulator.device_arrays import device_array
from grader.worker.bounds import OutOfBounds
from grader.worker.races import Race, Uninitialised

setup.install()


def line_of(text: str) -> int:
    """Of the only line of this file that has this comment."""
    with open(__file__, encoding="utf-8") as lines:
        (found,) = [n for n, line in enumerate(lines, 1) if line.rstrip().endswith("# " + text)]
    return found


def logged(kernel, grid, block, *arrays: np.ndarray, error=None) -> Log:
    named = zip("xyz", arrays, strict=False)
    given = [device_array(array, lambda: None, name) for name, array in named]
    with setup.logging() as log:
        if error is None:
            kernel[grid, block](*given)
        else:
            with pytest.raises(error):
                kernel[grid, block](*given)
    return log


def rows(log: Log) -> list[tuple[object, ...]]:
    """Launch, step, block, thread, array, element, kind, line, mark of each access."""
    told = log.traced(__file__)
    return [
        (*row[:4], told.arrays[row[4]].name, row[5], KINDS[row[6]], row[7], MARKS[row[8]])
        for row in told.accesses
    ]


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, dtype=np.float32)


# --- what is in a row -----------------------------------------------------------------------------


@cuda.jit
def reverse(x, y):
    tile = cuda.shared.array(2, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = x[i]  # in
    cuda.syncthreads()
    y[i] = tile[1 - t]  # out


def test_each_access_has_its_place():
    log = logged(reverse, 2, 2, np.arange(4, dtype=np.float32), zeros(4))
    into, out = line_of("in"), line_of("out")
    expected = []
    for block in (0, 1):
        for thread in (0, 1):
            i = 2 * block + thread
            expected += [
                (0, 0, block, thread, "x", i, "read", into, ""),
                (0, 0, block, thread, "tile", thread, "write", into, ""),
            ]
        for thread in (0, 1):
            i = 2 * block + thread
            expected += [
                (0, 1, block, thread, "tile", 1 - thread, "read", out, ""),
                (0, 1, block, thread, "y", i, "write", out, ""),
            ]
    assert rows(log) == expected
    assert log.barriers == 1
    told = log.traced(__file__)
    assert [(one.kernel, one.grid, one.block) for one in told.launches] == [
        ("reverse", (2, 1, 1), (2, 1, 1))
    ]
    assert [(one.name, one.space, one.shape) for one in told.arrays] == [
        *(("x", "argument", (4,)), ("y", "argument", (4,)), ("tile", "shared", (2,)))
    ]
    assert (told.cut, told.outside) == (0, ())


@cuda.jit
def corners(x, y):
    i, j = cuda.grid(2)
    x[j, i] = 1
    y[i:][0] = 2


def test_threads_blocks_and_elements_are_numbered_in_c_order_whatever_the_strides():
    padded = zeros(4, 9)[:, :6]
    log = logged(corners, (2, 2), (3, 2), padded, zeros(6))
    x = [row for row in rows(log) if row[4] == "x"]
    assert len(x) == 24
    for _, _, block, thread, _, element, *_ in x:
        i, j = 3 * (block % 2) + thread % 3, 2 * (block // 2) + thread // 3
        assert element == 6 * j + i
    y = [(row[2], row[3], row[5]) for row in rows(log) if row[4] == "y"]
    assert y == [(b, t, 3 * (b % 2) + t % 3) for b in (0, 2, 1, 3) for t in range(6)]


@cuda.jit
def first(source, kept):
    kept[cuda.threadIdx.x] = source[cuda.threadIdx.x]


@cuda.jit
def second(left, y):
    y[cuda.threadIdx.x] = left[cuda.threadIdx.x]


def test_scratch_has_the_name_that_a_kernel_first_gives_it():
    scratch = cuda.device_array(4, np.float32)
    x, y = (device_array(zeros(4), lambda: None, name) for name in "xy")
    with setup.logging() as log:
        first[1, 4](x, scratch)
        second[1, 4](scratch, y)
    told = log.traced(__file__)
    assert [(one.name, one.space) for one in told.arrays] == [
        *(("x", "argument"), ("kept", "scratch"), ("y", "argument"))
    ]
    assert [one.kernel for one in told.launches] == ["first", "second"]
    assert [row[:2] + row[4:7] for row in rows(log)[::8]] == [
        *((0, 0, "x", 0, "read"), (1, 0, "kept", 0, "read"))
    ]


@cuda.jit
def shares_two(x):
    cuda.shared.array(2, float32)[0] = 1
    named = cuda.shared.array(2, float32)
    named[1] = x[0]


def test_a_shared_array_without_a_variable_has_a_number():
    assert [row[4] for row in rows(logged(shares_two, 1, 1, zeros(1)))] == [
        *("shared array 1", "x", "named")
    ]


@cuda.jit
def counts_up(x):
    cuda.atomic.add(x, cuda.threadIdx.x % 2, 1)  # update
    cuda.atomic.max(x, 0, 5)


def test_an_atomic_operation_is_one_access():
    log = logged(counts_up, 1, 3, zeros(2))
    assert [row[3:7] for row in rows(log)] == [
        (t, "x", element, "update") for t in range(3) for element in (t % 2, 0)
    ]
    assert rows(log)[0][7] == line_of("update")
    counts = facts(log, __file__)
    assert (counts["counts.global_reads"], counts["counts.global_writes"]) == (2, 2)
    # Three threads at once, twice: one piece of memory each time.
    assert counts["counts.transactions"] == 2


@cuda.jit
def in_a_loop(x, y):
    total = float32(0)
    for i in range(cuda.threadIdx.x, x.size, cuda.blockDim.x):
        total += x[i]
    y[cuda.threadIdx.x] = total


def test_a_loop_is_counted_turn_by_turn_however_often_python_specialises_it():
    log = logged(in_a_loop, 1, 32, zeros(32 * 40), zeros(32))
    counts = facts(log, __file__)
    x, y = (array.__array_interface__["data"][0] for array in _arrays_of(log))
    across = [4 + (x % 32 != 0), 4 + (y % 32 != 0)]  # numpy's arrays begin anywhere
    assert counts["counts.transactions"] == 40 * across[0] + across[1]
    assert (counts["counts.global_reads"], counts["counts.global_writes"]) == (40, 1)


def _arrays_of(log: Log) -> list[np.ndarray]:
    return list({access.whole.name: access.whole.array for access in log.accesses}.values())


def test_nothing_is_logged_unless_somebody_asks():
    x, y = zeros(4), zeros(4)
    log = logged(reverse, 1, 2, x, y)
    before = len(log.accesses)
    reverse[2, 2](*(device_array(a, lambda: None, n) for a, n in ((x, "x"), (y, "y"))))
    assert len(log.accesses) == before


# --- faults ---------------------------------------------------------------------------------------


@cuda.jit
def one_too_far(x, y):
    i = cuda.grid(1)
    y[i] = x[i + 1]  # too far


def test_an_access_out_of_bounds_is_the_last_one():
    log = logged(one_too_far, 2, 2, zeros(4), zeros(4), error=OutOfBounds)
    assert rows(log)[-1] == (0, 0, 1, 1, "x", -1, "read", line_of("too far"), "out_of_bounds")
    assert [row[8] for row in rows(log)[:-1]] == [""] * 6
    assert log.traced(__file__).outside == (4,)


@cuda.jit
def writes_beyond(x):
    x[cuda.threadIdx.x, np.int64(7)] = 1


@cuda.jit
def updates_beyond(x):
    cuda.atomic.add(x, (cuda.threadIdx.x, 7), 1)


@pytest.mark.parametrize(("kernel", "kind"), [(writes_beyond, "write"), (updates_beyond, "update")])
def test_the_index_is_kept_as_written(kernel, kind: str):
    log = logged(kernel, 1, 1, zeros(2, 3), error=OutOfBounds)
    assert [row[5:7] for row in rows(log)] == [(-1, kind)]
    assert log.traced(__file__).outside == (0, 7)


@cuda.jit
def neighbours(x, y):
    tile = cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    tile[t] = t  # races
    y[t] = tile[(t + 1) % 4]


def test_both_accesses_of_a_race_are_marked():
    log = logged(neighbours, 1, 4, zeros(4), zeros(4), error=Race)
    marked = [row for row in rows(log) if row[8]]
    assert [(row[3:7], row[8]) for row in marked] == [
        ((0, "tile", 1, "read"), "race"),
        ((1, "tile", 1, "write"), "race"),
    ]
    assert rows(log)[-1] == marked[-1]


@cuda.jit
def blocks_race(x):
    x[0] = cuda.blockIdx.x


@cuda.jit
def update_and_write(x):
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(x, 0, 1)
        cuda.atomic.add(x, 1, 1)
    else:
        x[0] = 5


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "expected"),
    [
        (blocks_race, 2, 1, [(0, 0, "write"), (1, 0, "write")]),
        (update_and_write, 1, 2, [(0, 0, "update"), (0, 1, "write")]),
    ],
)
def test_races_in_global_memory(kernel, grid, block, expected):
    log = logged(kernel, grid, block, zeros(2), error=Race)
    assert [(row[2], row[3], row[6]) for row in rows(log) if row[8] == "race"] == expected


@cuda.jit
def reads_unwritten(x):
    tile = cuda.shared.array(4, float32)
    t = cuda.threadIdx.x
    if t < 2:
        tile[t] = x[t]
    cuda.syncthreads()
    x[t] = tile[t]  # unwritten


def test_every_read_of_what_nobody_wrote_is_marked():
    log = logged(reads_unwritten, 1, 4, zeros(4), error=Uninitialised)
    assert [(row[1], row[3], row[5], row[7]) for row in rows(log) if row[8] == "uninitialised"] == [
        (1, t, t, line_of("unwritten")) for t in (2, 3)
    ]


@cuda.jit
def from_the_end(x, y):
    tile = cuda.shared.array(4, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    y[t] = tile[t - 2]  # back
    cuda.atomic.add(y, -1, 1)  # last
    cuda.syncthreads()
    x[t - 4] = t  # all


@cuda.jit
def the_last_one(x, y):
    t = cuda.threadIdx.x
    y[t] = x[-1] + x[t - 2]  # plainly


def test_an_index_that_is_plainly_below_0_is_meant():
    log = logged(the_last_one, 1, 2, zeros(4), zeros(4))
    assert [(row[3], row[5]) for row in rows(log) if row[8]] == [(0, 2), (1, 3)]
    assert [row[5] for row in rows(log) if row[7] == line_of("plainly") and row[6] == "read"] == [
        *(3, 2),
        *(3, 3),
    ]


def test_an_index_below_0_is_marked():
    log = logged(from_the_end, 1, 4, zeros(4), zeros(4), error=Race)
    # Three threads have added to element 3 when the fourth writes there.
    assert [row for row in rows(log) if row[7] == line_of("all")] == []
    found = [row for row in rows(log) if row[7] in (line_of("back"), line_of("last"))]
    assert [(row[3], row[4], row[5], row[6], row[8]) for row in found] == [
        *((0, "tile", 2, "read", "from_end"), (0, "y", 0, "write", "")),
        (0, "y", 3, "update", "from_end"),
        *((1, "tile", 3, "read", "from_end"), (1, "y", 1, "write", "")),
        (1, "y", 3, "update", "from_end"),
        *((2, "tile", 0, "read", ""), (2, "y", 2, "write", "")),
        (2, "y", 3, "update", "race"),
        *((3, "tile", 1, "read", ""), (3, "y", 3, "write", "race")),
    ]


# --- limits ---------------------------------------------------------------------------------------


def test_of_too_many_accesses_the_first_and_the_faulty_are_told(monkeypatch):
    monkeypatch.setattr("grader.backends.numba.simulator.access_log.MOST_ACCESSES", 5)
    log = logged(one_too_far, 2, 3, zeros(6), zeros(6), error=OutOfBounds)
    found = rows(log)
    assert len(found) == 5
    assert [row[8] for row in found] == [""] * 4 + ["out_of_bounds"]
    assert log.traced(__file__).cut == len(log.accesses) - 5 == 6
