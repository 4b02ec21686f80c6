"""A vector has as many lanes as the page has tokens, which only a run knows."""

import torch
import triton
import triton.language as tl

WIDE = 256


@triton.jit
def gather(
    pages_ptr,
    table_ptr,
    lengths_ptr,
    out_ptr,
    page_stride,
    row_stride,
    table_stride,
    out_stride,
    out_row_stride,
    blocks,
    page_size,
    width,
    TALL: tl.constexpr,
    WIDE: tl.constexpr,
):
    pid = tl.program_id(0)
    seq = (pid // blocks).to(tl.int64)
    blk = pid % blocks
    n = tl.load(lengths_ptr + seq)
    page = tl.load(table_ptr + seq * table_stride + blk).to(tl.int64)
    src = pages_ptr + page * page_stride
    dst = out_ptr + seq * out_stride + blk * page_size * out_row_stride
    r = tl.arange(0, page_size)[:, None]
    ok = blk * page_size + r < n
    for start in range(0, width, WIDE):
        c = start + tl.arange(0, WIDE)[None, :]
        m = (r < page_size) & (c < width)
        v = tl.load(src + r * row_stride + c, mask=m & ok, other=0.0)
        tl.store(dst + r * out_row_stride + c, v, mask=m)


def paged_gather(
    pages: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor, out: torch.Tensor
) -> None:
    seqs, blocks = table.shape
    _, page_size, width = pages.shape
    gather[(seqs * blocks,)](
        pages,
        table,
        lengths,
        out,
        pages.stride(0),
        pages.stride(1),
        table.stride(0),
        out.stride(0),
        out.stride(1),
        blocks,
        page_size,
        width,
        TALL=triton.next_power_of_2(page_size),
        WIDE=min(WIDE, triton.next_power_of_2(width)),
    )
