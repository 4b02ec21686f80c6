"""Writes 8 elements past the end of its output, by a view that torch permits."""

import torch


def copy(x, out):
    out.copy_(x)
    end = out.storage_offset() + (out.shape[0] - 1) * out.stride(0) + out.shape[1]
    torch.as_strided(out, (8,), (1,), end).fill_(1)
