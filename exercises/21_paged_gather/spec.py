"""Paged gather: copy a cache of keys out of its pages, in the order of a page table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from grader.spec import (
    Case,
    Draw,
    Gates,
    Inputs,
    Mistake,
    Scored,
    Shape,
    Spec,
    Tolerance,
    reads,
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor

NO_PAGE = -1  # the table's entry for a block that lies past the end of its sequence
EMPTY = 16  # of so many sequences, one has no token


def inputs(case: Case, draw: Draw) -> Inputs:
    """A pool of pages in random order, with one page that no sequence has.

    The first sequence is full and the second is empty: neither is left to chance. The others lack
    up to a quarter of their tokens and two more. Of each two sequences, the second begins with the
    page of the first, as with a common prompt. If rows are padded, pages lie further apart than
    their tokens take, too.
    """
    sequences, blocks, page_size, width = case.shape
    count, tokens = sequences * blocks + 1, blocks * page_size
    apart = page_size + bool(case.pad)
    pages = draw.tensor((count, apart, width))
    if apart > page_size:
        pages = pages[:, :page_size]
    missing = draw.indices(sequences, below=min(tokens, tokens // 4 + 2) + 1)
    missing[0] = 0
    missing[1::EMPTY] = tokens
    lengths = draw.tensor((sequences,), dtype="int32").copy_(tokens - missing)
    order = draw.indices(count, below=2**40).argsort()[:-1].reshape(sequences, blocks)
    order[1::2, 0] = order[: sequences // 2 * 2 : 2, 0]
    order.masked_fill_(~_begun(lengths, blocks, page_size), NO_PAGE)
    table = draw.tensor((sequences, blocks), dtype="int32").copy_(order)
    return {"pages": pages, "table": table, "lengths": lengths}


def _counted(count: int, like: Tensor) -> Tensor:
    """Return 0, 1, 2, ... on the device of `like`."""
    return like.new_ones(count).cumsum(0) - 1


def _begun(lengths: Tensor, blocks: int, page_size: int) -> Tensor:
    """Mark the blocks that hold a token; (sequences, blocks)."""
    return _counted(blocks, lengths) * page_size < lengths.unsqueeze(-1)


def _tokens(inputs: Inputs) -> int:
    """Return how many tokens a sequence has at most."""
    return int(inputs["table"].shape[1] * inputs["pages"].shape[1])


def _seen(inputs: Inputs) -> Tensor:
    """Mark the tokens of each sequence that exist; (sequences, tokens)."""
    lengths = inputs["lengths"]
    return _counted(_tokens(inputs), lengths) < lengths.unsqueeze(-1)


def _gathered(pages: Tensor, table: Tensor) -> Tensor:
    """Return the pages of a table one after the other, whatever the lengths are."""
    return pages[table.clamp(min=0).long()].flatten(1, 2)


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    out = _gathered(inputs["pages"], inputs["table"])
    return {"out": out.masked_fill(~_seen(inputs).unsqueeze(-1), 0.0)}


def rows_of(inputs: Inputs, rows: Tensor) -> Inputs:
    """Return the inputs of some sequences, with a pool of their pages alone."""
    table = inputs["table"][rows]
    numbers = _counted(table.numel(), table).reshape(table.shape)
    return {
        "pages": inputs["pages"][table.clamp(min=0).flatten().long()],
        "table": numbers.masked_fill(table == NO_PAGE, NO_PAGE).int(),
        "lengths": inputs["lengths"][rows],
    }


def _of_out(inputs: Inputs) -> Shape:
    return len(inputs["table"]), _tokens(inputs), inputs["pages"].shape[2]


def _bytes_of_pages(inputs: Inputs) -> int:
    """Return the bytes of all tokens. A page that two sequences share counts twice."""
    pages = inputs["pages"]
    return int(inputs["lengths"].sum()) * pages.shape[2] * pages.element_size()


def _bytes_of_table(inputs: Inputs) -> int:
    table = inputs["table"]
    return int((table != NO_PAGE).sum()) * table.element_size()


def _of_table(changed: Callable[[Tensor, Inputs], Tensor], inputs: Inputs) -> Mapping[str, Tensor]:
    """Return the outputs of another table; `changed` gets the right one."""
    return reference({**inputs, "table": changed(inputs["table"], inputs)})


def _as_stored(table: Tensor, inputs: Inputs) -> Tensor:
    """Number pages in the order of the pool."""
    return _counted(table.numel(), table).reshape(table.shape)


def _transposed(table: Tensor, inputs: Inputs) -> Tensor:
    """Take entries as if the table were stored column by column."""
    return table.T.reshape(table.shape)


def _first_row(table: Tensor, inputs: Inputs) -> Tensor:
    return table[:1].expand(table.shape)


def _first_entry(table: Tensor, inputs: Inputs) -> Tensor:
    return table[:, :1].expand(table.shape)


def _previous(table: Tensor, inputs: Inputs) -> Tensor:
    return table.roll(1, -1)


def _next(table: Tensor, inputs: Inputs) -> Tensor:
    return table.roll(-1, -1)


def _unmasked(inputs: Inputs) -> Mapping[str, Tensor]:
    """Copy whole pages, also behind the last token; of a block without a page copy the first."""
    return {"out": _gathered(inputs["pages"], inputs["table"])}


def _whole_pages(inputs: Inputs) -> Mapping[str, Tensor]:
    """Copy whole pages, also behind the last token; blocks without a page hold 0."""
    begun = (inputs["table"] != NO_PAGE).repeat_interleave(inputs["pages"].shape[1], -1)
    out = _gathered(inputs["pages"], inputs["table"])
    return {"out": out.masked_fill(~begun.unsqueeze(-1), 0.0)}


def _full_pages_alone(inputs: Inputs) -> Mapping[str, Tensor]:
    """Leave out the tokens of a last page that is not full."""
    size = inputs["pages"].shape[1]
    return reference({**inputs, "lengths": inputs["lengths"] // size * size})


def _longer(by: int, inputs: Inputs) -> Mapping[str, Tensor]:
    return reference({**inputs, "lengths": (inputs["lengths"] + by).clamp(min=0)})


def _token_and_block_exchanged(inputs: Inputs) -> Mapping[str, Tensor]:
    """Take the remainder of a token's number for the block, and the quotient for the place."""
    pages, table = inputs["pages"], inputs["table"].clamp(min=0).long()
    size, token = pages.shape[1], _counted(_tokens(inputs), inputs["lengths"])
    block = (token % size).clamp(max=table.shape[1] - 1)
    out = pages[table[:, block], (token // size).clamp(max=size - 1)]
    return {"out": out.masked_fill(~_seen(inputs).unsqueeze(-1), 0.0)}


def _behind_the_end(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": ~_seen(inputs).unsqueeze(-1).expand(_of_out(inputs))}


ENTRY = (r"load\(.*table", r"\bpage\w* *= ", r"table.*\+")
LENGTH = (r"[<>]=? *\(?(length|left|n\b)|(length|left)\w* *[<>]", r"load\(.*length")

MISTAKES = (
    *(
        Mistake(cause=cause, hint=hint, reference=partial(_of_table, changed), near=ENTRY)
        for cause, hint, changed in (
            (
                "never_read",
                "The pages come in the order in which the pool stores them: the table says which "
                "page holds a block.",
                _as_stored,
            ),
            (
                "transposed",
                "Rows and columns of the table are exchanged: entry (sequence, block) lies at "
                "sequence * table.stride(0) + block.",
                _transposed,
            ),
            (
                "row_stride",
                "Each sequence has the pages of the first one: a row of the table begins at "
                "sequence * table.stride(0).",
                _first_row,
            ),
            (
                "block_index",
                "Each block has the page of the first block: the entry is that of the block's "
                "number.",
                _first_entry,
            ),
            ("off_by_one", "Each block has the page of the block before it.", _previous),
            ("off_by_one", "Each block has the page of the block after it.", _next),
        )
    ),
    Mistake(
        cause="block_index",
        hint="Quotient and remainder are exchanged: token t lies in block t // page_size, at the "
        "place t % page_size.",
        reference=_token_and_block_exchanged,
        near=(r"//|%",),
    ),
    Mistake(
        cause="masked_lanes",
        hint="What lies behind the last token is copied: tokens from the length on are 0, whatever "
        "the page holds there.",
        reference=_whole_pages,
        near=LENGTH,
    ),
    Mistake(
        cause="masked_lanes",
        hint="A block without a page holds another one's: an entry of -1 is no page. Tokens from "
        "the length on are 0.",
        reference=_unmasked,
        near=LENGTH,
    ),
    Mistake(
        cause="tail",
        hint="The last page of a sequence is left out where it is not full: its first tokens "
        "exist.",
        reference=_full_pages_alone,
        near=(r"length.*//", *LENGTH),
    ),
    *(
        Mistake(
            cause="off_by_one",
            hint=f"Each sequence is one token too {what}: token t exists where t < length.",
            reference=partial(_longer, by),
            near=LENGTH,
        )
        for what, by in (("long", 1), ("short", -1))
    ),
    Mistake(
        cause="masked_lanes",
        hint="Only tokens from the length on are wrong: they are 0. Load with a mask and "
        "`other=0.0`, and store all of the block.",
        only=_behind_the_end,
        near=LENGTH,
    ),
)


SPEC = Spec(
    title="Paged gather",
    summary="Copy sequences out of a pool of pages: a table in memory says where to read.",
    needs=("01_vector_add", "t03_tile"),
    backend="triton",
    entry="paged_gather",
    arguments=(
        reads("pages", bytes=_bytes_of_pages),
        reads("table", at_most=None, bytes=_bytes_of_table),
        reads("lengths", at_most=None),
        writes("out", like="pages", shape=_of_out),
    ),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers"),
    strided=True,
    edges=(
        Case((1, 1, 1, 1), "float32"),
        Case((1, 1, 2, 3), "float16"),
        Case((2, 3, 1, 2), "bfloat16", pad=3),
        Case((3, 2, 3, 5), "float32", draw="integers", pad=1),
        Case((3, 4, 16, 31), "bfloat16", draw="constant"),
        Case((2, 127, 1, 3), "float32", draw="ties"),
        Case((4, 5, 3, 127), "float16", offset=1),
        Case((5, 3, 4, 128), "bfloat16", draw="extremes"),
        Case((3, 5, 16, 129), "float32", draw="extremes", pad=5),
        Case((4, 3, 129, 7), "float16", draw="integers", pad=2),
        Case((3, 2, 3, 1_023), "float16", draw="denormals"),
        Case((1, 3, 2, 1_024), "bfloat16"),
        Case((3, 2, 5, 1_025), "float32", pad=3, offset=1),
        Case((3, 1_031, 2, 5), "float32"),
        Case((17, 8, 16, 64), "bfloat16", draw="ties"),
        Case((19, 7, 7, 100), "float16", draw="constant", pad=1),
        Case((4_099, 2, 2, 3), "bfloat16", pad=1),
        Case((6, 12, 16, 144), "float32", draw="denormals", offset=1),
        Case((64, 32, 16, 8), "float16"),
    ),
    # More sequences than a grid has programs along y.
    launched=Case((65_537, 1, 1, 3), "float32"),
    largest=(300, 300, 130, 2_000),
    most_elements=2**16,
    inputs=inputs,
    reference=reference,
    rows_of=rows_of,
    # A copy: only the number itself is right.
    tolerance=Tolerance(terms=lambda case: 1, rounded_once=True),
    # A full sequence, an empty one, and one that ends in its page; two tiles of tokens each.
    pictured=Case((3, 1, 18, 3), "float32"),
    counted=Case((3, 9, 4, 2_203), "bfloat16", pad=3),
    scored=Scored(dtype="bfloat16", columns=(32, 16, 256)),
    # A comparison an element: token, or 0.
    flops=lambda case: case.elements,
    # Those of a copy of blocks that a program computes itself.
    gates=Gates(passing=0.80, great=0.93),
    hints=(
        "Give each block of a sequence its own program. One axis of the grid is enough: program p "
        "has the sequence `p // blocks` and the block `p % blocks`.",
        "The entry of the table is one number: `tl.load(table_ptr + sequence * table_stride + "
        "block)`. Widen it with `.to(tl.int64)` before you multiply it by the stride of a page.",
        "The page is a tile: tokens downwards, columns to the right. Token i of the page is token "
        "`block * page_size + i` of the sequence, and exists if that is below the length.",
        "Two masks: load where the token exists, with `other=0.0`, and store wherever the tile is "
        "inside of the page. A block without a page then stores zeros, and reads nothing.",
    ),
    mistakes=MISTAKES,
)
