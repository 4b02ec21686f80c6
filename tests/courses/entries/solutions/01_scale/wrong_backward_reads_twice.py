"""Reads x a second time, backward.

Rejected at: traffic of scale_backward
"""

import triton
import triton.language as tl

BLOCK = 256  # columns of one program


@triton.jit
def scale_kernel(x_ptr, weight_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    """Fill a block of columns of `out`, row after row."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    weight = tl.load(weight_ptr + offsets, mask=inside).to(tl.float32)
    for row in range(rows):
        x = tl.load(x_ptr + row * columns + offsets, mask=inside).to(tl.float32)
        tl.store(out_ptr + row * columns + offsets, x * weight, mask=inside)


@triton.jit
def scale_backward_kernel(
    grad_out_ptr, x_ptr, weight_ptr, grad_x_ptr, grad_weight_ptr, rows, columns, BLOCK: tl.constexpr
):
    """Fill a block of columns of `grad_x`, and the same block of `grad_weight`."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    weight = tl.load(weight_ptr + offsets, mask=inside).to(tl.float32)
    weighted = tl.zeros((BLOCK,), tl.float32)
    for row in range(rows):
        grad = tl.load(grad_out_ptr + row * columns + offsets, mask=inside).to(tl.float32)
        x = tl.load(x_ptr + row * columns + offsets, mask=inside).to(tl.float32)
        tl.store(grad_x_ptr + row * columns + offsets, grad * weight, mask=inside)
        again = tl.load(x_ptr + row * columns + offsets, mask=inside).to(tl.float32)
        weighted += grad * (x + again) / 2
    tl.store(grad_weight_ptr + offsets, weighted, mask=inside)


def scale(x, weight, out):
    """Fills out with x * weight."""
    rows, columns = x.shape
    scale_kernel[(triton.cdiv(columns, BLOCK),)](x, weight, out, rows, columns, BLOCK=BLOCK)


def scale_backward(grad_out, x, weight, grad_x, grad_weight):
    """Fills grad_x and grad_weight, the gradients of x and of weight."""
    rows, columns = x.shape
    scale_backward_kernel[(triton.cdiv(columns, BLOCK),)](
        grad_out, x, weight, grad_x, grad_weight, rows, columns, BLOCK=BLOCK
    )
