"""`grader ci`: every kernel graded, whatever happens to the others."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import grader
from grader.classroom.ci_targets import Target
from grader.course import Settings
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
    own = target.kernel.parent == target.exercise.folder
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
