"""Softmax that reads each element once: a row waits on the chip until its sum is known.

    out[i, j] = exp(x[i, j] - m[i]) / s[i]
    m[i] = max_j x[i, j]     s[i] = sum_j exp(x[i, j] - m[i])

Each thread fetches its part of a row into shared memory, by asynchronous copies. It keeps the
exponentials of that part in registers, relative to the maximum of its warp. A short row belongs to
a warp or to a block, a long one to a cluster of blocks. All warps of a row exchange their maxima
and sums once, through shared memory or, in a cluster, through distributed shared memory. fast.md
says what each of this bought.

A plain kernel, which reads a row twice, takes the rows that are left: those of more than 1 MiB,
those whose address or length is no multiple of 16 bytes, and all of them on a GPU without clusters
or with too little shared memory.
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
using Barrier = unsigned long long;

__device__ float infinity() { return __int_as_float(0x7f800000); }

// exp(x) as 2**(x * log2(e)), for which there is an instruction. What is below 2**-126 becomes 0.
__device__ float exp_of(float x) {
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
struct alignas(8) Partial {
    float high, sum;
};

// The value subtracted from each x. Where nothing or only -inf was seen, it is 0: the difference of
// two infinities is NaN.
__device__ float base_of(float high) { return high == -infinity() ? 0.0f : high; }

__device__ Partial merged(Partial a, Partial b) {
    float high = fmaxf(a.high, b.high), base = base_of(high);
    return {high, a.sum * exp_of(a.high - base) + b.sum * exp_of(b.high - base)};
}

// The bits of a float as an integer of the same order: those below 0 lie the other way round.
__device__ int ordered(int bits) { return bits ^ (bits >> 31 & 0x7fffffff); }

// Since Ampere the hardware has a maximum over a warp, for integers alone.
__device__ float max_over_warp(float x) {
#if __CUDA_ARCH__ >= 800
    return __int_as_float(ordered(__reduce_max_sync(ALL, ordered(__float_as_int(x)))));
#else
    for (int distance = 16; distance > 0; distance /= 2)
        x = fmaxf(x, __shfl_xor_sync(ALL, x, distance));
    return x;
#endif
}

__device__ float sum_over_warp(float x) {
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(ALL, x, distance);
    return x;
}

__device__ Partial merged_over_warp(Partial mine) {
    float high = max_over_warp(mine.high);
    return {high, sum_over_warp(mine.sum * exp_of(mine.high - base_of(high)))};
}

// PTX of asynchronous copies, of a barrier in shared memory (mbarrier) and of clusters.
__device__ unsigned at(const void* shared) { return __cvta_generic_to_shared(shared); }

template <typename T> __device__ void fetch(Pack<T>* shared, const Pack<T>* global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(shared)), "l"(global)
                 : "memory");
}

__device__ void wait_for_what_this_thread_fetched() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// Make a barrier known to the cluster. The arrival is relaxed: by default a fence of the whole GPU
// comes before it, and this thread's fetches wait for that.
__device__ void begin(Barrier* barrier) {
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                     "fence.mbarrier_init.release.cluster;" ::"r"(at(barrier)) : "memory");
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}

__device__ void wait_until_all_have_begun() {
    asm volatile("barrier.cluster.wait;" ::: "memory");
}

__device__ void expect(Barrier* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(barrier)),
                 "r"(bytes) : "memory");
}

__device__ void wait(Barrier* barrier) {
    asm volatile("{\n.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], 0;\n"
                 "@!done bra again;\n}" ::"r"(at(barrier)) : "memory");
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

// The threads that must fit on a multiprocessor: its 65,536 registers give 64 to each of 1,024
// threads, and 80 to each of 768. A guard: with today's compiler as many blocks fit without it.
template <int VALUES> constexpr int AT_ONCE = VALUES > 32 ? 768 : 1024;

// A row belongs to THREADS threads in each of CLUSTER blocks, and ROWS rows to a block. Each thread
// holds up to PACKS packs. Strides are in elements.
template <typename T, int CLUSTER, int THREADS, int ROWS, int PACKS>
__global__ void
__launch_bounds__(THREADS * ROWS, AT_ONCE<PACKS * Pack<T>::SIZE> / (THREADS * ROWS))
softmax(const T* x, T* out, long long x_stride, long long out_stride, int columns, int rows) {
    constexpr int SIZE = Pack<T>::SIZE, WARPS = THREADS / 32, PARTIALS = CLUSTER * WARPS;
    // This block's share of its rows. When it began in the middle of a sector of 32 bytes, the L2
    // cache counted two thirds more sectors read.
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ Partial partials[ROWS][PARTIALS];
    __shared__ Barrier met;

    int group = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
    int warp = thread / 32, lane = thread % 32;
    int rank = blockIdx.x % CLUSTER;
    long long row = blockIdx.x / CLUSTER * ROWS + group;

    // This block's share of a row, in packs.
    int packs = columns / SIZE, share = (packs + CLUSTER - 1) / CLUSTER;
    int first = rank * share, count = row < rows ? min(share, packs - first) : 0;
    const Pack<T>* from = reinterpret_cast<const Pack<T>*>(x + row * x_stride) + first;
    Pack<T>* to = reinterpret_cast<Pack<T>*>(out + row * out_stride) + first;
    Pack<T>* mine = reinterpret_cast<Pack<T>*>(memory) + group * share;

    if constexpr (CLUSTER > 1) begin(&met);
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        int i = k * THREADS + thread;
        if (i < count) fetch(mine + i, from + i);
    }
    wait_for_what_this_thread_fetched();

    // Four maxima and four sums, for each operation on one of them waits for the one before.
    float values[PACKS * SIZE];
    float highs[4] = {-infinity(), -infinity(), -infinity(), -infinity()}, sums[4] = {};
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        int i = k * THREADS + thread;
        Pack<T> pack;
        if (i < count) pack = mine[i];
#pragma unroll
        for (int j = 0; j < SIZE; j++) {
            float value = i < count ? float(pack.of[j]) : -infinity();
            highs[j % 4] = fmaxf(highs[j % 4], value);
            values[k * SIZE + j] = value;
        }
    }
    float high = max_over_warp(fmaxf(fmaxf(highs[0], highs[1]), fmaxf(highs[2], highs[3])));
    float base = base_of(high);
#pragma unroll
    for (int k = 0; k < PACKS * SIZE; k++) sums[k % 4] += values[k] = exp_of(values[k] - base);
    Partial partial = {high, sum_over_warp((sums[0] + sums[1]) + (sums[2] + sums[3]))};

    // One exchange between all warps of a row. Bytes may come before they are expected, for the
    // barrier waits for thread 0, too. No block leaves before all have sent to it.
    if constexpr (CLUSTER > 1) {
        wait_until_all_have_begun();
        if (threadIdx.x == 0) expect(&met, ROWS * PARTIALS * sizeof(Partial));
        if (lane < CLUSTER) send(&partials[group][rank * WARPS + warp], &met, lane, partial);
        wait(&met);
    } else if constexpr (PARTIALS > 1) {
        if (lane == 0) partials[group][warp] = partial;
        __syncthreads();
    }
    if constexpr (PARTIALS > 1) {
        partial = {-infinity(), 0.0f};
        for (int i = lane; i < PARTIALS; i += 32)
            partial.high = fmaxf(partial.high, partials[group][i].high);
        partial.high = max_over_warp(partial.high);
        for (int i = lane; i < PARTIALS; i += 32) {
            Partial other = partials[group][i];
            partial.sum += other.sum * exp_of(other.high - base_of(partial.high));
        }
        partial.sum = sum_over_warp(partial.sum);
    }

    // Where a warp saw only -inf, base is 0, and its distance from the maximum could overflow.
    float factor = exp_of(high - base_of(partial.high)) / partial.sum;
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        int i = k * THREADS + thread;
        Pack<T> pack;
#pragma unroll
        for (int j = 0; j < SIZE; j++) pack.of[j] = T(values[k * SIZE + j] * factor);
        if (i < count) to[i] = pack;
    }
}

// The same with one block for each row, of any length at any address; reads the row twice.
template <typename T>
__global__ void softmax_of_any(const T* x, T* out, long long x_stride, long long out_stride,
                               int columns, int) {
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


class Shape(NamedTuple):
    """The threads that work on a row, and the blocks that they form."""

    cluster: int  # blocks that share a row
    threads: int  # that work on a row, of a block
    rows: int  # of a block
    packs: int  # of 16 bytes, that a thread holds

    @property
    def most_bytes(self):
        """Return the bytes that a block holds of its longest rows."""
        return 16 * self.packs * self.threads * self.rows


# By the longest row that they take, in bytes. A thread holds eight packs, but fewer of the shortest
# rows and more of the longest. fast.md compares these shapes with the fastest that were found.
SHAPES = {
    1 << 10: Shape(cluster=1, threads=32, rows=4, packs=2),
    2 << 10: Shape(cluster=1, threads=32, rows=4, packs=4),
    4 << 10: Shape(cluster=1, threads=32, rows=4, packs=8),
    8 << 10: Shape(cluster=1, threads=64, rows=1, packs=8),
    16 << 10: Shape(cluster=1, threads=128, rows=1, packs=8),
    32 << 10: Shape(cluster=1, threads=256, rows=1, packs=8),
    64 << 10: Shape(cluster=4, threads=128, rows=1, packs=8),
    128 << 10: Shape(cluster=4, threads=256, rows=1, packs=8),
    256 << 10: Shape(cluster=8, threads=256, rows=1, packs=8),
    512 << 10: Shape(cluster=8, threads=512, rows=1, packs=8),
    1 << 20: Shape(cluster=8, threads=512, rows=1, packs=16),
}
PLAIN_THREADS = 512
PARTIALS_AND_BARRIER = 2 << 10  # bytes of shared memory, and more than any shape takes for them


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
def fits(shape):
    """Report whether this GPU has clusters (Hopper was the first) and room for a shape's block."""
    device = Device()
    most = device.properties.max_shared_memory_per_block_optin - PARTIALS_AND_BARRIER
    return device.compute_capability.major >= 9 and shape.most_bytes <= most


