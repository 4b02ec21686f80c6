"""Cross entropy and its gradient, with each logit read once: a row waits on the chip.

    loss[i]         = log(sum_j exp(logits[i, j])) - logits[i, target[i]]
    d loss / d l_ij = softmax(logits[i])[j] - (1 if j == target[i] else 0)

A row that fits the shared memory of one block belongs to a block, a longer one to a cluster of
blocks. Each block copies its share of the row there, by bulk copies of the Tensor Memory
Accelerator (TMA), and makes both passes over that copy. The blocks of a cluster exchange the
maximum and the sum of each warp through distributed shared memory. fast.md says what each of this
bought. A row whose target is IGNORED has loss 0 and gradient 0.

Rows that a bulk copy cannot fetch, because they begin at an odd address or are too long, are
handled by a plain kernel, which reads them twice.
"""

import functools
from typing import NamedTuple

import numpy as np
import torch
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr float LOG2_E = 1.44269504088896341f;
constexpr unsigned ALL = 0xffffffffu;
constexpr long long IGNORED = -100;
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

// Overwrite a pack of logits by its gradient; `target` is its place in the pack, or none of it.
template <typename T>
__device__ void differentiate(Pack<T>& pack, Partial row, float grad_scale, int target) {
    float factor = grad_scale / row.sum;
#pragma unroll
    for (int j = 0; j < Pack<T>::SIZE; j++) {
        float gradient = exp_of(float(pack.of[j]) - row.high) * factor;
        pack.of[j] = T(j == target ? gradient - grad_scale : gradient);
    }
}

// The small logarithm is added last, so that it is not lost in a large maximum.
__device__ float loss_of(Partial row, float target_logit) {
    return (row.high - target_logit) + logf(row.sum);
}

// The stride is in elements. The first `many` clusters take EACH rows, those after them one row: so
// the last ones to finish finish together.
template <typename T, int CLUSTER, int THREADS, int EACH, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
cross_entropy(T* logits, const long long* target, float* loss, float grad_scale, long long stride,
              int vocabulary, int many) {
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
    int packs = vocabulary / Pack<T>::SIZE, share = (packs + CLUSTER - 1) / CLUSTER;
    int first = rank * share, count = min(share, packs - first);
    T* place = logits + row * stride + first * Pack<T>::SIZE;

    Pack<T>* mine = reinterpret_cast<Pack<T>*>(memory);
    int chunks = (count + CHUNK - 1) / CHUNK;
    auto fetch = [&](int chunk, int turn) {
        int start = chunk * CHUNK, size = min(CHUNK, count - start);
        copy(mine + start, place + turn * stride + start * Pack<T>::SIZE, 16 * size,
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

        // The target's logit is on the chip, in one of the blocks.
        long long wanted = target[row + turn];
        bool counts = wanted != IGNORED;
        int column = wanted - first * Pack<T>::SIZE;  // among this block's
        bool here = counts && column >= 0 && column < count * Pack<T>::SIZE;
        if (threadIdx.x == 0 && here)
            loss[row + turn] = loss_of(partial, float(reinterpret_cast<T*>(mine)[column]));
        if (threadIdx.x == 0 && rank == 0 && !counts) loss[row + turn] = 0.0f;

        // Pass 2: the gradient, from the copy on the chip. Each chunk that everybody has read makes
        // room for that of the next row.
        int pack_wanted = here ? column / Pack<T>::SIZE : -1;
        for (int chunk = 0; chunk < chunks; chunk++) {
#pragma unroll
            for (int k = 0; k < PACKS; k++) {
                int i = chunk * CHUNK + k * THREADS + threadIdx.x;
                if (i >= count) continue;
                Pack<T> pack = {};
                if (counts) {
                    pack = mine[i];
                    differentiate(pack, partial, grad_scale,
                                  i == pack_wanted ? column % Pack<T>::SIZE : -1);
                }
                reinterpret_cast<Pack<T>*>(place + turn * stride)[i] = pack;
            }
            if (EACH > 1) __syncthreads();
            if (threadIdx.x == 0 && turn + 1 < rows) fetch(chunk, turn + 1);
        }
    }
    if (CLUSTER > 1) meet_in_cluster();  // no block may leave while another still sends to it
}

// One block for each row, of any length at any address; reads the row twice.
template <typename T>
__global__ void cross_entropy_of_any(T* logits, const long long* target, float* loss,
                                     float grad_scale, long long stride, int vocabulary) {
    __shared__ Partial partials[32];
    logits += blockIdx.x * stride;
    long long wanted = target[blockIdx.x];
    if (wanted == IGNORED) {
        if (threadIdx.x == 0) loss[blockIdx.x] = 0.0f;
        for (int i = threadIdx.x; i < vocabulary; i += blockDim.x) logits[i] = T(0.0f);
        return;
    }
    float target_logit = float(logits[wanted]);
    Partial partial = {-infinity(), 0.0f};
    for (int i = threadIdx.x; i < vocabulary; i += blockDim.x)
        partial = merged(partial, {float(logits[i]), 1.0f});
    partial = merged_over_warp(partial);
    if (threadIdx.x % 32 == 0) partials[threadIdx.x / 32] = partial;
    __syncthreads();  // everybody has read the target's logit
    int warps = blockDim.x / 32, lane = threadIdx.x % 32;
    partial = lane < warps ? partials[lane] : Partial{-infinity(), 0.0f};
    partial = merged_over_warp(partial);
    if (threadIdx.x == 0) loss[blockIdx.x] = loss_of(partial, target_logit);
    float factor = grad_scale / partial.sum;
    for (int i = threadIdx.x; i < vocabulary; i += blockDim.x) {
        float gradient = exp_of(float(logits[i]) - partial.high) * factor;
        logits[i] = T(i == wanted ? gradient - grad_scale : gradient);
    }
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


def cross_entropy(logits, target, loss, grad_scale):
    """Fill `loss`, and overwrite `logits` with grad_scale * d(sum of loss) / d(logits).

    `logits` is (tokens, vocabulary) of float32, float16 or bfloat16, with a row stride that may
    exceed `vocabulary`; `target` is (tokens,) of int64, each a column or -100 (ignored); `loss` is
    (tokens,) of float32.
    """
    tokens, vocabulary = logits.shape
    size = logits.element_size()
    stride, row = logits.stride(0), size * vocabulary
    arguments = (logits.data_ptr(), target.data_ptr(), loss.data_ptr(), np.float32(grad_scale))
    arguments = (*arguments, stride, vocabulary)
    fitting = [shape for longest, shape in SHAPES.items() if row <= longest]
    odd = any(each % 16 for each in (logits.data_ptr(), size * stride, row))
    if not fitting or odd or not has_clusters():
        kernel = compiled(f"cross_entropy_of_any<{NAMES[logits.dtype]}>")
        config = LaunchConfig(grid=tokens, block=PLAIN_THREADS)
        launch(Device().default_stream, config, kernel, *arguments)
        return
    shape = fitting[0]
    many = tokens * 7 // 8 // shape.each if shape.each > 1 else 0
    name = f"cross_entropy<{NAMES[logits.dtype]}, {', '.join(map(str, shape))}>"
    config = LaunchConfig(
        grid=many + tokens - many * shape.each,
        cluster=shape.cluster,
        block=shape.threads,
        shmem_size=16 * -(-row // 16 // shape.cluster),
    )
    launch(Device().default_stream, config, compiled(name, MOST_SHARED), *arguments, many)
