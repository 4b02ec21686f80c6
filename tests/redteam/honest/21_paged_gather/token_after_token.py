"""One token at a time, with a vector along its columns."""

import torch
import triton
import triton.language as tl

COLUMNS = 1024


@triton.jit
def gather_kernel(
    pages_ptr,
    table_ptr,
    lengths_ptr,
    out_ptr,
    page_stride,
    token_stride,
    table_stride,
    out_stride,
    out_token_stride,
    blocks,
    page_size,
    width,
    COLUMNS: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    sequence, block = program // blocks, program % blocks
    left = tl.load(lengths_ptr + sequence) - block * page_size
    page = tl.load(table_ptr + sequence * table_stride + block).to(tl.int64)
    source = pages_ptr + page * page_stride
    target = out_ptr + sequence * out_stride + block * page_size * out_token_stride
    for token in range(page_size):
        for column in range(0, width, COLUMNS):
            columns = column + tl.arange(0, COLUMNS)
            inside = columns < width
            x = tl.load(
                source + token * token_stride + columns, mask=inside & (token < left), other=0.0
            )
            tl.store(target + token * out_token_stride + columns, x, mask=inside)


def paged_gather(
    pages: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor, out: torch.Tensor
) -> None:
    sequences, blocks = table.shape
    _, page_size, width = pages.shape
    gather_kernel[(sequences * blocks,)](
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
        COLUMNS=min(COLUMNS, triton.next_power_of_2(width)),
    )
