"""Kernels in numba's CUDA simulator; tests/backends/numba/test_simulator.py runs this file."""

from __future__ import annotations

import contextlib
import linecache
import re
import sys
import traceback
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import cuda, float32, int32

from grader.backends.numba.refusals import NotCompiled
from grader.backends.numba.simulator import setup
from grader.backends.numba.simulator.arrays import NotSimulated
from grader.backends.numba.simulator.device_arrays import device_array
from grader.backends.numba.simulator.launch_limits import LaunchRefused
from grader.worker.bounds import OutOfBounds
from grader.worker.races import DivergentBarrier, DivergentShuffle, Race, Uninitialised

setup.install()

THREADS = 64


def filled(*shape: int, value: float = 0.0) -> np.ndarray:
    return np.full(shape, value, dtype=np.float32)


NOTED: list[tuple[int, str]] = []  # accesses since the last launch: bytes, and of which kind


def observed(array: np.ndarray):
    return device_array(array, lambda: lambda size, what: NOTED.append((size, what)), "x")


def run(kernel, grid, block, *arrays, dynamic_bytes=0):
    NOTED.clear()
    kernel[grid, block, 0, dynamic_bytes](*map(observed, arrays))


# --- a tree reduction, and the barriers that it needs -------------------------------------------


@cuda.jit
def tree(x, out):
    shared = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    shared[thread] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if thread < half:
            shared[thread] += shared[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = shared[0]


@cuda.jit
def tree_without_barrier_after_loads(x, out):
    shared = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    shared[thread] = x[cuda.grid(1)]
    half = THREADS // 2
    while half > 0:
        if thread < half:
            shared[thread] += shared[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = shared[0]


@cuda.jit
def tree_without_barrier_in_loop(x, out):
    shared = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    shared[thread] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if thread < half:
            shared[thread] += shared[thread + half]
        half //= 2
    cuda.syncthreads()
    if thread == 0:
        out[cuda.blockIdx.x] = shared[0]


def sums(kernel, blocks: int = 3) -> np.ndarray:
    out = filled(blocks)
    run(kernel, blocks, THREADS, np.arange(blocks * THREADS, dtype=np.float32), out)
    return out


def test_a_tree_reduction_is_right():
    expected = np.arange(3 * THREADS, dtype=np.float32).reshape(3, THREADS).sum(axis=1)
    np.testing.assert_array_equal(sums(tree), expected)


# --- accesses that nothing orders -----------------------------------------------------------------


@cuda.jit
def neighbour_without_barrier(x, out):
    shared = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    shared[thread] = x[thread]
    out[thread] = shared[(thread + 1) % THREADS]


@cuda.jit
def one_place(x, out):
    shared = cuda.shared.array((2, 2), float32)
    shared[1, 0] = cuda.threadIdx.x


@cuda.jit
def one_place_of_dynamic(x, out):
    shared = cuda.shared.array(0, int32)[2:]
    shared[1] = cuda.threadIdx.x


@cuda.jit
def halves_of_one(x, out):
    floats, doubles = cuda.shared.array(0, float32), cuda.shared.array(0, np.float64)
    if cuda.threadIdx.x == 0:
        doubles[1] = 1.0
    else:
        floats[3] = 2.0


@cuda.jit
def atomic_and_plain(x, out):
    if cuda.threadIdx.x == 1:
        out[0] = 1.0
    cuda.atomic.add(out, 0, 1.0)


@cuda.jit
def added_to_and_read(x, out):
    cuda.atomic.add(out, 0, 1.0)
    out[1 + cuda.threadIdx.x] = out[0]


@cuda.jit
def all_of_a_part(x, out):
    out[2:4] = cuda.threadIdx.x


@cuda.jit
def moves_on_in_turns(x, out):
    """A barrier at the end of a turn would help."""
    for turn in range(2):
        out[cuda.threadIdx.x + turn] = cuda.threadIdx.x


@cuda.jit
def two_blocks_one_place(x, out):
    out.reshape((2, 2))[1, 1] = cuda.blockIdx.x


@cuda.jit
def next_blocks_element(x, out):
    """As it was, or as the next block leaves it."""
    block = cuda.blockIdx.x
    value = out[block + 1]
    cuda.syncthreads()
    out[block] = value


@cuda.jit
def previous_blocks_element(x, out):
    block = cuda.blockIdx.x
    out[block + 1] = 1.0
    cuda.syncthreads()
    out[10 + block] = out[block]


@cuda.jit
def shifts_in_turns(x, out):
    shared = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    for turn in range(2):
        shared[thread] = x[thread] + turn
        cuda.syncthreads()
        out[thread] = shared[(thread + 1) % THREADS]


@cuda.jit
def forgets_to_call(x, out):
    shared = cuda.shared.array(THREADS, float32)
    thread = cuda.threadIdx.x
    shared[thread] = x[thread]
    cuda.syncthreads  # noqa: B018
    out[thread] = shared[(thread + 1) % THREADS]


RACES = {
    "next turn of a loop": (
        *(shifts_in_turns, 1, THREADS),
        "thread 1 of block 0 writes element 1 of the shared array shared, "
        "which thread 0 of block 0 read in line NN "
        "(out[thread] = shared[(thread + 1) % THREADS]): with no barrier between one turn of the "
        "loop and the next, it is left to chance which comes first",
    ),
    "barrier without ()": (
        *(forgets_to_call, 1, THREADS),
        "thread 1 of block 0 writes element 1 of the shared array shared, "
        "which thread 0 of block 0 read in line NN "
        "(out[thread] = shared[(thread + 1) % THREADS]): as line NN names a barrier and does not "
        "call it, with (), it is left to chance which comes first",
    ),
    "shared": (
        *(neighbour_without_barrier, 1, THREADS),
        "thread 1 of block 0 writes element 1 of the shared array shared, "
        "which thread 0 of block 0 read in line NN "
        "(out[thread] = shared[(thread + 1) % THREADS]): with no barrier between the two, it is "
        "left to chance which comes first",
    ),
    "tree after loads": (
        *(tree_without_barrier_after_loads, 3, THREADS),
        "thread 32 of block 0 writes element 32 of the shared array shared, "
        "which thread 0 of block 0 read in line NN "
        "(shared[thread] += shared[thread + half]): with no barrier between the two, it is left to "
        "chance which comes first",
    ),
    "tree in loop": (
        *(tree_without_barrier_in_loop, 1, THREADS),
        "thread 1 of block 0 writes element 1 of the shared array shared, "
        "which thread 0 of block 0 read in line NN "
        "(shared[thread] += shared[thread + half]): with no barrier between the two, it is left to "
        "chance which comes first",
    ),
    "one place": (
        *(one_place, 1, 2),
        "thread 1 of block 0 writes another value to element (1, 0) of the shared "
        "array shared, which thread 0 of block 0 wrote in line NN "
        "(shared[1, 0] = cuda.threadIdx.x): both run that line, so it is left to chance which "
        "comes first",
    ),
    "dynamic": (
        *(one_place_of_dynamic, 1, 2),
        "thread 1 of block 0 writes another value to element 3 of the shared array "
        "of shape (8,), which thread 0 of block 0 wrote in line NN "
        "(shared[1] = cuda.threadIdx.x): both run that line, so it is left to chance which comes "
        "first",
    ),
    "halves": (
        *(halves_of_one, 1, 2),
        "thread 1 of block 0 writes another value to element 3 of the shared array "
        "of shape (8,), which thread 0 of block 0 wrote in line NN "
        "(doubles[1] = 1.0): with no barrier between the two, it is left to chance which comes "
        "first",
    ),
    "atomic and plain": (
        *(atomic_and_plain, 1, 2),
        "thread 1 of block 0 writes element 0 of x, which thread 0 of "
        "block 0 updated in line NN (cuda.atomic.add(out, 0, 1.0)): with no barrier "
        "between the two, it is left to chance which comes first",
    ),
    "added to and read": (
        *(added_to_and_read, 1, 2),
        "thread 1 of block 0 updates element 0 of x, which thread 0 of "
        "block 0 read in line NN (out[1 + cuda.threadIdx.x] = out[0]): with no barrier "
        "between the two, it is left to chance which comes first",
    ),
    "part": (
        *(all_of_a_part, 1, 2),
        "thread 1 of block 0 writes another value to element 2 of x, which "
        "thread 0 of block 0 wrote in line NN (out[2:4] = cuda.threadIdx.x): both "
        "run that line, so it is left to chance which comes first",
    ),
    "one line of a loop": (
        *(moves_on_in_turns, 1, 2),
        "thread 1 of block 0 writes another value to element 1 of x, which thread 0 of block 0 "
        "wrote in line NN (out[cuda.threadIdx.x + turn] = cuda.threadIdx.x): with no barrier "
        "between the two, it is left to chance which comes first",
    ),
    "blocks": (
        *(two_blocks_one_place, 2, 1),
        "thread 0 of block 1 writes another value to element 3 of x, which "
        "thread 0 of block 0 wrote in line NN "
        "(out.reshape((2, 2))[1, 1] = cuda.blockIdx.x): blocks run in any order, so it is left to "
        "chance which comes first",
    ),
    "read before": (
        *(next_blocks_element, 2, 1),
        "thread 0 of block 1 writes element 1 of x, which thread 0 of "
        "block 0 read in line NN (value = out[block + 1]): blocks run in any order, so it "
        "is left to chance which comes first",
    ),
    "read after": (
        *(previous_blocks_element, 2, 1),
        "thread 0 of block 1 reads element 1 of x, which thread 0 of "
        "block 0 wrote in line NN (out[block + 1] = 1.0): blocks run in any order, so it "
        "is left to chance which comes first",
    ),
}


@pytest.mark.parametrize("name", RACES)
def test_a_race_is_told_with_both_threads_and_both_lines_every_time(name):
    kernel, grid, block, message = RACES[name]
    out = 4 if kernel is two_blocks_one_place else 64
    for _ in range(2):
        with pytest.raises(Race) as caught:
            run(kernel, grid, block, filled(3 * THREADS), filled(out), dynamic_bytes=32)
        assert re.sub(r"line \d+", "line NN", str(caught.value)) == message


def test_the_line_of_the_first_access_is_in_the_message_and_that_of_the_second_in_the_traceback():
    with pytest.raises(Race) as caught:
        run(neighbour_without_barrier, 1, THREADS, filled(THREADS), filled(THREADS))
    (number,) = re.findall(r"line (\d+)", str(caught.value))
    assert linecache.getline(__file__, int(number)).strip().startswith("out[thread] = shared")
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "shared[thread] = x[thread]" in lines


@cuda.jit
def same_flag(out):
    """All threads of all blocks write the same bits."""
    flag = cuda.shared.array(1, int32)
    flag[0] = 1
    out[0] = 2.0
    cuda.syncthreads()
    out[1 + cuda.grid(1)] = flag[0]


@cuda.jit
def histogram(x, out):
    bins = cuda.shared.array(4, float32)
    thread = cuda.threadIdx.x
    if thread < 4:
        bins[thread] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, thread % 4, x[cuda.grid(1)])
    cuda.syncthreads()
    if thread < 4:
        cuda.atomic.add(out, thread, bins[thread])


@cuda.jit
def in_place(out):
    i = cuda.grid(1)
    out[i] = out[i] + 1
    out[i] += 1


@cuda.jit
def rotated(out):
    """Reads before a barrier what another thread writes after it, again and again."""
    thread = cuda.threadIdx.x
    for _ in range(3):
        value = out[(thread + 1) % THREADS]
        cuda.syncthreads()
        out[thread] = value
        cuda.syncthreads()


@cuda.jit
def last_block_adds_up(x, partials, counter, out, FENCE):
    """CUDA's own example threadFenceReduction, in small."""
    is_last = cuda.shared.array(1, int32)
    thread = cuda.threadIdx.x
    partials[cuda.grid(1)] = x[cuda.grid(1)]
    if FENCE[0]:
        cuda.threadfence()
    cuda.syncthreads()
    if thread == 0:
        is_last[0] = cuda.atomic.add(counter, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if is_last[0] and thread == 0:
        for i in range(partials.size):
            out[0] += partials[i]


@cuda.jit
def last_block_adds_up_thread_0_fences(x, partials, counter, out):
    thread = cuda.threadIdx.x
    partials[cuda.grid(1)] = x[cuda.grid(1)]
    cuda.syncthreads()
    if thread == 0:
        cuda.threadfence()
        if cuda.atomic.add(counter, 0, 1) == cuda.gridDim.x - 1:
            for i in range(partials.size):
                out[0] += partials[i]


def test_what_is_ordered_or_changes_nothing_is_no_race():
    out = filled(9)
    run(same_flag, 2, 4, out)
    assert out.tolist() == [2.0] + [1.0] * 8
    run(histogram, 2, 8, filled(16, value=1.0), bins := filled(4))
    assert bins.tolist() == [4.0] * 4
    run(in_place, 3, 4, out := filled(12))
    assert out.tolist() == [2.0] * 12
    out = np.arange(THREADS, dtype=np.float32)
    run(rotated, 1, THREADS, out)
    np.testing.assert_array_equal(out, np.roll(np.arange(THREADS), -3))


def test_a_fence_and_an_atomic_order_blocks_and_an_atomic_alone_does_not():
    for kernel, fence in ((last_block_adds_up, ([1],)), (last_block_adds_up_thread_0_fences, ())):
        x, partials, counter = filled(12, value=1.0), filled(12), np.zeros(1, np.int32)
        run(kernel, 3, 4, x, partials, counter, out := filled(1), *map(np.array, fence))
        assert out.tolist() == [12.0]
    arrays = filled(12), filled(12), np.zeros(1, np.int32), filled(1), np.array([0])
    with pytest.raises(Race, match=r"reads element 0 of x, which thread 0 of block 0 "):
        run(last_block_adds_up, 3, 4, *arrays)


@cuda.jit
def last_number_adds_up(x, partials, counter, out):
    """Right only where blocks end in the order of their numbers."""
    partials[cuda.blockIdx.x] = x[cuda.blockIdx.x]
    cuda.threadfence()
    cuda.atomic.add(counter, 0, 1)
    if cuda.blockIdx.x == cuda.gridDim.x - 1:
        for i in range(partials.size):
            out[0] += partials[i]


def test_blocks_run_in_two_orders():
    def arrays():
        return filled(3, value=1.0), filled(3), np.zeros(1, np.int32), filled(1)

    run(last_number_adds_up, 3, 1, *arrays())
    setup.run_blocks(backwards=True)
    try:
        with pytest.raises(Race, match=r"block 1 writes .*block 2 read"):
            run(last_number_adds_up, 3, 1, *arrays())
        run(last_block_adds_up_thread_0_fences, 3, 1, *arrays())
    finally:
        setup.run_blocks(backwards=False)


@cuda.jit
def last_block_counts_anew(counter, out):
    cuda.threadfence()
    if cuda.atomic.add(counter, 0, 1) == cuda.gridDim.x - 1:
        counter[0] = 0  # after all updates: its own was the last
        out[0] = 1


@cuda.jit
def each_block_counts_anew(counter, out):
    cuda.threadfence()
    cuda.atomic.add(counter, 0, 1)
    counter[0] = 0


def test_who_has_the_last_count_may_set_it_back():
    run(last_block_counts_anew, 3, 1, counter := np.zeros(1, np.int32), out := filled(1))
    assert (counter[0], out[0]) == (0, 1)
    with pytest.raises(Race, match=r"updates element 0 of x, which .* wrote"):
        run(each_block_counts_anew, 3, 1, counter, out)


@cuda.jit
def every_block_clears(counter, out, FENCE):
    """The last block's own 0 does not order those of the others before its sum."""
    out[0] = 0.0
    if FENCE[0]:
        cuda.threadfence()
    if cuda.atomic.add(counter, 0, 1) == cuda.gridDim.x - 1:
        out[0] = 3.0


@cuda.jit
def every_thread_clears(out):
    out[0] = 0.0
    if cuda.threadIdx.x == 1:
        out[0] += 1.0


def test_who_wrote_the_same_bits_last_does_not_hide_who_wrote_them_before():
    run(every_block_clears, 3, 1, np.zeros(1, np.int32), out := filled(1), np.array([1]))
    assert out[0] == 3.0
    with pytest.raises(Race, match=r"block 2 writes another value to .* block 1 wrote"):
        run(every_block_clears, 3, 1, np.zeros(1, np.int32), filled(1), np.array([0]))
    with pytest.raises(Race, match=r"thread 1 .* reads element 0 of x, which thread 0 .* wrote"):
        run(every_thread_clears, 1, 2, filled(1))


def test_a_second_launch_comes_after_the_first():
    out = filled(THREADS)
    for _ in range(2):
        run(next_blocks_element, 1, 1, filled(1), out)
        run(previous_blocks_element, 1, 1, filled(1), out)


# --- barriers that not all threads come to --------------------------------------------------------


@cuda.jit
def two_barriers(out):
    if cuda.threadIdx.x < 3:
        cuda.syncthreads()  # of the first
    else:
        cuda.syncthreads()  # of the others


@cuda.jit(device=True)
def meet():
    cuda.syncthreads()


@cuda.jit
def one_barrier_two_ways(out):
    if cuda.threadIdx.x < 3:
        meet()
    else:
        meet()


@cuda.jit
def votes_in_a_condition(out):
    rounds = 0
    while cuda.syncthreads_or(1 if rounds < 3 else 0):
        rounds += 1
    out[cuda.threadIdx.x] = rounds


@cuda.jit
def some_leave_early(out):
    """`if i >= n: return` before a barrier: a thread that has ended keeps nobody waiting."""
    i = cuda.grid(1)
    if i >= out.size:
        return
    out[i] = 1
    for _ in range(3):
        cuda.syncthreads()
    out[i] += 0


def test_threads_that_wait_at_two_barriers_are_told():
    with pytest.raises(DivergentBarrier) as caught:
        run(two_barriers, 1, 8, filled(1))
    assert re.sub(r"line \d+", "line NN", str(caught.value)) == (
        "thread 3 of block 0 waits at the barrier in line NN (cuda.syncthreads()  "
        "# of the others), and thread 0 at that in line NN (cuda.syncthreads()  # of the "
        "first): all threads of a block must meet at one"
    )
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "cuda.syncthreads()  # of the others" in lines
    with pytest.raises(DivergentBarrier):
        run(one_barrier_two_ways, 1, 8, filled(1))


@cuda.jit
def tree_with_its_barrier_in_the_branch(x, out):
    """Right by luck: who adds no more has nothing to do but to end."""
    shared = cuda.shared.array(8, float32)
    thread = cuda.threadIdx.x
    shared[thread] = x[thread]
    cuda.syncthreads()
    half = 4
    while half > 0:
        if thread < half:
            shared[thread] += shared[thread + half]
            cuda.syncthreads()  # of some
        half //= 2
    if thread == 0:
        out[0] = shared[0]


@cuda.jit
def counts_with_a_barrier_in_the_branch(x, out):
    """The last threads have no element, and add up what the others have not counted yet."""
    counts = cuda.shared.array(4, float32)
    thread = cuda.threadIdx.x
    if thread < 4:
        counts[thread] = 0.0
    cuda.syncthreads()
    if thread < x.size:
        cuda.atomic.add(counts, thread % 4, 1.0)
        cuda.syncthreads()  # of some
    if thread >= 4:
        cuda.atomic.add(out, thread % 4, counts[thread % 4])
    cuda.syncthreads()  # of all


def test_a_thread_that_goes_past_a_barrier_is_told_although_it_keeps_nobody_waiting():
    with pytest.raises(DivergentBarrier) as caught:
        run(tree_with_its_barrier_in_the_branch, 1, 8, filled(8), filled(1))
    assert re.sub(r"line \d+", "line NN", str(caught.value)) == (
        "thread 0 of block 0 waits at the barrier in line NN (cuda.syncthreads()  # of some), and "
        "thread 4 goes past it to the end of the kernel: all threads of a block must meet at one"
    )


def test_a_barrier_in_a_branch_is_told_rather_than_the_race_that_comes_of_it():
    with pytest.raises(DivergentBarrier, match=r"# of all.*# of some"):
        run(counts_with_a_barrier_in_the_branch, 1, 8, filled(6), filled(4))


@cuda.jit
def races_and_then_indexes_with_it(x, out):
    shared = cuda.shared.array(1, float32)
    shared[0] = cuda.threadIdx.x
    out[int(shared[0]) + 7] = 1.0


def test_a_race_is_told_rather_than_what_comes_of_it_later():
    with pytest.raises(Race, match="thread 1 of block 0 writes element 0"):
        run(races_and_then_indexes_with_it, 1, 8, filled(1), filled(8))


def test_threads_that_ended_and_barriers_in_conditions_are_fine():
    run(some_leave_early, 2, 4, out := filled(6))
    assert out.tolist() == [1.0] * 6
    run(votes_in_a_condition, 1, 4, out := filled(4))
    assert out.tolist() == [3.0] * 4


# --- what a thread knows about itself -----------------------------------------------------------


@cuda.jit(device=True)
def number_in_block():
    cuda.syncthreads()
    y, z = cuda.threadIdx.y, cuda.threadIdx.z
    return cuda.threadIdx.x + cuda.blockDim.x * (y + cuda.blockDim.y * z)


@cuda.jit
def positions(order, lane):
    block = cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y
    number = number_in_block()
    order[block, number] = cuda.atomic.add(order, (block, 60), 1)
    lane[block, number] = cuda.laneid


def test_threads_run_in_the_order_of_their_number_also_through_device_functions():
    order, lane = (np.zeros((4, 61), dtype=np.int32) for _ in range(2))
    run(positions, (2, 2), (5, 4, 3), order, lane)
    np.testing.assert_array_equal(order[:, :60], np.tile(np.arange(60), (4, 1)))
    np.testing.assert_array_equal(lane[:, :60], np.tile(np.arange(60) % 32, (4, 1)))


def test_threads_run_in_two_orders():
    order, lane = (np.zeros((1, 61), dtype=np.int32) for _ in range(2))
    setup.run_blocks(backwards=True)
    try:
        run(positions, 1, (5, 4, 3), order, lane)
    finally:
        setup.run_blocks(backwards=False)
    np.testing.assert_array_equal(order[0, :60], np.arange(60)[::-1])
    np.testing.assert_array_equal(lane[0, :60], np.arange(60) % 32)


@cuda.jit
def votes(out, threshold):
    thread = cuda.threadIdx.x
    if thread == 7:
        return  # an ended thread counts as arrived, and has no vote
    below = 1 if thread < threshold else 0
    out[0, thread] = cuda.syncthreads_count(below)
    out[1, thread] = cuda.syncthreads_and(below)
    out[2, thread] = cuda.syncthreads_or(below)


@pytest.mark.parametrize(
    ("threshold", "expected"), [(0, (0, 0, 0)), (1, (1, 0, 1)), (8, (7, 1, 1))], ids=str
)
def test_barriers_that_count(threshold, expected):
    out = np.full((3, 8), -1, dtype=np.int32)
    votes[1, 8](observed(out), threshold)
    for row, value in zip(out, expected, strict=True):
        assert row.tolist() == [value] * 7 + [-1]


@cuda.jit
def across_the_grid(out):
    out[cuda.grid(1)] = 1
    cuda.cg.this_grid().sync()
    if cuda.grid(1) == 0:
        out[0] = out[out.size - 1]


@cuda.jit
def turns_about(x, out):
    """Each block reads what its neighbour wrote before the barrier, over and over."""
    shared = cuda.shared.array(4, float32)
    grid = cuda.cg.this_grid()
    thread, block = cuda.threadIdx.x, cuda.blockIdx.x
    shared[thread] = x[cuda.grid(1)]
    cuda.syncthreads()
    for _ in range(cuda.gridDim.x):
        out[cuda.grid(1)] = shared[3 - thread]
        grid.sync()
        there = (block + 1) % cuda.gridDim.x * cuda.blockDim.x + thread
        shared[3 - thread] = out[there]
        grid.sync()
    out[cuda.grid(1)] = shared[3 - thread]


@cuda.jit
def one_block_leaves(out):
    if cuda.blockIdx.x == 1:
        return
    cuda.cg.this_grid().sync()


def test_blocks_meet_at_a_barrier_of_the_grid():
    for blocks in (1, 2, 4):
        out = filled(8)
        run(across_the_grid, blocks, 8 // blocks, out)
        assert out.tolist() == [1.0] * 8
    x, out = np.arange(12, dtype=np.float32), filled(12)
    run(turns_about, 3, 4, x, out)
    assert out.tolist() == x.reshape(3, 4)[:, ::-1].ravel().tolist()


def test_a_block_that_does_not_come_to_a_barrier_of_the_grid_is_named():
    with pytest.raises(DivergentBarrier, match="and block 1 has ended without it: all threads of"):
        run(one_block_leaves, 3, 2, filled(1))


def test_a_barrier_of_the_grid_needs_all_blocks_on_the_gpu_at_once():
    with pytest.raises(LaunchRefused, match="needs all 4096 blocks on the GPU at once: of 128 thr"):
        across_the_grid[4096, 128](observed(filled(4096 * 128)))


# --- memory -------------------------------------------------------------------------------------


@cuda.jit
def two_on_one_line(out):
    a, b = cuda.shared.array(4, float32), cuda.shared.array(4, float32)
    thread = cuda.threadIdx.x
    a[thread], b[thread] = 1.0, 2.0
    cuda.syncthreads()
    out[thread] = a[3 - thread] + 10 * b[3 - thread]


def test_two_shared_arrays_on_one_line_are_two():
    out = filled(4)
    run(two_on_one_line, 1, 4, out)
    assert out.tolist() == [21.0] * 4


@cuda.jit
def never_written(floats, integers):
    floats[0] = cuda.local.array(3, float32)[1]
    integers[0] = cuda.local.array(3, int32)[1]


def test_memory_that_was_never_written_shows():
    floats, integers = filled(1), np.zeros(1, dtype=np.int32)
    run(never_written, 1, 1, floats, integers)
    assert np.isnan(floats).all()
    assert integers.tolist() == [np.frombuffer(b"\xa5" * 4, np.int32)[0]]
    assert np.isnan(cuda.device_array(4, np.float32).copy_to_host()).all()
    assert np.isnan(cuda.device_array_like(filled(2, 3)).copy_to_host()).all()


@cuda.jit(device=True)
def first_of(shared):
    return shared[0]  # nobody wrote it


@cuda.jit
def reads_shared(out):
    out[0] = first_of(cuda.shared.array((3, 2), float32)[1])
    cuda.syncthreads()
    out[0] = 0


@cuda.jit
def adds_to_shared(out):
    cuda.atomic.add(cuda.shared.array(0, float32), 1, 1.0)


@cuda.jit
def index_from_shared(out):
    shared = cuda.shared.array(1, int32)
    out[shared[0]] = 1.0


@cuda.jit
def only_in_another_block(out):
    shared = cuda.shared.array(1, int32)
    if cuda.blockIdx.x == 0:
        shared[0] = 1
    out[cuda.blockIdx.x] = shared[0]


@pytest.mark.parametrize(
    ("kernel", "block", "element"),
    [
        (reads_shared, 0, "element (1, 0) of the shared array of shape (3, 2)"),
        (adds_to_shared, 0, "element 1 of the shared array of shape (2,)"),
        (index_from_shared, 0, "element 0 of the shared array shared"),
        (only_in_another_block, 1, "element 0 of the shared array shared"),
    ],
    ids=["read", "atomic", "index", "block"],
)
def test_shared_memory_that_was_never_written_is_told(kernel, block, element):
    with pytest.raises(Uninitialised) as caught:
        run(kernel, 2, 1, filled(2), dynamic_bytes=10)
    assert str(caught.value) == (
        f"thread 0 of block {block} reads {element}, which no thread of the block has written"
    )


@cuda.jit
def sets_in_one_thread(out):
    i = cuda.threadIdx.x
    if i == 0:
        value = 1.0
    out[i] = value


def test_a_variable_that_a_thread_has_not_set_is_its_kernels_fault():
    """numba compiles it, and reads whatever the register holds."""
    with pytest.raises(Uninitialised) as caught:
        run(sets_in_one_thread, 1, 2, filled(2))
    assert str(caught.value) == "thread 1 of block 0 uses value, and has not set it before"


@cuda.jit(device=True)
def read_or_zero(x, i):
    try:
        return x[i]
    except IndexError:
        return 0


@cuda.jit
def catches(x, out):
    i = cuda.threadIdx.x
    out[i] = read_or_zero(x, i)


def test_an_index_outside_is_told_although_it_is_caught():
    with pytest.raises(OutOfBounds) as caught:
        run(catches, 1, 4, filled(2), filled(4))
    assert str(caught.value) == (
        "thread 2 of block 0 uses index 2 of x, which has 2 elements: is a bounds check missing? "
        "A GPU stops nothing there that could be caught."
    )


@cuda.jit
def tries(x, out):
    try:
        out[cuda.threadIdx.x] = 1
    finally:
        pass


@cuda.jit
def suppresses(x, out):
    with contextlib.suppress(IndexError):
        out[cuda.threadIdx.x] = 1


@cuda.jit
def comprehends(x, out):
    out[0] = max([x[i] for i in range(2)])


@cuda.jit
def yields(x, out):
    yield 1


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        (tries, "`try` in a kernel (line {}): check with an `if` beforehand"),
        (suppresses, "`with` in a kernel (line {}): write what it does"),
        (comprehends, "a comprehension in a kernel (line {}): write it as a loop"),
        (yields, "`yield` in a kernel (line {}): write into an array"),
    ],
    ids=lambda case: getattr(case, "__name__", None),
)
def test_what_no_compiler_takes_is_refused(kernel, what):
    with pytest.raises(TypeError) as caught:
        run(kernel, 1, 1, filled(2), filled(2))
    line = kernel.py_func.__code__.co_firstlineno + 2
    assert str(caught.value) == f"no compiler for a GPU takes {what.format(line)}"


@cuda.jit
def looks_back(x, out):
    """The first thread looks at shared[-1], which numba takes for the last."""
    shared = cuda.shared.array(8, float32)
    thread = cuda.threadIdx.x
    shared[thread] = x[thread]
    cuda.syncthreads()
    out[thread] = shared[thread - 1]


@cuda.jit
def looks_back_too_early(x, out):
    tile = cuda.shared.array((2, 4), float32)
    thread = cuda.threadIdx.x
    tile[0, thread] = x[thread]
    if thread == 0:
        out[thread] = tile[0, thread - 1]


def test_of_an_index_below_0_it_is_told_that_it_counts_from_the_end():
    with pytest.raises(Uninitialised) as caught:
        run(looks_back, 1, 4, filled(4), filled(4))
    assert str(caught.value) == (
        "thread 0 of block 0 reads element 7 of the shared array shared (by the index -1, which "
        "counts from the end), which no thread of the block has written"
    )
    with pytest.raises(Race) as caught:  # it is thread 3 that wrote, at index 3
        run(looks_back_too_early, 1, 4, filled(4), filled(4))
    assert "thread 3 of block 0 writes element (0, 3) of the shared array tile, which" in str(
        caught.value
    )


@cuda.jit
def tree_that_some_left(x, out):
    shared = cuda.shared.array(8, float32)
    thread = cuda.threadIdx.x
    if thread >= x.size:
        return
    shared[thread] = x[thread]
    cuda.syncthreads()
    cuda.syncthreads()
    out[thread] = shared[7 - thread]


def test_it_is_told_that_threads_had_ended_before_they_wrote():
    with pytest.raises(Uninitialised) as caught:
        run(tree_that_some_left, 1, 8, filled(5), filled(5))
    assert str(caught.value) == (
        "thread 0 of block 0 reads element 7 of the shared array shared, which no thread of the "
        "block has written; 3 of its 8 threads had ended before"
    )


def test_the_lines_that_led_to_what_was_never_written_are_kept():
    with pytest.raises(Uninitialised) as caught:
        run(reads_shared, 1, 2, filled(2))
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    outer = "out[0] = first_of(cuda.shared.array((3, 2), float32)[1])"
    assert lines.index(outer) < lines.index("return shared[0]  # nobody wrote it")


@cuda.jit
def dynamic(out):
    shared = cuda.shared.array(0, float32)
    shared[cuda.threadIdx.x] = cuda.threadIdx.x
    cuda.syncthreads()
    out[cuda.threadIdx.x] = shared[shared.size - 1 - cuda.threadIdx.x]


def test_dynamic_shared_memory_is_one_array_for_the_block():
    out = filled(4)
    run(dynamic, 1, 4, out, dynamic_bytes=16)
    assert out.tolist() == [3.0, 2.0, 1.0, 0.0]


def test_a_device_array_shares_the_memory_and_looks_as_on_a_gpu():
    memory = filled(2, 3)
    array = observed(memory[:, :2])
    assert (array.shape, array.size, array.dtype) == ((2, 2), 4, np.float32)
    memory[1, 1] = 5
    assert array.copy_to_host()[1, 1] == 5


@cuda.jit
def overflow(out):
    out[0] = out[0] * out[0] - out[0] * out[0]


def test_inf_and_nan_come_without_warnings():
    out = filled(1, value=3e38)
    run(overflow, 1, 1, out)
    assert np.isnan(out[0])


# --- what a launch takes --------------------------------------------------------------------------


class Pair(NamedTuple):
    x: Any
    out: Any


@cuda.jit
def doubles(pair, nested):
    ((again,),) = nested
    i = cuda.grid(1)
    pair.out[i] = again[i] = 2 * pair.x[i]


@cuda.jit
def adds_plainly(pair):
    x, out = pair
    out[0] += x[cuda.grid(1)]


@cuda.jit
def goes_on(pair):
    pair[1][cuda.grid(1)] = 0.0


def test_arrays_in_tuples_are_looked_at_like_any_others():
    x, out, again = np.arange(4, dtype=np.float32), filled(4), filled(4)
    NOTED.clear()
    doubles[2, 2](Pair(observed(x), observed(out)), ((again,),))
    assert out.tolist() == again.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert NOTED == [(4, "load"), (4, "store")] * 4
    with pytest.raises(Race, match="thread 1 of block 0 reads element 0 of x, which thread 0 of"):
        adds_plainly[1, 2]((observed(x), observed(out)))
    with pytest.raises(OutOfBounds, match="index 4 of x, which has 4 elements"):
        goes_on[1, 5]((observed(x), observed(out)))


@pytest.mark.parametrize(
    "given", [observed, np.asarray, cuda.InOut], ids=["device", "host", "hint"]
)
def test_a_launch_that_is_undone_leaves_arrays_in_tuples_as_they_were(given):
    x, out, again = filled(4, value=1.0), filled(4), filled(4)
    with setup.undoing():
        doubles[2, 2](Pair(x, given(out)), ((given(again),),))
        in_place[1, 4](given(x))
        in_place[1, 4](cuda.InOut(observed(x)))
    assert (x.tolist(), out.tolist(), again.tolist()) == ([1.0] * 4, [0.0] * 4, [0.0] * 4)
    doubles[2, 2](Pair(x, given(out)), ((given(again),),))
    assert out.tolist() == again.tolist() == [2.0] * 4


@cuda.jit
def tells_its_launch(out):
    if cuda.grid(1) == 0:
        out[0] = cuda.gridsize(1)
        out[1] = cuda.shared.array(0, int32).size


def test_each_launch_configuration_of_a_kernel_is_one_of_its_own():
    many, one = tells_its_launch[8, 64, 0, 16], tells_its_launch[1, 4]
    for launch, told in ((many, [512, 4]), (one, [4, 0]), (many, [512, 4])):
        launch(observed(out := np.zeros(2, np.int32)))
        assert out.tolist() == told


RECORD = np.dtype([("v", np.float32), ("w", np.float32)])


@cuda.jit
def adds_to_a_record(records):
    records[0]["v"] += 1.0


@cuda.jit
def adds_to_one_record(record):
    record["v"] += 1.0


@cuda.jit
def sees_records(x):
    x.view(RECORD)[0]["v"] = 1.0


@cuda.jit
def shares_records(x):
    cuda.shared.array(1, RECORD)[0]["v"] = 1.0


@pytest.mark.parametrize(
    ("kernel", "argument", "named"),
    [
        (adds_to_a_record, lambda: cuda.device_array(1, RECORD), "the device array of shape (1,)"),
        (adds_to_a_record, lambda: observed(filled(2)).view(RECORD), "x"),
        (adds_to_one_record, lambda: np.zeros(1, RECORD)[0], "the device array of shape ()"),
        (sees_records, lambda: observed(filled(2)), "x"),
        (shares_records, lambda: observed(filled(2)), "the shared array of shape (1,)"),
    ],
    ids=["scratch", "view", "record", "in the kernel", "shared"],
)
def test_records_whose_fields_nobody_would_follow_are_refused(kernel, argument, named):
    with pytest.raises(NotSimulated) as caught:
        kernel[1, 1](argument())
    assert str(caught.value) == (
        f"{named} holds records, whose fields the simulator does not follow: use one array for "
        "each field"
    )


def reading(elsewhere):
    @cuda.jit
    def reads_elsewhere(out):
        out[0] = elsewhere[0]

    return reads_elsewhere


def writing(elsewhere):
    @cuda.jit
    def writes_elsewhere(out):
        elsewhere[0] = 1.0

    return writes_elsewhere


def from_a_list(elsewhere):
    held = [elsewhere]

    @cuda.jit
    def reads_a_list(out):
        out[0] = held[0][0]

    return reads_a_list


ELSEWHERE = pytest.mark.parametrize(
    ("made", "named"),
    [
        (lambda: observed(filled(2)), "x"),
        (lambda: cuda.to_device(filled(2)), "the device array of shape (2,)"),
    ],
    ids=["argument", "scratch"],
)


@ELSEWHERE
def test_device_arrays_that_are_no_arguments_are_not_simulated_in_kernels(made, named):
    elsewhere = made()
    with pytest.raises(NotSimulated) as caught:
        reading(elsewhere)[1, 1](observed(filled(1)))
    assert str(caught.value) == (
        f"the kernel uses {named} from outside (a closure, a global name or a list), and the "
        "simulator follows only a kernel's arguments, and tuples of them: pass it as an argument"
    )
    elsewhere[0] = 3.0
    assert elsewhere[0] == 3.0


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (writing, "an array that is not an argument of the kernel cannot be changed"),
        (from_a_list, "held is a list, which a kernel cannot take from outside"),
    ],
)
def test_what_numba_refuses_of_arrays_that_are_no_arguments_is_refused(kernel, why):
    with pytest.raises(NotCompiled, match=why):
        kernel(cuda.to_device(filled(2)))[1, 1](observed(filled(1)))


