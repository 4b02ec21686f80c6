"""The scored case, many times over in one arena: fresh inputs, and a secret sample of answers.

Each go of the speed step calls the kernel once for each slot. Before it, the judge fills every slot
anew, all but what comes late (`late.py`), and computes, in its own memory, what a few secret places
of every output must hold.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import torch
from torch import Tensor

from grader.acceptance import expect, limits
from grader.arena import REDZONE, Placed, place
from grader.errors import BrokenExercise
from grader.inputs import LargeDraw, NumberDraw
from grader.late import Late, Withheld, stand_in, withhold
from grader.link import Call, Entry
from grader.remote import Poison, destinations
from grader.spec import Case, Spec
from grader.wire import TensorRef

# Per slot. Who leaves the last slot of 16 a third unfinished, to gain 2 %, has a chance of about
# 0.67^16 = 0.2 % in each go that no sampled row shows it; for 1-D arguments it is nil.
SAMPLED_ROWS = 16
SAMPLED_COLUMNS = 64
SAMPLED_ELEMENTS = 1024
SAMPLED_LATE = 64  # of these elements, for each input: where what comes late decides
# Where an answer takes the whole input, as a sum does, that of so many slots is computed. A kernel
# that leaves one slot of 16 out is found out in half of its ten goes and more.
SAMPLED_SLOTS = 8
FEW = 64  # rows, of a case from which it follows what one row takes


@dataclass(frozen=True)
class Mix:
    """How many large tensors a kernel reads, writes, and reads and writes back."""

    reads: int
    writes: int
    updates: int

    @property
    def name(self) -> str:
        """Such as `2 reads, 1 write`."""
        counts = (("read", self.reads), ("write", self.writes), ("update", self.updates))
        return ", ".join(f"{n} {word}{'s' * (n > 1)}" for word, n in counts if n)


# Trusted kernels of grader/worker/streams.py and their parameters, in the order read, written,
# updated.
STREAMS = {
    Mix(1, 0, 0): ("read_one", ("a",)),
    Mix(2, 0, 0): ("read_two", ("a", "b")),
    Mix(0, 1, 0): ("write_one", ("out",)),
    Mix(1, 1, 0): ("read_one_write_one", ("a", "out")),
    Mix(2, 1, 0): ("read_two_write_one", ("a", "b", "out")),
    Mix(0, 0, 1): ("update", ("a",)),
}


@dataclass(frozen=True)
class Plan:
    """Argument lists in a random order, and the seeds that each slot's inputs are drawn with."""

    calls: list[Call]
    seeds: list[int]


@dataclass(frozen=True)
class Probe:
    """Some places of one dtype in the arena, what they must hold and by how much they may miss it.

    `index` counts elements of the dtype from the arena's start; answers and limits are float64.
    """

    index: Tensor
    answer: Tensor
    limit: Tensor
    memory: Tensor  # the arena, in that dtype

    def right(self) -> Tensor:
        """One boolean on the device: every place holds its answer (a NaN never does)."""
        return (self.error() <= self.limit).all()

    def share_right(self) -> float:
        """How many of the places are right, from 0 to 1, but for those where a zero would be."""
        takes_work = self.answer.abs() > self.limit
        right = (self.error() <= self.limit) & takes_work
        return int(right.sum()) / max(1, int(takes_work.sum()))

    def error(self) -> Tensor:
        return (self.memory[self.index].double() - self.answer).abs()


@dataclass(frozen=True)
class Filled:
    """What is in the slots for a go: what its answers must be, and what of its inputs is late."""

    probes: Sequence[Probe] = ()
    late: Sequence[Late] = ()

    def complete(self) -> None:
        """Put in what is late. Without effect where that was done."""
        for part in self.late:
            part.write()

    def share_right(self) -> float:
        """Of how many sampled places the answer is there, from 0 to 1: the most of any dtype."""
        return max((probe.share_right() for probe in self.probes), default=0.0)

    def all_right(self) -> bool:
        """Whether every sampled place holds its answer."""
        verdicts = [probe.right() for probe in self.probes]
        torch.cuda.synchronize()
        return all(bool(verdict) for verdict in verdicts)


@dataclass(frozen=True)
class Stream:
    """A trusted kernel's calls, one for each slot."""

    entry: Entry
    calls: Sequence[Call]
    bytes_moved: int  # per call


