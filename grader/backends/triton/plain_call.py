"""Arguments of a call in plain GPU allocations, which NVIDIA's compute-sanitizer watches."""

from __future__ import annotations

from collections.abc import Callable

import torch


def install(*, lines: bool) -> Callable[[torch.Tensor], object]:
    """Return the conversion of a tensor to an argument. Triton's kernels always have lines."""
    del lines
    return lambda tensor: tensor
