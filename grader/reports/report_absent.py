"""The figures that a result lacks, and why, in sentences for a page."""

from __future__ import annotations

from collections.abc import Sequence

from grader.model import Memory, Outcome, Speed, Step


def absences(steps: Sequence[Step], roofline: bool) -> list[str]:
    """Return a sentence for each figure that these steps lack, with its reason.

    `roofline` says whether the page draws one.
    """
    speed = next((step.speed for step in steps if step.speed), None)
    found = [] if speed else [_unmeasured(steps, "speed", "No speed")]
    found += _of_speed(speed, roofline) if speed else []
    if not any(step.traffic or step.measured for step in steps):
        found.append(_unmeasured(steps, "traffic", "No traffic"))
    memory = next((step.memory for step in steps if step.memory), None)
    found += _of_memory(memory) if memory else [_unmeasured(steps, "memory", "No memory")]
    if not any(step.compiled for step in steps) and not (speed and speed.resources):
        found.append(_unmeasured(steps, "compile", "No registers or occupancy"))
    return found


def _of_speed(speed: Speed, roofline: bool) -> list[str]:
    found = []
    if not speed.sizes:
        found.append(
            f"No share over sizes: speed was measured at one size, {speed.case}. `grader bench` "
            "measures others."
        )
    if not roofline:
        found.append(
            "No roofline: it needs the operations of a call and the bandwidth of memory, and this "
            "result does not have both."
        )
    return found


def _of_memory(memory: Memory) -> list[str]:
    what = "No memory over one call"
    held = memory.over_call
    if held is None:
        return [f"{what}: it comes from a call counted in simulation, and this result has none."]
    if held.kernel and held.torch:
        return []
    return [f"{what}: {held.missing or 'the result lacks a series'}."]


def _unmeasured(steps: Sequence[Step], name: str, what: str) -> str:
    step = next((one for one in steps if one.name == name), None)
    if step is None:
        return f"{what}: this exercise does not grade it."
    if step.outcome is Outcome.NOT_RUN:
        return f"{what}: `{name}` was not run, because a step before it did not pass."
    why = step.summary or (step.failure.message if step.failure else "")
    return f"{what}: {why}" if why else f"{what}: the step `{name}` has no figures."
