"""`grader grade` and `grader regrade`: a class of any size, on this machine or on a cluster."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import options, say
from grader.cli.ci import KEY, sigterm_as_interrupt
from grader.cli.deliver import log_message
from grader.cli.progress import Progress
from grader.course import catalog, settings
from grader.model import CannotGrade, GraderError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from grader.classroom import ClassOrder, Graded, RunState
    from grader.course import Exercise
    from grader.model import ClassRun

TELL_S = 15.0  # between two lines of progress in a log
PAGE_S = 1.0  # between two versions of the page
INTERRUPTED = 130

Chosen = Annotated[
    list[str] | None,
    typer.Option("--exercises", metavar="NAMES", help="Only these: 01,04; repeatable."),
]
Students = Annotated[
    list[str] | None,
    typer.Option("--students", metavar="LOGINS", help="Only these: ada,bob; repeatable."),
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Workers on this machine, or jobs of a batch system."),
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A dask scheduler that runs.")
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A batch system: a file that describes it, or slurm alone."),
]
Sign = Annotated[
    Path | None, typer.Option(metavar="KEYFILE", help="Sign the attempts with this private key.")
]


def grade(
    submissions: Annotated[
        Path, typer.Argument(metavar="SUBMISSIONS", help="A folder with what each handed in.")
    ],
    roster: Annotated[Path, typer.Option(metavar="CSV", help="The students of the class.")],
    out: Annotated[Path, typer.Option(metavar="RESULTS", help="The folder for the results.")],
    exercises: Chosen = None,
    students: Students = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on in RESULTS: grade what is not graded there.")
    ] = False,
    device: options.OnDevice = options.Device.AUTO,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    cluster: Cluster = None,
    not_hardened: Annotated[
        bool, typer.Option("--not-hardened", help="Grade where a kernel could reach too much.")
    ] = False,
    sign: Sign = None,
) -> None:
    """Grade a class: every student of the roster ends with one row."""
    os.environ.pop(KEY, None)  # no process may inherit the key
    _require_one_place(scheduler, cluster)
    from grader.classroom import ClassOrder

    order = ClassOrder(
        submissions=submissions,
        roster=roster,
        out=out,
        exercises=_exercises(exercises),
        students=_listed(students),
        resume=resume,
        device=device.value,
        hardened=not not_hardened,
        jobs=jobs,
        scheduler=scheduler,
        cluster=cluster,
        key=_key(sign, hardened=not not_hardened),
    )
    raise typer.Exit(_report(order, _graded(order)))


def regrade(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="The folder that `grader grade` wrote.")
    ],
    changed: Annotated[
        bool,
        typer.Option("--changed", help="Only what changed since: kernels, exercises, versions."),
    ] = False,
    exercises: Chosen = None,
    students: Students = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    cluster: Cluster = None,
    sign: Sign = None,
) -> None:
    """Grade a class again as before, and show whose points changed."""
    os.environ.pop(KEY, None)
    _require_one_place(scheduler, cluster)
    from grader.classroom import remembered
    from grader.reports import class_run as reports

    before = remembered(results, catalog.find_root())
    order = replace(
        before,
        exercises=_exercises(exercises) if exercises else before.exercises,
        students=_listed(students),
        again=not changed,
        jobs=jobs,
        scheduler=scheduler,
        cluster=cluster,
        key=_key(sign, before.hardened),
    )
    earlier = order.store.earlier()
    graded = _graded(order)
    if earlier is not None:
        say.show(reports.changes(earlier, graded.run, say.width()))
    raise typer.Exit(_report(order, graded))


def _require_one_place(scheduler: str | None, cluster: str | None) -> None:
    if scheduler is not None and cluster is not None:
        raise UsageError("--scheduler and --cluster exclude each other.", "Give only one.")


def _listed(given: Sequence[str] | None) -> tuple[str, ...]:
    parts = (part.strip() for text in given or () for part in text.split(","))
    return tuple(part for part in parts if part)


def _exercises(given: Sequence[str] | None) -> tuple[Exercise, ...]:
    root, named = catalog.find_root(), _listed(given)
    if not named:
        return tuple(options.selected(None, every=True))
    chosen = {catalog.find(root, name).name for name in named}
    return tuple(one for one in catalog.exercises(root) if one.name in chosen)


def _key(file: Path | None, hardened: bool) -> Ed25519PrivateKey | None:
    if file is None:
        return None
    if not hardened:
        raise UsageError(
            "Signed results need walls: without them a kernel file may read the key.",
            "Leave out --not-hardened, or --sign.",
        )
    from grader.classroom import signing

    try:
        return signing.private_key(file.read_bytes(), str(file))
    except OSError as error:
        raise UsageError(
            f"The key {file} cannot be read: {error.strerror}.", "Name a private key's file."
        ) from None


def _graded(order: ClassOrder) -> Graded:
    """Grade with what is shown meanwhile. An interruption names the command that goes on."""
    from grader.classroom import grade_class

    with sigterm_as_interrupt(), say.progress() as progress:
        shown = _Shown(progress, order)
        try:
            graded = grade_class(order, shown.say, shown.watch)
            shown.end("Graded")
            return graded
        except KeyboardInterrupt:
            shown.end("Interrupted")
        except CannotGrade:
            shown.end("Ended early")
            raise
    log_message("It was interrupted. What was graded is kept.")
    say.message(f"next: {_command_to_go_on()}")
    raise typer.Exit(INTERRUPTED)


def _command_to_go_on() -> str:
    command = ["grader", *sys.argv[1:]]
    if "grade" in command and "--resume" not in command:
        command.append("--resume")
    return shlex.join(command)


class _Shown:
    """Progress of a run: one changing line, in a log a line at times, and the page."""

    def __init__(self, progress: Progress, order: ClassOrder) -> None:
        self._progress, self._store = progress, order.store
        self._title = settings.read(order.root).title
        self._told = self._paged = 0.0
        self._last: RunState | None = None

    def say(self, text: str) -> None:
        log_message(text)

    def watch(self, state: RunState) -> None:
        from grader.reports import class_progress

        first, now = self._last is None, time.monotonic()
        self._last = state
        text = class_progress.words(state)
        self._progress.step(text, "")
        if now - self._told >= TELL_S:
            self._told = now
            self._progress(text)
        if now - self._paged >= PAGE_S:
            self._paged = now
            self._page("")
        if first:  # the page is there now
            log_message(f"watch it in a browser: {self._store.page}")

    def end(self, how: str) -> None:
        if self._last is not None:
            with suppress(GraderError):  # the disk may be what ended the run
                self._page(how)

    def _page(self, over: str) -> None:
        from grader.reports import class_progress

        assert self._last is not None
        now = datetime.now(UTC)
        self._store.write_page(class_progress.page(self._last, self._title, now, over))


def _report(order: ClassOrder, graded: Graded) -> int:
    from grader.reports import class_run as reports

    run, kept = graded.run, graded.kept
    say.show(reports.summary(run, say.width(), kept))
    failed = _failed(order, run)
    for line in reports.next_steps(run, order.out, failed, bool(kept)):
        say.message(line)
    return 3 if failed or kept else 0


def _failed(order: ClassOrder, run: ClassRun) -> bool:
    from grader.model import login_of

    names = {exercise.name for exercise in order.exercises}
    students = set(map(login_of, order.students))
    return any(
        cell.standing == "not_graded" and cell.exercise in names
        for row in run.rows
        if not students or login_of(row.student) in students
        for cell in row.cells
    )
