"""Arguments of a call in plain GPU allocations, which a tool of NVIDIA's watches."""

from __future__ import annotations

from collections.abc import Callable

import torch


def install(*, lines: bool) -> Callable[[torch.Tensor], object]:
    """Return what makes an argument of a tensor. Triton's kernels always know their lines."""
    del lines
    return lambda tensor: tensor
