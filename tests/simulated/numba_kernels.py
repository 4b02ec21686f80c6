"""Kernels in numba's CUDA simulator; tests/test_numba_sim.py runs this file by itself."""

from __future__ import annotations

import sys
import traceback

import numpy as np
import pytest
from numba import cuda, float32, int32

from grader.worker import numba_sim
from grader.worker.guard import OutOfBounds

numba_sim.install()

THREADS = 64


def filled(*shape: int, value: float = 0.0) -> np.ndarray:
    return np.full(shape, value, dtype=np.float32)


NOTED: list[tuple[int, str]] = []  # accesses since the last launch: bytes, and of which kind


def observed(array: np.ndarray):
    return numba_sim.device_array(array, lambda size, what: NOTED.append((size, what)))


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


def test_without_a_barrier_after_the_loads_every_sum_is_nan():
    """In the first block and in the later ones: shared memory does not outlive its block."""
    assert np.isnan(sums(tree_without_barrier_after_loads)).all()


def test_without_a_barrier_in_the_loop_the_answer_is_wrong_and_always_the_same():
    first, again = sums(tree_without_barrier_in_loop), sums(tree_without_barrier_in_loop)
    assert (first != sums(tree)).all()
    np.testing.assert_array_equal(first, again)


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


@cuda.jit
def votes(out, threshold):
    thread = cuda.threadIdx.x
    if thread == 7:
        return  # an ended thread counts as arrived, and has no vote
    out[0, thread] = cuda.syncthreads_count(thread < threshold)
    out[1, thread] = cuda.syncthreads_and(thread < threshold)
    out[2, thread] = cuda.syncthreads_or(thread < threshold)


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


def test_a_grid_barrier_works_in_one_block_and_is_refused_in_two():
    out = filled(8)
    run(across_the_grid, 1, 8, out)
    assert out.tolist() == [1.0] * 8
    with pytest.raises(numba_sim.NotSimulated, match="across several blocks needs a GPU"):
        run(across_the_grid, 2, 4, out)


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
    floats[1] = cuda.shared.array(3, np.float32)[1]
    floats[2] = cuda.shared.array(0, float32)[1]
    integers[0] = cuda.local.array(3, int32)[1]
    integers[1] = cuda.shared.array((3, 2), "int32")[1, 1]


def test_memory_that_was_never_written_shows():
    floats, integers = filled(3), np.zeros(2, dtype=np.int32)
    run(never_written, 1, 1, floats, integers, dynamic_bytes=10)
    assert np.isnan(floats).all()
    assert integers.tolist() == [np.frombuffer(b"\xa5" * 4, np.int32)[0]] * 2
    assert np.isnan(cuda.device_array(4, np.float32).copy_to_host()).all()
    assert np.isnan(cuda.device_array_like(filled(2, 3)).copy_to_host()).all()


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
        "thread (2, 0, 0) of block (1, 0, 0) uses index 6 on axis 0 of an array, "
        "where it has 6 elements: is a bounds check missing?"
    )
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "out[cuda.grid(1)] = 1.0  # too far" in lines


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
        (0, 1, 0, "at least one block and thread"),
        (1, 1, 48 * 1024 + 1, "49153 bytes of shared memory are too many"),
    ],
    ids=["threads", "threads-2d", "depth", "grid", "empty", "dynamic"],
)
def test_launches_that_a_gpu_refuses(grid, block, dynamic_bytes, message):
    with pytest.raises(numba_sim.LaunchRefused, match=message):
        idle[grid, block, 0, dynamic_bytes]()


@cuda.jit
def hungry():
    cuda.shared.array(12 * 1024, float32)
    cuda.shared.array(1, float32)


def test_static_shared_memory_is_limited():
    with pytest.raises(numba_sim.LaunchRefused, match="49156 bytes of shared memory are too many"):
        hungry[1, 1]()


@cuda.jit
def shuffles(out):
    out[0] = cuda.shfl_down_sync(0xFFFFFFFF, out[0], 1)


def test_what_the_simulator_lacks_is_said():
    with pytest.raises(numba_sim.NotSimulated, match=r"cuda\.shfl_down_sync"):
        run(shuffles, 1, 1, filled(1))
