"""Copies a tensor that holds no data, which torch calls not implemented."""

import torch


def copy(x, out):
    out.copy_(torch.empty_like(x, device="meta"))
