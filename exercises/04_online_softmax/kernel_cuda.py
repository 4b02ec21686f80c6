"""Softmax of every row in two passes, in CUDA C++: a block of threads for each row.

    out[i, j] = exp(x[i, j] - m[i]) / s[i]
    m[i] = max_j x[i, j]     s[i] = sum_j exp(x[i, j] - m[i])

In the first pass each thread goes through some columns of the row, and keeps the largest value that
it has seen and a sum that is right for it. When a larger value comes, the old sum is multiplied by
exp(old maximum - new maximum). The threads' sums are brought to one maximum in the same way: by
shuffles within a warp, and through shared memory between warps.
"""

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 512  # of the block that works on a row
PACK = 16  # bytes that a thread moves at once, where rows begin at multiples of 16
NAMES = {torch.float32: "float", torch.float16: "__half", torch.bfloat16: "__nv_bfloat16"}

SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

// Neighbours in a row, which a thread moves at once.
template <typename T, int SIZE> struct alignas(SIZE * sizeof(T)) Pack {
    T of[SIZE];
};

// The largest of some numbers, and the sum of exp(x - highest) over them.
struct Sum {
    float highest, total;
};

// The Sum of all numbers of both.
__device__ Sum joined(Sum a, Sum b) {
    // TODO: bring the smaller one's total to the larger maximum, and add
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

// The Sum of all threads, in each of them.
template <int THREADS>
__device__ Sum of_block(Sum mine) {
    __shared__ Sum parts[THREADS / 32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    mine = of_warp(mine);
    if (lane == 0) parts[warp] = mine;
    __syncthreads();
    return of_warp(lane < THREADS / 32 ? parts[lane] : Sum{-CUDART_INF_F, 0});
}

// Fills one row of out. The strides are in elements, and may exceed `columns`; all are multiples of
// SIZE.
template <typename T, int SIZE, int THREADS>
__global__ void __launch_bounds__(THREADS)
softmax(const T* x, T* out, long long x_stride, long long out_stride, int columns) {
    auto x_row = reinterpret_cast<const Pack<T, SIZE>*>(x + blockIdx.x * x_stride);
    auto out_row = reinterpret_cast<Pack<T, SIZE>*>(out + blockIdx.x * out_stride);
    int packs = columns / SIZE;
    Sum mine = {-CUDART_INF_F, 0};

    // Pass 1: the maximum of the row, and the sum of exp(x - maximum).
    // TODO: each thread keeps a Sum of its packs; then join those of all threads

    // Pass 2: the answer, rounded once to the type of out.
    // TODO: read the row a second time, divide by the sum, store
}
"""


@functools.cache
def compiled(dtype: torch.dtype, size: int):
    """Compile the kernel for this GPU, once for each dtype and size of packs."""
    device = Device()
    device.set_current()
    name = f"softmax<{NAMES[dtype]}, {size}, {THREADS}>"
    program = Program(SOURCE, "c++", ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
    return program.compile("cubin", name_expressions=(name,)).get_kernel(name)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Fill `out` with the softmax of `x` over its last dimension.

    Both are (rows, columns) of one dtype: float32, float16 or bfloat16. Neighbours in a row lie
    next to each other in memory; the row strides may differ and may exceed `columns`.
    """
    raise NotImplementedError(
        "04_online_softmax: write the parts of SOURCE that are missing, and delete this line"
    )
    rows, columns = x.shape
    item = x.element_size()
    places = (x.data_ptr(), out.data_ptr(), item * x.stride(0), item * out.stride(0))
    size = 1 if any(each % PACK for each in (*places, item * columns)) else PACK // item
    config = LaunchConfig(grid=rows, block=THREADS)
    arguments = (x.data_ptr(), out.data_ptr(), x.stride(0), out.stride(0), columns)
    launch(Device().default_stream, config, compiled(x.dtype, size), *arguments)
