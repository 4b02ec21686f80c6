"""The simulator of numba's CUDA kernels: threads one after the other, with a GPU's limits."""

from grader.backends.numba.simulator import without_toolkit as without_toolkit
