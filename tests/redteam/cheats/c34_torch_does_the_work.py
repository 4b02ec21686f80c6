"""Calls torch's own softmax, and has no kernel at all."""
# attacks: 04_online_softmax
# stopped: correctness no_kernel

import torch


def softmax(x, out):
    torch.softmax(x, -1, out=out)
