"""Block pointers to the page and to its place in out, whose bounds are checked."""

import torch
import triton
import triton.language as tl

TOKENS, COLUMNS = 16, 256


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
    TOKENS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    sequence, block = program // blocks, program % blocks
    left = tl.load(lengths_ptr + sequence) - block * page_size
    page = tl.load(table_ptr + sequence * table_stride + block).to(tl.int64)
    source = pages_ptr + page * page_stride
    target = out_ptr + sequence * out_stride + block * page_size * out_token_stride
    known = tl.minimum(tl.maximum(left, 0), page_size)
    for token in range(0, page_size, TOKENS):
        for column in range(0, width, COLUMNS):
            here = tl.make_block_ptr(
                source,
                (known, width),
                (token_stride, 1),
                (token, column),
                (TOKENS, COLUMNS),
                (1, 0),
            )
            there = tl.make_block_ptr(
                target,
                (page_size, width),
                (out_token_stride, 1),
                (token, column),
                (TOKENS, COLUMNS),
                (1, 0),
            )
            x = tl.load(here, boundary_check=(0, 1), padding_option="zero")
            tl.store(there, x, boundary_check=(0, 1))


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
        TOKENS=min(TOKENS, triton.next_power_of_2(page_size)),
        COLUMNS=min(COLUMNS, triton.next_power_of_2(width)),
    )
