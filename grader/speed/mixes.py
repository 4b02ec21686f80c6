"""A kernel's mix of reads and writes of large tensors, and the reference kernel for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.model import TensorRef
from grader.sandbox import Entry, Placed
from grader.speed.bound import ReferenceCalls


@dataclass(frozen=True)
class Mix:
    """The number of large tensors that a kernel reads, writes, and reads and writes back."""

    reads: int
    writes: int
    updates: int

    @property
    def tensors(self) -> int:
        return self.reads + self.writes + self.updates

    @property
    def name(self) -> str:
        # For example `2 reads, 1 write`.
        counts = (("read", self.reads), ("write", self.writes), ("update", self.updates))
        return ", ".join(f"{n} {word}{'s' * (n > 1)}" for word, n in counts if n)


# The mixes that `grader doctor` measures. The speed step measures a ceiling for any mix.
USUAL_MIXES = (
    Mix(1, 0, 0),
    Mix(2, 0, 0),
    Mix(0, 1, 0),
    Mix(1, 1, 0),
    Mix(2, 1, 0),
    Mix(3, 1, 0),
    Mix(1, 2, 0),
    Mix(3, 2, 0),
    Mix(0, 0, 1),
)


# Only of a multiple of these does a compiler know that masks end with a vector of four. Another
# length costs the reference kernel 4 % of two reads and a write on an H200, and 12 % of a copy
# (bench/results/ceiling_lengths_h200.json): a right kernel was then faster than memory can be.
WHOLE = 16
SPARE = 1 << 18  # elements of the warm-up call, at a slot's beginning


def stream_on(slots: Sequence[Sequence[Placed]]) -> ReferenceCalls:
    """Return the reference kernel for the mix of these slots, with its calls on them."""
    tensors = large(slots[0])
    roles = [placed.argument.role for placed in tensors]
    mix = Mix(roles.count("in"), roles.count("out"), roles.count("inout"))
    length = min(placed.view.nbytes for placed in tensors) // 4 // WHOLE * WHOLE
    places = [[placed.ref.offset for placed in large(slot)] for slot in slots]
    return _stream(mix, places, length)


def large(slot: Sequence[Placed]) -> list[Placed]:
    """Return the tensors that matter for bandwidth, read ones first; the others are under 1/16."""
    largest = max(placed.view.nbytes for placed in slot)
    order = ("in", "out", "inout")
    chosen = [placed for placed in slot if 16 * placed.view.nbytes > largest]
    return sorted(chosen, key=lambda placed: order.index(placed.argument.role))


def withheld_from(slot: Sequence[Placed]) -> list[Placed]:
    """Return the inputs from which elements are withheld: the large ones, or else the largest.

    Where an output is far larger than all inputs, as a product of vectors is, no input is large.
    """
    inputs = [placed for placed in slot if placed.argument.role != "out"]
    chosen = [placed for placed in large(slot) if placed.argument.role != "out"]
    return chosen or sorted(inputs, key=lambda placed: placed.view.nbytes)[-1:]


def _flat(offset: int, length: int) -> TensorRef:
    return TensorRef("flat", offset, (length,), (1,), "float32")


def _stream(mix: Mix, offsets: Sequence[Sequence[int]], length: int) -> ReferenceCalls:
    counts = [mix.reads, mix.writes]
    moved = mix.reads + mix.writes + 2 * mix.updates
    return ReferenceCalls(
        Entry("stream", ("reads", "writes", *(f"tensor_{i}" for i in range(mix.tensors)))),
        [[*counts, *(_flat(offset, length) for offset in slot)] for slot in offsets],
        work=moved * length * 4,
        spare=[*counts, *(_flat(offset, min(SPARE, length)) for offset in offsets[-1])],
    )


def flat_stream(mix: Mix, length: int, calls: int) -> ReferenceCalls:
    """Return a reference kernel on `calls` slots that split `length` float32 between their tensors.

    The slots lie one after the other from the arena's start: see `stream_bytes`.
    """
    part = length // mix.tensors // 1024 * 1024  # keeps every tensor aligned
    places = [
        [(slot * mix.tensors + i) * part * 4 for i in range(mix.tensors)] for slot in range(calls)
    ]
    return _stream(mix, places, part)


def stream_bytes(length: int, calls: int) -> int:
    return length * calls * 4
