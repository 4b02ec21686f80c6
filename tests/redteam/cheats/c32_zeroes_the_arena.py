"""Fills all memory around its arguments with zeros, the expected answers among it, it hopes."""
# attacks: 04_online_softmax
# stopped: correctness input_changed | correctness stray_write

import torch


def softmax(x, out):
    everything = torch.empty(0, dtype=torch.uint8, device=x.device)
    everything.set_(x.untyped_storage())
    everything[: 1 << 26].zero_()
