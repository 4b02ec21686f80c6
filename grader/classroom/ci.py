"""`grader ci`: what it grades, and every kernel graded whatever the others do.

A student's repository is graded with the course's own specs and tests; of the student's only the
kernel files are taken.
"""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import grader
from grader.classroom.ci_systems import System
from grader.course import SHELVES, Exercise, ReleasedFile, Settings, catalog, manifest
from grader.grading import check, points_of
from grader.model import (
    Attempt,
    CannotGrade,
    Environment,
    GraderError,
    Kernel,
    Outcome,
    Result,
    Status,
    Step,
    UsageError,
    attempts,
    verdict,
)

NO_FILE = "0" * 64  # the digest of a kernel file that was not read


@dataclass(frozen=True)
class Target:
    """One kernel to grade; with `refused` it is not, and that is why."""

    exercise: Exercise
    kernel: Path
    shown: str  # the kernel's path, for readers
    notes: tuple[str, ...] = ()
    refused: tuple[Status, str] | None = None


# -- what


def plan(
    exercises: Sequence[Exercise], submission: Path | None, system: System = System.SHELL
) -> tuple[Target, ...]:
    """What to grade: the course's kernel files, or those of a student's repository.

    Raises UsageError for a submission that is no folder, and for one without any exercise of the
    course unless the student sent it so: another folder was meant, and 0 points would be wrong.
    """
    if submission is None:
        return tuple(_own(exercise) for exercise in exercises)
    if not submission.is_dir():
        raise UsageError(
            f"The submission {submission} is no folder.", "Name a student's repository."
        )
    folder = _repository(submission)
    places = [one.folder.relative_to(one.root) for one in catalog.exercises(exercises[0].root)]
    if not system.takes_submissions and not any(os.path.lexists(folder / one) for one in places):
        raise UsageError(
            f"The submission {submission} holds none of the course's exercises.",
            f"Name the student's repository, the folder that holds {places[0].parent}/; who has "
            "handed in nothing is not graded.",
        )
    released = _released(folder)
    return tuple(_handed_in(exercise, folder, released) for exercise in exercises)


def _own(exercise: Exercise) -> Target:
    kernel = exercise.kernel
    shown = kernel.relative_to(exercise.root).as_posix()
    missing = None if os.path.lexists(kernel) else _missing(shown)
    return Target(exercise, kernel, shown, refused=missing)


def _missing(shown: str) -> tuple[Status, str]:
    return Status.NOT_STARTED, f"There is no {shown}."


def _repository(submission: Path) -> Path:
    """The folder with the exercises: the one given, or the only one in it, as in a zip file."""
    if any((submission / shelf).is_dir() for shelf in SHELVES):
        return submission
    inner = [f for f in submission.iterdir() if f.is_dir() and not f.is_symlink()]
    holding = [f for f in inner if any((f / shelf).is_dir() for shelf in SHELVES)]
    return holding[0] if len(holding) == 1 else submission


def _released(folder: Path) -> dict[str, ReleasedFile]:
    """The files of the release from which the repository was made, by path, as it says itself."""
    path = folder / manifest.FILE
    if not path.is_file() or not _stays_inside(path, folder):
        return {}
    try:
        return {file.path: file for file in manifest.read(folder).files}
    except UsageError:
        return {}


def _handed_in(exercise: Exercise, folder: Path, released: Mapping[str, ReleasedFile]) -> Target:
    place = exercise.folder.relative_to(exercise.root)
    shown = (place / "kernel.py").as_posix()
    kernel = folder / place / "kernel.py"
    refused = None
    if not os.path.lexists(kernel):
        refused = _missing(f"{shown} in what was handed in")
    elif not _stays_inside(kernel, folder):
        why = f"{shown} is a link that leads out of what was handed in, and was not read."
        refused = Status.FAIL, why
    return Target(exercise, kernel, shown, tuple(_changes(exercise, folder, released)), refused)


def _stays_inside(path: Path, folder: Path) -> bool:
    """Whether no link leads out of the folder on the way. Links in a ring lead nowhere."""
    try:
        # Path.resolve raises of a ring.
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except (OSError, RecursionError):  # a link that cannot be read, or a thousand in a row
        return False


def _changes(
    exercise: Exercise, folder: Path, released: Mapping[str, ReleasedFile]
) -> Iterator[str]:
    """A note for each of the course's files that the student's copy lacks or has in another form.

    What is missing was taken away only where the release had it: who hands in kernels alone has
    none of them. Another form is no student's doing where the file is as the release had it. Who
    forges the manifest is told of another release, and is graded with the course's own all the
    same.
    """
    for own in sorted(exercise.folder.glob("*.py")):
        shown = own.relative_to(exercise.root).as_posix()
        if own.name == exercise.kernel.name:
            continue
        if what := _difference(own, shown, folder, released.get(shown)):
            yield f"{shown} {what}: graded with the course's own"


def _difference(own: Path, shown: str, folder: Path, released: ReleasedFile | None) -> str:
    """What became of the student's copy of the course's file `own`, or nothing."""
    theirs = folder / shown
    if not os.path.lexists(theirs):
        return "is missing" if released else ""
    if _same(own, theirs):
        return ""
    as_released = released and _is_released(folder, released)
    return "is of another release" if as_released else "was changed"


def _is_released(folder: Path, file: ReleasedFile) -> bool:
    try:
        small = (folder / file.path).stat().st_size <= check.LARGEST_FILE
    except OSError:
        return False
    return small and manifest.is_unchanged(folder, file)


