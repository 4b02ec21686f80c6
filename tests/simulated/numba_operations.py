"""What kernels may use of numba-cuda; tests/backends/numba/test_simulator.py runs this file.

Each kernel is compiled by numba, too, so that none of them uses what no GPU has.
"""

from __future__ import annotations

import math

import numba
import numba.cuda
import numpy as np
import pytest
from numba import cuda, float32, int32, uint32
from numba.cuda import (
    grid,
    gridsize,
    laneid,  # noqa: F401  a name that no kernel can use, but a file may import
    libdevice,
    shfl_xor_sync,
    syncthreads,
    threadIdx,
)
from numba.cuda.libdevice import rsqrtf

from grader.backends.numba.refusals import NotCompiled
from grader.backends.numba.simulator import setup
from grader.backends.numba.simulator.device_arrays import device_array
from grader.backends.numba.simulator.launch_limits import LaunchRefused
from grader.backends.numba.simulator.not_simulated import NotSimulated
from grader.worker.bounds import OutOfBounds
from grader.worker.races import DivergentShuffle, Race

setup.install()

EVERY = 0xFFFFFFFF


def run(kernel, blocks, threads, *arrays, **more) -> None:
    named = zip(("x", "y", "z"), arrays, strict=False)
    given = [device_array(array, lambda: None, name) for name, array in named]
    kernel[blocks, threads](*given, **more)


