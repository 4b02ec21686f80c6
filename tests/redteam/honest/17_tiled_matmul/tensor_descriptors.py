"""Tensor descriptors where rows begin at multiples of 16 bytes, and pointers elsewhere."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

ROWS = 128
ROW_BYTES = 256
STEP_BYTES = 128
GROUP = 16
WARPS = 8
STAGES = 3


@triton.jit
def tile_of(program, tiles_down, tiles_across, GROUP: tl.constexpr):
    in_group = GROUP * tiles_across
    first = program // in_group * GROUP
    height = tl.minimum(tiles_down - first, GROUP)
    place = program % in_group
    return first + place % height, place // height


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    m,
    k,
    n,
    a_stride,
    b_stride,
    out_stride,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    TERMS: tl.constexpr,
    GROUP: tl.constexpr,
):
    down, across = tile_of(tl.program_id(0), tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS), GROUP)
    rows = (down * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    columns = (across * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)[None, :]
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, TERMS):
        terms = start + tl.arange(0, TERMS)
        of_a, of_b = terms[None, :], terms.to(tl.int64)[:, None]
        in_a = (rows < m) & (of_a < k)
        in_b = (of_b < k) & (columns < n)
        left = tl.load(a_ptr + rows * a_stride + of_a, mask=in_a, other=0.0)
        right = tl.load(b_ptr + of_b * b_stride + columns, mask=in_b, other=0.0)
        sums = tl.dot(left, right, sums, input_precision="ieee")
    places = out_ptr + rows * out_stride + columns
    tl.store(places, sums.to(out_ptr.dtype.element_ty), mask=(rows < m) & (columns < n))


@triton.jit
def descriptor_kernel(
    a_desc,
    b_desc,
    out_desc,
    m,
    k,
    n,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    TERMS: tl.constexpr,
    GROUP: tl.constexpr,
):
    down, across = tile_of(tl.program_id(0), tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS), GROUP)
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, TERMS):
        left = a_desc.load([down * ROWS, start])
        right = b_desc.load([start, across * COLUMNS])
        sums = tl.dot(left, right, sums, input_precision="ieee")
    out_desc.store([down * ROWS, across * COLUMNS], sums.to(out_desc.dtype))


def fits(x: torch.Tensor) -> bool:
    starts = (x.data_ptr(), x.stride(0) * x.element_size(), x.shape[1] * x.element_size())
    return all(each % 16 == 0 for each in starts)


def tiled_matmul(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
    (m, k), n = a.shape, b.shape[1]
    columns, terms = ROW_BYTES // a.element_size(), STEP_BYTES // a.element_size()
    programs = triton.cdiv(m, ROWS) * triton.cdiv(n, columns)
    hopper = torch.cuda.get_device_capability(a.device)[0] >= 9
    if hopper and all(fits(each) for each in (a, b, out)):
        descriptor_kernel[(programs,)](
            TensorDescriptor.from_tensor(a, [ROWS, terms]),
            TensorDescriptor.from_tensor(b, [terms, columns]),
            TensorDescriptor.from_tensor(out, [ROWS, columns]),
            *(m, k, n),
            ROWS=ROWS,
            COLUMNS=columns,
            TERMS=terms,
            GROUP=GROUP,
            num_warps=WARPS,
            num_stages=STAGES,
        )
        return
    matmul_kernel[(programs,)](
        *(a, b, out, m, k, n, a.stride(0), b.stride(0), out.stride(0)),
        ROWS=ROWS,
        COLUMNS=columns,
        TERMS=terms,
        GROUP=GROUP,
        num_warps=WARPS,
        num_stages=STAGES,
    )
