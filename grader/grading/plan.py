"""The steps of one exercise in the order in which they run, and the points of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grader.course import Exercise, in_backend
from grader.grading import steps
from grader.grading.kinds import kind_of
from grader.grading.step import Step
from grader.model import BaseSpec, BrokenExercise, Spec


def steps_of(spec: BaseSpec) -> tuple[Step, ...]:
    """Return the steps that a check of this exercise has, in their order. Raises BrokenExercise."""
    kind, known = kind_of(spec), steps.every()
    missing = [name for name in kind.steps if name not in known]
    if missing:
        raise BrokenExercise(
            f"The kind {kind.name} has a step {missing[0]!r}, and there is no such step.",
            f"The steps are {', '.join(known)}.",
        )
    listed = [known[name] for name in kind.steps]
    for place, step in enumerate(listed):
        if later := set(step.needs) & {other.name for other in listed[place:]}:
            raise BrokenExercise(
                f"The kind {kind.name} has {step.name} before {later.pop()}, a step that it needs.",
                "Put them the other way round.",
            )
    joining = [s for s in known.values() if kind.name in s.kinds and s.name not in kind.steps]
    return tuple(step for step in ordered(listed, joining) if any(map(step.applies, spec.entries)))


def ordered(listed: Iterable[Step], joining: Iterable[Step]) -> Sequence[Step]:
    """Put each step that joins directly behind the last that it needs; one without needs, last.

    Several behind the same step are ordered by name. Raises BrokenExercise for steps
    that need each other.
    """
    order, waiting = list(listed), sorted(joining, key=lambda step: step.name)
    while waiting:
        names = {step.name for step in waiting}
        ready = [step for step in waiting if names.isdisjoint(step.needs)]
        if not ready:
            raise BrokenExercise(
                f"The steps {' and '.join(sorted(names))} need each other: none can run first.",
                "Take one out of the `needs` of another.",
            )
        places = [_behind_needs(step, order) for step in ready]
        # The last one first, so that places stay right and names stay in their order.
        for place, step in sorted(zip(places, ready, strict=True), key=_place_and_name)[::-1]:
            order.insert(place, step)
        waiting = [step for step in waiting if step not in ready]
    return order


def _place_and_name(placed: tuple[int, Step]) -> tuple[int, str]:
    place, step = placed
    return place, step.name


def _behind_needs(step: Step, order: Sequence[Step]) -> int:
    needed = [place for place, other in enumerate(order, start=1) if other.name in step.needs]
    return max(needed, default=len(order))


def points_of(spec: BaseSpec) -> Mapping[str, int]:
    """Return the points of each step of the exercise, those of its entries added up.

    Raises BrokenExercise.
    """
    if len(spec.entries) > 1:
        each = list(map(points_of, spec.entries))
        return {
            step.name: sum(points.get(step.name, 0) for points in each) for step in steps_of(spec)
        }
    own = {step.name: step.points for step in steps_of(spec)}
    unknown = [name for name in spec.points if name not in own and name not in _in_others(spec)]
    if unknown:
        raise BrokenExercise(
            f"{spec.title!r} gives points for {unknown[0]!r}, which is none of its steps.",
            f"Its steps are {', '.join(own)}.",
        )
    return {name: spec.points.get(name, points) for name, points in own.items()}


def _in_others(spec: BaseSpec) -> set[str]:
    """Return the steps of files in the other backends that the exercise allows."""
    if not isinstance(spec, Spec):
        return set()
    return {step.name for name in spec.also_in for step in steps_of(in_backend(spec, name))}


def has_step(spec: BaseSpec, name: str) -> bool:
    return any(step.name == name for step in steps_of(spec))


def with_step(exercises: Iterable[Exercise], name: str) -> list[Exercise]:
    return [exercise for exercise in exercises if has_step(exercise.any_spec, name)]


def skippable_steps() -> frozenset[str]:
    """Return the names of the steps, of all exercises, that a check may skip and pass."""
    return frozenset(step.name for step in steps.every().values() if step.may_skip)
