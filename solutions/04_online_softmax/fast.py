"""Softmax that reads each element once: a row waits on the chip until its sum is known.

    out[i, j] = exp(x[i, j] - m[i]) / s[i]
    m[i] = max_j x[i, j]     s[i] = sum_j exp(x[i, j] - m[i])

A row that fits the shared memory of one block belongs to a block, a longer one to a cluster of
blocks. Each block copies its share of the row there, by bulk copies of the Tensor Memory
Accelerator (TMA), and makes both passes over that copy. The blocks of a cluster exchange the
maximum and the sum of each warp through distributed shared memory. fast.md says what each of this
bought.

Rows that a bulk copy cannot fetch, because they begin at an odd address or are too long, are
handled by a plain kernel, which reads them twice.
"""

import functools
from typing import NamedTuple

import torch
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr float LOG2_E = 1.44269504088896341f;
constexpr unsigned ALL = 0xffffffffu;
constexpr int PACKS = 4;        // of a chunk, that a thread handles
constexpr int MOST_CHUNKS = 4;  // of a block's share of a row
using Barrier = unsigned long long;

__device__ float infinity() { return __int_as_float(0x7f800000); }

// exp(x), by the one instruction that the hardware has for powers of 2.
__device__ float exp_of(float x) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x * LOG2_E));
    return y;
}

// The same for a term of a sum of at least 1, beside which numbers below 2**-126 may become 0.
__device__ float term_of(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * LOG2_E));
    return y;
}

// 16 bytes, which a thread moves at once, and the numbers in them.
template <typename T> struct alignas(16) Pack {
    static constexpr int SIZE = 16 / sizeof(T);
    T of[SIZE];
};

// A maximum, and the sum of exp(x - maximum) over the x that were seen.
struct Partial {
    float high, sum;
};

// The partial of both. Nothing was seen yet where the maximum is -inf: then no exp of a difference
// of two infinities, which is NaN, may be taken.
__device__ Partial merged(Partial a, Partial b) {
    float high = fmaxf(a.high, b.high), base = high == -infinity() ? 0.0f : high;
    return {high, a.sum * term_of(a.high - base) + b.sum * term_of(b.high - base)};
}

__device__ Partial merged_over_warp(Partial mine) {
    for (int distance = 16; distance > 0; distance /= 2) {
        float high = __shfl_xor_sync(ALL, mine.high, distance);
        float sum = __shfl_xor_sync(ALL, mine.sum, distance);
        mine = merged(mine, {high, sum});
    }
    return mine;
}

template <typename T> __device__ Partial with(Partial seen, Pack<T> pack) {
    float high = seen.high, sum = 0.0f;
    for (T x : pack.of) high = fmaxf(high, float(x));
    float base = high == -infinity() ? 0.0f : high;
    for (T x : pack.of) sum += term_of(float(x) - base);
    return {high, seen.sum * term_of(seen.high - base) + sum};
}

// PTX of a barrier in shared memory (mbarrier), of bulk copies and of clusters.
__device__ unsigned at(const void* shared) { return __cvta_generic_to_shared(shared); }

__device__ void begin(Barrier* barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(barrier)));
}

__device__ void expect(Barrier* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(barrier)),
                 "r"(bytes) : "memory");
}

__device__ void wait(Barrier* barrier, unsigned parity) {
    asm volatile("{\n.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n}" ::"r"(at(barrier)), "r"(parity) : "memory");
}

__device__ void copy(void* shared, const void* global, unsigned bytes, Barrier* barrier) {
    expect(barrier, bytes);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(at(shared)), "l"(global), "r"(bytes),
                 "r"(at(barrier)) : "memory");
}

__device__ unsigned in_block(const void* shared, unsigned rank) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(shared)), "r"(rank));
    return there;
}

// Store into another block of the cluster; its barrier counts the bytes as they arrive.
__device__ void send(Partial* shared, Barrier* barrier, unsigned rank, Partial partial) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32"
                 " [%0], {%1, %2}, [%3];" ::"r"(in_block(shared, rank)), "f"(partial.high),
                 "f"(partial.sum), "r"(in_block(barrier, rank)) : "memory");
}

