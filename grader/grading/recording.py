"""Run one step of a check and record its finding, whatever happens in it."""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from grader.course import EXTENSIONS
from grader.grading import needs
from grader.grading.session import Grading
from grader.grading.step import Finding, Step
from grader.grading.text_causes import with_cause_of_text
from grader.machine import gpu_is_lost, is_full_disk, lost_gpu
from grader.model import CannotGrade, Failure, GraderError, Outcome
from grader.model import Step as StepResult
from grader.sandbox import KernelFailure, NotSimulated, cancellation

GRADER = Path(__file__).parents[1]
FULL = "No space left on device"  # of an OSError with ENOSPC
LEAST_FREE, LEAST_FILES = 1 << 20, 64  # bytes and files, with which a worker can do its work


def run(grading: Grading, step: Step) -> StepResult:
    """Run a step, unless one that it needs did not pass, and record it.

    Raises Cancelled, also in the middle of a step.
    """
    cancellation.check()
    began = time.monotonic()
    needed = unmet_need(grading, step)
    if step.name in grading.options.leave_out:
        finding = Finding("left out of this check", outcome=Outcome.SKIP)
    elif needed is not None:
        finding = Finding(needs.reason(needed), outcome=Outcome.NOT_RUN)
    else:
        grading.on_step(step)
        finding = _finding(grading, step)
    result = _record(grading, step, finding, finding.earlier_s + time.monotonic() - began)
    if len(grading.steps) == 1 and result.outcome is Outcome.PASS:
        _early(grading, [one.prepare for one in _not_left_out(grading)])
    _early(grading, [one.begin for one in _not_left_out(grading) if _may_begin(grading, one, step)])
    return result


def _not_left_out(grading: Grading) -> list[Step]:
    return [one for one in grading.order if one.name not in grading.options.leave_out]


def _may_begin(grading: Grading, step: Step, ended: Step) -> bool:
    """Report whether the step that ended was the last one that this one needed."""
    return ended.name in step.needs and unmet_need(grading, step) is None


def _early(grading: Grading, works: Sequence[Callable[[Grading], None]]) -> None:
    for work in works:
        with suppress(Exception):  # the step itself meets it again, and reports it
            work(grading)


def unmet_need(grading: Grading, step: Step) -> str | None:
    """Return the first step that did not pass of those that this one needs, directly or not."""
    return needs.unmet(step, grading.order, grading.steps, grading.exercise.any_spec)


def outcome_of(failure: Failure) -> Outcome:
    """Return `not_started` for the stub's own NotImplementedError, else `fail`."""
    return Outcome.NOT_STARTED if failure.kind == "not_started" else Outcome.FAIL


def failure_of(error: GraderError) -> tuple[Outcome, Failure]:
    """Return the outcome of a step that an error of ours ended, and its failure."""
    outcome = Outcome.CANNOT_GRADE if isinstance(error, CannotGrade) else Outcome.ERROR
    if isinstance(error, NotSimulated):
        return outcome, error.as_failure()
    return outcome, Failure(kind=outcome.value, message=error.message, hint=error.next_step or None)


def _finding(grading: Grading, step: Step) -> Finding:
    try:
        found = step.run(grading)
    except KernelFailure as error:
        found = Finding("", error.failure, outcome_of(error.failure))
    except GraderError as error:
        outcome, failure = failure_of(error)
        return Finding(error.message.splitlines()[0], failure, outcome)
    except Exception as error:
        if is_full_disk(error):
            return Finding("the disk is full", full_disk(error), Outcome.CANNOT_GRADE)
        if gpu_is_lost(error):
            lost = lost_gpu(error)
            return Finding(lost.message.partition(":")[0], lost, Outcome.CANNOT_GRADE)
        grading.tracebacks.append("".join(traceback.format_exception(error)))
        failure = _fault(grading, step, error)
        return Finding(failure.message, failure, Outcome.ERROR)
    if isinstance(found, Finding) and found.failure and FULL in found.failure.message:
        # Said by the kernel's process, so only as far as it is true.
        if _is_full(tempfile.gettempdir()):
            return Finding("the disk is full", full_disk(), Outcome.CANNOT_GRADE)
        return found
    if not isinstance(found, Finding):
        failure = Failure(
            kind="error",
            message=f"the step {step.name} is broken: it returns {found!r}, not a Finding",
            hint="Report it to its author; your kernel is not at fault.",
        )
        return Finding(failure.message, failure, Outcome.ERROR)
    return found


def full_disk(error: BaseException | None = None) -> Failure:
    """Build the failure for a file that could not be written for want of space."""
    place = getattr(error, "filename", None) or tempfile.gettempdir()
    return Failure(
        kind="cannot_grade",
        message=f"the disk of {place} is full",
        hint="Free some space on it, or name another folder in TMPDIR. The steps before count.",
    )


def _is_full(folder: str) -> bool:
    there = os.statvfs(folder)
    no_more_files = there.f_files > 0 and there.f_favail < LEAST_FILES
    return there.f_bavail * there.f_frsize < LEAST_FREE or no_more_files


def _fault(grading: Grading, step: Step, error: Exception) -> Failure:
    """Build the failure for an unexpected exception, and say whose fault it is.

    It is the fault of the exercise, of the course's extensions or of the grader: whichever owns the
    innermost frame outside of libraries.
    """
    exercise = grading.exercise
    owners = {
        exercise.folder.resolve(): f"the exercise {exercise.name}",
        exercise.root.resolve() / EXTENSIONS: "an extension of the course",
        GRADER: "the grader",
    }
    own = [
        (path, line, folder)
        for path, line in _frames(error.__traceback__)
        for folder in owners
        if path.is_relative_to(folder)
    ]
    path, line, folder = own[-1]  # there is one at least: this module called the step
    said = str(error).splitlines()
    what = f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
    return Failure(
        kind="error",
        message=f"{owners[folder]} is broken: the step {step.name} fails with {what}",
        where=f"{path.relative_to(folder.parent)}, line {line}",
        hint=(
            "Your kernel is not at fault. Report this with what `--debug` prints."
            if folder == GRADER
            else "Report it to its author; your kernel is not at fault."
        ),
    )


def _frames(trace: TracebackType | None) -> Iterator[tuple[Path, int]]:
    for frame in traceback.extract_tb(trace):
        yield Path(frame.filename).resolve(), frame.lineno or 0


def _record(grading: Grading, step: Step, finding: Finding, duration_s: float) -> StepResult:
    if finding.failure is not None:
        named = with_cause_of_text(finding.failure, grading)
        if finding.failure in grading.failing:  # a case is found by its failure's words
            grading.failing[named] = grading.failing[finding.failure]
        finding = replace(finding, failure=named)
    most = grading.points[step.name]
    passed = finding.outcome is Outcome.PASS and grading.options.case is None
    result = StepResult(
        name=step.name,
        outcome=finding.outcome,
        points=most if passed else 0,
        max_points=most,
        summary=finding.summary,
        duration_s=round(duration_s, 3),
        failure=finding.failure,
        speed=finding.speed,
        memory=finding.memory,
        traffic=finding.traffic,
        measured=finding.measured,
        counts=finding.counts,
        compiled=finding.compiled,
    )
    grading.steps[step.name] = result
    grading.on_ended(result)
    return result
