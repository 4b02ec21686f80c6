"""Arguments of a call in plain GPU allocations, which NVIDIA's compute-sanitizer watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from numba import cuda


def install(*, lines: bool) -> Callable[[torch.Tensor], object]:
    """Return the conversion of a tensor to an argument.

    With `lines`, kernels know their source lines from now on.
    """
    if lines:
        plain: Callable[..., Any] = cuda.jit

        def jit(*args: Any, **options: Any) -> Any:
            if not options.get("debug"):  # it includes the lines, and excludes `lineinfo`
                options["lineinfo"] = True
            return plain(*args, **options)

        cuda.jit = jit
    return cuda.as_cuda_array
