import torch
import triton
import triton.language as tl

BLOCK = 4096
WARPS = 8


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, BLOCK)

    row_max = float("-inf")
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + lanes
        x = tl.load(x_row + offsets, mask=offsets < columns, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=0))
        sums = sums * tl.exp(row_max - new_max) + tl.exp(x - new_max)
        row_max = new_max
    total = tl.sum(sums, axis=0)

    for start in range(0, columns, BLOCK):
        offsets = start + lanes
        inside = offsets < columns
        v = tl.load(x_row + offsets, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(v - row_max) / total
        tl.store(out_row + offsets, y.to(out_ptr.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    rows, columns = x.shape
    softmax_kernel[(columns,)](
        x, out, x.stride(0), out.stride(0), columns, BLOCK=BLOCK, num_warps=WARPS
    )
