from numba import cuda

ACROSS, DOWN = 8, 4


@cuda.jit
def add_bias_kernel(a, bias, out):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row < a.shape[0] and col < a.shape[1]:
        out[row, col] = a[row, col] + bias[row]


def grid_for(rows, columns):
    return (columns + ACROSS - 1) // ACROSS, (rows + DOWN - 1) // DOWN


def add_bias(a, bias, out):
    add_bias_kernel[grid_for(a.shape[0], a.shape[1]), (ACROSS, DOWN)](a, bias, out)
