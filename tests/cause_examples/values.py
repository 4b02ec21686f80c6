"""Outputs of plain functions that are wrong in a way that a detector knows, or nearly so."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from evidences import evidence_of, spec_of, use
from torch import Tensor

from cause_examples.example import Example, Make, near, shown

ADD = spec_of(lambda i: {"out": i["x"] + 2 * i["y"]}, "x", "y")
COPY = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")
SOFTMAX = spec_of(lambda i: {"out": i["x"].softmax(-1)}, "x")
SUM = spec_of(lambda i: {"out": (i["x"]).sum(-1, keepdim=True)}, "x", shape=(1,))
HIGHEST = spec_of(lambda i: {"out": i["x"].amax(-1)}, "x", shape=lambda i: i["x"].shape[:1])


def swap(kernel: Callable[[Tensor, Tensor], Tensor], *shapes: tuple[int, ...]) -> Make:
    return lambda: evidence_of(ADD, lambda i: {"out": kernel(i["x"], i["y"])}, *shapes)


def copy(kernel: Callable[[Tensor], Tensor], *shapes: tuple[int, ...], **fields: object) -> Make:
    return lambda: evidence_of(COPY, lambda i: {"out": kernel(i["x"])}, *shapes, **fields)


def softmax(kernel: Callable[[Tensor], Tensor], *shapes: tuple[int, ...], **given: object) -> Make:
    return lambda: evidence_of(SOFTMAX, lambda i: {"out": kernel(i["x"])}, *shapes, **given)


def summed(kernel: Callable[[Tensor], Tensor], *shapes: tuple[int, ...], **fields: object) -> Make:
    return lambda: evidence_of(
        SUM, lambda i: {"out": kernel(i["x"]).sum(-1, keepdim=True)}, *shapes, **fields
    )


def noise(x: Tensor) -> Tensor:
    return torch.randn(x.shape, generator=torch.Generator().manual_seed(99))


def plain_softmax(x: Tensor) -> Tensor:
    return x.exp() / x.exp().sum(-1, keepdim=True)


def from_zero(x: Tensor) -> Tensor:
    terms = (x - x.amax(-1, keepdim=True).clamp(min=0)).exp()
    return terms / terms.sum(-1, keepdim=True)


ROW = torch.ones(8)
LANES = [use(1, "read", "x", ROW, lanes=4), use(2, "write", "out", torch.ones(1))]

SHOWN: dict[str, tuple[str, Make]] = {
    "sign, of one element": ("sign", copy(lambda x: -x, (1,), (9,))),
    "sign, of a table": ("sign", copy(lambda x: -x, (3, 4))),
    "swapped vectors": ("swapped_arguments", swap(lambda x, y: y + 2 * x, (1,), (9,))),
    "swapped tables": ("swapped_arguments", swap(lambda x, y: y + 2 * x, (3, 4))),
    "one input twice": ("swapped_arguments never_read", swap(lambda x, y: 3 * x, (1,), (9,))),
    "the other input twice": ("swapped_arguments never_read", swap(lambda x, y: 3 * y, (5,))),
    "transposed output": ("transposed", copy(lambda x: x.T.reshape(x.shape), (3, 5))),
    "transposed square": ("transposed", copy(lambda x: x.T, (4, 4), (3, 3))),
    "twice too large": ("factor", copy(lambda x: 2 * x, (1,), (9,))),
    "exp2 for exp": ("factor", copy(lambda x: x / math.log(2), (6,))),
    "divided by the length": ("factor", copy(lambda x: x / len(x), (5,), (9,))),
    "read one later": ("off_by_one", copy(lambda x: x.roll(-1), (6,), (17,))),
    "read one before": ("off_by_one", copy(lambda x: x.roll(1), (6,))),
    "overflow": (
        "overflow",
        softmax(plain_softmax, (2, 3), (5, 9), given={"x": torch.full((2, 3), 200.0)}),
    ),
    "overflow in one row": (
        "overflow",
        softmax(
            plain_softmax, (2, 2), (5, 9), given={"x": torch.tensor([[0.0, 1.0], [200.0, 1.0]])}
        ),
    ),
    "maximum from 0": (
        "negative_inputs",
        softmax(from_zero, (2, 2), (5, 9), given={"x": torch.full((2, 2), -200.0)}),
    ),
    "maximum that stays 0": (
        "negative_inputs",
        lambda: evidence_of(
            HIGHEST, lambda i: {"out": i["x"].amax(-1).clamp(min=0)}, (3, 1), (9, 2)
        ),
    ),
    "all but the last": ("part_of_a_sum off_by_one", summed(lambda x: x[:-1], (8,), (11,))),
    "the first block": (
        "part_of_a_sum first_block_only",
        summed(lambda x: x[:4], (8,), (11,), uses=LANES),
    ),
    "the last block": ("part_of_a_sum last_block_kept", summed(lambda x: x[4:], (8,), uses=LANES)),
    "another formula": (
        "formula",
        copy(
            lambda x: x * x + 1,
            (6,),
            (9,),
            uses=[use(1, "read", "x", torch.ones(6))],
            complete=True,
        ),
    ),
    "another formula of a table": (
        "formula",
        copy(
            lambda x: x.sin() + 3,
            (2, 3),
            (4, 4),
            uses=[use(1, "read", "x", torch.ones(2, 3))],
            complete=True,
        ),
    ),
}

NEAR: dict[str, tuple[str, Make]] = {
    "sign, of half of them": ("sign", copy(lambda x: torch.where(x > 0, -x, x), (9,), (12,))),
    "sign, of one case": ("sign", copy(lambda x: -x if len(x) == 1 else x, (1,), (9,))),
    "swapped in one element": ("swapped_arguments", swap(
        lambda x, y: torch.where(torch.arange(len(x)) == 0, y + 2 * x, x + 2 * y), (4,), (9,))),
    "swapped, by chance of one": ("swapped_arguments", swap(
        lambda x, y: y + 2 * x if len(x) == 1 else x, (1,), (9,))),
    "not transposed": ("transposed", copy(lambda x: x.flip(0), (3, 5))),
    "transposed in one case": (
        "transposed", copy(lambda x: x.T if x.shape == (4, 4) else x, (4, 4), (2, 3))),
    "twice, by chance of one": ("factor", copy(lambda x: 2 * x if len(x) == 1 else x, (1,), (9,))),
    "of other factors": ("factor", copy(lambda x: x * (2 + noise(x) / 10), (9,))),
    "two later": ("off_by_one", copy(lambda x: x.roll(-2), (6,))),
    "later in one case": ("off_by_one", copy(lambda x: x.roll(-1) if len(x) == 6 else x.roll(-2),
                                             (6,), (17,))),
    "infinite everywhere": ("overflow", softmax(lambda x: x / 0, (2, 3), (5, 9))),
    "large and finite": ("overflow", softmax(
        lambda x: x * 0, (2, 3), (5, 9), given={"x": torch.full((2, 3), 200.0)})),
    "negative and positive": ("negative_inputs", softmax(lambda x: x * 0, (2, 3), (5, 9))),
    "negative, and nothing else was tried": ("negative_inputs", softmax(
        from_zero, (2, 2), given={"x": torch.full((2, 2), -200.0)})),
    "a block of another size": ("part_of_a_sum", summed(
        lambda x: x[:3], (8,), (11,), uses=LANES)),
    "some other half": ("part_of_a_sum", summed(lambda x: x[::2], (8,), (11,), uses=LANES)),
    "a formula, and not all is read": ("formula", copy(
        lambda x: x * x + 1, (6,), (9,), uses=[use(1, "read", "x", torch.arange(6) < 5)],
        complete=True)),
    "a formula in one element": ("formula", copy(
        lambda x: torch.where(torch.arange(len(x)) == 1, x + 5, x), (6,), (9,),
        uses=[use(1, "read", "x", torch.ones(6))], complete=True)),
}  # fmt: skip


EXAMPLES: dict[str, Example] = shown(SHOWN) | near(NEAR)
