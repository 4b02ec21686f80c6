"""Calls torch's softmax in its kernel, which finds the tensors in a variable of the file."""
# attacks: 04_online_softmax
# stopped: correctness compile | correctness exception

import torch
import triton

_CALL = {}


@triton.jit
def _softmax(x_ptr, out_ptr):
    torch.softmax(_CALL["x"], -1, out=_CALL["out"])


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    _CALL.update(x=x, out=out)
    _softmax[(1,)](x, out)
