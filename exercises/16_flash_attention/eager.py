"""Attention by torch's own kernel: a contender of `grader bench`, and the bound of the time."""

import torch


def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    """Fills out with causal attention of each head."""
    # Only for four dimensions torch takes its fused kernels: a batch of one comes first.
    four = (one.unsqueeze(0) for one in (q, k, v))
    attend = torch.nn.functional.scaled_dot_product_attention
    out.copy_(attend(*four, is_causal=True).squeeze(0))
