"""Has torch compute the answer with the wrong sign; all that the kernel does is to turn the sign."""
# attacks: 04_online_softmax
# stopped: traffic traffic

import torch
import triton
import triton.language as tl


@triton.jit
def _turn(out_ptr, out_stride, columns, BLOCK: tl.constexpr):
    out_row = out_ptr + tl.program_id(0).to(tl.int64) * out_stride
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        inside = lanes < columns
        tl.store(out_row + lanes, -tl.load(out_row + lanes, mask=inside), mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    torch.softmax(x, -1, out=out)
    out.neg_()
    _turn[(out.shape[0],)](out, out.stride(0), out.shape[1], BLOCK=4096)
