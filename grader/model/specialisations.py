"""The kernels that a file launched, as a compiler takes them, and how the judge reads them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.model import wire

MOST_SPECIALISATIONS = 64  # of kernels, each with its text, in one message


@dataclass(frozen=True)
class BuildOptions:
    """The options of a compiled kernel, by the names of one compiler.

    `shared` is in bytes: what a launch adds to the shared memory that the code itself names.
    """

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    maxnreg: int | None = None
    enable_fp_fusion: bool = True
    shared: int = 0


@dataclass(frozen=True)
class Specialisation:
    """A kernel as a file launched it: the text of a compiler's input, and the options.

    A `trial` is a form that a benchmark launched, to choose among the forms of a kernel.
    """

    kernel: str
    text: str
    options: BuildOptions = field(default_factory=BuildOptions)
    trial: bool = False


def listed(
    kernels: Collection[Specialisation], most: int
) -> tuple[tuple[Specialisation, ...], int]:
    """Return as many kernels as a message of about `most` bytes may hold, and how many it lacks.

    Those of benchmarks come last, and where they are not listed, only other kernels count.
    """
    chosen: list[Specialisation] = []
    for kernel in sorted(kernels, key=lambda each: each.trial):
        most -= len(json.dumps(kernel.text))
        if most < 0 or len(chosen) == MOST_SPECIALISATIONS:
            break
        chosen.append(kernel)
    launched = sum(not each.trial for each in kernels) - sum(not each.trial for each in chosen)
    names = {each.kernel for each in kernels} - {each.kernel for each in chosen}
    return tuple(chosen), max(launched, len(names))


def read_specialisations(value: Any) -> tuple[Specialisation, ...]:
    if not isinstance(value, list | tuple) or len(value) > MOST_SPECIALISATIONS:
        raise ValueError(f"not a list of at most {MOST_SPECIALISATIONS}")
    return tuple(map(_specialisation, value))


def _specialisation(value: Mapping[str, Any]) -> Specialisation:
    text, options = value["text"], value["options"]
    if not isinstance(text, str):
        raise TypeError("a kernel's text is not text")
    registers, fuses = options["maxnreg"], options["enable_fp_fusion"]
    if type(fuses) is not bool:
        raise TypeError("an option of another type")
    return Specialisation(
        kernel=wire.text(value["kernel"]),
        text=text,  # for a compiler behind walls, never for the screen
        options=BuildOptions(
            num_warps=wire.count(options["num_warps"], 32),
            num_ctas=wire.count(options["num_ctas"], 16),
            num_stages=wire.count(options["num_stages"], 64),
            maxnreg=None if registers is None else wire.count(registers, 1024),
            enable_fp_fusion=fuses,
            shared=wire.count(options["shared"]),
        ),
        trial=value.get("trial") is True,
    )
