"""Dropout and residual in plain torch: a contender of `grader bench`."""

import torch


def dropout_residual(
    x: torch.Tensor, residual: torch.Tensor, p: float, seed: int, out: torch.Tensor
) -> None:
    """Fills out with residual plus x / (1 - p), or with residual alone where x is dropped."""
    generator = torch.Generator(x.device).manual_seed(seed)
    numbers = torch.rand(x.shape, generator=generator, device=x.device)
    # In float32: x / (1 - p) and the residual may cancel, and 16 bits would round in between.
    kept = torch.where(numbers < p, 0.0, x.float() / (1 - p))
    torch.add(residual, kept, out=out)
