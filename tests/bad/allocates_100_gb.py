"""Asks torch for 100 GB."""

import torch


def copy(x, out):
    torch.zeros(100_000_000_000, dtype=torch.uint8)
