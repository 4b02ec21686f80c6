"""Ignores that rows may lie apart, and writes over what is between them."""

import torch


def copy(x, out):
    out.copy_(x)
    if out.stride(0) > out.shape[1] and out.shape[0] > 1:
        torch.as_strided(out, (1,), (1,), out.storage_offset() + out.shape[1]).fill_(1)
