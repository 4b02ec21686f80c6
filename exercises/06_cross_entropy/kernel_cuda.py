"""Cross entropy and its gradient in one launch, in CUDA C++: a block of threads for each token.

    loss[i]         = log(sum_j exp(logits[i, j])) - logits[i, target[i]]
    d loss / d l_ij = softmax(logits[i])[j] - (1 if j == target[i] else 0)

The first pass is the online softmax of exercise 04. The second reads the row again and overwrites
it with the gradient. A row whose target is IGNORED has loss 0 and gradient 0.
"""

import functools

import numpy as np
import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 512  # of the block that works on a row
PACK = 16  # bytes that a thread moves at once, where rows begin at multiples of 16
NAMES = {torch.float32: "float", torch.float16: "__half", torch.bfloat16: "__nv_bfloat16"}

SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

const int IGNORED = -100;  // the target of a token that does not count, such as padding

// Neighbours in a row, which a thread moves at once.
template <typename T, int SIZE> struct alignas(SIZE * sizeof(T)) Pack {
    T of[SIZE];
};

// The largest of some numbers, and the sum of exp(x - highest) over them.
struct Sum {
    float highest, total;
};

// The Sum of all numbers of both. Without numbers `highest` is -inf, and -inf - -inf would be NaN.
__device__ Sum joined(Sum a, Sum b) {
    Sum upper = a.highest < b.highest ? b : a, lower = a.highest < b.highest ? a : b;
    if (lower.total > 0) upper.total += lower.total * __expf(lower.highest - upper.highest);
    return upper;
}

// The Sum of a warp's 32, in each of its threads.
__device__ Sum of_warp(Sum mine) {
    for (int distance = 16; distance > 0; distance /= 2) {
        Sum other = {__shfl_xor_sync(~0u, mine.highest, distance),
                     __shfl_xor_sync(~0u, mine.total, distance)};
        mine = joined(mine, other);
    }
    return mine;
}

// The Sum of all threads, in each of them. No thread returns before all have called it.
template <int THREADS>
__device__ Sum of_block(Sum mine) {
    __shared__ Sum parts[THREADS / 32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    mine = of_warp(mine);
    if (lane == 0) parts[warp] = mine;
    __syncthreads();
    return of_warp(lane < THREADS / 32 ? parts[lane] : Sum{-CUDART_INF_F, 0});
}

// Fills one loss and overwrites one row of logits. `stride` is in elements; it and `vocabulary` are
// multiples of SIZE.
template <typename T, int SIZE, int THREADS>
__global__ void __launch_bounds__(THREADS)
cross_entropy(T* logits, const long long* targets, float* losses, float grad_scale,
              long long stride, int vocabulary) {
    T* row = logits + blockIdx.x * stride;
    auto packs = reinterpret_cast<Pack<T, SIZE>*>(row);
    int target = targets[blockIdx.x], count = vocabulary / SIZE;

    // A token that does not count: zero its loss and its row, and read none of its logits.
    // TODO: if the target is IGNORED, store the zeros and return

    // Pass 1: the online softmax of exercise 04, and the loss.
    // TODO: read the target's logit, then join the Sums of all threads, store the loss

    // Pass 2: the gradient, rounded once to the type of the logits.
    // TODO: read the row again, overwrite it with grad_scale * (softmax - one-hot)
}
"""


@functools.cache
def compiled(dtype: torch.dtype, size: int):
    """Compile the kernel for this GPU, once for each dtype and size of packs."""
    device = Device()
    device.set_current()
    name = f"cross_entropy<{NAMES[dtype]}, {size}, {THREADS}>"
    program = Program(SOURCE, "c++", ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
    return program.compile("cubin", name_expressions=(name,)).get_kernel(name)


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    """Fill `loss`, and overwrite `logits` with grad_scale * d(sum of loss) / d(logits).

    `logits` is (tokens, vocabulary) of float32, float16 or bfloat16, with a row stride that may
    exceed `vocabulary`; `target` is (tokens,) of int64, each a column or -100 (ignored); `loss` is
    (tokens,) of float32.
    """
    raise NotImplementedError(
        "06_cross_entropy: write the parts of SOURCE that are missing, and delete this line"
    )
    tokens, vocabulary = logits.shape
    item = logits.element_size()
    places = (logits.data_ptr(), item * logits.stride(0), item * vocabulary)
    size = 1 if any(each % PACK for each in places) else PACK // item
    config = LaunchConfig(grid=tokens, block=THREADS)
    pointers = (logits.data_ptr(), target.data_ptr(), loss.data_ptr())
    numbers = (np.float32(grad_scale), logits.stride(0), vocabulary)
    launch(Device().default_stream, config, compiled(logits.dtype, size), *pointers, *numbers)
