"""The file to grade where an exercise may be written in several languages: the one saved last."""

from __future__ import annotations

from pathlib import Path

from grader.cli.loop.watching import look
from grader.course import Exercise, stubs
from grader.grading import kind_of

Looks = dict[Path, tuple[int, int, int] | None]


class Languages:
    """The looks at the files of each exercise, by which a save shows which file it changed."""

    def __init__(self) -> None:
        self._seen: dict[str, Looks] = {}

    def saved_last(self, exercise: Exercise) -> Exercise:
        """Return the exercise in the language of the file that changed since the last look.

        At the first look that is the file that was named, if it is not in the first language, else
        the file that was worked on. Raises as `worked_on` does.
        """
        several = exercise.in_all_backends
        now = {one.kernel: look(one.kernel) for one in several}
        before = self._seen.get(exercise.name)
        self._seen[exercise.name] = now
        if before is None:
            return exercise if exercise.backend else worked_on(exercise)
        changed = [one for one in several if now[one.kernel] not in (None, before.get(one.kernel))]
        stays = not changed or exercise.kernel in [one.kernel for one in changed]
        return exercise if stays else changed[0]


def worked_on(exercise: Exercise) -> Exercise:
    """Return the exercise in the language whose file was changed last since its stub.

    Without such a file it stays as it is. Raises BrokenExercise for a broken spec or solution.
    """
    several = exercise.in_all_backends
    if len(several) == 1:
        return exercise
    begun = {look(one.kernel): one for one in several if _begun(one)}
    times = [found for found in begun if found is not None]
    return begun[max(times, key=lambda found: found[2])] if times else exercise


def _begun(exercise: Exercise) -> bool:
    if not exercise.solution.is_file() and not exercise.released_stub.is_file():
        return False
    return exercise.kernel.is_file() and stubs.drifted(exercise, kind_of(exercise.any_spec).stub)
