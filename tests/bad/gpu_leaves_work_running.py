"""Copies on a stream of its own that nobody waits for, after a long wait."""

import torch

STREAM = torch.cuda.Stream() if torch.cuda.is_available() else None


def copy(x, out):
    with torch.cuda.stream(STREAM):
        torch.cuda._sleep(10**11)  # clock cycles: about a minute
        out.copy_(x)