def zeros(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


# --- votes and matches of a warp ------------------------------------------------------------------


@cuda.jit
def votes(x, out):
    i = cuda.grid(1)
    positive = x[i] > 0
    out[0, i] = cuda.all_sync(EVERY, positive)
    out[1, i] = cuda.any_sync(EVERY, positive)
    out[2, i] = cuda.eq_sync(EVERY, positive)
    out[3, i] = cuda.popc(cuda.ballot_sync(EVERY, positive))
    out[4, i] = cuda.ffs(cuda.ballot_sync(EVERY, positive))


@pytest.mark.parametrize(
    ("positive", "expected"),
    [([], (0, 0, 1, 0, 0)), ([3, 31], (0, 1, 0, 2, 4)), (range(32), (1, 1, 1, 32, 1))],
    ids=["none", "two", "all"],
)
def test_votes(positive, expected):
    x, out = zeros(32), zeros(5, 32, dtype=np.int32)
    x[list(positive)] = 1.0
    run(votes, 1, 32, x, out)
    assert out.tolist() == [[value] * 32 for value in expected]


@cuda.jit
def matches(x, out):
    i = cuda.grid(1)
    out[0, i] = cuda.match_any_sync(EVERY, x[i])
    mask, same = cuda.match_all_sync(EVERY, x[i] * 0)
    out[1, i] = mask
    out[2, i] = same
    mask, same = cuda.match_all_sync(EVERY, x[i])
    out[3, i] = mask
    out[4, i] = same


def test_matches():
    x, out = np.array([5, 6, 5, 7] * 8, np.int32), zeros(5, 32, dtype=np.int32)
    run(matches, 1, 32, x, out)
    assert out[0, :4].tolist() == [0x55555555, 0x22222222, 0x55555555, -0x77777778]
    assert (out[1:, 0].tolist(), out[3:, 9].tolist()) == ([-1, 1, 0, 0], [0, 0])


@cuda.jit
def appends(x, count, out):
    """A compaction by warps: one atomic for all lanes that hold something."""
    i = cuda.grid(1)
    if x[i] > 0:
        active = cuda.activemask()
        before = cuda.popc(active & cuda.lanemask_lt())
        first = 0
        leader = cuda.ffs(active) - 1
        if before == 0:
            first = cuda.atomic.add(count, 0, cuda.popc(active))
        first = cuda.shfl_sync(active, first, leader)
        out[first + before] = x[i]


def test_a_warp_appends_by_its_active_lanes():
    x = np.array([i if i % 3 else 0 for i in range(64)], np.float32)
    count, out = zeros(1, dtype=np.int32), zeros(64)
    given = [device_array(a, lambda: None, n) for n, a in zip("xcy", (x, count, out), strict=True)]
    appends[1, 64](*given)
    assert count[0] == np.count_nonzero(x)
    assert sorted(out[: count[0]].tolist()) == x[x > 0].tolist()


@cuda.jit
def some_vote(x, out):
    if cuda.laneid < 16:
        out[0] = cuda.ballot_sync(EVERY, x[0] > 0)
    cuda.syncthreads()


def test_a_vote_that_not_all_come_to_is_refused():
    with pytest.raises(DivergentShuffle, match=r"cuda\.ballot_sync, and the mask 0xffffffff names"):
        run(some_vote, 1, 64, zeros(1), zeros(1))


# --- order within a warp and within a block -------------------------------------------------------


@cuda.jit
def neighbours_in_a_warp(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncwarp()
    out[t] = tile[t ^ 1]


@cuda.jit
def neighbours_across_warps(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncwarp()
    out[t] = tile[63 - t]


@cuda.jit
def neighbours_and_back(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncwarp()
    value = tile[t ^ 1]
    tile[t] = value + 1  # its neighbour may not have read yet
    out[t] = value


def test_syncwarp_orders_the_threads_of_a_warp_and_no_others():
    x, out = np.arange(64, dtype=np.float32), zeros(64)
    run(neighbours_in_a_warp, 1, 64, x, out)
    assert out.tolist() == x.reshape(32, 2)[:, ::-1].ravel().tolist()
    for kernel in (neighbours_across_warps, neighbours_and_back):
        with pytest.raises(Race):
            run(kernel, 1, 64, x, out)


@cuda.jit
def last_in_block_adds_up(x, out):
    parts, count = cuda.shared.array(8, float32), cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        count[0] = 0
    cuda.syncthreads()
    parts[t] = x[t]
    cuda.threadfence_block()
    if cuda.atomic.add(count, 0, 1) == 7:
        total = float32(0)
        for i in range(8):
            total += parts[i]
        out[0] = total


@cuda.jit
def last_in_grid_fences_its_block(x, parts, count):
    parts[cuda.blockIdx.x] = x[cuda.blockIdx.x]
    cuda.threadfence_block()
    if cuda.atomic.add(count, 0, 1) == 2:
        x[0] = parts[0] + parts[1] + parts[2]


def test_a_fence_of_the_block_orders_its_threads_and_no_blocks():
    x, out = np.arange(8, dtype=np.float32), zeros(1)
    run(last_in_block_adds_up, 1, 8, x, out)
    assert out[0] == 28
    with pytest.raises(Race, match="which thread 0 of block 0 wrote"):
        run(last_in_grid_fences_its_block, 3, 1, x, zeros(3), zeros(1, dtype=np.int32))


# --- bits and arithmetic --------------------------------------------------------------------------


@cuda.jit
def bits(x, out):
    out[0] = cuda.popc(x[0])
    out[1] = cuda.clz(x[0])
    out[2] = cuda.ffs(x[0])
    out[3] = cuda.brev(x[0])


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (np.uint32, 5, [2, 29, 1, 5 << 29]),
        (np.uint64, 5, [2, 61, 1, 5 << 61]),
        (np.uint32, 0, [0, 32, 0, 0]),
    ],
)
def test_bits_are_those_of_the_dtype(dtype, value, expected):
    out = zeros(4, dtype=np.uint64)
    run(bits, 1, 1, np.array([value], dtype), out)
    assert out.tolist() == [each % 2 ** (8 * np.dtype(dtype).itemsize) for each in expected]


@cuda.jit
def arithmetic(x, out):
    out[0] = cuda.fma(x[0], x[1], x[2])
    out[1] = cuda.cbrt(x[3])
    out[2] = cuda.selp(x[0] > x[1], x[0], x[1])
    out[3] = rsqrtf(x[4])
    out[4] = libdevice.fast_expf(x[0])
    sine, cosine = cuda.libdevice.sincosf(x[0])
    out[5] = sine * sine + cosine * cosine
    out[6] = libdevice.float2int_rn(x[5])
    out[7] = math.exp(x[6])
    out[8] = math.log(x[7])
    out[9] = 1.0 / x[8]
    cuda.nanosleep(uint32(10))


def test_arithmetic():
    tiny = 2.0**-12
    given = [1 + tiny, 1 - tiny, -1.0, 27.0, 4.0, 2.5, 1000.0, -1.0, 0.0]
    out = zeros(10)
    run(arithmetic, 1, 1, np.array(given, np.float32), out)
    assert out[0] == -(tiny**2)  # which two roundings would make 0
    expected = [3.0, 1 + tiny, 0.5, math.exp(1 + tiny), 1.0, 2.0]
    assert out[1:7].tolist() == pytest.approx(expected)
    assert np.isinf(out[7])
    assert np.isnan(out[8])
    assert np.isinf(out[9])


# --- atomics --------------------------------------------------------------------------------------


@cuda.jit
def whole_atomics(out):
    cuda.atomic.and_(out, 0, 6)
    cuda.atomic.or_(out, 1, 8)
    cuda.atomic.xor(out, 2, 5)
    cuda.atomic.inc(out, 3, 2)
    cuda.atomic.dec(out, 4, 9)
    cuda.atomic.exch(out, 5, 7)
    cuda.atomic.max(out, 6, 7)
    cuda.atomic.min(out, 7, 2)
    cuda.atomic.sub(out, 8, 1)
    cuda.atomic.cas(out, 9, 3, 11)
    cuda.atomic.cas(out, 10, 4, 11)
    cuda.atomic.add(out, 11, -4)


def test_atomics_of_whole_numbers():
    out = np.full(12, 3, np.uint32)
    out[4] = out[8] = 0
    run(whole_atomics, 1, 1, out)
    assert out.tolist() == [2, 11, 6, 0, 9, 7, 7, 2, 2**32 - 1, 11, 3, 2**32 - 1]


@cuda.jit
def float_atomics(x, out):
    cuda.atomic.nanmax(out, 0, x[0])
    cuda.atomic.nanmin(out, 1, x[0])
    cuda.atomic.max(out, 2, float32(5.0))
    cuda.atomic.add(out, 3, x[1])


def test_atomics_of_floats():
    out = np.array([1, 2, 3, 4], np.float32)
    run(float_atomics, 1, 1, np.array([np.nan, 0.5], np.float32), out)
    assert out.tolist() == [1.0, 2.0, 5.0, 4.5]


@cuda.jit
def swaps(out):
    cuda.atomic.compare_and_swap(out, 0, 9)


def test_compare_and_swap():
    out = zeros(1, dtype=np.int32)
    run(swaps, 1, 2, out)
    assert out[0] == 9


# --- memory and types -----------------------------------------------------------------------------

TABLE = np.array([10, 20, 30], np.float32)


@cuda.jit
def memory(x, out):
    table = cuda.const.array_like(TABLE)
    mine = cuda.local.array((2, 2), float32)
    aligned = cuda.shared.array(4, float32, 16)
    mine[1, 0] = table[1]
    aligned[0] = mine[1, 0] + TABLE[2]
    out[0] = aligned[0]


@cuda.jit
def reads_beyond_the_constants(out):
    table = cuda.const.array_like(TABLE)
    out[0] = table[out.size + 2]


def test_local_shared_and_constant_arrays():
    out = zeros(1)
    run(memory, 1, 1, zeros(1), out)
    assert out[0] == 50
    with pytest.raises(OutOfBounds, match=r"index 3 of the constant array of shape \(3,\), which"):
        run(reads_beyond_the_constants, 1, 1, out)


@cuda.jit
def vectors(out):
    pair = cuda.float32x2(1.5, 2)
    four = cuda.float4(pair, 3.0, cuda.int2(4, 5).y)
    out[0] = four.x + four.y
    out[1] = four.z * four.w
    out[2] = cuda.uint8x2(1, 2).y


def test_vector_types():
    out = zeros(3)
    run(vectors, 1, 1, out)
    assert out.tolist() == [3.5, 15.0, 2.0]


@cuda.jit
def halves(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * x[i] + x[i]


def test_float16():
    x, out = np.array([0.1, 200.0, 300.0], np.float16), zeros(3, dtype=np.float16)
    run(halves, 1, 3, x, out)
    assert out.tolist() == [*(x[:2] * x[:2] + x[:2]).tolist(), math.inf]


# --- loops over arrays ----------------------------------------------------------------------------


@cuda.jit
def loops(x, table, out):
    total = float32(0)
    for value in x:
        total += value
    out[0] = total
    for i, value in enumerate(x):
        out[1] = i * value
    for row in table:
        for value in row:
            out[2] = value


def test_a_loop_over_an_array_ends_at_its_last_element():
    loads = []
    x, table, out = np.arange(4, dtype=np.float32), np.eye(3, dtype=np.float32), zeros(3)
    loops[1, 1](
        device_array(x, lambda: lambda size, what: loads.append((size, what)), "x"),
        device_array(table, lambda: None, "table"),
        device_array(out, lambda: None, "out"),
    )
    assert out.tolist() == [6.0, 9.0, 1.0]
    assert loads == [(4, "load")] * 8


@cuda.jit
def sums_what_others_write(x, out):
    x[cuda.threadIdx.x] = 1.0
    for value in x:
        out[0] = value


def test_a_loop_over_an_array_reads_its_elements():
    with pytest.raises(Race):
        run(sums_what_others_write, 1, 2, zeros(2), zeros(1))


@cuda.jit
def hints_to_caches(x, out):
    i = cuda.grid(1)
    cuda.stcs(out, i, cuda.ldcg(x, i) + cuda.ldcs(x, (i,)))


def test_hints_to_caches_read_and_write_as_without():
    x, out = np.arange(4, dtype=np.float32), zeros(4)
    run(hints_to_caches, 2, 2, x, out)
    assert out.tolist() == [0.0, 2.0, 4.0, 6.0]
    with pytest.raises(OutOfBounds, match="index 4 of x, which has 4 elements"):
        run(hints_to_caches, 3, 2, x, zeros(6))
    with pytest.raises(OutOfBounds, match="index 4 of y, which has 4 elements"):
        run(hints_to_caches, 3, 2, zeros(6), zeros(4))


@cuda.jit
def methods(x, out):
    out[0] = x.sum()
    out[1] = x.prod()
    out[2] = x.mean()


def test_methods_of_arrays_read_all_elements():
    loads, x, out = [], np.arange(4, dtype=np.float32), zeros(3)
    noted = device_array(x, lambda: lambda size, what: loads.append(what), "x")
    methods[1, 1](noted, device_array(out, lambda: None, "out"))
    assert out.tolist() == [6.0, 0.0, 1.5]
    assert loads == ["load"] * 12


def test_an_array_from_an_earlier_call_is_counted_in_the_call_that_is():
    noted, asked, x, out = [], [], np.arange(4, dtype=np.float32), zeros(3)
    given = device_array(x, lambda: (lambda *_: noted.append(1)) if asked else None, "x")
    for _ in range(2):
        methods[1, 1](given, device_array(out, lambda: None, "out"))
        given.copy_to_host()
        asked.append(1)
    assert len(noted) == 13


# --- names ----------------------------------------------------------------------------------------


@cuda.jit
def single_names(out):
    tile = cuda.shared.array(4, float32)
    i, t = grid(1), cuda.threadIdx.x
    tile[t] = shfl_xor_sync(EVERY, cuda.laneid, 1) + gridsize(1) * cuda.blockIdx.x
    syncthreads()
    out[i] = tile[3 - t]


@cuda.jit
def a_name_that_numba_does_not_take(out):
    out[threadIdx.x] = 1.0


@numba.cuda.jit
def by_the_whole_name(out):
    out[numba.cuda.grid(1)] = numba.cuda.threadIdx.x + math.sqrt(numba.float32(4.0))


def made_in_a_function():
    from numba import cuda as gpu

    scale, at = 3, gpu.grid

    @gpu.jit(device=True)
    def tripled(value):
        return value * scale

    @gpu.jit
    def closure(out):
        out[at(1)] = tripled(gpu.threadIdx.x)

    return closure


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (single_names, [2, 3, 0, 1, 10, 11, 8, 9]),
        (by_the_whole_name, [2, 3, 4, 5] * 2),
        (made_in_a_function(), [0, 3, 6, 9] * 2),
    ],
    ids=["single", "whole", "closure"],
)
def test_names_may_be_imported_in_any_way(kernel, expected):
    out = zeros(8)
    before = (grid, syncthreads, numba.cuda)
    run(kernel, 2, 4, out)
    assert out.tolist() == expected
    assert before == (grid, syncthreads, numba.cuda)


def test_single_names_that_numba_does_not_take_are_refused():
    before = threadIdx
    with pytest.raises(NotCompiled, match="threadIdx is nothing that a kernel can use"):
        run(a_name_that_numba_does_not_take, 1, 4, zeros(4))
    assert threadIdx is before


# --- options, and what is asked of the host -------------------------------------------------------

OPTIONS = [
    {"fastmath": True},
    {"lineinfo": True},
    {"opt": False},
    {"debug": True, "opt": False},
    {"max_registers": 32},
    {"launch_bounds": 128},
    {"launch_bounds": (128, 2)},
    {"cache": True},
    {"inline": "always"},
    {"forceinline": True},
    {"shared_memory_carveout": 50},
    {"extensions": []},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_of_jit_is_taken(options, tmp_path, monkeypatch):
    monkeypatch.setattr(numba.cuda.config, "CACHE_DIR", str(tmp_path))

    @cuda.jit(**options)
    def kernel(out):
        out[cuda.grid(1)] = 1.0

    out = zeros(4)
    run(kernel, 1, 4, out)
    assert out.tolist() == [1.0] * 4


def test_a_launch_keeps_to_the_bounds_of_its_kernel():
    kernel = cuda.jit(launch_bounds=32)(by_the_whole_name.py_func)
    with pytest.raises(LaunchRefused, match="launch_bounds of the kernel allows 32"):
        run(kernel, 1, 64, zeros(64))


def test_a_signature_is_compiled_where_it_stands():
    @cuda.jit("void(float32[::1])")
    def kernel(out):
        out[cuda.grid(1)] = 1.0

    out = zeros(4)
    run(kernel, 1, 4, out)
    assert out.tolist() == [1.0] * 4
    with pytest.raises(NotCompiled, match=r"cuda.syncthreads_count takes no \(bool\)"):

        @cuda.jit("void(float32[::1])")
        def refused(out):
            out[0] = cuda.syncthreads_count(out[0] > 0)


def test_an_option_that_does_not_exist_is_refused():
    kernel = cuda.jit(lambda out: None, fast_math=True)
    with pytest.raises(NotCompiled, match="fast_math"):
        run(kernel, 1, 1, zeros(1))


def test_a_kernel_for_all_elements():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = i

    out = zeros(70)
    kernel.forall(70)(device_array(out, lambda: None, "out"))
    assert out.tolist() == list(range(70))


def test_functions_vectorised_for_the_gpu():
    @cuda.jit(device=True)
    def twice(x):
        return 2 * x

    @numba.vectorize(["float32(float32, float32)"], target="cuda")
    def product(x, y):
        return twice(x) * y

    @numba.guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
    def total(x, out):
        out[0] = 0.0
        for i in range(x.shape[0]):
            out[0] += x[i]

    x, out = (device_array(zeros(3, 4), lambda: None, name) for name in ("x", "out"))
    x[:] = 3.0
    product(x, np.float32(0.5), out=out)
    assert out.copy_to_host().tolist() == [[3.0] * 4] * 3
    assert product(x, x).copy_to_host().tolist() == [[18.0] * 4] * 3
    assert total(x).copy_to_host().tolist() == [12.0] * 3
    with pytest.raises(NotSimulated, match="the broadcast of a device array"):
        product(x, x[0])


def test_the_gpu_can_be_asked_about():
    device = cuda.get_current_device()
    assert (device.MULTIPROCESSOR_COUNT, device.WARP_SIZE, device.compute_capability) == (
        132,
        32,
        (9, 0),
    )
    assert device.MAX_THREADS_PER_BLOCK == cuda.gpus[0].MAX_THREADS_PER_BLOCK == 1024
    assert cuda.is_available()
    assert cuda.current_context().get_memory_info().total > 0


def test_streams_and_events_do_nothing():
    stream, out = cuda.stream(), zeros(1)

    @cuda.jit
    def kernel(out):
        out[0] = 1.0

    start, end = cuda.event(timing=False), cuda.event()
    start.record(stream)
    start.wait(stream)
    kernel[1, 1, stream](device_array(out, lambda: None, "out"))
    end.record(stream)
    end.synchronize()
    stream.synchronize()
    cuda.synchronize()
    assert out[0] == 1.0
    assert start.query()
    assert start.elapsed_time(end) > 0
