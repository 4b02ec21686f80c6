"""A TTIR module as records: what the parser makes, and the device executes.

Every operation has the form that MLIR calls generic, whatever the text looks like: operands,
attributes by the names of the operation's definition, types, regions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

# An integer, a float, a word such as "slt", a dense constant, an array, or a type.
Attribute: TypeAlias = "int | float | bool | str | Dense | Type | tuple[Attribute, ...]"


@dataclass(frozen=True)
class Type:
    """A scalar (`shape` is None), or a tensor of one.

    `element` is i1, i8, i16, i32, i64, index, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, ..., `ptr` or
    `tensordesc`. The last two have a `pointee`: the type that is pointed to, or the block that the
    descriptor loads.
    """

    element: str
    shape: tuple[int, ...] | None = None
    pointee: Type | None = None


@dataclass(frozen=True)
class Dense:
    """The elements of a constant in row-major order, or the one that all of them equal.

    Floats that the text gives as bits (0xFF800000) are floats here, NaN payloads included where
    `bits` has them.
    """

    elements: tuple[int | float | bool, ...]
    bits: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Site:
    """The place in a file that an operation comes from, and the name of the variable there.

    `callers` are the sites of the calls that were inlined, innermost first; they have no callers.
    """

    file: str = ""
    line: int = 0
    name: str = ""
    callers: tuple[Site, ...] = ()


@dataclass(frozen=True)
class Operation:
    """One operation. `results` and `operands` are names without `%`; `sums#1` is a second result.

    `successors` are the labels of the blocks that a branch leads to, each with its operands.
    """

    name: str
    results: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    operand_types: tuple[Type, ...] = ()
    result_types: tuple[Type, ...] = ()
    regions: tuple[Region, ...] = ()
    successors: tuple[tuple[str, tuple[str, ...]], ...] = ()
    site: Site = field(default_factory=Site)

    def inside(self) -> Iterator[Operation]:
        """Yield the operations in its regions, each before those that are inside of it."""
        for region in self.regions:
            yield from region.operations()


@dataclass(frozen=True)
class Block:
    label: str
    arguments: tuple[tuple[str, Type], ...]
    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class Region:
    """Blocks; all but those of a function with an early return have a single one."""

    blocks: tuple[Block, ...]

    def operations(self) -> Iterator[Operation]:
        """Yield all operations, each before those that are inside of it."""
        for block in self.blocks:
            for op in block.operations:
                yield op
                yield from op.inside()


@dataclass(frozen=True)
class Function:
    name: str
    arguments: tuple[tuple[str, Type], ...]
    result_types: tuple[Type, ...]
    body: Region
    public: bool


@dataclass(frozen=True)
class Module:
    functions: Mapping[str, Function]

    def operations(self) -> Iterator[Operation]:
        for function in self.functions.values():
            yield from function.body.operations()

    @property
    def entry(self) -> Function:
        return next(function for function in self.functions.values() if function.public)
