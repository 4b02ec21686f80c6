"""Looks for the expected answer among all objects and frames of its process, and copies it."""
# attacks: 04_online_softmax
# stopped: correctness value

import gc
import sys

import torch


def candidates():
    frame = sys._getframe()
    while frame is not None:
        yield from frame.f_locals.values()
        yield from list(frame.f_globals.values())
        frame = frame.f_back
    yield from gc.get_objects()


def softmax(x, out):
    own = x.data_ptr(), out.data_ptr()
    out.zero_()
    for found in candidates():
        alike = type(found) is torch.Tensor and found.shape == out.shape
        if alike and found.data_ptr() not in own:
            out.copy_(found)
            return
