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
    from grader.course import backups, progress
    from grader.reports import standing

    changed = False
    for exercise in exercises:
        done = backups.reset(exercise, _maker(exercise))
        changed |= done.written
        say.show_text(f"{_shown(exercise)}: {'the stub again' if done.written else 'unchanged'}")
        if done.backup is not None:
            say.show_text(f"  your version is in {done.backup.relative_to(exercise.root)}")
    if changed:
        from grader.cli.standing import note, remembered

        lost = standing.forgotten(progress.standing_of(remembered(named.root), named.name))
        note(progress.begin_again(named.root, named.name))
        if lost:
            say.show_text(f"{named.name} begins anew in `grader status`, without {lost}")
    say.message(f"next: write the missing part, and type `grader check {named.name}`")


def _maker(exercise: Exercise) -> stubs.StubMaker:
    from grader.grading import kind_of

    return kind_of(exercise.any_spec).stub


def _own_text(exercise: Exercise) -> str:
    kernel = exercise.kernel
    if not kernel.is_file():
        raise UsageError(f"{kernel} is not there.", stubs.recovery(exercise, kernel))
    return kernel.read_text(encoding="utf-8", errors="replace")


def _shown(exercise: Exercise) -> str:
    return exercise.kernel.relative_to(exercise.root).as_posix()