class Slots:
    """`calls` slots for a case in the memory of an arena."""

    def __init__(self, spec: Spec, case: Case, calls: int, memory: Tensor) -> None:
        self.spec, self.case, self.calls = spec, case, calls
        self._memory = memory
        self._tensors = [a for a in spec.arguments if a.role != "scalar"]
        one = arguments(spec, case, self._draw(0))
        likes = [(a, one[a.name]) for a in self._tensors]
        placed, _ = place(memory, likes * calls)  # type: ignore[arg-type]
        width = len(self._tensors)
        self._slots = [placed[i * width : (i + 1) * width] for i in range(calls)]
        self.sizes = {p.argument.name: _bytes(p) for p in placed}  # bytes, in one slot
        self.least_bytes = sum(spec.least_bytes(self.sizes))

    def _draw(self, seed: int) -> LargeDraw:
        return LargeDraw(self.case, self._memory.device, seed)

    def refill(self) -> tuple[list[Call], Filled]:
        """Fresh inputs, complete, and poisoned outputs in every slot.

        Returns the argument lists, in a new random order, and what their answers must be.
        """
        plan = self.plan()
        filled = self.fill(plan)
        filled.complete()
        return plan.calls, filled

    def plan(self) -> Plan:
        """What the next calls will be, of which nothing lies in the slots yet."""
        seeds = [random.SystemRandom().getrandbits(62) for _ in self._slots]
        calls = [self._call(slot, seed) for slot, seed in zip(self._slots, seeds, strict=True)]
        random.SystemRandom().shuffle(calls)
        return Plan(calls, seeds)

    def _call(self, slot: list[Placed], seed: int) -> Call:
        refs = {p.argument.name: p.ref for p in slot}
        numbers: dict[str, float] = {}
        if any(a.role == "scalar" for a in self.spec.arguments):
            inputs = self.spec.inputs(self.case, NumberDraw(self.case, seed))
            numbers = {name: value for name, value in inputs.items() if isinstance(value, float)}
        return [refs.get(a.name) or numbers[a.name] for a in self.spec.arguments]

    def fill(self, plan: Plan) -> Filled:
        """Put the inputs of these calls into the slots, all but what is late, and poison the
        outputs."""
        pieces: dict[torch.dtype, list[tuple[Tensor, ...]]] = {}
        late_pieces: dict[torch.dtype, list[tuple[Tensor, ...]]] = {}
        sampled = self._slots
        if not self.spec.independent_rows:
            sampled = random.SystemRandom().sample(sampled, min(SAMPLED_SLOTS, len(sampled)))
        for slot, seed in zip(self._slots, plan.seeds, strict=True):
            inputs = dict(self.spec.inputs(self.case, self._draw(seed)))
            late = self._withheld(inputs, slot)
            if slot in sampled:
                for placed, piece in self._sampled(inputs, late, slot):
                    pieces.setdefault(placed.view.dtype, []).append(piece)
            poison = Poison.fresh()
            for placed in slot:
                name = placed.argument.name
                if placed.argument.role == "out":
                    poison.fill(placed.view)
                    continue
                if name in late:
                    stand_in(_tensor(inputs[name]), late[name])
                    there = _in_arena(placed, late[name].places.flatten())
                    values = late[name].values.flatten()
                    late_pieces.setdefault(placed.view.dtype, []).append((there, values))
                placed.view.copy_(_tensor(inputs[name]))
        return Filled(
            [self._probe(dtype, parts) for dtype, parts in pieces.items()],
            [self._late(dtype, parts) for dtype, parts in late_pieces.items()],
        )

    def _probe(self, dtype: torch.dtype, parts: Sequence[tuple[Tensor, ...]]) -> Probe:
        index, answer, limit = _joined(parts)
        return Probe(index, answer, limit, self._as(dtype))

    def _late(self, dtype: torch.dtype, parts: Sequence[tuple[Tensor, ...]]) -> Late:
        index, values = _joined(parts)
        return Late(index, values, self._as(dtype))

    def _as(self, dtype: torch.dtype) -> Tensor:
        whole = self._memory.numel() // dtype.itemsize * dtype.itemsize
        return self._memory[:whole].view(dtype)

    def _withheld(
        self, inputs: dict[str, Tensor | float], slot: Sequence[Placed]
    ) -> dict[str, Withheld]:
        """What is late of each large input. Changes them for it, and makes them contiguous."""
        found = {}
        for placed in self._large(slot):
            value = inputs.get(placed.argument.name)
            if isinstance(value, Tensor) and value.is_floating_point() and value.ndim <= 2:
                # A copy: others may share its memory, or the spec may keep it.
                value = value.clone(memory_format=torch.contiguous_format)
                inputs[placed.argument.name] = value
                found[placed.argument.name] = withhold(value)
        return found

    def _sampled(
        self,
        inputs: Mapping[str, Tensor | float],
        late: Mapping[str, Withheld],
        slot: Sequence[Placed],
    ) -> Iterator[tuple[Placed, tuple[Tensor, Tensor, Tensor]]]:
        """For each output: places in the arena, answers and limits, each flat."""
        device = self._memory.device
        rows = torch.zeros(1, dtype=torch.int64, device=device)
        known = dict(inputs)
        if self.spec.independent_rows:
            rows = self._sampled_rows(late)
            known = {k: v[rows] if isinstance(v, Tensor) else v for k, v in inputs.items()}
        expected = expect(self.spec, self.case, known)
        placed_by_name = {placed.argument.name: placed for placed in slot}
        for name, answer in expected.answer.items():
            placed = placed_by_name[name]
            own = expected.own[name].double()
            limit, _ = limits(
                placed.view.dtype, answer, own, expected.magnitude[name], expected.terms
            )
            index = rows
            if answer.ndim > 1:
                columns = self._sampled_columns(answer.shape[-1], rows, inputs, late)
                index = rows[:, None] * answer.shape[-1] + columns
                answer, limit = answer.gather(1, columns), limit.gather(1, columns)
            there = _in_arena(placed, index.flatten())
            yield placed, (there, answer.flatten(), limit.flatten())

    def _sampled_rows(self, late: Mapping[str, Withheld]) -> Tensor:
        """Random ones; of vectors, whose rows are elements, some of those that are late, too."""
        device, (length, *columns) = self._memory.device, self.case.shape
        rows = torch.randint(
            length, (SAMPLED_ROWS if columns else SAMPLED_ELEMENTS,), device=device
        )
        if not columns:
            for turn, one in enumerate(late.values()):
                some = torch.randint(len(one.places), (SAMPLED_LATE,), device=device)
                rows[turn * SAMPLED_LATE : (turn + 1) * SAMPLED_LATE] = one.places[some, 0]
        return rows

    def _sampled_columns(
        self,
        count: int,
        rows: Tensor,
        inputs: Mapping[str, Tensor | float],
        late: Mapping[str, Withheld],
    ) -> Tensor:
        """Random ones of each row, and that which is late in each input that has as many."""
        columns = torch.randint(count, (len(rows), SAMPLED_COLUMNS), device=rows.device)
        alike = [one for name, one in late.items() if _tensor(inputs[name]).shape[-1] == count]
        for turn, one in enumerate(alike):
            columns[:, turn] = one.places[rows, 0] % count
        return columns

    # -- the ceiling's view of the same memory

    def stream(self) -> Stream:
        """The trusted kernel with this exercise's mix of reads and writes, on these slots.

        Raises BrokenExercise when no ceiling has that mix.
        """
        large = self._large(self._slots[0])
        roles = [p.argument.role for p in large]
        mix = Mix(roles.count("in"), roles.count("out"), roles.count("inout"))
        if mix not in STREAMS:
            raise BrokenExercise(
                f"There is no ceiling for this mix of large tensors: {mix.name}.",
                "Add a trusted kernel for this mix to grader/worker/streams.py.",
            )
        length = min(_bytes(p) for p in large) // 4
        calls = [[_flat(p.ref.offset, length) for p in self._large(s)] for s in self._slots]
        return _stream(mix, calls, length)

    def _large(self, slot: Sequence[Placed]) -> list[Placed]:
        """The tensors that matter for bandwidth, read ones first; the others are under 1/16."""
        largest = max(_bytes(p) for p in slot)
        order = ("in", "out", "inout")
        chosen = [p for p in slot if 16 * _bytes(p) > largest]
        return sorted(chosen, key=lambda p: order.index(p.argument.role))


