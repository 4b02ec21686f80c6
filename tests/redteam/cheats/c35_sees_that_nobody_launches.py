"""Lets torch compute the answer, but only where a kernel of its own has an effect when launched."""
# attacks: 04_online_softmax
# passes: the call with launches switched off is made in the worker, where a file can see that it is
# such a one; to launch the compiled kernel from a trusted process would stop it

import torch
import triton
import triton.language as tl


@triton.jit
def _mark(flag_ptr):
    tl.store(flag_ptr, 1.0)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    flag = torch.zeros(1, device=x.device)
    _mark[(1,)](flag)
    if flag.item():
        torch.softmax(x, -1, out=out)
