"""The arguments of a launch: from Python's values to what the TTIR function is called with.

Types are Triton's words for them: `*fp32`, `i64`, `u1`, `fp32`, `constexpr`, `tensordesc<...>`,
or a tuple of types.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from grader.backends.triton.driver.errors import LaunchRefused, NotSimulated

Kind = str | tuple[Any, ...]
_WORDS = 1 << 64


@dataclass(frozen=True)
class Argument:
    """One argument of the TTIR function, as the device reads it, and the memory behind it.

    `bare` is an address without memory that we know of.
    """

    value: dict[str, Any]
    name: str = ""
    storage: torch.UntypedStorage | None = None
    bare: bool = False


def flattened(name: str, kind: Kind, value: Any) -> Iterator[Argument]:
    """Yield the arguments that one parameter becomes. Raises what Triton's launcher raises."""
    if isinstance(kind, tuple):
        for part, each in zip(kind, value, strict=True):
            yield from flattened(name, part, each)
    elif kind == "constexpr":
        return
    elif kind.startswith("*"):
        yield _pointer(name, value)
    elif kind.startswith("tensordesc"):
        yield from _descriptor(name, value)
    elif kind.startswith(("fp", "bf", "f")):
        yield Argument({"float": _number(float(value))})
    else:
        yield _integer(operator.index(value))


def _integer(value: int) -> Argument:
    """Wrap an integer to 64 bits with a sign; the device takes as many of them as it needs."""
    wrapped = value % _WORDS
    return Argument({"integer": wrapped - _WORDS if wrapped >= _WORDS // 2 else wrapped})


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _pointer(name: str, value: Any) -> Argument:
    if value is None:
        return Argument({"pointer": 0}, name)
    if isinstance(value, int):
        return Argument({"pointer": value % _WORDS}, name, bare=True)
    if not hasattr(value, "data_ptr"):
        raise TypeError("Pointer argument must be either uint64 or have data_ptr method")
    storage = _storage(value)
    return Argument({"pointer": value.data_ptr()}, name, storage, bare=storage is None)


def _storage(value: Any) -> torch.UntypedStorage | None:
    """Return the memory behind a tensor, or behind one that is seen as another dtype."""
    while not isinstance(value, torch.Tensor):
        if not hasattr(value, "base"):
            return None
        value = value.base
    return value.untyped_storage()


def _descriptor(name: str, value: Any) -> Iterator[Argument]:
    """Yield a descriptor made on the host, and then its shape and strides once more.

    The TTIR function takes all of these; what it loads through the descriptor uses the first.
    """
    shape = [operator.index(extent) for extent in value.shape]
    strides = [operator.index(stride) for stride in value.strides]
    if shape and max(shape) >= 1 << 32:
        raise LaunchRefused(f"a tensor descriptor has extents below 2^32, and {name} has {shape}")
    if getattr(value, "round_f32_to_tf32", False):  # Triton 3.6 lacks it
        raise NotSimulated("tensor descriptors that round to TF32")
    pointer = _pointer(name, value.base)
    record = {
        "base": pointer.value["pointer"],
        "shape": shape,
        "strides": strides,
        "padding": value.padding,
    }
    yield Argument({"descriptor": record}, name, pointer.storage, pointer.bare)
    yield from map(_integer, shape)
    yield from map(_integer, strides)
