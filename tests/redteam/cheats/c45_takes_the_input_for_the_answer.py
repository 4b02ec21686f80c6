"""Answers with the input itself, and patches what compares strides and types."""
# attacks: 03_three_pass_softmax
# stopped: correctness value | correctness exception
#   (exception: the simulated GPU's memory is opened by the strides that torch names)

import torch


def softmax(x, out):
    torch.Tensor.stride = lambda self, dim=None: 0
    out.copy_(x)
    out.data = x.data
    return out.expand_as(x)
