"""The words of a verdict: its steps, the outcome of each, and the status of the whole."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The result of one step."""

    PASS = "pass"
    FAIL = "fail"  # the learner's work is at fault
    NOT_STARTED = "not_started"  # the stub's NotImplementedError was reached
    SKIP = "skip"  # this machine cannot run the step; `summary` says why
    NOT_RUN = "not_run"  # a step that it needs did not pass
    ERROR = "error"  # the exercise or the grader is at fault
    CANNOT_GRADE = "cannot_grade"  # the machine is at fault
    NOISY = "noisy"  # measured, but something on this machine disturbed the measurement


class Status(StrEnum):
    """The result of the whole check."""

    PASS = "pass"
    FAIL = "fail"
    NOT_STARTED = "not_started"
    CANNOT_GRADE = "cannot_grade"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    UNFINISHED = "unfinished"


class Limit(StrEnum):
    """The reason why a kernel is slower than the speed called great."""

    NONE = "none"  # nothing: it is great
    TRAFFIC = "traffic"  # it is as fast as its reads and writes allow, and they are too many
    BOTH = "both"  # too many reads and writes, and slower than they allow
    CACHE = "cache"  # too many reads, some of them served by the L2 cache
    SPILLS = "spills"  # the compiler moves values to memory because registers run out
    OCCUPANCY = "occupancy"  # too few warps fit on the GPU at once
    LAUNCHES = "launches"  # one call starts several kernels
    HOST = "host"  # on a small input: allocations and Python work around the launch
    SHAPE = "shape"  # none of these: block size, warps, width of loads
    UNKNOWN = "unknown"  # reads and writes were not counted


def counted(number: int, count: str) -> str:
    """Return such as `1,152 transactions` and `1 barrier`, from a name in `exercise.COUNTS`."""
    words = count.replace("_", " ")
    return f"{number:,} {words.removesuffix('s') if number == 1 else words}"


def how_often(number: float) -> str:
    """Return such as `once`, `twice`, `1.5 times` and `8,192 times`, to three digits or more."""
    digits = f"{number:,.0f}" if number >= 1_000 else f"{number:.3g}"
    return {"1": "once", "2": "twice"}.get(digits, f"{digits} times")


def percent(share: float, digits: int = 1) -> str:
    """Return `61.2 %`, or `56 %` when all digits after the point are 0."""
    return f"{share * 100:.{digits}f}".removesuffix("." + "0" * digits) + " %"
