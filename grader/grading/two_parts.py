"""A check on a GPU in two parts: what compares outputs runs beside others, what measures alone.

Joined, both parts say what one check of all steps says. The parts share a seed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from grader.course import Exercise
from grader.grading import entries, needs
from grader.grading.plan import steps_of
from grader.grading.requests import Request
from grader.grading.step import Step
from grader.model import BaseSpec, EntryResult, Outcome, Result, Status, status_of
from grader.model import Step as StepResult


def first_part(request: Request) -> Request:
    """Leave out what is measured; a simulated check disturbs nobody, and stays whole."""
    if request.options.device == "cpu":
        return request
    order = steps_of(_exercise(request).any_spec)
    return _without(request, _late(order))


def second_part(request: Request) -> Request:
    """Leave out what no measured step needs: it was done in the first part, beside others."""
    order = steps_of(_exercise(request).any_spec)
    return _without(request, {step.name for step in order} - _in_second(order))


def _late(order: Sequence[Step]) -> set[str]:
    """Return the steps that measure, and those that need one."""
    measured = {step.name for step in order if step.alone}
    return measured | {step.name for step in order if needs.all_of(step) & measured}


def _in_second(order: Sequence[Step]) -> set[str]:
    """Return the steps of the second part: some, such as `load`, are in both."""
    late = _late(order)
    needed = set[str]().union(*(needs.all_of(step) for step in order if step.name in late))
    return late | (needed - {step.name for step in order if step.compares})


def has_no_fault(result: Result) -> bool:
    return all(step.outcome in needs.SETTLED for step in result.steps)


def of_part(request: Request, result: Result) -> Result:
    """Return the result, as a failure if an entry failed while steps of others were left out."""
    failed = any(entry.status is Status.FAIL for entry in result.entries)
    if failed and request.options.leave_out and result.status is Status.UNFINISHED:
        return result.model_copy(update={"status": Status.FAIL})
    return result


def reaches_measuring(request: Request, first: Result) -> bool:
    """Report whether, after the first part, a step of any entry needs the GPU to itself."""
    return any(
        step.alone and needs.unmet(step, entry.order, done, entry.spec) is None
        for entry, own in _entries(request, first)
        for done in [{one.name: one for one in own.steps}]
        for step in entry.order
    )


def joined(request: Request, first: Result, second: Result | None = None) -> Result:
    """Return the result of the whole check; without a second part, nothing was measured."""
    late = first if second is None else second
    pairs = zip(_entries(request, first), _entries(request, late), strict=True)
    results = [_joined(entry, late, early, own) for (entry, early), (_, own) in pairs]
    whole = entries.together(_exercise(request), results)
    seconds = first.duration_s + (second.duration_s if second else 0.0)
    return whole.model_copy(
        update={
            "started_at": first.started_at,
            "duration_s": round(seconds, 3),
            "walls": entries.held_everywhere((first.walls, late.walls)),
            "output": first.output or late.output,
        }
    )


@dataclass(frozen=True)
class _Entry:
    spec: BaseSpec
    order: tuple[Step, ...]


def _joined(entry: _Entry, whole: Result, early: EntryResult, late: EntryResult) -> Result:
    """Return an entry's result: each step of the part that ran it, if what it needs is met."""
    earlier, later = ({step.name: step for step in part.steps} for part in (early, late))
    done, second = dict[str, StepResult](), _in_second(entry.order)
    for step in entry.order:
        ran = later if step.name in second else earlier
        if step.name not in ran:
            continue
        unmet = needs.unmet(step, entry.order, done, entry.spec)
        done[step.name] = ran[step.name] if unmet is None else _not_run(ran[step.name], unmet)
    steps = tuple(done.values())
    names = [step.name for step in entry.order]
    skippable = {step.name for step in entry.order if step.may_skip}
    interrupted = Status.INTERRUPTED in (early.status, late.status)
    return whole.model_copy(
        update={
            "status": Status.INTERRUPTED if interrupted else status_of(steps, names, skippable),
            "points": sum(step.points for step in steps),
            "max_points": late.max_points,
            "steps": steps,
            "entries": (),
        }
    )


def _not_run(step: StepResult, needed: str) -> StepResult:
    return StepResult(
        name=step.name,
        outcome=Outcome.NOT_RUN,
        points=0,
        max_points=step.max_points,
        summary=needs.reason(needed),
        duration_s=0.0,
    )


def _entries(request: Request, result: Result) -> Sequence[tuple[_Entry, EntryResult]]:
    """Return the entries of a result with their steps; a file with one entry is its own."""
    parts = [_Entry(one.any_spec, steps_of(one.any_spec)) for one in _exercise(request).parts]
    own = result.entries or (
        EntryResult(
            entry="",
            status=result.status,
            points=result.points,
            max_points=result.max_points,
            steps=result.steps,
        ),
    )
    return list(zip(parts, own, strict=True))


def _exercise(request: Request) -> Exercise:
    """Return the exercise in the backend of the request's file, as the judge reads it."""
    return request.exercise.for_file(request.kernel.read_bytes())


def _without(request: Request, names: Collection[str]) -> Request:
    listed = [step.name for step in steps_of(_exercise(request).any_spec) if step.name in names]
    return replace(request, options=replace(request.options, leave_out=tuple(listed)))
