"""Calls torch's own softmax, and has no kernel at all."""
# attacks: 04_online_softmax
# passes: torch is at hand, and its softmax is right, fast and small; to replay a call with kernels'
# launches switched off, which must change the answer, would stop it

import torch


def softmax(x, out):
    torch.softmax(x, -1, out=out)