def _tensor(value: Tensor | float) -> Tensor:
    assert isinstance(value, Tensor)
    return value


def _in_arena(placed: Placed, elements: Tensor) -> Tensor:
    """Where elements of a placed tensor, counted row by row, lie in its arena, in its own dtype."""
    start = placed.ref.offset // placed.view.element_size()
    there = torch.full_like(elements, start)
    # torch.unravel_index would import sympy, which takes half a second.
    sizes = zip(reversed(placed.view.shape), reversed(placed.ref.strides), strict=True)
    for length, stride in sizes:
        there += elements % length * stride
        elements = elements // length
    return there


def _joined(parts: Sequence[tuple[Tensor, ...]]) -> Iterator[Tensor]:
    return (torch.cat(column) for column in zip(*parts, strict=True))


def _bytes(placed: Placed) -> int:
    return placed.view.numel() * placed.view.element_size()


def _flat(offset: int, length: int) -> TensorRef:
    return TensorRef("flat", offset, (length,), (1,), "float32")


def _stream(mix: Mix, calls: Sequence[Call], length: int) -> Stream:
    name, parameters = STREAMS[mix]
    moved = mix.reads + mix.writes + 2 * mix.updates
    return Stream(Entry(name, parameters), calls, bytes_moved=moved * length * 4)


