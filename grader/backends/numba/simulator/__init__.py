"""The simulator of numba's CUDA kernels: threads one after the other, with a GPU's limits."""
