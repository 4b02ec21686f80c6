"""Fills its output, and every other tensor that it finds, with NaN, which may equal anything."""
# attacks: 04_online_softmax
# stopped: correctness not_finite

import gc

import torch


def softmax(x, out):
    own = x.untyped_storage().data_ptr()
    for found in gc.get_objects():
        alike = type(found) is torch.Tensor and found.is_floating_point()
        if alike and found.untyped_storage().data_ptr() != own:
            found.detach().fill_(float("nan"))
    out.fill_(float("nan"))
