"""Refusals of NVRTC and of launches: one plain sentence, and the line of the kernel file."""

from __future__ import annotations

import re
from pathlib import Path

KERNEL = "kernel.py"  # the name of every kernel file
LONGEST = 240  # characters of NVRTC's own words
LONGEST_NAME = 60  # characters of a file's name, which a source may choose
# The files that NVRTC makes of a source without `#line`, and of `name_expressions`.
SOURCE, EXPRESSIONS = "default_program", "__nv_name_map"


class NotCompiled(Exception):
    """NVRTC refuses the source. `kernel_line` is the learner's line, if it is known."""

    def __init__(self, message: str, kernel_line: tuple[str, int] | None = None) -> None:
        super().__init__(f"the kernel cannot be compiled: {message}")
        self.kernel_line = kernel_line


class LaunchRefused(Exception):
    """A GPU would refuse the launch, or the kernel would read its arguments wrongly."""


class DeviceError(Exception):
    """An error whose kind a report shall name."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class NotSimulated(DeviceError):
    """The kernel file asks for something that only a GPU has."""

    def __init__(self, what: str) -> None:
        super().__init__("not_simulated", what)


_ERROR = re.compile(
    r"^(?P<file>[^\n(]+)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.+)$",
    re.MULTILINE,
)
# The line of the kernel file that makes a header's template, behind an error in that template.
_MADE_BY = re.compile(rf"\bat line (\d+) of {re.escape(KERNEL)}$", re.MULTILINE)
# NVRTC's own PTX is right: ptxas refuses a line of it for what an asm statement holds.
_PTXAS = re.compile(
    r"^ptxas(?P<in_ptx> application ptx input)?.*?\b(?:error|fatal)\s*: (?P<text>.+)$",
    re.MULTILINE,
)
_MANGLED = re.compile(r"\b_Z(\d{1,4})(\w+)")  # the Itanium C++ ABI: the name's length, then it
_PLAIN = (
    (
        r"A function without execution space annotations.*",
        "this function has neither __global__ nor __device__ before it",
    ),
    (
        r"A namespace scope variable without memory space annotations.*",
        "this variable outside of all functions has neither __device__ nor __constant__ before it",
    ),
    (r'(?:could not|cannot) open source file "([^"]*)".*', r"there is no header \1"),
    (
        r"Entry function '(\w+)' uses too much shared data \(0x(\w+) bytes, 0x(\w+) max\)",
        r"\1 declares 0x\2 bytes of shared memory, and a block may declare 0x\3",
    ),
)


def sentence(log: str) -> tuple[str, int | None]:
    """Return the first error of NVRTC's log in plain words, and its line of the kernel file."""
    log = log.replace("\0", "")
    errors = list(_ERROR.finditer(log))
    if not errors:
        assembler = _PTXAS.search(log)
        words = log.strip().splitlines() or ["NVRTC refuses it"]
        if assembler is None:
            return _plain(words[0]), None
        where = " (in inline PTX)" if assembler["in_ptx"] else ""
        return _plain(assembler["text"]) + where, None
    # An error in an expression follows from one in the source, if there is one.
    found = next((one for one in errors if one["file"] != EXPRESSIONS), errors[0])
    said, file, line = _plain(found["text"]), Path(found["file"]).name, int(found["line"])
    if file == KERNEL:
        return said, line
    if file == EXPRESSIONS:
        return f"{said} (in name_expressions)", None
    if file == SOURCE:
        return f"{said} (line {line} of the source)", None
    following = _ERROR.search(log, found.end())
    made_by = _MADE_BY.search(log, found.end(), following.start() if following else len(log))
    where = f"{file[:LONGEST_NAME]}, line {line}"
    return f"{said} ({where})", None if made_by is None else int(made_by[1])


def _plain(text: str) -> str:
    text = _MANGLED.sub(lambda symbol: symbol[2][: int(symbol[1])], text)
    for pattern, instead in _PLAIN:
        text = re.sub(pattern, instead, text)
    return re.sub(r"\b0x([0-9a-f]{1,16})\b", lambda m: f"{int(m[1], 16):,}", text)[:LONGEST]