__device__ void meet_in_cluster() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// Strides are in elements. The first `many` clusters take EACH rows, those after them one row: so
// the last ones to finish finish together.
template <typename T, int CLUSTER, int THREADS, int EACH, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
softmax(const T* x, T* out, long long x_stride, long long out_stride, int columns, int many) {
    constexpr int WARPS = THREADS / 32, PARTIALS = CLUSTER * WARPS;
    constexpr int CHUNK = THREADS * PACKS;  // packs that are fetched at once
    extern __shared__ __align__(128) unsigned char memory[];  // this block's share of a row
    __shared__ Barrier filled[MOST_CHUNKS], met[2];
    __shared__ Partial partials[2][PARTIALS];  // of two rows: blocks may be one row apart

    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int rank = blockIdx.x % CLUSTER, cluster = blockIdx.x / CLUSTER;
    long long row = cluster < many ? cluster * EACH : many * (EACH - 1) + cluster;
    int rows = cluster < many ? EACH : 1;

    // This block's share of a row, in packs of 16 bytes.
    int packs = columns / Pack<T>::SIZE, share = (packs + CLUSTER - 1) / CLUSTER;
    int first = rank * share, count = min(share, packs - first);
    const T* from = x + row * x_stride + first * Pack<T>::SIZE;
    T* to = out + row * out_stride + first * Pack<T>::SIZE;

    Pack<T>* mine = reinterpret_cast<Pack<T>*>(memory);
    int chunks = (count + CHUNK - 1) / CHUNK;
    auto fetch = [&](int chunk, int turn) {
        int start = chunk * CHUNK, size = min(CHUNK, count - start);
        copy(mine + start, from + turn * x_stride + start * Pack<T>::SIZE, 16 * size,
             filled + chunk);
    };

    if (threadIdx.x == 0) {
        for (int chunk = 0; chunk < chunks; chunk++) begin(filled + chunk);
        begin(met), begin(met + 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int chunk = 0; chunk < chunks; chunk++) fetch(chunk, 0);
    }
    if (CLUSTER > 1) meet_in_cluster();
    else __syncthreads();

    for (int turn = 0; turn < rows; turn++) {
        int pair = turn % 2;

        // Pass 1: maximum and sum of this thread, of its warp, of the row.
        Partial partial = {-infinity(), 0.0f};
        for (int chunk = 0; chunk < chunks; chunk++) {
            wait(filled + chunk, turn % 2);
#pragma unroll
            for (int k = 0; k < PACKS; k++) {
                int i = chunk * CHUNK + k * THREADS + threadIdx.x;
                if (i < count) partial = with(partial, mine[i]);
            }
        }
        partial = merged_over_warp(partial);
        if (CLUSTER > 1) {
            if (lane < CLUSTER)
                send(&partials[pair][rank * WARPS + warp], met + pair, lane, partial);
            if (threadIdx.x == 0) expect(met + pair, PARTIALS * sizeof(Partial));
            wait(met + pair, turn / 2 % 2);
        } else {
            if (lane == 0) partials[pair][warp] = partial;
            __syncthreads();
        }
        partial = {-infinity(), 0.0f};
        for (int i = lane; i < PARTIALS; i += 32) partial = merged(partial, partials[pair][i]);
        partial = merged_over_warp(partial);

        // Pass 2: the answer, from the copy on the chip. Each chunk that everybody has read makes
        // room for that of the next row.
        float factor = 1.0f / partial.sum;
        for (int chunk = 0; chunk < chunks; chunk++) {
#pragma unroll
            for (int k = 0; k < PACKS; k++) {
                int i = chunk * CHUNK + k * THREADS + threadIdx.x;
                if (i >= count) continue;
                Pack<T> pack = mine[i];
                for (T& each : pack.of) each = T(exp_of(float(each) - partial.high) * factor);
                reinterpret_cast<Pack<T>*>(to + turn * out_stride)[i] = pack;
            }
            if (EACH > 1) __syncthreads();
            if (threadIdx.x == 0 && turn + 1 < rows) fetch(chunk, turn + 1);
        }
    }
    if (CLUSTER > 1) meet_in_cluster();  // no block may leave while another still sends to it
}