@functools.cache
def planned(dtype, rows, columns, aligned):
    """Choose a kernel and its launch configuration; cached, for that takes longer than a launch."""
    row = dtype.itemsize * columns
    shape = next((shape for longest, shape in SHAPES.items() if row <= longest), None)
    if not shape or not aligned or row % 16 or not fits(shape):
        config = LaunchConfig(grid=rows, block=PLAIN_THREADS)
        return compiled(f"softmax_of_any<{NAMES[dtype]}>"), config
    config = LaunchConfig(
        grid=-(-rows // shape.rows),  # of clusters
        cluster=shape.cluster,
        block=shape.threads * shape.rows,
        shmem_size=16 * -(-row // 16 // shape.cluster) * shape.rows,
    )
    name = f"softmax<{NAMES[dtype]}, {', '.join(map(str, shape))}>"
    return compiled(name, shape.most_bytes), config


def softmax(x, out):
    """Fill `out` with the softmax of `x` over its last dimension.

    Both are (rows, columns) of one dtype: float32, float16 or bfloat16. Neighbours in a row lie
    next to each other in memory; the row strides may differ and may exceed `columns`.
    """
    rows, columns = x.shape
    addresses = x.data_ptr(), out.data_ptr()
    strides = x.stride(0), out.stride(0)  # in elements
    bytes_apart = (x.element_size() * stride for stride in strides)
    aligned = not any(each % 16 for each in (*addresses, *bytes_apart))
    kernel, config = planned(x.dtype, rows, columns, aligned)
    launch(Device().default_stream, config, kernel, *addresses, *strides, columns, rows)