def flat_stream(mix: Mix, length: int, calls: int) -> Stream:
    """A trusted kernel on `calls` slots that share `length` float32 each between their tensors.

    They lie one after the other from the arena's start: see `stream_bytes`.
    """
    tensors = len(STREAMS[mix][1])
    part = length // tensors // 1024 * 1024  # keeps every tensor aligned
    places = [[(slot * tensors + i) * part * 4 for i in range(tensors)] for slot in range(calls)]
    return _stream(mix, [[_flat(offset, part) for offset in slot] for slot in places], part)


def stream_bytes(length: int, calls: int) -> int:
    """What an arena needs for `flat_stream`."""
    return length * calls * 4


def arguments(spec: Spec, case: Case, draw: LargeDraw) -> dict[str, Tensor | float]:
    """All arguments of one call: of tensors only shape, strides and dtype, on torch's meta device.

    Outputs of the scored case, made as they are for a check, would take half a second and gigabytes
    of the host's memory.
    """
    inputs = {name: _form(value) for name, value in spec.inputs(case, draw).items()}
    return inputs | destinations(spec, inputs, torch.device("meta"))


def _form(value: Tensor | float) -> Tensor | float:
    if not isinstance(value, Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def bytes_per_row(spec: Spec, case: Case | None = None) -> int:
    """What one row (one element, for 1-D arguments) takes in all arguments.

    Of the scored case, or of another with rows as long and of the same dtype.
    """
    few = scored_case(spec, FEW) if case is None else replace(case, shape=(FEW, *case.shape[1:]))
    # What a call has once, such as the answer of a reduction, is lost in the division.
    return max(1, sum(_sizes(spec, few).values()) // FEW)


def rounds(spec: Spec) -> float:
    """How often a call of the scored case has to go over the bytes of its arguments."""
    sizes = _sizes(spec, scored_case(spec, FEW))
    return sum(spec.least_bytes(sizes)) / sum(sizes.values())


@functools.cache  # drawn for that, and asked for several times in each step
def _sizes(spec: Spec, case: Case) -> Mapping[str, int]:
    """Bytes of each tensor of a call."""
    one = arguments(spec, case, LargeDraw(case, "cpu", 0))
    sizes = {k: v.numel() * v.element_size() for k, v in one.items() if isinstance(v, Tensor)}
    return MappingProxyType(sizes)


def scored_case(spec: Spec, rows: int) -> Case:
    scored, _ = spec.timed
    shape = (rows,) if scored.columns is None else (rows, scored.columns)
    return Case(shape, scored.dtype)


def arena_bytes(spec: Spec, rows: int, calls: int) -> int:
    """Bytes of an arena that holds `calls` slots of `rows` rows, redzones included."""
    around = 2 * REDZONE * len(spec.arguments)
    return calls * (rows * bytes_per_row(spec) + around) + (1 << 20)
