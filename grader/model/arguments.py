"""The parameters of an entry: role, shape, dtype, and how often a perfect kernel moves them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor

Role = Literal["in", "out", "inout", "scalar"]
Inputs = Mapping[str, "Tensor | float"]
Shape = tuple[int, ...]
ITEMSIZE = {  # bytes per element
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "bool": 1,
}
LARGEST: dict[str, float] = {  # at most the largest finite number
    "float32": 3.4e38,
    "float16": 65504.0,
    "bfloat16": 3.38e38,
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "int8": 2**7 - 1,
    "int16": 2**15 - 1,
    "int32": 2**31 - 1,
    "int64": 2**63 - 1,
    "uint8": 2**8 - 1,
    "bool": 1,
}
Scalar = Literal["float", "int", "bool"]
MOST_SEED = 2**31 - 1  # an int32 holds it, so a kernel is compiled once for all seeds


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One parameter of the entry, in the order in which the entry takes them.

    `reads` and `writes` are the least number of times that a perfect kernel moves each element
    between memory and the chip; bytes follow from them and the tensor's size. `most_reads` and
    `most_writes` are the most that the traffic step lets pass; None lets any number pass.
    An `out` has the shape and dtype of the argument named by `like`, unless given here, and padded
    rows as that one has, or another input where that is a vector. A shape that follows from those
    of the inputs is a function of them. The `dtype` of a scalar is the Python type of the number:
    float, int or bool. `needed(inputs)` is the number of bytes that one pass over what these inputs
    ask for moves; None for all of the tensor. `seeds` marks the number from which the kernel makes
    its random ones.
    """

    name: str
    role: Role
    reads: int = 0
    writes: int = 0
    most_reads: int | None = None
    most_writes: int | None = None
    like: str | None = None
    shape: Shape | Callable[[Inputs], Shape] | None = None
    dtype: str | None = None
    needed: Callable[[Inputs], int] | None = None
    seeds: bool = False

    def needed_bytes(self, inputs: Inputs, size: int) -> int:
        """Return the bytes of one pass over what these inputs ask for, of `size` bytes in all.

        Raises TypeError if the spec's function returns no integer, and ValueError if it asks for no
        bytes, or for more than there are.
        """
        if self.needed is None:
            return size
        needed = operator.index(self.needed(inputs))
        if not 0 < needed <= size:
            raise ValueError(f"{needed} bytes of {self.name} are needed, which has {size}")
        return needed

    def shape_for(self, inputs: Inputs) -> Shape | None:
        """Return the argument's shape for these inputs; None where `like` gives it."""
        return self.shape(inputs) if callable(self.shape) else self.shape

    @property
    def filled(self) -> bool:
        return self.role in ("out", "inout")


def reads(
    name: str, *, at_most: int | None = 1, bytes: Callable[[Inputs], int] | None = None
) -> Argument:
    """Declare a tensor that the kernel reads, each element `at_most` times, and must not change.

    Where the inputs decide how much of it must be read, as the lengths of ragged rows do, `bytes`
    returns that number of bytes. `at_most` is then of these.
    """
    return Argument(name=name, role="in", reads=1, most_reads=at_most, most_writes=0, needed=bytes)


def writes(
    name: str,
    *,
    like: str | None = None,
    shape: Shape | Callable[[Inputs], Shape] | None = None,
    dtype: str | None = None,
    at_most: int | None = 1,
) -> Argument:
    """Declare a tensor that the kernel fills, writing each element `at_most` times."""
    return Argument(
        name=name, role="out", writes=1, like=like, shape=shape, dtype=dtype, most_writes=at_most
    )


def updates(name: str, *, reads_at_most: int = 1) -> Argument:
    """Declare a tensor that the kernel reads and overwrites once."""
    return Argument(
        name=name, role="inout", reads=1, writes=1, most_reads=reads_at_most, most_writes=1
    )


def scalar(name: str, kind: Scalar = "float") -> Argument:
    """Declare a Python number: a float unless `kind` says otherwise, an int or a bool."""
    return Argument(name=name, role="scalar", dtype=kind)


def seed(name: str) -> Argument:
    """Declare the int from which the kernel makes its random numbers, from 0 to MOST_SEED.

    The spec's `inputs` draws it with `draw.seed()`: each call has another one.
    """
    return Argument(name=name, role="scalar", dtype="int", seeds=True)


def faults_of_arguments(arguments: Sequence[Argument]) -> Iterator[str]:
    if not arguments:
        yield "arguments is empty"
    if not any(a.filled for a in arguments):
        yield "no argument is written by the kernel"
    names = [a.name for a in arguments]
    if twice := [name for name in names if names.count(name) > 1]:
        yield f"two arguments are called {twice[0]}"
    drawn = [a.name for a in arguments if a.role in ("in", "inout")]
    inputs = ", ".join(drawn) or "there are none"
    for a in arguments:
        if a.like is not None and a.like not in drawn:
            yield f"{a.name} is like {a.like!r}, and not one of the inputs: {inputs}"
        if a.role == "out" and a.like is None and (a.shape is None or a.dtype is None):
            yield f"{a.name} needs `like`, or `shape` and `dtype`"
        for most in (a.most_reads, a.most_writes):
            if most is not None and (type(most) is not int or most < 0):
                yield f"{a.name} is moved at most a whole number of times or None, and not {most!r}"
        if a.needed is not None and not callable(a.needed):
            yield f"`bytes` of {a.name} is a function of the inputs, and not {a.needed!r}"
