"""Requests of a worker, read from messages that may be hostile."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.model import BuildOptions

# CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
LARGEST_GRID = (2**31 - 1, 65535, 65535)
HIGHEST_ADDRESS = 1 << 57  # of a process, with five levels of page tables
MOST_WARPS = 32
MOST_CLUSTERS = 16
MOST_STAGES = 64
MOST_REGISTERS = 1024  # ptxas refuses what no GPU has
MOST_ARGUMENTS = 1024
MOST_STORAGES = 256
MOST_AXES = 5  # of a descriptor
LONGEST_NAME = 200  # characters


class UnexpectedMessage(Exception):
    """The worker sent a message that our driver never sends."""


@dataclass(frozen=True)
class Storage:
    """Memory that the file allocated: its address in the worker, and its place in scratch."""

    address: int
    size: int  # bytes
    offset: int
    name: str


@dataclass(frozen=True)
class Described:
    """A tensor descriptor that the host made; shape and strides are in elements."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    padding: str


Given = int | float | bool | Described


@dataclass(frozen=True)
class Requested:
    """One launch. `text` is None where the worker has sent the text of this digest before.

    A `trial` is a launch of a benchmark.
    """

    kernel: str
    digest: str
    text: str | None
    grid: tuple[int, int, int]
    options: BuildOptions
    arguments: tuple[Given, ...]
    storages: tuple[Storage, ...]
    trial: bool

    @property
    def warps(self) -> int:
        return self.options.num_warps


def mapped(message: Mapping[str, Any]) -> int:
    """Return where the worker has mapped the arena. Raises UnexpectedMessage."""
    try:
        return _between(1, message["arena"], HIGHEST_ADDRESS)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnexpectedMessage(f"a map of another form: {error}") from None


def requested(message: Mapping[str, Any]) -> Requested:
    """Read a `launch`. Raises UnexpectedMessage."""
    try:
        text = message.get("ttir")
        digest = _text(message["digest"])
        if text is not None and hashlib.sha256(_as_text(text).encode()).hexdigest() != digest:
            raise ValueError("a text of another digest")
        return Requested(
            kernel=_text(message["kernel"]),
            digest=digest,
            text=text,
            grid=_grid(message["grid"]),
            options=_options(message),
            arguments=tuple(map(_argument, _list(message["arguments"], MOST_ARGUMENTS))),
            storages=tuple(map(_storage, _list(message["storages"], MOST_STORAGES))),
            trial=message.get("trial") is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UnexpectedMessage(f"a launch of another form: {error}") from None


def _argument(value: Any) -> Given:
    [(kind, given)] = value.items()
    if kind in ("pointer", "integer"):
        return given if type(given) is bool and kind == "integer" else _integer(given)
    if kind == "float":
        return _float(given)
    if kind == "descriptor":
        return _described(given)
    raise ValueError(f"an argument of the kind {kind!r}")


def _described(value: Mapping[str, Any]) -> Described:
    shape = tuple(map(_whole, _list(value["shape"], MOST_AXES)))
    strides = tuple(map(_whole, _list(value["strides"], MOST_AXES)))
    if len(shape) != len(strides) or not shape:
        raise ValueError("a descriptor whose shape and strides differ in length")
    return Described(_whole(value["base"]), shape, strides, _text(value.get("padding", "zero")))


def _storage(value: Any) -> Storage:
    address, size, offset, name = value
    return Storage(_address(address), _whole(size), _whole(offset), _text(name))


def _grid(value: Any) -> tuple[int, int, int]:
    x, y, z = map(_whole, _list(value, 3))
    if any(not 0 < size <= most for size, most in zip((x, y, z), LARGEST_GRID, strict=True)):
        raise ValueError("a grid that no GPU takes")
    return x, y, z


def _options(message: Mapping[str, Any]) -> BuildOptions:
    registers, fuses = message.get("most_registers"), message.get("fuses", True)
    if type(fuses) is not bool:
        raise TypeError("not a truth value")
    return BuildOptions(
        num_warps=_warps(message["warps"]),
        num_ctas=_between(1, message.get("clusters", 1), MOST_CLUSTERS),
        num_stages=_between(0, message.get("stages", 3), MOST_STAGES),
        maxnreg=None if registers is None else _between(1, registers, MOST_REGISTERS),
        enable_fp_fusion=fuses,
    )


def _between(least: int, value: Any, most: int) -> int:
    if not least <= _integer(value) <= most:
        raise ValueError(f"{value} is not between {least} and {most}")
    return int(value)


def _warps(value: Any) -> int:
    warps = _whole(value)
    if not 1 <= warps <= MOST_WARPS or warps & (warps - 1):
        raise ValueError(f"{warps} warps")
    return warps


def _float(value: Any) -> float:
    """Read a float; those that JSON lacks are texts."""
    if isinstance(value, str) and value in ("nan", "inf", "-inf"):
        return float(value)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError(f"{value!r} is not a float")
    return float(value)


def _integer(value: Any) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**64:
        raise TypeError(f"{value!r} is not an integer of 64 bits")
    return value


def _whole(value: Any) -> int:
    if not 0 <= _integer(value) < 2**63:
        raise ValueError(f"{value} is not an address, a size or a number")
    return int(value)


def _address(value: Any) -> int:
    if not 0 <= _integer(value) < HIGHEST_ADDRESS:
        raise ValueError(f"{value} is not an address")
    return int(value)


def _list(value: Any, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise TypeError(f"not a list of at most {most}")
    return value


def _as_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _text(value: Any) -> str:
    return _as_text(value)[:LONGEST_NAME]
