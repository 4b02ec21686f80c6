"""Nothing is wrong with this one."""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    values = tl.load(x_ptr + row * x_stride + offsets, mask=inside)
    tl.store(out_ptr + row * out_stride + offsets, values, mask=inside)


def copy(x, out):
    rows, columns = x.shape
    copy_kernel[(rows,)](
        x, out, columns, x.stride(0), out.stride(0), BLOCK=triton.next_power_of_2(columns)
    )
