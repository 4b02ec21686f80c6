"""One order to grade a class, from its folder of submissions to the folder of results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from grader.classroom import signing
from grader.classroom.batch import cluster, collect, units
from grader.classroom.batch.collect import Found, Plan
from grader.classroom.batch.crew import Crew
from grader.classroom.batch.run import Batch, Say, Watch
from grader.classroom.batch.store import ORDER, Store
from grader.classroom.intake.roster import read_roster
from grader.classroom.intake.submissions import take_in
from grader.course import Exercise, catalog, settings
from grader.model import ClassRun, UsageError, login_of, texts


@dataclass(frozen=True)
class ClassOrder:
    """An order to grade: the class, the workers, and where the results go.

    `exercises` and `students` (logins; none for all) choose what is graded now. The record has all
    students of the roster, and the exercises of earlier runs too. `again` grades it even if there
    is a result.
    """

    submissions: Path
    roster: Path
    out: Path
    exercises: tuple[Exercise, ...]
    students: tuple[str, ...] = ()
    resume: bool = False
    again: bool = False
    device: str = "auto"
    hardened: bool = True
    jobs: int | None = None
    scheduler: str | None = None
    cluster: str | None = None
    key: Ed25519PrivateKey | None = field(default=None, repr=False)

    @property
    def store(self) -> Store:
        return Store(self.out)

    @property
    def root(self) -> Path:
        return self.exercises[0].root


@dataclass(frozen=True)
class Graded:
    """The record of a class; `kept` has a student and a reason for points that a regrade left."""

    run: ClassRun
    kept: tuple[tuple[str, str], ...] = ()


def grade_class(order: ClassOrder, say: Say, watch: Watch) -> Graded:
    """Grade, write all results, and return the record of the class.

    An interruption (KeyboardInterrupt) or an error writes the record of what is known, and goes on.
    Raises UsageError, CannotGrade and BrokenExercise.
    """
    cluster.require_dask()
    course, store = settings.read(order.root), order.store
    store.require_fitting(course.name, order.resume)
    roster = read_roster(order.roster)
    _require_known(order.students, [student.login for student in roster.students])
    with store.open():
        exercises = _all_exercises(order)
        rules = units.rules_of_all(exercises)
        versions = units.versions()
        intake = take_in(order.submissions, roster, exercises, store.work)
        plan = collect.plan(intake, exercises, course, rules, versions, order.hardened)
        for problem in (*plan.problems, *plan.strangers):
            say(problem)
        # An interruption before the workers are there must not hide what was graded before.
        models = _models(order.out)
        found = Found(store.known(plan.units, models))
        _remember(order, exercises, models)
        write(plan, found, order, complete=False)
        complete = False
        try:
            with _workers(order) as client:
                batch = Batch(
                    plan=plan,
                    root=order.root,
                    rules=rules,
                    versions=versions,
                    device=order.device,
                    store=store,
                    crew=Crew(client),
                    say=say,
                    watch=watch,
                    remember=lambda new: _remember(order, exercises, {*models, *new}),
                    chosen=_chosen(order, plan),
                    again=order.again,
                    found=found,
                )
                batch.run()
                _remember(order, exercises, batch.models)
            complete = True
        finally:
            run = write(plan, found, order, complete=complete)
    return Graded(run, tuple(collect.kept(plan, found)))


def _require_known(named: Sequence[str], logins: Sequence[str]) -> None:
    known = set(map(login_of, logins))
    for login in named:
        if login_of(login) not in known:
            raise UsageError(
                f"The roster has no student {texts.quoted(login)}.",
                "Name logins as the roster has them.",
            )


def _all_exercises(order: ClassOrder) -> tuple[Exercise, ...]:
    """Return the exercises of this run and of earlier ones, in the order of the course."""
    before = order.store.earlier()
    names = {one.name for one in order.exercises} | set(before.exercises if before else ())
    return tuple(one for one in catalog.exercises(order.root) if one.name in names)


def _chosen(order: ClassOrder, plan: Plan) -> frozenset[str]:
    exercises = {one.name for one in order.exercises}
    students = set(map(login_of, order.students))
    return frozenset(
        task.unit.id
        for entry in plan.entries
        if not students or login_of(entry.handed_in.student.login) in students
        for task in entry.tasks
        if task.unit is not None and task.target.exercise.name in exercises
    )


@contextmanager
def _workers(order: ClassOrder) -> Iterator[Any]:
    if order.scheduler is not None:
        at = cluster.scheduler(order.scheduler)
    elif order.cluster is not None:
        at = cluster.queued(order.cluster, order.jobs)
    else:
        at = cluster.local(order.jobs, order.device)
    with at as client:
        yield client


def write(plan: Plan, found: Found, order: ClassOrder, complete: bool) -> ClassRun:
    """Write what follows from the results: each student's attempts, and the class's record."""
    store = order.store
    store.forget_others([entry.handed_in.student.login for entry in plan.entries])
    for entry in plan.entries:
        attempts = collect.attempts_of(plan, entry, found)
        signed = [signing.sign(attempts, order.key)] if order.key and attempts else attempts
        store.write_attempts(entry.handed_in.student.login, signed)
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    run = collect.record(plan, found, made_at, complete)
    store.write_class(run)
    return run


# -- the order itself, for `grader regrade`


def _remember(order: ClassOrder, exercises: Sequence[Exercise], models: Iterable[str]) -> None:
    kept = {
        "submissions": str(order.submissions.resolve()),
        "roster": str(order.roster.resolve()),
        "exercises": [exercise.name for exercise in exercises],
        "device": order.device,
        "hardened": order.hardened,
        "models": sorted(models),
    }
    order.store.write_order(json.dumps(kept, indent=1) + "\n")


def _models(out: Path) -> list[str]:
    """Return the GPU models of the last run, `cpu` for one without GPUs; empty if none was made."""
    try:
        return [str(model) for model in json.loads((out / ORDER).read_bytes())["models"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def remembered(out: Path, root: Path) -> ClassOrder:
    """Return the order of the last run in a folder of results. Raises UsageError."""
    try:
        kept = json.loads((out / ORDER).read_bytes())
        return ClassOrder(
            submissions=Path(kept["submissions"]),
            roster=Path(kept["roster"]),
            out=out,
            exercises=tuple(catalog.find(root, name) for name in kept["exercises"]),
            resume=True,
            device=str(kept["device"]),
            hardened=kept["hardened"] is not False,
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"{out} has no results of `grader grade`.", "Name the folder that was its --out."
        ) from None
