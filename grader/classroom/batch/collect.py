"""From what each student handed in to units of work, and from their results to the class's record.

Every student of the roster has a row, and every exercise of the run a cell in it. Nothing is left
out, and a fault of a machine is never a zero.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.classroom import ci, ci_targets
from grader.classroom.batch import store
from grader.classroom.batch.units import Unit, Versions
from grader.classroom.ci_targets import Target
from grader.classroom.intake.records import HandedIn, Intake
from grader.course import Exercise, Settings
from grader.grading import Options, Request, check, points_of
from grader.model import (
    Attempt,
    Cell,
    ClassRow,
    ClassRun,
    GraderError,
    Result,
    Status,
    class_run,
    first_problem,
    texts,
)

GRADED = (Status.PASS, Status.FAIL, Status.NOT_STARTED)  # verdicts on a file
LONGEST_WHY = 200  # characters


@dataclass(frozen=True)
class Task:
    """One exercise of one student: a unit to grade, or a result that needs no judge."""

    target: Target
    unit: Unit | None = None
    settled: Result | None = None


@dataclass(frozen=True)
class Entry:
    """One student: the tasks, none where there is nothing to read, and then the reason."""

    handed_in: HandedIn
    tasks: tuple[Task, ...] = ()
    fault: str = ""


@dataclass(frozen=True)
class Plan:
    """All students of a run, and what is the same for all."""

    settings: Settings
    exercises: tuple[Exercise, ...]
    hardened: bool
    entries: tuple[Entry, ...]
    strangers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def units(self) -> dict[str, Unit]:
        """Each unit once, keyed by id."""
        return {
            task.unit.id: task.unit
            for entry in self.entries
            for task in entry.tasks
            if task.unit is not None
        }


@dataclass
class Found:
    """Results of units, each with its key, by the units' ids; and reasons why there is none."""

    results: dict[str, tuple[str, Result]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    unsettled: dict[str, Result] = field(default_factory=dict)  # no verdict: noisy, for example


def plan(
    intake: Intake,
    exercises: Sequence[Exercise],
    settings: Settings,
    rules: Mapping[str, str],
    versions: Versions,
    hardened: bool,
) -> Plan:
    """Read every kernel file that was handed in. Raises BrokenExercise for a broken exercise."""
    for exercise in exercises:
        _ = points_of(exercise.any_spec)

    def unit(target: Target) -> Unit:
        name, content = target.exercise.name, target.kernel.read_bytes()
        return Unit(target.exercise, content, rules[name], versions, hardened)

    return Plan(
        settings=settings,
        exercises=tuple(exercises),
        hardened=hardened,
        entries=tuple(_entry(one, exercises, hardened, unit) for one in intake.handed_in),
        strangers=intake.strangers,
        problems=intake.problems,
    )


def _entry(
    one: HandedIn, exercises: Sequence[Exercise], hardened: bool, unit: Callable[[Target], Unit]
) -> Entry:
    if one.missing or one.folder is None:
        return Entry(one, fault=one.fault)
    try:
        targets = ci_targets.plan(exercises, one.folder)
    except GraderError as error:
        return Entry(one, fault=error.message)
    return Entry(one, tuple(_task(target, hardened, unit) for target in targets))


def _task(target: Target, hardened: bool, unit: Callable[[Target], Unit]) -> Task:
    if target.refused is not None:
        return Task(target, settled=ci.not_graded(target, *target.refused))
    if target.kernel.is_symlink():  # into the submission: the judge gets a copy, and no link
        target = replace(target, kernel=Path(os.path.realpath(target.kernel)))
    try:
        options = Options(hardened=hardened)
        check.must_be_gradable(Request(target.exercise, target.kernel, options))
        return Task(target, unit=unit(target))
    except GraderError as error:
        return Task(target, settled=ci.faulty(target, error))
    except OSError as error:
        return Task(
            target, settled=ci.not_graded(target, *ci_targets.no_access(target.shown, error))
        )


def students_of(plan: Plan) -> dict[str, list[str]]:
    """Return the logins of those who handed in each unit, keyed by the unit's id."""
    found: dict[str, list[str]] = {}
    for entry in plan.entries:
        for task in entry.tasks:
            if task.unit is not None:
                found.setdefault(task.unit.id, []).append(entry.handed_in.student.login)
    return found


def kept(plan: Plan, found: Found) -> Iterator[tuple[str, str]]:
    """Yield a student and a reason for each result that a regrade could not replace."""
    for entry in plan.entries:
        for task in entry.tasks:
            unit = task.unit.id if task.unit is not None else ""
            if unit in found.results and unit in found.faults:
                why = texts.one_line(found.faults[unit], LONGEST_WHY)
                name = task.target.exercise.name
                said = f"{name} could not be graded again; its earlier points stay: {why}"
                yield entry.handed_in.student.login, said


# -- the record


def attempts_of(plan: Plan, entry: Entry, found: Found) -> list[Attempt]:
    """Return an attempt for each exercise that has a result, even if that is not a verdict."""
    made = (_attempt(plan, entry, task, found) for task in entry.tasks)
    return [attempt for attempt in made if attempt is not None]


def _attempt(plan: Plan, entry: Entry, task: Task, found: Found) -> Attempt | None:
    key, result = _result(task, found)
    if result is None:
        return None
    shown = ci.as_shown(result, _graded_as(task.target, result))
    student = entry.handed_in.student.login
    return Attempt(
        id=store.attempt_id(
            {
                "course": plan.settings.name,
                "student": student,
                "exercise": task.target.exercise.name,
                "result": key or result.kernel.sha256,
                "seed": str(result.seed),
                "started_at": result.started_at if key else "",
                "submitted_at": entry.handed_in.submitted_at,
            }
        ),
        course=plan.settings.name,
        version=plan.settings.version,
        student=student,
        submitted_at=entry.handed_in.submitted_at or result.started_at,
        notes=(*entry.handed_in.notes, *task.target.notes),
        result=shown,
    )


def _graded_as(target: Target, result: Result) -> Target:
    """Return the target at the path at which the worker graded its copy."""
    return Target(target.exercise, Path(result.kernel.path), target.shown, target.notes)


def _result(task: Task, found: Found) -> tuple[str, Result | None]:
    if task.unit is None:
        return "", task.settled
    if task.unit.id in found.results:
        return found.results[task.unit.id]
    return "", found.unsettled.get(task.unit.id)


def record(plan: Plan, found: Found, made_at: str, complete: bool) -> ClassRun:
    """Make the record of the class from what is known by now."""
    graders = {
        environment.model_dump_json(): environment
        for _, result in found.results.values()
        for environment in [result.environment]
    }
    return ClassRun(
        course=plan.settings.name,
        version=plan.settings.version,
        exercises=tuple(exercise.name for exercise in plan.exercises),
        made_at=made_at,
        complete=complete,
        hardened=plan.hardened,
        graders=tuple(graders.values()),
        rows=tuple(_row(plan, entry, found) for entry in plan.entries),
        strangers=plan.strangers,
        problems=plan.problems,
    )


def _row(plan: Plan, entry: Entry, found: Found) -> ClassRow:
    one = entry.handed_in
    cells = tuple(_cells(plan, entry, found))
    standing = class_run.standing_of(cells)
    why = entry.fault if standing == "unreadable" else ""
    return ClassRow(
        student=one.student.login,
        name=one.student.name,
        group=one.student.group,
        section=one.student.section,
        submitted_at=one.submitted_at,
        due=one.student.due,
        place=one.place,
        standing=standing,
        why=texts.one_line(why),
        notes=one.notes,
        ids=dict(one.student.ids),
        cells=cells,
    )


def _cells(plan: Plan, entry: Entry, found: Found) -> Iterator[Cell]:
    if not entry.tasks:
        standing = "missing" if entry.handed_in.missing else "unreadable"
        for exercise in plan.exercises:
            most = sum(points_of(exercise.any_spec).values())
            yield Cell.model_validate(
                {
                    "exercise": exercise.name,
                    "standing": standing,
                    "max_points": most,
                    "why": texts.one_line(entry.fault, LONGEST_WHY),
                }
            )
        return
    for task in entry.tasks:
        yield _cell(plan, entry, task, found)


def _cell(plan: Plan, entry: Entry, task: Task, found: Found) -> Cell:
    name, most = task.target.exercise.name, sum(points_of(task.target.exercise.any_spec).values())
    attempt = _attempt(plan, entry, task, found)
    if attempt is None or attempt.result.status not in GRADED:
        why = found.faults.get(task.unit.id, "") if task.unit is not None else ""
        if not why and attempt is not None:
            why = why_of(attempt.result)
        return Cell(
            exercise=name,
            standing="not_graded",
            max_points=most,
            status=attempt.result.status if attempt is not None else "",
            why=texts.one_line(why or "It was not graded yet.", LONGEST_WHY),
            attempt=attempt.id if attempt is not None else "",
        )
    result = attempt.result
    empty = result.status is Status.NOT_STARTED and not result.points
    return Cell(
        exercise=name,
        standing="not_started" if empty else "graded",
        points=result.points,
        max_points=result.max_points,
        status=result.status,
        why=why_of(result),
        attempt=attempt.id,
    )


def why_of(result: Result) -> str:
    """Return in one sentence why a file has not all points; empty where it has."""
    step = first_problem(result)
    if step is None:
        return texts.one_line(result.message, LONGEST_WHY)
    said = step.failure.message if step.failure is not None else step.summary
    return texts.one_line(f"{step.name}: {said}", LONGEST_WHY)
