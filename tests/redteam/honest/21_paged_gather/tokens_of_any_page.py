"""A tile of tokens of out, whose entries of the table are loaded as a vector."""

import torch
import triton
import triton.language as tl

TOKENS, COLUMNS = 32, 128


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
    tiles = tl.cdiv(blocks * page_size, TOKENS)
    program = tl.program_id(0).to(tl.int64)
    sequence = program // tiles
    token = program % tiles * TOKENS + tl.arange(0, TOKENS)
    there = token < blocks * page_size
    exists = token < tl.load(lengths_ptr + sequence)
    page = tl.load(
        table_ptr + sequence * table_stride + token // page_size, mask=exists, other=0
    ).to(tl.int64)
    here = pages_ptr + page * page_stride + token % page_size * token_stride
    target = out_ptr + sequence * out_stride + token * out_token_stride
    for column in range(0, width, COLUMNS):
        columns = column + tl.arange(0, COLUMNS)[None, :]
        x = tl.load(here[:, None] + columns, mask=exists[:, None] & (columns < width), other=0.0)
        tl.store(target[:, None] + columns, x, mask=there[:, None] & (columns < width))


def paged_gather(
    pages: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor, out: torch.Tensor
) -> None:
    sequences, blocks = table.shape
    _, page_size, width = pages.shape
    tokens = min(TOKENS, triton.next_power_of_2(blocks * page_size))
    gather_kernel[(sequences * triton.cdiv(blocks * page_size, tokens),)](
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
        TOKENS=tokens,
        COLUMNS=min(COLUMNS, triton.next_power_of_2(width)),
    )