// One block for each row, of any length at any address; reads the row twice.
template <typename T>
__global__ void softmax_of_any(const T* x, T* out, long long x_stride, long long out_stride,
                               int columns) {
    __shared__ Partial partials[32];
    x += blockIdx.x * x_stride;
    out += blockIdx.x * out_stride;
    Partial partial = {-infinity(), 0.0f};
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        partial = merged(partial, {float(x[i]), 1.0f});
    partial = merged_over_warp(partial);
    if (threadIdx.x % 32 == 0) partials[threadIdx.x / 32] = partial;
    __syncthreads();
    int warps = blockDim.x / 32, lane = threadIdx.x % 32;
    partial = lane < warps ? partials[lane] : Partial{-infinity(), 0.0f};
    partial = merged_over_warp(partial);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[i] = T(exp_of(float(x[i]) - partial.high) / partial.sum);
}
"""

NAMES = {torch.float32: "float", torch.float16: "__half", torch.bfloat16: "__nv_bfloat16"}
SHARED = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
MOST_SHARED = 220 << 10  # bytes; 227 KiB on Hopper, some of which are partials and barriers


class Shape(NamedTuple):
    """The threads that work on a row, and the blocks that they form."""

    cluster: int  # blocks that share a row
    threads: int  # of a block
    each: int  # rows that a cluster takes, one after another
    blocks: int  # that shall fit on a multiprocessor


# By the longest row that they take, in bytes: the fastest of those tried (fast.md). A block holds
# up to 64 KiB of a row, so that three fit on a multiprocessor.
SHAPES = {
    4 << 10: Shape(cluster=1, threads=128, each=8, blocks=8),
    8 << 10: Shape(cluster=1, threads=128, each=2, blocks=8),
    32 << 10: Shape(cluster=1, threads=256, each=1, blocks=5),
    64 << 10: Shape(cluster=1, threads=512, each=1, blocks=2),
    128 << 10: Shape(cluster=2, threads=256, each=8, blocks=3),
    256 << 10: Shape(cluster=4, threads=256, each=8, blocks=3),
    512 << 10: Shape(cluster=8, threads=256, each=8, blocks=3),
    1 << 20: Shape(cluster=8, threads=512, each=8, blocks=1),
}
PLAIN_THREADS = 512


@functools.cache
def compiled(name, shared=0):
    """Compile a kernel for this GPU, once, and allow it so many bytes of shared memory."""
    device = Device()
    device.set_current()
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    code = Program(SOURCE, "c++", options).compile("cubin", name_expressions=(name,))
    kernel = code.get_kernel(name)
    if shared:
        (error,) = driver.cuKernelSetAttribute(SHARED, shared, kernel.handle, device.device_id)
        if error != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"{name} may not have {shared} bytes of shared memory: {error}")
    return kernel


@functools.cache
def has_clusters():
    """Report whether this GPU has clusters and bulk copies: Hopper was the first."""
    return Device().compute_capability.major >= 9


def softmax(x, out):
    """Fill `out` with the softmax of `x` over its last dimension.

    Both are (rows, columns) of one dtype: float32, float16 or bfloat16. Neighbours in a row lie
    next to each other in memory; the row strides may differ and may exceed `columns`.
    """
    rows, columns = x.shape
    size = x.element_size()
    places = (x.data_ptr(), out.data_ptr(), size * x.stride(0), size * out.stride(0))
    arguments = (x.data_ptr(), out.data_ptr(), x.stride(0), out.stride(0), columns)
    row = size * columns
    fitting = [shape for longest, shape in SHAPES.items() if row <= longest]
    if not fitting or any(each % 16 for each in (*places, row)) or not has_clusters():
        kernel = compiled(f"softmax_of_any<{NAMES[x.dtype]}>")
        config = LaunchConfig(grid=rows, block=PLAIN_THREADS)
        launch(Device().default_stream, config, kernel, *arguments)
        return
    shape = fitting[0]
    many = rows * 7 // 8 // shape.each if shape.each > 1 else 0
    kernel = compiled(f"softmax<{NAMES[x.dtype]}, {', '.join(map(str, shape))}>", MOST_SHARED)
    config = LaunchConfig(
        grid=many + rows - many * shape.each,
        cluster=shape.cluster,
        block=shape.threads,
        shmem_size=16 * -(-row // 16 // shape.cluster),
    )
    launch(Device().default_stream, config, kernel, *arguments, many)
