"""A course in writing memory-bound GPU kernels, and the judge that grades it."""

__version__ = "0.1.0"
