"""Asks for 10 TB on the GPU."""

import torch


def copy(x, out):
    torch.empty(10_000_000_000_000, dtype=torch.uint8, device=x.device)
