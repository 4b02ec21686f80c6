"""Assembly of a class's pages from its attempts, without anything that must not be published."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from grader.classroom.board import baselines, rank, standings
from grader.classroom.board.baselines import Baseline
from grader.classroom.board.entries import Entry
from grader.classroom.board.forbidden import Forbidden
from grader.classroom.board.people import Person
from grader.classroom.board.records import Board, Row, Site, State, Student, Tried
from grader.course import Exercise, Settings
from grader.grading import has_step, kind_of, points_of
from grader.model import Gates, stamp, texts
from grader.speed import mean_gates

LONGEST_GPU = 80  # characters of a GPU's name


@dataclass(frozen=True)
class Task:
    """An exercise as a board shows it. One without a speed to grade has no `gates` and no board.

    If it has no kernel, `backend` holds the name of its kind.
    """

    name: str
    title: str
    backend: str
    gates: Gates | None
    max_points: int


@dataclass(frozen=True)
class Class:
    """A class: its exercises, its attempts, oldest first, and the people on the board, by login."""

    tasks: tuple[Task, ...]
    entries: tuple[Entry, ...]
    people: Mapping[str, Person]


def tasks(exercises: Iterable[Exercise]) -> tuple[Task, ...]:
    return tuple(map(_task, exercises))


def _task(exercise: Exercise) -> Task:
    spec = exercise.any_spec
    kind = kind_of(spec)
    # The first part whose speed is graded: of a file with several entries, each has its own gates.
    timed = next((part for part in exercise.parts if has_step(part.any_spec, "speed")), None)
    gates = None if timed is None else mean_gates(timed.spec)
    most = sum(points_of(spec).values())
    return Task(exercise.name, spec.title, kind.backend(spec) or kind.name, gates, most)


def decided(
    entries: Iterable[Entry], reasons: Mapping[str, str], forbidden: Forbidden
) -> tuple[Entry, ...]:
    """Apply a teacher's decisions to the attempts, in words that may be published."""
    return tuple(
        entry
        if entry.id not in reasons
        else entry._replace(
            state=State.INVALIDATED,
            note=forbidden.without(texts.clean_line(reasons[entry.id])),
            figures=None,
        )
        for entry in entries
    )


def assemble(
    settings: Settings, group: Class, known: Sequence[Baseline], made_at: datetime
) -> Site:
    """Build the whole site. Students who are not in `group.people` leave no trace."""
    group = replace(group, entries=_publishable(group, known))
    timed = [task for task in group.tasks if task.gates is not None]
    best = rank.best_of(group.entries)
    counted = standings.counted(group.entries)
    return Site(
        course=settings.name,
        title=settings.title,
        version=settings.version,
        made_at=stamp(made_at),
        exercises=len(group.tasks),
        tallies=standings.tallies([(t.name, t.title, t.max_points) for t in group.tasks], counted),
        boards=tuple(_board(task, group, best.get(task.name, {}), known) for task in timed),
        standings=standings.standings(
            group.people, counted, [best.get(task.name, {}) for task in timed]
        ),
        students=tuple(_students(group)),
    )


def _publishable(group: Class, known: Sequence[Baseline]) -> tuple[Entry, ...]:
    """Drop hidden students' attempts, and the name of a GPU that only untrusted files name."""
    gpus = {baseline.row.gpu for baseline in known}
    gpus |= {e.figures.gpu for e in group.entries if e.trusted and e.figures is not None}
    names = {gpu: texts.clean_line(gpu, LONGEST_GPU) for gpu in gpus}
    return tuple(
        entry
        if entry.figures is None or names.get(entry.figures.gpu) == entry.figures.gpu
        else entry._replace(figures=entry.figures._replace(gpu=names.get(entry.figures.gpu, "")))
        for entry in group.entries
        if entry.student in group.people
    )


def _board(task: Task, group: Class, best: rank.Best, known: Sequence[Baseline]) -> Board:
    assert task.gates is not None
    ranked = rank.leaders(best)
    places = rank.places([rank.span(entry.figures) for entry in ranked if entry.figures])
    rows = [
        replace(_row(group.people[entry.student], entry, best), rank=place, close=close)
        for entry, (place, close) in zip(ranked, places, strict=True)
    ]
    others = [entry for entry, _ in best.values() if entry.state is not State.RANKED]
    rows += sorted((_row(group.people[e.student], e, best) for e in others), key=_by_state)
    limits = [baseline.row for baseline in known if baseline.exercise == task.name]
    ceilings = defaultdict(list)
    for figures in (entry.figures for entry in ranked):
        assert figures is not None
        ceilings[figures.gpu].append(figures.ceiling_gbps)
    for gpu in ceilings.keys() - {row.gpu for row in limits}:
        limits.append(baselines.limit(gpu, statistics.median(ceilings[gpu])))
    return Board(
        exercise=task.name,
        title=task.title,
        backend=task.backend,
        passing=task.gates.passing,
        great=task.gates.great,
        rows=(*rows, *baselines.one_for_all_gpus(limits)),
    )


def _row(person: Person, entry: Entry, best: rank.Best) -> Row:
    figures = entry.figures
    row = Row(
        who=person.who,
        key=person.key,
        state=entry.state,
        attempts=best[entry.student][1],
        when=entry.when,
        note=entry.note,
    )
    if figures is None:
        return row
    return replace(
        row,
        gpu=figures.gpu,
        share=figures.share,
        share_low=figures.share_low,
        share_high=figures.share_high,
        bandwidth_gbps=figures.bandwidth_gbps,
        ceiling_gbps=figures.ceiling_gbps,
        time_ms=figures.time_ms,
    )


def _by_state(row: Row) -> tuple[int, float, str, str]:
    return (rank.FURTHEST.index(row.state), -(row.share or 0.0), row.when, row.who)


def _students(group: Class) -> list[Student]:
    histories = defaultdict(list)
    for entry in group.entries:
        histories[entry.student].append(_tried(entry))
    students = [
        Student(group.people[login].who, group.people[login].key, tuple(history))
        for login, history in histories.items()
    ]
    return sorted(students, key=lambda student: (student.who, student.key))


def _tried(entry: Entry) -> Tried:
    figures = entry.figures
    return Tried(
        exercise=entry.exercise,
        when=entry.when,
        state=entry.state,
        points=entry.points,
        max_points=entry.max_points,
        gpu="" if figures is None else figures.gpu,
        share=None if figures is None else figures.share,
        share_low=None if figures is None else figures.share_low,
        share_high=None if figures is None else figures.share_high,
        note=entry.note,
    )


def who_is_who(group: Class) -> list[dict[str, object]]:
    """List everybody who handed in, and the id of each attempt, oldest first: for the teacher only.

    A hidden student has neither a name nor a page. A board shows the attempt that `counts`.
    """
    counting = {best.id for own in rank.best_of(group.entries).values() for best, _ in own.values()}
    attempts = defaultdict(list)
    for entry in group.entries:
        attempts[entry.student].append(
            {
                "id": entry.id,
                "exercise": entry.exercise,
                "when": entry.when,
                "state": entry.state.value,
                "points": entry.points,
                "counts": entry.id in counting and entry.student in group.people,
            }
        )
    nobody = Person("", "")
    rows = [(group.people.get(login, nobody), login) for login in attempts]
    return [
        {
            "who": person.who,
            "student": login,
            "page": person.key,
            "hidden": person is nobody,
            "attempts": attempts[login],
        }
        for person, login in sorted(rows, key=lambda row: (row[0].who, row[1]))
    ]