# --- what is counted ----------------------------------------------------------------------------


@cuda.jit
def copy_twice(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + x[i]


@cuda.jit
def copy_parts(x, out):
    """Reads through a slice, another shape and another dtype of the same memory."""
    i = cuda.threadIdx.x
    part, table, raw = x[2:6], x.reshape((2, 4)), x.view(np.int32)
    out[i] = part[i] + table[1, i]
    out[4 + i] = raw[i]


@cuda.jit
def add_up(x, out):
    cuda.atomic.add(out, 0, x[cuda.grid(1)])


def moved(what: str) -> int:
    return sum(size for size, kind in NOTED if kind == what)


def test_every_access_to_an_element_is_noted_and_no_other():
    run(copy_twice, 2, 8, filled(11), filled(11))
    assert (moved("load"), moved("store")) == (4 * 22, 4 * 11)


def test_what_is_read_through_a_part_or_another_shape_is_noted():
    run(copy_parts, 1, 4, filled(8), filled(8))
    assert (moved("load"), moved("store")) == (4 * 12, 4 * 8)


def test_an_atomic_is_noted_as_reading_and_writing():
    run(add_up, 1, 8, filled(8), out := filled(1))
    assert moved("load") > 4 * 8
    assert moved("store") == 4 * 8
    assert out[0] == 0


@pytest.mark.parametrize(
    ("touch", "loads", "stores"),
    [
        (lambda x: x.copy_to_host(), 1, 0),
        (lambda x: x.copy_to_device(filled(8)), 0, 1),
        (lambda x: x.copy_to_device(observed(filled(8))), 1, 1),
        (lambda x: x[:].copy_to_host(), 1, 0),
        (lambda x: x.reshape(2, 4).T.ravel().copy_to_host(), 1, 0),
        (lambda x: x.bind().squeeze().view(np.int32).copy_to_host(), 1, 0),
        (lambda x: [part.copy_to_host() for part in x.split(3)], 1, 0),
        (lambda x: x.__setitem__(slice(0, 8), 1.0), 0, 1),
        (lambda x: np.asarray(x), 1, 0),
        (lambda x: x.sum(), 1, 0),
        (lambda x: (x.shape, x.size, x.dtype, x.strides, x.ndim, x.nbytes, len(x)), 0, 0),
    ],
    ids=str,
)
def test_what_an_entry_does_with_an_array_is_noted(touch, loads, stores):
    x = observed(filled(8))
    NOTED.clear()
    touch(x)
    assert (moved("load"), moved("store")) == (32 * loads, 32 * stores)


# --- what goes wrong ----------------------------------------------------------------------------


@cuda.jit
def too_far(out):
    cuda.syncthreads()
    out[cuda.grid(1)] = 1.0  # too far


def test_an_index_out_of_bounds_names_the_thread_and_keeps_the_line():
    out = filled(6)
    with pytest.raises(OutOfBounds) as caught:
        run(too_far, 2, 4, out)
    assert str(caught.value) == (
        "thread 2 of block 1 uses index 6 of x, which has 6 elements: is a bounds check missing?"
    )
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "out[cuda.grid(1)] = 1.0  # too far" in lines


@cuda.jit
def too_far_along(table):
    column, row = cuda.grid(2)
    table[row, column] = 1.0


@pytest.mark.parametrize(
    ("grid", "block", "said"),
    [
        ((1, 1), (2, 3), "thread (0, 2) of block 0 uses 2 as the first index of x"),
        ((3, 1), (1, 2), "thread (0, 0) of block 2 uses 2 as the second index of x"),
        ((1, 2), (1, 2), "thread (0, 0) of block (0, 1) uses 2 as the first index of x"),
    ],
)
def test_threads_and_blocks_are_told_along_as_many_axes_as_the_launch_has(grid, block, said):
    with pytest.raises(OutOfBounds) as caught:
        run(too_far_along, grid, block, np.zeros((2, 2), np.float32))
    assert str(caught.value) == f"{said}, where it has 2 elements: is a bounds check missing?"


@cuda.jit
def one_too_far(out):
    for i in range(3):
        out[i + 1] = 1.0


@cuda.jit
def turned(table):
    column, row = cuda.grid(2)
    if row < 2 and column < 3:
        table[column, row] = 1.0


@cuda.jit
def far_too_far(out):
    out[9] = 1.0


@pytest.mark.parametrize(
    ("kernel", "block", "shape", "asked"),
    [
        (one_too_far, 1, 3, ", so it is one past the last: is the index one too large, or "),
        (
            turned,
            (4, 4),
            (2, 3),
            ", and would be inside with its two indices exchanged: are they, or ",
        ),
        (far_too_far, 1, 3, ": "),
    ],
)
def test_an_index_out_of_bounds_is_asked_about(kernel, block, shape, asked):
    with pytest.raises(OutOfBounds) as caught:
        run(kernel, 1, block, np.zeros(shape, np.float32))
    assert str(caught.value).endswith(f" elements{asked}is a bounds check missing?")


@cuda.jit(device=True)
def raises_in_one_thread():
    cuda.syncthreads()
    if cuda.threadIdx.x == 2:
        raise ValueError("of the learner's own")
    cuda.syncthreads()


@cuda.jit
def raises(out):
    raises_in_one_thread()
    out[cuda.threadIdx.x] = 1


def test_one_thread_that_raises_stops_the_block_and_leaves_nothing_behind():
    out = filled(4)
    with pytest.raises(ValueError, match="of the learner's own"):
        run(raises, 1, 4, out)
    assert not out.any()
    assert cuda is sys.modules["numba.cuda"]  # inside kernels, the name stands for something else
    np.testing.assert_array_equal(sums(tree, 1), [THREADS * (THREADS - 1) / 2])


@cuda.jit
def idle():
    pass


@pytest.mark.parametrize(
    ("grid", "block", "dynamic_bytes", "message"),
    [
        (1, 1025, 0, "a block of 1025 threads is too large: a GPU runs at most 1024"),
        (1, (32, 33), 0, "a block of 1056 threads is too large"),
        (1, (1, 1, 65), 0, r"a block of \(1, 1, 65\) is too large"),
        ((1, 65_536), 1, 0, r"a grid of \(1, 65536, 1\) is too large"),
        (0, 32, 0, "a launch needs at least one block, not 0 blocks of 32 threads$"),
        ((2, 0), (8, 4), 0, "at least one block, not 2 × 0 blocks of 8 × 4 threads$"),
        (1, 0, 0, "a launch needs at least one thread in a block, not 1 block of 0 threads$"),
        (1, 1, 48 * 1024 + 1, "49153 bytes of shared memory are too many"),
    ],
    ids=["threads", "threads-2d", "depth", "grid", "empty", "empty-2d", "idle", "dynamic"],
)
def test_launches_that_a_gpu_refuses(grid, block, dynamic_bytes, message):
    with pytest.raises(LaunchRefused, match=message):
        idle[grid, block, 0, dynamic_bytes]()


@cuda.jit
def hungry():
    cuda.shared.array(12 * 1024, float32)
    cuda.shared.array(1, float32)


def test_static_shared_memory_is_limited():
    with pytest.raises(LaunchRefused, match="49156 bytes of shared memory are too many"):
        hungry[1, 1]()


@cuda.jit
def misspells(out):
    out[cuda.threadIDx.x] = 1


def test_a_misspelt_name_of_cuda_is_told_the_right_one():
    with pytest.raises(
        AttributeError, match=r"cuda has no threadIDx: did you mean cuda.threadIdx\?"
    ):
        run(misspells, 1, 1, filled(1))


@cuda.jit
def rounds_down(out):
    out[0] = cuda.libdevice.fadd_rd(out[0], out[0])


def test_what_the_simulator_lacks_is_said():
    with pytest.raises(NotSimulated, match=r"libdevice\.fadd_rd is not simulated"):
        run(rounds_down, 1, 1, filled(1))


# --- shuffles -----------------------------------------------------------------------------------

EVERY = 0xFFFFFFFF  # lane of a warp


@cuda.jit
def shuffles(x, out, by):
    i = cuda.grid(1)
    out[0, i] = cuda.shfl_sync(EVERY, x[i], by[0])
    out[1, i] = cuda.shfl_up_sync(EVERY, x[i], by[0])
    out[2, i] = cuda.shfl_down_sync(EVERY, x[i], by[0])
    out[3, i] = cuda.shfl_xor_sync(EVERY, x[i], by[0])


@pytest.mark.parametrize(
    ("by", "as_if"), [(0, 0), (1, 1), (5, 5), (31, 31), (32, 0), (33, 1)], ids=str
)
def test_each_shuffle_hands_over_the_value_of_the_lane_it_names_within_a_warp(by, as_if):
    x, out = np.arange(64, dtype=np.float32), filled(4, 64)
    run(shuffles, 1, 64, x, out, np.array([by]))
    lane = np.arange(64) % 32
    warp = np.arange(64) - lane
    ahead, behind = lane + as_if, lane - as_if
    expected = [
        warp + as_if,
        warp + np.where(behind < 0, lane, behind),
        warp + np.where(ahead > 31, lane, ahead),
        warp + (lane ^ as_if),
    ]
    assert out.tolist() == np.array(expected).tolist()


@cuda.jit
def warp_sums(x, out):
    total = x[cuda.grid(1)]
    by = 16
    while by > 0:
        total += cuda.shfl_down_sync(EVERY, total, by)
        by //= 2
    if cuda.threadIdx.x % 32 == 0:
        out[cuda.grid(1) // 32] = total


def test_a_tree_of_shuffles_adds_up_each_warp():
    x, out = np.arange(192, dtype=np.float32), filled(6)
    run(warp_sums, 2, 96, x, out)
    assert out.tolist() == x.reshape(6, 32).sum(1).tolist()


@cuda.jit
def halves_apart(x, out):
    """Each half of the warp by itself, the upper one first through another shuffle."""
    lane = cuda.threadIdx.x
    if lane < 16:
        out[lane] = cuda.shfl_xor_sync(0xFFFF, x[lane], 15)
    else:
        value = cuda.shfl_xor_sync(0xFFFF0000, x[lane], 1)
        out[lane] = cuda.shfl_xor_sync(0xFFFF0000, value, 2)
    cuda.syncthreads()


def test_parts_of_a_warp_exchange_by_themselves():
    x, out = np.arange(32, dtype=np.float32), filled(32)
    run(halves_apart, 1, 32, x, out)
    assert out.tolist() == [15 - i for i in range(16)] + [i ^ 3 for i in range(16, 32)]


@cuda.jit
def catches_up(x, out):
    """Lane 0 exchanges with itself first, and meets the others afterwards."""
    value = x[cuda.threadIdx.x]
    if cuda.threadIdx.x == 0:
        value = cuda.shfl_sync(1, value, 0) + 100
    out[cuda.threadIdx.x] = cuda.shfl_sync(EVERY, value, 0)


@cuda.jit
def most_have_ended(x, out):
    lane = cuda.threadIdx.x
    if lane >= 2:
        return
    out[lane] = cuda.shfl_xor_sync(EVERY, x[lane], 1)


@pytest.mark.parametrize(
    ("kernel", "expected"), [(catches_up, [100] * 4), (most_have_ended, [1, 0])]
)
def test_a_shuffle_waits_for_who_comes_later_and_for_none_that_has_ended(kernel, expected):
    out = filled(4)
    run(kernel, 1, 4, np.arange(4, dtype=np.float32), out)
    assert out[: len(expected)].tolist() == expected


@cuda.jit
def half_comes(x, out):
    value = x[cuda.threadIdx.x]
    if cuda.threadIdx.x < 16:
        value += cuda.shfl_down_sync(EVERY, value, 8)
    cuda.syncthreads()
    out[cuda.threadIdx.x] = value


@cuda.jit
def two_places(x, out):
    if cuda.threadIdx.x < 16:
        out[0] = cuda.shfl_sync(EVERY, x[0], 0)
    else:
        out[0] = cuda.shfl_sync(EVERY, x[0], 1)


@cuda.jit
def two_masks(x, out):
    mask = EVERY if cuda.threadIdx.x < 16 else 0xFFFF0001
    out[cuda.threadIdx.x] = cuda.shfl_xor_sync(mask, x[cuda.threadIdx.x], 1)
    cuda.syncthreads()


@cuda.jit
def leaves_itself_out(x, out):
    out[cuda.threadIdx.x] = cuda.shfl_down_sync(1, x[cuda.threadIdx.x], 1)


@cuda.jit
def asks_beyond_the_mask(x, out):
    if cuda.threadIdx.x < 16:
        out[cuda.threadIdx.x] = cuda.shfl_down_sync(0xFFFF, x[cuda.threadIdx.x], 8)


@cuda.jit
def asks_who_has_ended(x, out):
    if cuda.threadIdx.x < 16:
        out[cuda.threadIdx.x] = cuda.shfl_down_sync(EVERY, x[cuda.threadIdx.x], 8)


DIVERGENT = {
    half_comes: "thread 0 calls cuda.shfl_down_sync, and the mask 0xffffffff names thread "
    "16 of the same warp, which does not come: it waits in line NN (cuda.syncthreads())",
    two_places: "thread 0 calls cuda.shfl_sync, and the mask 0xffffffff names thread "
    "16 of the same warp, which does not come: it waits in line NN "
    "(out[0] = cuda.shfl_sync(EVERY, x[0], 1))",
    leaves_itself_out: "thread 1 calls cuda.shfl_down_sync, and the mask 0x1 leaves out "
    "its own lane 1: each thread that calls must be named",
    asks_beyond_the_mask: "thread 8 gets the value of lane 16 from cuda.shfl_down_sync, "
    "and that lane is not in the mask 0xffff: the value could be anything",
    asks_who_has_ended: "thread 8 gets the value of lane 16 from cuda.shfl_down_sync, and "
    "that lane never calls it, or is not in the block: the value could be anything",
}


@pytest.mark.parametrize("kernel", DIVERGENT, ids=lambda kernel: kernel.__name__)
def test_who_must_come_to_a_shuffle_and_does_not_is_told_at_the_line_of_the_shuffle(kernel):
    with pytest.raises(DivergentShuffle) as caught:
        run(kernel, 1, 32, filled(32), filled(32))
    assert re.sub(r"line \d+", "line NN", str(caught.value)) == DIVERGENT[kernel]
    lines = [
        f.line for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__
    ]
    assert "cuda.shfl_" in lines[-1]


def test_a_shuffle_whose_masks_differ_names_the_other_mask():
    with pytest.raises(DivergentShuffle, match="comes with another mask, 0xffff0001"):
        run(two_masks, 1, 32, filled(32), filled(32))


def test_a_shuffle_goes_by_whole_numbers_alone():
    """numba-cuda's compiler truncates the bits of mask and lanes, which fails for a float's."""
    message = r"by in cuda\.shfl_sync\(mask, value, by\) must be a whole number, not 8\.0"
    with pytest.raises(TypeError, match=message):
        run(shuffles, 1, 32, filled(32), filled(4, 32), np.array([8.0]))


@cuda.jit
def shares_through_memory(x, out):
    """A shuffle is no barrier: the lane's neighbour may not see its write yet."""
    shared = cuda.shared.array(THREADS, float32)
    lane = cuda.threadIdx.x
    shared[lane] = x[lane]
    value = cuda.shfl_sync(EVERY, x[lane], 0)
    out[lane] = shared[(lane + 1) % 32] + value


@cuda.jit
def uses_its_own_on_both_sides(x, out):
    shared = cuda.shared.array(THREADS, float32)
    lane = cuda.threadIdx.x
    shared[lane] = x[lane]
    value = cuda.shfl_down_sync(EVERY, shared[lane], 1)
    shared[lane] += value
    cuda.atomic.add(out, lane, shared[lane])
    value = cuda.shfl_down_sync(EVERY, value, 1)
    cuda.atomic.add(out, lane, value - value)


def test_a_shuffle_orders_no_accesses():
    with pytest.raises(Race, match="reads element 1 of the shared array"):
        run(shares_through_memory, 1, 32, filled(32), filled(32))


def test_what_a_thread_did_before_a_shuffle_is_its_own_afterwards():
    x, out = np.arange(32, dtype=np.float32), filled(32)
    run(uses_its_own_on_both_sides, 1, 32, x, out)
    assert out.tolist() == [2 * i + 1 for i in range(31)] + [62]


@cuda.jit
def overwrites_what_others_read(x, out):
    """Thread 0 reads it before the shuffle, thread 1 on both sides, and then writes it."""
    lane = cuda.threadIdx.x
    value = x[0]
    value += cuda.shfl_sync(EVERY, value, 0)
    if lane == 1:
        value += x[0]
        x[0] = value


def test_a_read_before_a_shuffle_is_remembered_behind_a_later_one_of_the_same_thread():
    with pytest.raises(Race, match=r"thread 1 of block 0 writes element 0 of x, which thread 0 of"):
        run(overwrites_what_others_read, 1, 2, filled(1), filled(1))


# --- the greenlets of threads, which serve later launches, too -----------------------------------


def test_launches_of_several_threads_of_the_process_follow_one_another():
    given, outs = np.arange(2 * THREADS, dtype=np.float32), [filled(2), filled(2)]
    run(tree, 2, THREADS, given, outs[0])
    with ThreadPoolExecutor() as pool:
        pool.submit(run, tree, 2, THREADS, given, outs[1]).result()
    assert [out.tolist() for out in outs] == [[2016.0, 6112.0]] * 2


def test_nothing_of_a_launch_stays_alive():
    given = np.arange(THREADS, dtype=np.float32)
    alive = weakref.ref(given)
    run(tree, 1, THREADS, given, filled(1))
    del given
    assert alive() is None


def test_a_block_that_failed_leaves_the_next_ones_right():
    with pytest.raises(OutOfBounds):
        run(tree, 2, THREADS, filled(THREADS + 1), filled(2))
    out = filled(1)
    run(tree, 1, THREADS, filled(THREADS, value=1.0), out)
    assert out[0] == THREADS
