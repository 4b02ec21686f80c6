"""SwiGLU in plain torch: a contender of `grader bench`."""

import torch
from torch.nn.functional import silu


def swiglu(gate: torch.Tensor, up: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with silu(gate) * up: matrices of one shape and one dtype."""
    # In float32, for a silu(gate) that is rounded to 16 bits first is not accurate enough.
    out.copy_(silu(gate.float()) * up.float())
