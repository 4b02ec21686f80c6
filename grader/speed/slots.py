"""The scored case, many times over in one arena: fresh inputs, and a secret sample of outputs.

Each batch of the speed step calls the kernel once for each slot. Before a batch, the judge fills
every slot with new data, except for the withheld inputs (`withheld_inputs.py`). It keeps the
contents of a few secret places in its own memory, and computes the right values for such places of
every output. A few more rows are there for the warm-up.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from grader.correctness import (
    WORDS,
    Expected,
    LargeDraw,
    NumberDraw,
    bits,
    expect,
    is_whole,
    limits,
)
from grader.model import Argument, Case, Spec, small
from grader.sandbox import Call, Placed, Poison, place
from grader.speed.bound import ReferenceCalls
from grader.speed.mixes import stream_on, withheld_from
from grader.speed.scored_case import arguments, growing, spare_rows, usually_needed
from grader.speed.spot_checks import Canary, SlotContents, SpotCheck, random_spot_check
from grader.speed.withheld_inputs import PendingInput, Withheld, withhold, write_placeholders

# Per slot. A kernel that leaves a third of the last slot of 16 unfinished, to gain 2 %, escapes all
# sampled rows with a probability of about 0.67^16 = 0.2 % in each batch; for 1-D arguments of 0.
SAMPLED_ROWS = 16
# The right values are computed for all that belongs to these rows, in float64: of tensors with more
# dimensions up to so many elements, but of four rows at least, each with several lines.
COMPUTED, SAMPLED_LEAST = 1 << 21, 4
SAMPLED_COLUMNS = 64
SAMPLED_ELEMENTS = 1024
SAMPLED_WITHHELD = 64  # of these elements, for each input: places of withheld elements
# An output that takes the whole input, like a sum, is computed for so many slots. A kernel that
# skips one slot of 16 is caught in at least half of its ten batches.
SAMPLED_SLOTS = 8
# The right values of such outputs are computed for fewer slots, and of one at least, where one
# call has many operations: so many take about half a second in float64.
SAMPLED_OPERATIONS = 4 * 10**12
# Places of each tensor that must stay as they were left. A kernel that writes to a hundredth of one
# tensor hits one of them with a probability of 1 - 0.99^256 = 92 %.
CANARIES = 256

T = TypeVar("T")
# Tensors of places and values, flat, by the dtype that the places are counted in.
Pieces = defaultdict[torch.dtype, list[tuple[Tensor, ...]]]


@dataclass(frozen=True)
class Plan:
    """Argument lists in a random order, and the seeds that each slot's inputs are drawn with."""

    calls: list[Call]
    seeds: list[int]


