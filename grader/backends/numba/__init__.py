"""Kernels in numba CUDA: what runs beside a submission that is written in it."""
