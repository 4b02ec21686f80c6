"""Kernels in Triton: what runs beside a submission that is written in it."""