class Slots:
    """`calls` slots for a case in the memory of an arena.

    `spare` is a call on a few rows of their own, for the warm-up: a worker that has just made it
    starts the timed calls without delay. Nobody compares its outputs or fills its inputs again.
    """

    def __init__(self, spec: Spec, case: Case, calls: int, memory: Tensor) -> None:
        self.spec, self.case, self.calls = spec, case, calls
        self._memory = memory
        self._random = torch.Generator(memory.device)  # of its own: an exercise may seed torch's
        self._random.manual_seed(random.SystemRandom().getrandbits(62))
        few = replace(case, shape=(spare_rows(spec), *small(case.shape[1:])))
        templates = self._templates(case)
        placed, _ = place(memory, templates * calls + self._templates(few))
        width = len(templates)
        *self._slots, spare = (placed[i : i + width] for i in range(0, len(placed), width))
        self.spare = self._fill_spare(few, spare)
        self.sizes = {p.argument.name: p.view.nbytes for p in self._slots[0]}  # bytes, in one slot
        self.needed = usually_needed(spec, self.sizes)
        self._with_rows = growing(spec, axis=0)

    @property
    def least_bytes(self) -> int:
        """The bytes that a call must move, on average over the slots as they are filled."""
        return sum(self.spec.least_bytes(self.needed))

    def _templates(self, case: Case) -> list[tuple[Argument, Tensor]]:
        one = arguments(self.spec, case, self._memory.device)
        return [(a, _tensor(one[a.name])) for a in self.spec.arguments if a.role != "scalar"]

    def _draw(self, case: Case, seed: int) -> LargeDraw:
        return LargeDraw(case, self._memory.device, seed)

    def _fill_spare(self, case: Case, slot: list[Placed]) -> Call:
        inputs, poison = self.spec.inputs(case, self._draw(case, 0)), Poison.fresh()
        for placed in slot:
            self._put(placed, inputs, poison)
        return self._call(case, slot, 0)

    def refill(self, plan: Plan | None = None) -> tuple[list[Call], SlotContents]:
        """Fill every slot at once; return the argument lists and the contents of the slots.

        Without a plan, the order of the calls and their inputs are new.
        """
        plan = plan or self.plan()
        contents = self.fill(plan)
        contents.complete()
        if self._memory.is_cuda:
            torch.cuda.synchronize()  # nothing else makes another process wait for what was filled
        return plan.calls, contents

    def plan(self) -> Plan:
        seeds = [random.SystemRandom().getrandbits(62) for _ in self._slots]
        pairs = zip(self._slots, seeds, strict=True)
        calls = [self._call(self.case, slot, seed) for slot, seed in pairs]
        random.SystemRandom().shuffle(calls)
        return Plan(calls, seeds)

    def again(self, plan: Plan) -> Plan:
        """Plan the same calls with other inputs; with the same ones where numbers belong to them.

        Numbers are drawn with the inputs, and are a part of a call.
        """
        if any(argument.role == "scalar" for argument in self.spec.arguments):
            return plan
        return Plan(plan.calls, [random.SystemRandom().getrandbits(62) for _ in plan.seeds])

    def _call(self, case: Case, slot: list[Placed], seed: int) -> Call:
        refs = {p.argument.name: p.ref for p in slot}
        numbers: dict[str, float] = {}
        if any(a.role == "scalar" for a in self.spec.arguments):
            inputs = self.spec.inputs(case, NumberDraw(case, seed))
            numbers = {k: v for k, v in inputs.items() if not isinstance(v, Tensor)}
        return [refs.get(a.name) or numbers[a.name] for a in self.spec.arguments]

    def fill(self, plan: Plan) -> SlotContents:
        canaries, pending, spot_checks = _no_pieces(), _no_pieces(), _no_pieces()
        needed: list[dict[str, int]] = []
        sampled = self._slots
        if not self.spec.independent_rows:
            most = min(affordable_slots(self.spec, self.case), len(sampled))
            sampled = random.SystemRandom().sample(sampled, most)
        for slot, seed in zip(self._slots, plan.seeds, strict=True):
            draw = self._draw(self.case, seed)
            inputs = dict(self.spec.inputs(self.case, draw))
            needed.append(self.spec.needed_bytes(inputs, self.sizes))
            withheld = self._withhold(inputs, draw.drawn, slot)
            poison = Poison.fresh()
            if slot in sampled:
                for placed, piece in self._sampled(inputs, withheld, slot):
                    before = _before(placed, piece[0], inputs, poison)
                    checked = _in_arena(placed, piece[0]), *piece[1:], before
                    spot_checks[placed.view.dtype].append(checked)
            for placed in slot:
                name = placed.argument.name
                if name in withheld:
                    write_placeholders(_tensor(inputs[name]), withheld[name])
                    there = _in_arena(placed, withheld[name].places.flatten())
                    pending[placed.view.dtype].append((there, withheld[name].values.flatten()))
                word, canary = self._put(placed, inputs, poison)
                canaries[word].append(canary)
        self.needed = {name: sum(n[name] for n in needed) // len(needed) for name in self.sizes}
        return SlotContents(
            self._by_dtype(Canary, canaries),
            self._by_dtype(PendingInput, pending),
            self._by_dtype(
                SpotCheck if self.spec.random is None else random_spot_check, spot_checks
            ),
        )

    def _put(
        self, placed: Placed, inputs: Mapping[str, Tensor | float], poison: Poison
    ) -> tuple[torch.dtype, tuple[Tensor, Tensor]]:
        """Copy an input into the slot, or poison an output.

        Returns some places and the integers of the dtype's width that they hold now. The integers
        come from the judge's own memory, because the kernel's process may write to a slot while it
        is filled.
        """
        dtype = placed.view.dtype
        places = self._random_places(placed.view.numel(), CANARIES)
        if placed.argument.role == "out":
            poison.fill(placed.view)
        else:
            placed.view.copy_(_tensor(inputs[placed.argument.name]))
        left = _before(placed, places, inputs, poison)
        return WORDS[dtype.itemsize], (_in_arena(placed, places), left)

    def _by_dtype(self, kind: Callable[..., T], pieces: Pieces) -> list[T]:
        return [
            kind(*(torch.cat(column) for column in zip(*parts, strict=True)), self._as(dtype))
            for dtype, parts in pieces.items()
        ]

    def _random_places(self, limit: int, *shape: int) -> Tensor:
        return torch.randint(limit, shape, generator=self._random, device=self._memory.device)

    def _as(self, dtype: torch.dtype) -> Tensor:
        whole = self._memory.numel() // dtype.itemsize * dtype.itemsize
        return self._memory[:whole].view(dtype)

    def _withhold(
        self, inputs: dict[str, Tensor | float], drawn: Sequence[Tensor], slot: Sequence[Placed]
    ) -> dict[str, Withheld]:
        """Choose elements of some inputs, which change for it and become contiguous."""
        chosen = {}
        for placed in withheld_from(slot):
            value = inputs.get(placed.argument.name)
            if isinstance(value, Tensor):
                if not (any(value is one for one in drawn) and _owns_memory(value, inputs)):
                    # Others may share its memory, or the spec may keep it.
                    value = value.clone(memory_format=torch.contiguous_format)
                    inputs[placed.argument.name] = value
                chosen[placed.argument.name] = withhold(value, self._random)
        return chosen

    def _sampled(
        self,
        inputs: Mapping[str, Tensor | float],
        withheld: Mapping[str, Withheld],
        slot: Sequence[Placed],
    ) -> Iterator[tuple[Placed, tuple[Tensor, ...]]]:
        rows, known = None, dict(inputs)
        if self.spec.independent_rows:
            rows = self._sampled_rows(withheld)
            known = self._of_rows(inputs, rows)
        expected = expect(self.spec, self.case, known)
        placed_by_name = {placed.argument.name: placed for placed in slot}
        for name, answer in expected.outputs.items():
            if self.spec.independent_columns and name not in self._with_rows:
                continue
            placed = placed_by_name[name]
            here, there = self._sampled_lines(answer, rows)
            index, columns = there, None
            if answer.ndim > 1:
                columns = self._sampled_columns(placed.view.shape, there, inputs, withheld)
                index = (there[:, None] * answer.shape[-1] + columns).flatten()
            choices = expected.choices or (expected,)
            each = [_picked(one, name, placed.view.dtype, here, columns) for one in choices]
            if not expected.choices:
                yield placed, (index, *each[0])
                continue
            answers, limits_there = (torch.stack(part, -1) for part in zip(*each, strict=True))
            odds = [one.probability for one in choices]
            probabilities = torch.tensor(odds, dtype=torch.float64, device=answers.device)
            yield placed, (index, answers, limits_there, probabilities.expand(answers.shape))
        if self.spec.independent_columns:
            yield from self._sampled_sums(inputs, placed_by_name)

    def _of_rows(
        self, inputs: Mapping[str, Tensor | float], rows: Tensor
    ) -> dict[str, Tensor | float]:
        """Return inputs from which the right values of these rows of the outputs follow."""
        if self.spec.rows_of is not None:
            return dict(self.spec.rows_of(inputs, rows))
        return _cut(inputs, self._with_rows, lambda value: value[rows])

    def _sampled_sums(
        self, inputs: Mapping[str, Tensor | float], placed_by_name: Mapping[str, Placed]
    ) -> Iterator[tuple[Placed, tuple[Tensor, ...]]]:
        """Sample the columns of outputs without rows, such as the gradient of weights."""
        count = self.case.shape[-1]
        columns = self._random_places(count, min(count, SAMPLED_COLUMNS))
        with_columns = growing(self.spec, axis=-1)
        known = _cut(inputs, with_columns, lambda value: value[..., columns])
        expected = expect(self.spec, self.case, known)
        here = torch.arange(len(columns), device=columns.device)
        for name in expected.outputs.keys() - self._with_rows:
            placed = placed_by_name[name]
            yield placed, (columns, *_picked(expected, name, placed.view.dtype, here, None))

    def _sampled_rows(self, withheld: Mapping[str, Withheld]) -> Tensor:
        length, *extents = self.case.shape
        # Tensors may be vectors although the case has further extents, such as a degree.
        if any(p.view.ndim > 1 for p in self._slots[0] if p.argument.name in self._with_rows):
            affordable = max(SAMPLED_LEAST, COMPUTED // math.prod(extents))
            few = len(extents) > 1 and affordable < SAMPLED_ROWS
            return self._random_places(length, affordable if few else SAMPLED_ROWS)
        rows = self._random_places(length, SAMPLED_ELEMENTS)
        withheld = {name: one for name, one in withheld.items() if name in self._with_rows}
        for turn, one in enumerate(withheld.values()):
            some = self._random_places(len(one.places), SAMPLED_WITHHELD)
            rows[turn * SAMPLED_WITHHELD : (turn + 1) * SAMPLED_WITHHELD] = one.places[some, 0]
        return rows

    def _sampled_lines(self, answer: Tensor, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        """Choose which lines along the last axis to compare: of a vector, which elements.

        `rows` are the output's rows that `answer` has; None means all. Returns the numbers of the
        lines in `answer`, and in the output.
        """
        count = SAMPLED_ROWS if answer.ndim > 1 else SAMPLED_ELEMENTS
        if rows is None:
            rows = position = self._random_places(len(answer), min(len(answer), count))
        else:
            position = torch.arange(len(rows), device=rows.device)
        inner = math.prod(answer.shape[1:-1])
        many = max(1, count // len(rows)) if inner > 1 else 1
        within = self._random_places(inner, len(rows), many)
        return (
            (position[:, None] * inner + within).flatten(),
            (rows[:, None] * inner + within).flatten(),
        )

    def _sampled_columns(
        self,
        shape: torch.Size,
        lines: Tensor,
        inputs: Mapping[str, Tensor | float],
        withheld: Mapping[str, Withheld],
    ) -> Tensor:
        # An input with the output's rows may have fewer columns, if an element gives several.
        columns = self._random_places(shape[-1], len(lines), SAMPLED_COLUMNS)
        turn = 0
        for name, one in withheld.items():
            *rows, extent = _tensor(inputs[name]).shape
            if rows == [*shape[:-1]] and shape[-1] % extent == 0:
                columns[:, turn] = one.places[lines, 0] % extent * (shape[-1] // extent)
                turn += 1
        return columns

    def stream(self) -> ReferenceCalls:
        return stream_on(self._slots)


def affordable_slots(spec: Spec, case: Case) -> int:
    """Return for how many slots of a batch an output that takes the whole input is computed."""
    if spec.flops is None:
        return SAMPLED_SLOTS
    return max(1, min(SAMPLED_SLOTS, SAMPLED_OPERATIONS // spec.flops(case)))


def _picked(
    expected: Expected, name: str, dtype: torch.dtype, lines: Tensor, columns: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return answers and limits of some lines, with `columns` of these elements of each, flat.

    Of two neighbouring integers that are both right, the answer is the middle.
    """
    answer = expected.outputs[name]
    limit = torch.zeros_like(answer)
    if name in expected.also_right:
        limit = (expected.also_right[name] - answer).double() / 2
        answer, limit = answer + limit, limit.abs()
    elif not is_whole(dtype):
        own, size = expected.in_float32[name].double(), expected.magnitude[name]
        limit, _ = limits(dtype, answer, own, size, expected.terms)
    if columns is None:
        return answer[lines], limit[lines]
    of_lines = (each.reshape(-1, each.shape[-1])[lines] for each in (answer, limit))
    answers, limits_there = (each.gather(1, columns).flatten() for each in of_lines)
    return answers, limits_there


def _before(
    placed: Placed, elements: Tensor, inputs: Mapping[str, Tensor | float], poison: Poison
) -> Tensor:
    """Return the bits of some elements, counted row by row, before a call: input, or poison.

    They come from the judge's own memory.
    """
    if placed.argument.role == "out":
        return poison.at(placed.view, elements)
    return bits(_tensor(inputs[placed.argument.name]).reshape(-1)[elements])


def _cut(
    inputs: Mapping[str, Tensor | float], names: Collection[str], part: Callable[[Tensor], Tensor]
) -> dict[str, Tensor | float]:
    return {
        name: part(value) if isinstance(value, Tensor) and name in names else value
        for name, value in inputs.items()
    }


def _no_pieces() -> Pieces:
    return defaultdict(list)


def _tensor(value: Tensor | float) -> Tensor:
    assert isinstance(value, Tensor)
    return value


def _owns_memory(value: Tensor, inputs: Mapping[str, Tensor | float]) -> bool:
    where = value.untyped_storage().data_ptr()
    tensors = [one for one in inputs.values() if isinstance(one, Tensor)]
    sharing = sum(one.untyped_storage().data_ptr() == where for one in tensors)
    return sharing == 1 and value.is_contiguous()


def _in_arena(placed: Placed, elements: Tensor) -> Tensor:
    """Convert elements of a placed tensor, counted row by row, to places in its arena.

    Places count in the tensor's own dtype.
    """
    start = placed.ref.offset // placed.view.element_size()
    there = torch.full_like(elements, start)
    # torch.unravel_index would import sympy, which takes half a second.
    sizes = zip(reversed(placed.view.shape), reversed(placed.ref.strides), strict=True)
    for length, stride in sizes:
        there += elements % length * stride
        elements = elements // length
    return there
