"""The launches of one call as a worker recorded them, and how the judge reads them."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.model import wire

MOST_RECORDED, MOST_CODE = 64, 16  # launches and compiled kernels of a recorded call
MOST_PARAMETERS = 256  # of one launch
# Types of the parameters of a launch.
PARAMETERS = (
    *("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "fp32", "fp64"),
    *("arena", "scratch"),
)


@dataclass(frozen=True)
class RecordedLaunch:
    """One launch of a compiled kernel: all that the GPU's driver needs to make it again.

    `code` is an index into the call's `Recording.code`. `threads` are those of a block, `shared`
    is its dynamic shared memory in bytes. A parameter is a type and a value: `i1` to `u64`, `fp32`
    or `fp64` and a number; `arena` or `scratch` and an offset in bytes, for a pointer into either.
    """

    kernel: str
    code: int
    grid: tuple[int, int, int]
    threads: int
    shared: int
    parameters: tuple[tuple[str, int | float], ...]


@dataclass(frozen=True)
class Recording:
    """The launches of one call, in their order; `scratch` is the bytes of memory beside the arena.

    `code` holds machine code in base64. `refused` says why the call cannot be repeated by these
    launches, if it cannot.
    """

    launches: tuple[RecordedLaunch, ...] = ()
    code: tuple[str, ...] = ()
    scratch: int = 0
    refused: str = ""


def read_recording(value: Mapping[str, Any]) -> Recording:
    code, launches = list(value["code"]), list(value["launches"])
    if len(code) > MOST_CODE or len(launches) > MOST_RECORDED:
        raise ValueError("more launches than asked for")
    for text in code:
        base64.b64decode(text, validate=True)
    return Recording(
        launches=tuple(_recorded_launch(one, len(code)) for one in launches),
        code=tuple(code),
        scratch=wire.total(value["scratch"]),
        refused=wire.text(value["refused"]),
    )


def _recorded_launch(value: Mapping[str, Any], codes: int) -> RecordedLaunch:
    parameters = [(kind, number) for kind, number in value["parameters"]]
    if len(parameters) > MOST_PARAMETERS:
        raise ValueError(f"{len(parameters)} parameters")
    for kind, number in parameters:
        if type(number) is not (float if wire.one_of(PARAMETERS, kind).startswith("fp") else int):
            raise TypeError(f"{number!r} is no {kind}")
    if not re.fullmatch(r"[A-Za-z_$][\w$.]*", wire.text(value["kernel"]), re.ASCII):
        raise ValueError("no name of a kernel")  # it will stand in a table, among what is counted
    return RecordedLaunch(
        kernel=wire.text(value["kernel"]),
        code=wire.count(value["code"], codes - 1),
        grid=wire.three(value["grid"]),
        threads=wire.count(value["threads"]),
        shared=wire.count(value["shared"]),
        parameters=tuple(parameters),
    )
