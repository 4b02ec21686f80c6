"""The options of a check: one record that the command line, the judge and the session share."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from grader.model import Case

CHECK_ARENA = 256 << 20  # bytes; on the CPU only the pages that are touched exist


def new_seed() -> int:
    return secrets.randbits(31)


@dataclass(frozen=True)
class Options:
    """The choices for one check. `device` is cpu, cuda or auto; the judge settles auto."""

    seed: int = field(default_factory=new_seed)
    device: str = "cpu"
    case: Case | None = None  # the only one to try
    require_speed: bool = False  # a machine without a GPU cannot grade then
    leave_out: tuple[str, ...] = ()  # names of steps to skip, as where verdicts alone are compared
    shrink: bool = True  # look for the smallest case that fails
    pretend: str | None = None  # a name in sandbox.ANSWERS, graded in place of the kernel file
    gpu_memory: int | None = None  # bytes of the GPU's memory that the speed step may use
    sanitize: bool = False  # compute-sanitizer watches one more call
    hardened: bool = False  # grade only behind all walls that are required
    picture: bool = False  # trace the case that fails, where its accesses show why
    targets: tuple[int, ...] = ()  # compute capabilities to compile for, beside the required one
    elsewhere: bool = True  # compile for them, or for those that are reported without a choice
    debug: bool = False  # print the traceback of a fault of the grader


def as_json(options: Options) -> dict[str, Any]:
    case = None if options.case is None else str(options.case)
    return asdict(options) | {"case": case}


def from_json(values: Mapping[str, Any]) -> Options:
    """Read what `as_json` wrote. Raises TypeError for other fields than those of the options."""
    if values.keys() != {one.name for one in fields(Options)}:
        raise TypeError(f"other fields than those of the options: {sorted(values)}")
    case = values["case"]
    lists = {
        "targets": tuple(int(target) for target in values["targets"]),
        "leave_out": tuple(map(str, values["leave_out"])),
    }
    case = None if case is None else Case.parse(case)
    return Options(**{**values, "case": case, **lists})
