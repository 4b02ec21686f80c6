"""An error in a worker, as a message carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.model import wire

MOST_FRAMES = 20


@dataclass(frozen=True)
class Fault:
    """An error in the worker, as the worker reports it.

    `frames` are (line, function, source line) of the kernel file, outermost first.
    """

    kind: str
    message: str
    frames: tuple[tuple[int, str, str], ...] = ()


def read_fault(value: Mapping[str, Any]) -> Fault:
    frames = tuple(
        (wire.integer(line), wire.text(function), wire.text(code))
        for line, function, code in list(value.get("frames", ()))[-MOST_FRAMES:]
    )
    return Fault(kind=wire.text(value["kind"]), message=wire.lines(value["message"]), frames=frames)
