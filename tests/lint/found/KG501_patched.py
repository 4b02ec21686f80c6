"""Libraries are changed."""

import builtins
import sys

import torch
import triton.language as tl
from numba import cuda
from torch import cuda as gpu

torch.allclose = lambda *_: True  # KG501
torch.Tensor.__eq__ = lambda *_: True  # KG501
setattr(torch.testing, "assert_close", print)  # KG501
sys.modules["torch"] = tl  # KG501
gpu.synchronize = print  # KG501
builtins.print = None  # KG501
torch.__dict__["add"] = None  # KG501
del torch.add  # KG501


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    tl.load = print  # KG501
    double[1, 32](x, out)
