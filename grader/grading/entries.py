"""The result of a file with several entries, from the result of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from grader.course import Exercise
from grader.grading.plan import steps_of
from grader.model import EntryResult, Memory, Outcome, Result, Speed, Status, Step, Wall

# A file failed for certain if one entry failed, whatever this machine could not grade of another.
_GRAVEST = (
    *(Status.INTERRUPTED, Status.ERROR, Status.UNFINISHED, Status.FAIL),
    *(Status.CANNOT_GRADE, Status.NOT_STARTED, Status.PASS),
)
_WORST = (
    *(Outcome.ERROR, Outcome.FAIL, Outcome.CANNOT_GRADE, Outcome.NOISY),
    *(Outcome.NOT_STARTED, Outcome.NOT_RUN, Outcome.SKIP, Outcome.PASS),
)


def together(exercise: Exercise, results: Sequence[Result]) -> Result:
    """Return the result of the exercise's file from those of its entries, in their order.

    A step has the worst outcome of its entries, and the points of all.
    """
    if len(results) == 1:
        return results[0]
    parts = [(str(part.entry), one) for part, one in zip(exercise.parts, results, strict=True)]
    order = [step.name for step in steps_of(exercise.any_spec)]
    return results[0].model_copy(
        update={
            "exercise": exercise.name,
            "title": exercise.any_spec.title,
            "status": next(one for one in _GRAVEST if one in [r.status for r in results]),
            "points": sum(result.points for result in results),
            "max_points": sum(result.max_points for result in results),
            "duration_s": max(result.duration_s for result in results),
            "steps": tuple(step for name in order for step in _steps_together(parts, name)),
            "entries": tuple(_entry(name, result) for name, result in parts),
            "sanitized": tuple(
                one.model_copy(update={"summary": f"{name}: {one.summary}"})
                for name, result in parts
                for one in result.sanitized
            ),
            "walls": held_everywhere(result.walls for result in results),
            "output": "".join(result.output for result in results),
        }
    )


def _entry(name: str, result: Result) -> EntryResult:
    return EntryResult(
        entry=name,
        status=result.status,
        points=result.points,
        max_points=result.max_points,
        steps=result.steps,
    )


def _steps_together(parts: Sequence[tuple[str, Result]], name: str) -> Iterator[Step]:
    found = [(e, step) for e, result in parts for step in result.steps if step.name == name]
    if not found:
        return
    entry, worst = min(found, key=lambda one: _WORST.index(one[1].outcome))
    steps = [step for _, step in found]
    speeds = [step.speed for step in steps if step.speed is not None]
    memories = [step.memory for step in steps if step.memory is not None]
    measured = [step.measured for step in steps if step.measured is not None]
    failure = worst.failure
    if failure is not None:
        failure = failure.model_copy(update={"message": f"{entry}: {failure.message}"})
    yield worst.model_copy(
        update={
            "points": sum(step.points for step in steps),
            "max_points": sum(step.max_points for step in steps),
            "summary": _summary(found),
            "duration_s": round(sum(step.duration_s for step in steps), 3),
            "failure": failure,
            "speed": _of_worst(worst, speeds),
            "memory": max(memories, key=_share_of_memory, default=None),
            "traffic": tuple(
                row.model_copy(update={"argument": f"{e}.{row.argument}"})
                for e, step in found
                for row in step.traffic
            ),
            "measured": worst.measured or next(iter(measured), None),
            "counts": tuple(count for step in steps for count in step.counts),
            "compiled": tuple(one for step in steps for one in step.compiled),
        }
    )


def _share_of_memory(memory: Memory) -> float:
    return memory.peak_bytes / max(1, memory.most_bytes)


def _of_worst(worst: Step, speeds: Sequence[Speed]) -> Speed | None:
    """Return the speed of the entry that fails, else of the one with the least above its gate.

    None where the entry that decides was not timed.
    """
    if worst.outcome is not Outcome.PASS:
        return worst.speed
    return min(speeds, key=lambda one: one.share / one.passing, default=None)


def _summary(found: Sequence[tuple[str, Step]]) -> str:
    said = {step.summary for _, step in found}
    if len(said) == 1:
        return said.pop()
    return "; ".join(f"{entry}: {step.summary}" for entry, step in found if step.summary)


def held_everywhere(by_device: Iterable[Sequence[Wall]]) -> tuple[Wall, ...]:
    """Combine the walls of each device or entry: one held if it held around every worker."""
    held: dict[str, bool] = {}
    for wall in chain(*by_device):
        held[wall.name] = held.get(wall.name, True) and wall.held
    return tuple(Wall(name=name, held=holds) for name, holds in held.items())
