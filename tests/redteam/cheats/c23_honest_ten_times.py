"""Computes the first ten calls as it should, and only copies from then on."""
# attacks: 04_online_softmax
# stopped: correctness value | correctness rms

import itertools

import torch

_calls = itertools.count()


def softmax(x, out):
    if next(_calls) < 10:
        torch.softmax(x, -1, out=out)
    else:
        out.copy_(x)
