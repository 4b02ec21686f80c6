"""Plans of blocks, made before they run: functions, constants, and when values die."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from grader.backends.triton.device import operations, undefined, wide_indices
from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.lazy import lazily
from grader.backends.triton.device.ttir.records import Block, Module, Operation, Region, Type
from grader.backends.triton.device.values import DTYPES, Value

# Without operands and the same in each execution: computed once, when the block is planned.
_CONSTANTS = frozenset({"arith.constant", "tt.make_range"})

# triton.language.core.TRITON_MAX_TENSOR_NUMEL
MOST_ELEMENTS = 1 << 20

ENDS = frozenset(
    {
        "cf.br",
        "cf.cond_br",
        "scf.condition",
        "scf.yield",
        "tt.map_elementwise.return",
        "tt.reduce.return",
        "tt.return",
        "tt.scan.return",
    }
)


@dataclass(frozen=True, slots=True)
class Step:
    """One operation, its function, and the names that nobody reads after it."""

    operation: Operation
    function: operations.Execute
    dead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """A block's arguments, operations and last operation, which ends it.

    `used` are the names that the block reads, in nested regions too; `dead` those that nobody reads
    after it.
    """

    label: str
    arguments: tuple[str, ...]
    constants: Mapping[str, Value]
    steps: tuple[Step, ...]
    end: Operation
    dead: tuple[str, ...]
    used: frozenset[str]


class Program:
    """A module, and the plans of its blocks; it may be launched many times."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._plans: dict[int, tuple[BlockPlan, ...]] = {}

    def blocks(self, region: Region) -> tuple[BlockPlan, ...]:
        # A region is unhashable, but lives as long as the module.
        plans = self._plans.get(id(region))
        if plans is None:
            plans = self._plans[id(region)] = _plans(region, self._offsets)
        return plans

    def check(self) -> None:
        """Raise Malformed if a value has more elements than Triton allows."""
        if self.largest > MOST_ELEMENTS:
            raise Malformed(f"a value has {self.largest} elements, of at most {MOST_ELEMENTS}")

    @cached_property
    def _offsets(self) -> frozenset[str]:
        return wide_indices.offsets(self.module)

    @cached_property
    def bytes_per_program(self) -> int:
        """The most memory that the live values of one program take, about."""
        return max((_peak(function.body) for function in self.module.functions.values()), default=1)

    @cached_property
    def largest(self) -> int:
        """The elements of the largest value."""
        return max(
            (
                _elements(type_)
                for op in self.module.operations()
                for type_ in (*op.result_types, *op.operand_types)
            ),
            default=1,
        )

    @cached_property
    def shows_order(self) -> bool:
        """True if programs can find out in which order they make one access: by atomic ones."""
        return any(
            op.name.startswith("tt.atomic_") or op.name == "tt.descriptor_reduce"
            for op in self.module.operations()
        )

    @cached_property
    def waiting_loops(self) -> frozenset[int]:
        """The ids of the while loops that may wait for what another program writes."""
        every = list(self.module.operations())
        used = {name for op in every for name in _reads(op)}
        looks = {id(op) for op in every if _looks(op, used)}
        calls = {id(op) for op in every if looks and op.name == "tt.call"}
        return frozenset(
            id(op)
            for op in every
            if op.name == "scf.while" and any(id(each) in looks | calls for each in op.inside())
        )


def _looks(op: Operation, used: set[str]) -> bool:
    """Say if an operation can see what another program has just written."""
    if op.name == "tt.load":
        return bool(op.attributes.get("isVolatile"))
    return op.name.startswith("tt.atomic_") and not used.isdisjoint(op.results)


def _reads(op: Operation) -> Iterator[str]:
    yield from op.operands
    for _, operands in op.successors:
        yield from operands
    for inner in op.inside():
        yield from inner.operands


def _plans(region: Region, offsets: frozenset[str]) -> tuple[BlockPlan, ...]:
    used = [
        frozenset(name for op in block.operations for name in _reads(op)) for block in region.blocks
    ]
    plans = []
    if not region.blocks:
        raise Malformed("a region is empty")
    for i, block in enumerate(region.blocks):
        elsewhere = frozenset().union(*(names for j, names in enumerate(used) if j != i))
        plans.append(_plan(block, used[i], elsewhere, offsets))
    return tuple(plans)


def _plan(
    block: Block,
    used: frozenset[str],
    elsewhere: frozenset[str],
    offsets: frozenset[str] = frozenset(),
) -> BlockPlan:
    """Plan a block. Names that another block reads (`elsewhere`) do not die in it."""
    *body, end = block.operations if _ends(block) else (*block.operations, Operation("scf.yield"))
    constants = {op.results[0]: _constant(op) for op in body if op.name in _CONSTANTS}
    body = [op for op in body if op.name not in _CONSTANTS]
    last = {name: i for i, op in enumerate(body) for name in op.results}
    last |= {name: i for i, op in enumerate(body) for name in _reads(op)}
    last |= dict.fromkeys(_reads(end), len(body))
    arguments = tuple(name for name, _ in block.arguments)
    defined = {*arguments, *(name for op in body for name in op.results)} - elsewhere
    dying: dict[int, list[str]] = {}
    for name in defined:
        dying.setdefault(last.get(name, len(body)), []).append(name)
    steps = tuple(
        Step(op, _function(op, offsets), tuple(dying.get(i, ()))) for i, op in enumerate(body)
    )
    return BlockPlan(
        label=block.label,
        arguments=arguments,
        constants=constants,
        steps=steps,
        end=end,
        dead=tuple(dying.get(len(body), ())),
        used=used,
    )


def _function(op: Operation, offsets: frozenset[str]) -> operations.Execute:
    watched = wide_indices.watched(op, operations.find(op.name), offsets)
    return lazily(op, undefined.followed(op, watched))


def _ends(block: Block) -> bool:
    """Say if a block has the operation that ends it; the text omits a yield of nothing."""
    return bool(block.operations) and block.operations[-1].name in ENDS


def _constant(op: Operation) -> Value:
    value = operations.find(op.name)(op, [], None)
    assert isinstance(value, Tensor)
    return value


def _peak(region: Region) -> int:
    return max((_block_peak(block) for block in region.blocks), default=0)


def _block_peak(block: Block) -> int:
    sizes = {name: _bytes(type_) for name, type_ in block.arguments}
    plan = _plan(block, frozenset(), frozenset())
    live = sum(sizes.values())
    peak = live
    for step in plan.steps:
        op = step.operation
        for name, type_ in zip(op.results, op.result_types, strict=False):
            sizes[name] = _bytes(type_)
            live += sizes[name]
        nested = max((_peak(each) for each in op.regions), default=0)
        # An operation may need a few arrays of its own: masks, positions, a copy.
        own = 3 * max((_bytes(type_) for type_ in op.operand_types), default=0)
        peak = max(peak, live + nested + own)
        live -= sum(sizes.get(name, 0) for name in step.dead)
    return peak


def _elements(type_: Type) -> int:
    return math.prod(type_.shape or ())


def _bytes(type_: Type) -> int:
    dtype = DTYPES.get(type_.element)
    return _elements(type_) * (dtype.itemsize if dtype is not None else 8)
