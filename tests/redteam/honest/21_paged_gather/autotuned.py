"""The size of the tile and the warps are tuned, for each width anew."""

import torch
import triton
import triton.language as tl

TILES = ((16, 128, 4), (8, 512, 4), (16, 256, 8))


@triton.autotune(
    [
        triton.Config({"TOKENS": tokens, "COLUMNS": columns}, num_warps=warps)
        for tokens, columns, warps in TILES
    ],
    key=["width", "page_size"],
)
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
    for token in range(0, page_size, TOKENS):
        tokens = token + tl.arange(0, TOKENS)[:, None]
        for column in range(0, width, COLUMNS):
            columns = column + tl.arange(0, COLUMNS)[None, :]
            inside = (tokens < page_size) & (columns < width)
            x = tl.load(
                source + tokens * token_stride + columns, mask=inside & (tokens < left), other=0.0
            )
            tl.store(target + tokens * out_token_stride + columns, x, mask=inside)


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
    )