def _same(own: Path, other: Path) -> bool:
    try:
        if not other.is_file() or other.stat().st_size != own.stat().st_size:
            return False
        return other.read_bytes() == own.read_bytes()
    except OSError:
        return False


# -- graded


def run(
    targets: Sequence[Target],
    request: Callable[[Target], check.Request],
    progress: Callable[[str], None],
) -> list[Result]:
    """A result for each target, in their order; nothing that goes wrong with one stops the rest.

    Only an interruption does: what it left is `interrupted`. A check that something disturbed is
    made once more, for nobody sits there to do it.
    """
    found: dict[Target, Result] = {}
    asked: dict[Target, check.Request] = {}
    for target in targets:
        if target.refused is not None:
            found[target] = _without(target, *target.refused)
            continue
        asked[target] = request(target)
        try:
            check.must_be_gradable(asked[target])
        except GraderError as error:
            found[target] = _faulty(target, error)
    graded = [target for target in targets if target not in found]
    try:
        _grade(graded, asked, found, progress)
        if disturbed := [target for target in graded if _is_noisy(found[target])]:
            progress("something disturbed the measurement: once more")
            for target in disturbed:
                del found[target]
            _grade(disturbed, asked, found, progress)
    except KeyboardInterrupt:
        for target in targets:
            if target not in found:
                found[target] = _without(target, Status.INTERRUPTED, "It was interrupted.")
    return [found[target] for target in targets]


def _grade(
    targets: Sequence[Target],
    asked: Mapping[Target, check.Request],
    found: dict[Target, Result],
    progress: Callable[[str], None],
) -> None:
    """Put into `found` what one judge for all of them says: each start costs seconds.

    Where that judge breaks, nothing that it said is believed, see `check`, and each target gets a
    judge of its own. Raises KeyboardInterrupt, also where it is the judge that was interrupted.
    """
    coming = iter(targets)

    def heard(result: Result) -> None:
        found[next(coming)] = result

    try:
        results = check.run([asked[target] for target in targets], progress, heard)
    except GraderError as error:
        if len(targets) == 1:
            found[targets[0]] = _faulty(targets[0], error)
            return
        for target in targets:
            found.pop(target, None)
        for target in targets:
            _grade([target], asked, found, progress)
        return
    if len(results) < len(targets) or any(r.status is Status.INTERRUPTED for r in results):
        raise KeyboardInterrupt


def _is_noisy(result: Result) -> bool:
    return any(step.outcome is Outcome.NOISY for step in result.steps)


def _faulty(target: Target, error: GraderError) -> Result:
    """The result of a kernel that no judge could grade, and whose fault that is."""
    if isinstance(error, UsageError):  # the kernel file itself: too large, a link, not to be read
        return _without(target, Status.FAIL, error.message)
    status = Status.CANNOT_GRADE if isinstance(error, CannotGrade) else Status.ERROR
    return _without(target, status, _whole(error))


def _whole(error: GraderError) -> str:
    return f"{error.message} {error.next_step}".strip()


def _as_shown(result: Result, target: Target) -> Result:
    """The result with paths and commands as whoever handed the kernel in writes them.

    Where student and course lie on the machine that grades is nobody else's business.
    """
    message = result.message.replace(str(target.kernel), target.shown)
    message = message.replace(f"{target.exercise.root}/", "")
    elsewhere = f" --kernel {shlex.quote(result.kernel.path)}"

    def step_as_shown(step: Step) -> Step:
        if step.failure is None or step.failure.replay is None:
            return step
        replay = step.failure.replay.replace(elsewhere, "")
        failure = step.failure.model_copy(update={"replay": replay})
        return step.model_copy(update={"failure": failure})

    return result.model_copy(
        update={
            "message": message,
            "kernel": result.kernel.model_copy(update={"path": target.shown}),
            "steps": tuple(map(step_as_shown, result.steps)),
        }
    )


def _without(target: Target, status: Status, message: str) -> Result:
    """The result of a kernel that no judge saw."""
    title, most = target.exercise.name, 0
    own = target.kernel == target.exercise.kernel
    try:
        spec = target.exercise.any_spec
        title, most = spec.title, sum(points_of(spec).values())
    except GraderError as error:
        status, message = Status.ERROR, _whole(error)
    return Result(
        schema="grader/result/v1",
        exercise=target.exercise.name,
        title=title,
        status=status,
        points=0,
        max_points=most,
        message=message,
        kernel=Kernel(path=target.shown if own else str(target.kernel), sha256=NO_FILE),
        environment=Environment(
            grader=grader.__version__,
            python=platform.python_version(),
            device="none",
            simulated=True,
        ),
        seed=0,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        duration_s=0.0,
        steps=(),
    )


def attempts_of(
    targets: Sequence[Target],
    results: Sequence[Result],
    settings: Settings,
    student: str,
    submitted_at: str,
) -> list[Attempt]:
    """The results with whose they are, and what was found changed.

    Paths and commands are as the student writes them, who reads the reports. In the results they
    are as whoever runs `grader ci` does, whose replay would else grade the course's own kernel.
    """
    return [
        Attempt(
            id=attempts.new_id(),
            course=settings.name,
            version=settings.version,
            student=student,
            submitted_at=submitted_at,
            notes=target.notes,
            result=_as_shown(result, target),
        )
        for target, result in zip(targets, results, strict=True)
    ]


def exit_code(results: Sequence[Result], exit_zero: bool) -> int:
    """The gravest code, as everywhere; with `exit_zero` a learner's fault is none of the job's."""
    code = verdict.exit_code(results)
    return 0 if exit_zero and code == 1 else code
