"""The map of a course: which exercises teach what another one takes for granted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.course.exercise import Exercise


@dataclass(frozen=True)
class Place:
    """One exercise on the map.

    `needs` are the exercises of this course that it builds on. `elsewhere` names those that its
    spec asks for and this course does not have, such as a release of a few exercises.
    """

    exercise: Exercise
    needs: tuple[Exercise, ...] = ()
    elsewhere: tuple[str, ...] = ()


def course_map(exercises: Sequence[Exercise]) -> list[Place]:
    """Place each exercise, in the order given. Raises BrokenExercise for a spec that fails."""
    known = {exercise.name: exercise for exercise in exercises}
    return [
        Place(
            exercise,
            tuple(known[name] for name in exercise.any_spec.needs if name in known),
            tuple(name for name in exercise.any_spec.needs if name not in known),
        )
        for exercise in exercises
    ]
