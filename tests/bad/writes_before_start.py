"""Writes the element before its output, by a view that torch permits."""

import torch


def copy(x, out):
    out.copy_(x)
    torch.as_strided(out, (1,), (1,), out.storage_offset() - 1).fill_(1)
