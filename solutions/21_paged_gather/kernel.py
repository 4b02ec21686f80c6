"""Paged gather in Triton: one program copies one page of one sequence, tile by tile."""

import torch
import triton
import triton.language as tl

TOKENS = 16  # of a tile, at most
COLUMNS = 512  # of a tile, at most


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
    """Copies one block of one sequence: program p has block p % blocks of sequence p // blocks.

    Strides are in elements: from page to page, from token to token in a page, from row to row of
    the table, and in `out` from sequence to sequence and from token to token. Widen numbers by
    `.to(tl.int64)` before multiplying them by strides: a pool may have more than 2**31 elements.
    """
    # BEGIN SOLUTION: look up the page, copy the tokens that exist, write zeros for the others
    program = tl.program_id(0).to(tl.int64)
    sequence, block = program // blocks, program % blocks
    first = block * page_size  # the number of the block's first token
    left = tl.load(lengths_ptr + sequence) - first  # tokens from the first on
    page = tl.load(table_ptr + sequence * table_stride + block).to(tl.int64)
    source = pages_ptr + page * page_stride
    target = out_ptr + sequence * out_stride + first * out_token_stride
    for token in range(0, page_size, TOKENS):
        tokens = token + tl.arange(0, TOKENS)[:, None]
        for column in range(0, width, COLUMNS):
            columns = column + tl.arange(0, COLUMNS)[None, :]
            inside = (tokens < page_size) & (columns < width)
            # Past the end nothing is loaded: there may be no page, or anything in it.
            exists = inside & (tokens < left)
            x = tl.load(source + tokens * token_stride + columns, mask=exists, other=0.0)
            tl.store(target + tokens * out_token_stride + columns, x, mask=inside)
    # END SOLUTION


def paged_gather(
    pages: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor, out: torch.Tensor
) -> None:
    """Fills out with the tokens of each sequence: out[s, t] is token t, and 0 from lengths[s] on.

    Token t lies at place t % page_size of the page table[s, t // page_size].
    """
    sequences, blocks = table.shape
    _, page_size, width = pages.shape
    # BEGIN SOLUTION: launch one program for each block of each sequence
    paged_gather_kernel[(sequences * blocks,)](
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
    # END SOLUTION
