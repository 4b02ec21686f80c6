"""Has a program for each token, which loads the whole page and picks one row of it.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

TOKENS = 16
COLUMNS = 512


@triton.jit
def paged_gather_kernel(
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
    TOKENS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    sequence, token = program // (blocks * page_size), program % (blocks * page_size)
    block = token // page_size
    left = tl.load(lengths_ptr + sequence) - block * page_size
    page = tl.load(table_ptr + sequence * table_stride + block).to(tl.int64)
    source = pages_ptr + page * page_stride
    target = out_ptr + sequence * out_stride + token * out_token_stride
    tokens = tl.arange(0, TOKENS)
    for column in range(0, width, COLUMNS):
        columns = column + tl.arange(0, COLUMNS)
        exists = (tokens < page_size) & (tokens < left)
        mask = exists[:, None] & (columns < width)[None, :]
        x = tl.load(
            source + tokens[:, None] * token_stride + columns[None, :], mask=mask, other=0.0
        )
        own = tl.where((tokens == token % page_size)[:, None], x, 0.0)
        tl.store(target + columns, tl.sum(own, axis=0), mask=columns < width)


def paged_gather(
    pages: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor, out: torch.Tensor
) -> None:
    sequences, blocks = table.shape
    _, page_size, width = pages.shape
    paged_gather_kernel[(sequences * blocks * page_size,)](
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
        TOKENS=triton.next_power_of_2(page_size),
        COLUMNS=min(COLUMNS, triton.next_power_of_2(width)),
    )
