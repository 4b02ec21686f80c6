"""`grader ci`: grade every kernel, whatever happens to the others."""

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
    """Return a result for each target, in their order; a failure of one does not stop the rest.

    Only an interruption stops them: the remaining results are `interrupted`. A noisy check is made
    once more, because nobody watches the job and could repeat it.
    """
    results: dict[Target, Result] = {}
    requests: dict[Target, check.Request] = {}
    for target in targets:
        if target.refused is not None:
            results[target] = not_graded(target, *target.refused)
            continue
        requests[target] = request(target)
        try:
            check.must_be_gradable(requests[target])
        except GraderError as error:
            results[target] = faulty(target, error)
    graded = [target for target in targets if target not in results]
    try:
        _grade(graded, requests, results, progress)
        if noisy := [target for target in graded if _is_noisy(results[target])]:
            progress("something disturbed the measurement: once more")
            for target in noisy:
                del results[target]
            _grade(noisy, requests, results, progress)
    except KeyboardInterrupt:
        for target in targets:
            if target not in results:
                results[target] = not_graded(target, Status.INTERRUPTED, "It was interrupted.")
    return [results[target] for target in targets]


def _grade(
    targets: Sequence[Target],
    requests: Mapping[Target, check.Request],
    results: dict[Target, Result],
    progress: Callable[[str], None],
) -> None:
    """Grade all targets with one judge, since each start costs seconds; fill in `results`.

    If that judge breaks, all its results are dropped, see `check`, and each target gets a judge of
    its own. Raises KeyboardInterrupt, even where the judge was interrupted.
    """
    if not targets:
        return
    pending = iter(targets)

    def store(result: Result) -> None:
        results[next(pending)] = result

    try:
        graded = check.run([requests[target] for target in targets], progress, store)
    except GraderError as error:
        if len(targets) == 1:
            results[targets[0]] = faulty(targets[0], error)
            return
        for target in targets:
            results.pop(target, None)
        for target in targets:
            _grade([target], requests, results, progress)
        return
    if len(graded) < len(targets) or any(r.status is Status.INTERRUPTED for r in graded):
        raise KeyboardInterrupt


def _is_noisy(result: Result) -> bool:
    return any(step.outcome is Outcome.NOISY for step in result.steps)


def faulty(target: Target, error: GraderError) -> Result:
    """Return the result of a file that this error kept from being graded."""
    if isinstance(error, UsageError):  # the kernel file is too large, a link, or unreadable
        return not_graded(target, Status.FAIL, error.message)
    status = Status.CANNOT_GRADE if isinstance(error, CannotGrade) else Status.ERROR
    return not_graded(target, status, _one_line(error))


def _one_line(error: GraderError) -> str:
    return f"{error.message} {error.next_step}".strip()


def as_shown(result: Result, target: Target) -> Result:
    """Return the result with paths and commands as the student writes them.

    The grading machine's own paths stay private.
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
            "entries": tuple(
                one.model_copy(update={"steps": tuple(map(step_as_shown, one.steps))})
                for one in result.entries
            ),
        }
    )


def not_graded(target: Target, status: Status, message: str) -> Result:
    """Return a result without steps; a broken exercise overrides the status and the message."""
    title, most = target.exercise.name, 0
    own = target.kernel.parent == target.exercise.folder
    try:
        spec = target.exercise.any_spec
        title, most = spec.title, sum(points_of(spec).values())
    except GraderError as error:
        status, message = Status.ERROR, _one_line(error)
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
    """Return the results as attempts of a student, with the notes of their targets.

    An attempt shows paths and commands as the student types them. The results keep those of this
    machine: a replay here must name the student's file, not the course's own.
    """
    return [
        Attempt(
            id=attempts.new_id(),
            course=settings.name,
            version=settings.version,
            student=student,
            submitted_at=submitted_at,
            notes=target.notes,
            result=as_shown(result, target),
        )
        for target, result in zip(targets, results, strict=True)
    ]


def exit_code(
    results: Sequence[Result], exit_zero: bool = False, require_started: bool = False
) -> int:
    """Return the gravest exit code of one result or more.

    An exercise that is not started counts only with `require_started`: a build must not fail over
    work that is not due yet.
    """
    late = Status.NOT_STARTED
    counted = [one for one in results if require_started or one.status is not late]
    code = 0 if results and not counted else verdict.exit_code(counted)
    return 0 if exit_zero and code == 1 else code
