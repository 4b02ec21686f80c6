"""Functions of their own look up the page and copy a tile."""

import torch
import triton
import triton.language as tl

TOKENS, COLUMNS = 16, 256


@triton.jit
def address_of_page(pages_ptr, entries, block, page_stride):
    return pages_ptr + tl.load(entries + block).to(tl.int64) * page_stride


@triton.jit
def copy_tile(here, there, inside, exists):
    tl.store(there, tl.load(here, mask=inside & exists, other=0.0), mask=inside)


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
    source = address_of_page(pages_ptr, table_ptr + sequence * table_stride, block, page_stride)
    target = out_ptr + sequence * out_stride + block * page_size * out_token_stride
    left = tl.load(lengths_ptr + sequence) - block * page_size
    for token in range(0, page_size, TOKENS):
        for column in range(0, width, COLUMNS):
            tokens = token + tl.arange(0, TOKENS)[:, None]
            columns = column + tl.arange(0, COLUMNS)[None, :]
            copy_tile(
                source + tokens * token_stride + columns,
                target + tokens * out_token_stride + columns,
                (tokens < page_size) & (columns < width),
                tokens < left,
            )


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
