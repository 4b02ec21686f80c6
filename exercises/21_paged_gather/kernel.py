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
    # TODO: look up the page, copy the tokens that exist, write zeros for the others
    pass


def paged_gather(
    pages: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor, out: torch.Tensor
) -> None:
    """Fills out with the tokens of each sequence: out[s, t] is token t, and 0 from lengths[s] on.

    Token t lies at place t % page_size of the page table[s, t // page_size].
    """
    sequences, blocks = table.shape
    _, page_size, width = pages.shape
    raise NotImplementedError("21_paged_gather: launch one program for each block of each sequence")
