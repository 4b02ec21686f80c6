"""Wrong: too slow for long rows, which eight programs share. Short ones have a program each."""

import triton
import triton.language as tl


@triton.jit
def _rms(x_ptr, out_ptr, stride, out_stride, rows, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    for line in range(tl.program_id(0), rows, tl.num_programs(0)):
        row = line.to(tl.int64)
        x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0.0)
        scale = 1.0 / tl.sqrt_rn(tl.sum(x * x, axis=0) / columns + 1e-6)
        tl.store(out_ptr + row * out_stride + offsets, x * scale, mask=mask)


def rms(x, out):
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    programs = rows if columns <= 8192 else min(rows, 8)
    _rms[(programs,)](x, out, x.stride(0), out.stride(0), rows, columns, BLOCK=block, num_warps=8)
