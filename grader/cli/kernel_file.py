"""The commands for the learner's own file of an exercise: diff, reset."""

from __future__ import annotations

from grader.cli import options, say
from grader.course import Exercise, stubs
from grader.model import UsageError


def diff(name: options.OneName, backend: options.Language = None) -> None:
    """Show what you have changed in your kernel file since the stub."""
    named = options.folder_of(name)
    (exercise,) = options.written_in([named], backend, every=False)
    stub = stubs.stub_of(exercise, _maker(exercise))
    from grader.reports import standing

    say.show(standing.difference(exercise, stub, _own_text(exercise)))


def reset(name: options.OneName, backend: options.Language = None) -> None:
    """Begin an exercise again: write the stub, and keep a backup of your file."""
    named = options.folder_of(name)
    language = backend or named.backend
    exercises = options.written_in([named], language, False) if language else named.in_all_backends
    from grader.course import backups

    changed = False
    try:
        for exercise in exercises:
            done = backups.reset(exercise, _maker(exercise))
            changed |= done.written
            ended = "the stub again" if done.written else "unchanged"
            say.show_text(f"{_shown(exercise)}: {ended}")
            if done.backup is not None:
                say.show_text(f"  your version is in {done.backup.relative_to(exercise.root)}")
    finally:  # also where a second file cannot be reset
        if changed:
            _begin_again(named)
    say.message(f"next: write the missing part, and type `grader check {named.name}`")


def _begin_again(exercise: Exercise) -> None:
    from grader.cli.standing import note, remembered
    from grader.course import progress
    from grader.reports import standing

    lost = standing.forgotten(progress.standing_of(remembered(exercise.root), exercise.name))
    note(progress.begin_again(exercise.root, exercise.name))
    if lost:
        say.show_text(f"{exercise.name} begins anew in `grader status`, without {lost}")


def _maker(exercise: Exercise) -> stubs.StubMaker:
    from grader.grading import kind_of

    return kind_of(exercise.any_spec).stub


def _own_text(exercise: Exercise) -> str:
    kernel = exercise.kernel
    with options.permitted(exercise):
        if not kernel.is_file():
            raise UsageError(f"{kernel} is not there.", stubs.recovery(exercise, kernel))
        return kernel.read_text(encoding="utf-8", errors="replace")


def _shown(exercise: Exercise) -> str:
    return exercise.kernel.relative_to(exercise.root).as_posix()
