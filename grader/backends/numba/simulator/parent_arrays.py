"""The arrays that views are parts of: their names, and their elements by address."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.worker.source_sites import Site, place_of


@dataclass(frozen=True)
class Whole:
    """The array that a thread's view is a part of, to name the element that it uses.

    `space` is one of the SPACES of `grader.model`. A shared array has the `site` in the kernel's
    text that made it. `offset` is in bytes: of a shared array from the start of its block's shared
    memory, of scratch from the start of the array that it is a part of. `array` stays alive here,
    so no other array gets its address.
    """

    name: str
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    array: NDArray[Any] = field(compare=False, repr=False)
    space: str = "argument"
    site: Site | None = None
    offset: int = 0

    @classmethod
    def of(cls, array: NDArray[Any], name: str) -> Whole:
        return cls(name, address_of(array), array.shape, array.strides, array)

    @classmethod
    def scratch(cls, array: NDArray[Any]) -> Whole:
        name, start = f"the device array of shape {array.shape}", address_of(array)
        offset = start - address_of(_owner(array))
        return cls(name, start, array.shape, array.strides, array, "scratch", None, offset)

    @classmethod
    def constant(cls, array: NDArray[Any]) -> Whole:
        name = f"the constant array of shape {array.shape}"
        return cls(name, address_of(array), array.shape, array.strides, array, "scratch")

    @classmethod
    def shared(cls, array: NDArray[Any], site: Site, offset: int) -> Whole:
        variable = variable_of(site)
        name = f"the shared array {variable or f'of shape {array.shape}'}"
        start = address_of(array)
        return cls(name, start, array.shape, array.strides, array, "shared", site, offset)

    def on_gpu(self, address: int) -> int:
        """Return the address as far as a GPU's is known.

        Shared memory begins at 0. So does scratch, which a GPU places at multiples of 256 bytes
        wherever a CPU puts it.
        """
        return address if self.space == "argument" else address - self.start + self.offset

    def element(self, address: int) -> str:
        """Name an element: `element 5 of out`, or `element (1, 2) of out` on more axes."""
        index = self._index(address)
        position = index[0] if len(index) == 1 else tuple(index)
        return f"element {position} of {self.name}"

    def flat(self, address: int) -> int:
        """Return the element's number, in C order."""
        number = 0
        for at, extent in zip(self._index(address), self.shape, strict=True):
            number = number * extent + at
        return number

    def _index(self, address: int) -> list[int]:
        rest = address - self.start
        index = [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -abs(self.strides[axis])):
            if self.shape[axis] > 1 and self.strides[axis]:
                index[axis], rest = divmod(rest, self.strides[axis])
        return index


def _owner(array: NDArray[Any]) -> NDArray[Any]:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def address_of(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


@cache  # each block makes its own arrays, at the same places of the text
def variable_of(site: Site) -> str | None:
    """Return the variable that this call is assigned to: `tile = cuda.shared.array(...)`."""
    _, *where = place_of(site)
    try:
        tree = ast.parse("".join(linecache.getlines(site[0].co_filename)))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _position(node.value) == where:
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            return names[0] if names else None
    return None


def _position(node: ast.expr) -> list[object]:
    return [node.lineno, node.end_lineno, node.col_offset, node.end_col_offset]
