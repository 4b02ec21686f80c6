"""Cross entropy and its gradient, with each logit read once: a row waits on the chip.

    loss[i]         = log(sum_j exp(logits[i, j])) - logits[i, target[i]]
    d loss / d l_ij = softmax(logits[i])[j] - (1 if j == target[i] else 0)

A row that fits the shared memory of one block belongs to a block, a longer one to a cluster of
blocks. Each block copies its share of the row there, by bulk copies of the Tensor Memory
Accelerator (TMA), and makes both passes over that copy. The blocks of a cluster exchange the
maximum and the sum of each warp through distributed shared memory. fast.md says what each of this
bought. A row whose target is IGNORED has loss 0 and gradient 0.

A plain kernel, which reads a row twice, takes the rows that are left: those of more than 1 MiB,
those whose address or length is no multiple of 16 bytes, and all of them on a GPU without clusters
or with too little shared memory.
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

// The partial of both. Nothing was seen yet where the maximum is -inf: then no exp of a difference
// of two infinities, which is NaN, may be taken.
__device__ Partial merged(Partial a, Partial b) {
    float high = fmaxf(a.high, b.high), base = high == -infinity() ? 0.0f : high;
    return {high, a.sum * exp_of(a.high - base) + b.sum * exp_of(b.high - base)};
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
    for (T x : pack.of) sum += exp_of(float(x) - base);
    return {high, seen.sum * exp_of(seen.high - base) + sum};
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

__device__ void wait(Barrier* barrier) {
    asm volatile("{\n.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], 0;\n"
                 "@!done bra again;\n}" ::"r"(at(barrier)) : "memory");
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

// Store into a block of the cluster; its barrier counts the bytes as they arrive.
__device__ void send(Partial* shared, Barrier* barrier, unsigned rank, Partial partial) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32"
                 " [%0], {%1, %2}, [%3];" ::"r"(in_block(shared, rank)), "f"(partial.high),
                 "f"(partial.sum), "r"(in_block(barrier, rank)) : "memory");
}

// The arrival is relaxed: by default a fence of the whole GPU comes before it. Another fence makes
// the barriers known to the cluster.
__device__ void arrive_at_cluster_barrier() {
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}

__device__ void wait_until_all_have_begun() {
    asm volatile("barrier.cluster.wait;" ::: "memory");
}

// The gradient of a pack of logits, but for the target's.
template <typename T> __device__ Pack<T> gradient_of(Pack<T> pack, float high, float factor) {
    for (T& x : pack.of) x = T(exp_of(float(x) - high) * factor);
    return pack;
}

// The small logarithm is added last, so that it is not lost in a large maximum.
__device__ float loss_of(Partial row, float target_logit) {
    return (row.high - target_logit) + logf(row.sum);
}

// A cluster for each row. The stride is in elements.
template <typename T, int CLUSTER, int THREADS>
__global__ void __launch_bounds__(THREADS)
cross_entropy(T* logits, const long long* target, float* loss, float grad_scale, long long stride,
              int vocabulary) {
    constexpr int WARPS = THREADS / 32, PARTIALS = CLUSTER * WARPS;
    constexpr int CHUNK = THREADS * PACKS;  // packs that are fetched at once
    extern __shared__ __align__(128) unsigned char memory[];  // this block's share of the row
    __shared__ Barrier filled[MOST_CHUNKS], met;
    __shared__ Partial partials[PARTIALS];

    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int rank = blockIdx.x % CLUSTER;
    long long row = blockIdx.x / CLUSTER;

    // This block's share of the row, in packs of 16 bytes.
    int packs = vocabulary / Pack<T>::SIZE, share = (packs + CLUSTER - 1) / CLUSTER;
    int first = rank * share, count = min(share, packs - first);
    Pack<T>* place = reinterpret_cast<Pack<T>*>(logits + row * stride) + first;
    Pack<T>* mine = reinterpret_cast<Pack<T>*>(memory);
    int chunks = (count + CHUNK - 1) / CHUNK;

    if (threadIdx.x == 0) {
        for (int chunk = 0; chunk < chunks; chunk++) begin(filled + chunk);
        begin(&met);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int chunk = 0; chunk < chunks; chunk++) {
            int start = chunk * CHUNK, size = min(CHUNK, count - start);
            copy(mine + start, place + start, 16 * size, filled + chunk);
        }
    }
    if constexpr (CLUSTER > 1) arrive_at_cluster_barrier();
    __syncthreads();

    // Pass 1: maximum and sum of this thread, of its warp, of the row.
    Partial partial = {-infinity(), 0.0f};
    for (int chunk = 0; chunk < chunks; chunk++) {
        wait(filled + chunk);
#pragma unroll
        for (int k = 0; k < PACKS; k++) {
            int i = chunk * CHUNK + k * THREADS + threadIdx.x;
            if (i < count) partial = with(partial, mine[i]);
        }
    }
    partial = merged_over_warp(partial);
    long long wanted = target[row];
    bool counts = wanted != IGNORED;
    // One exchange between all warps of the row. Bytes may come before they are expected, for the
    // barrier waits for thread 0, too. No block leaves before all have sent to it.
    if constexpr (CLUSTER > 1) {
        wait_until_all_have_begun();
        if (lane < CLUSTER) send(&partials[rank * WARPS + warp], &met, lane, partial);
        if (threadIdx.x == 0) expect(&met, PARTIALS * sizeof(Partial));
        wait(&met);
    } else {
        if (lane == 0) partials[warp] = partial;
        __syncthreads();
    }
    partial = {-infinity(), 0.0f};
    for (int i = lane; i < PARTIALS; i += 32) partial = merged(partial, partials[i]);
    partial = merged_over_warp(partial);

    // Pass 2: the gradient, from the copy on the chip.
    float factor = grad_scale / partial.sum;
    for (int chunk = 0; chunk < chunks; chunk++) {
#pragma unroll
        for (int k = 0; k < PACKS; k++) {
            int i = chunk * CHUNK + k * THREADS + threadIdx.x;
            if (i >= count) continue;
            Pack<T> pack = {};
            if (counts) pack = gradient_of(mine[i], partial.high, factor);
            place[i] = pack;
        }
    }

    // The target's logit is on the chip, in one of the blocks. The thread that stored its pack
    // corrects the gradient there.
    int column = wanted - first * Pack<T>::SIZE;  // among this block's
    if (!counts) {
        if (rank == 0 && threadIdx.x == 0) loss[row] = 0.0f;
    } else if (column >= 0 && column < count * Pack<T>::SIZE &&
               column / Pack<T>::SIZE % THREADS == threadIdx.x) {
        float logit = float(reinterpret_cast<T*>(mine)[column]);
        loss[row] = loss_of(partial, logit);
        float gradient = exp_of(logit - partial.high) * factor - grad_scale;
        reinterpret_cast<T*>(place)[column] = T(gradient);
    }
}

// The same with one block for each row, of any length at any address; reads the row twice.
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


class Shape(NamedTuple):
    """The threads that work on a row, and the blocks that they form."""

    cluster: int  # blocks that share a row
    threads: int  # of a block


# By the longest row that they take, in bytes: of those tried, the fastest for both dtypes together
# (bench/results/fast_06_shapes_h200.json).
SHAPES = {
    4 << 10: Shape(cluster=1, threads=128),
    8 << 10: Shape(cluster=1, threads=128),
    16 << 10: Shape(cluster=1, threads=256),
    32 << 10: Shape(cluster=1, threads=512),
    64 << 10: Shape(cluster=1, threads=512),
    128 << 10: Shape(cluster=4, threads=256),
    256 << 10: Shape(cluster=4, threads=512),
    512 << 10: Shape(cluster=8, threads=512),
    1 << 20: Shape(cluster=8, threads=512),
}
PLAIN_THREADS = 512
PARTIALS_AND_BARRIERS = 2 << 10  # bytes of shared memory, and more than any shape takes for them


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
def most_bytes():
    """Return the bytes of a row that a block can hold; 0 before Hopper, the first with clusters."""
    device = Device()
    if device.compute_capability.major < 9:
        return 0
    return device.properties.max_shared_memory_per_block_optin - PARTIALS_AND_BARRIERS


@functools.cache
def planned(dtype, tokens, vocabulary, aligned):
    """Choose a kernel and its launch configuration; cached, for that takes longer than a launch."""
    row = dtype.itemsize * vocabulary
    shape = next((shape for longest, shape in SHAPES.items() if row <= longest), None)
    share = 16 * -(-row // 16 // shape.cluster) if shape else 0  # bytes of a block
    if not shape or not aligned or row % 16 or share > most_bytes():
        config = LaunchConfig(grid=tokens, block=PLAIN_THREADS)
        return compiled(f"cross_entropy_of_any<{NAMES[dtype]}>"), config
    config = LaunchConfig(
        grid=tokens,  # of clusters
        cluster=shape.cluster,
        block=shape.threads,
        shmem_size=share,
    )
    name = f"cross_entropy<{NAMES[dtype]}, {', '.join(map(str, shape))}>"
    return compiled(name, most_bytes()), config


def cross_entropy(logits, target, loss, grad_scale):
    """Fill `loss`, and overwrite `logits` with grad_scale * d(sum of loss) / d(logits).

    `logits` is (tokens, vocabulary) of float32, float16 or bfloat16, with a row stride that may
    exceed `vocabulary`; `target` is (tokens,) of int64, each a column or -100 (ignored); `loss` is
    (tokens,) of float32.
    """
    tokens, vocabulary = logits.shape
    address, stride = logits.data_ptr(), logits.stride(0)  # the stride is in elements
    aligned = not (address % 16 or logits.element_size() * stride % 16)
    kernel, config = planned(logits.dtype, tokens, vocabulary, aligned)
    arguments = (address, target.data_ptr(), loss.data_ptr(), np.float32(grad_scale))
    launch(Device().default_stream, config, kernel, *arguments, stride, vocabulary)
