"""The commands of a class's leaderboard: build, invalidate, verify."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import options, say
from grader.model import UsageError, counted, save_file

if TYPE_CHECKING:
    from datetime import datetime

    from grader.classroom import Collected, Site
    from grader.grading import Request
    from grader.model import Result

leaderboard = typer.Typer(help="The leaderboard of a class.", no_args_is_help=True)

Results = Annotated[
    list[Path],
    typer.Argument(metavar="RESULTS...", help="Files of attempts, or folders that hold them."),
]
Trust = Annotated[
    list[Path],
    typer.Option(metavar="PUBLIC.pem", help="Rank results signed with this key; repeatable."),
]

Wishes = Annotated[
    Path | None, typer.Option(metavar="CSV", help="Who wants a nickname, or wants to be left out.")
]
Baselines = Annotated[
    list[Path] | None,
    typer.Option(metavar="BENCH.json", help="Output of `grader bench --json`; repeatable."),
]
WhoIsWho = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write here, for you alone: who is who, and the ids of all attempts."
    ),
]


@leaderboard.command()
def build(
    results: Results,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the pages.")],
    trust: Trust,
    course_key: Annotated[
        Path, typer.Option(metavar="FILE", help="The course key, which makes the pseudonyms.")
    ],
    people: Wishes = None,
    decisions: options.Decided = None,
    baselines: Baselines = None,
    who: WhoIsWho = None,
) -> None:
    """Make the pages of a leaderboard from the results of a class."""
    import json
    from datetime import UTC, datetime

    from grader.classroom.board import baselines as benchmarks
    from grader.classroom.board import decisions as decided
    from grader.classroom.board import people as persons
    from grader.classroom.board import publish, site, wishes
    from grader.classroom.board.course_key import course_key as read_course_key
    from grader.classroom.board.forbidden import Forbidden
    from grader.course import catalog, settings
    from grader.reports import board as pages

    _require_separate_places(out, who)
    now = datetime.now(UTC)
    root = catalog.find_root()
    own = settings.read(root)
    tasks = site.tasks(catalog.exercises(root))
    key = read_course_key(course_key)
    preferences = {} if people is None else wishes.wishes(people)
    reasons = decided.reasons(decisions)
    known = benchmarks.read(baselines or [])
    with _many_objects():
        collected = _collect_some(results, trust, now, out)
        logins = {entry.student for entry in collected.entries}
        named, unmet = persons.named(logins, key, preferences)
        forbidden = Forbidden(logins | preferences.keys())
        group = site.Class(tasks, site.decided(collected.entries, reasons, forbidden), named)
        made = site.assemble(own, group, known, now)
        publish.write(out, {publish.DOCUMENT: publish.to_json(made), **pages.pages(made)})
    if who is not None:
        save_file(who, json.dumps(site.who_is_who(group), indent=1) + "\n", mode=0o600)
    ids = {entry.id for entry in collected.entries}
    for sentence in (*unmet, *decided.unknown(decisions, reasons, ids)):
        say.message(sentence)
    left_out = sum(problem.count for problem in collected.problems)
    typer.echo(f"{out}: {_contents(made)}; {left_out:,} left out")


def _contents(made: Site) -> str:
    attempts = sum(len(student.tried) for student in made.students)
    return (
        f"{counted(len(made.boards), 'boards')}, {counted(len(made.students), 'students')}, "
        f"{counted(attempts, 'attempts')}"
    )


def _require_separate_places(out: Path, who: Path | None) -> None:
    from grader.classroom.board import publish

    publish.require_replaceable(out)
    if who is not None and who.resolve().is_relative_to(out.resolve()):
        raise UsageError(
            f"{who} lies in {out}, which is published, and it says who is behind each pseudonym.",
            "Name a file elsewhere.",
        )


def _collect_some(results: list[Path], trust: list[Path], now: datetime, out: Path) -> Collected:
    collected = _collect(results, trust, now)
    if collected.problems and not collected.entries:
        raise UsageError(
            f"No file can be used, for the reasons above; {out} was left as it was.",
            "Check that --trust names the key that signed these results, and that they belong to "
            "this course.",
        )
    return collected


@leaderboard.command()
def invalidate(
    attempt: Annotated[
        str, typer.Argument(metavar="ID", help="The attempt's id, or its first characters.")
    ],
    results: Results,
    trust: Trust,
    reason: Annotated[str, typer.Option(help="Shown beside the attempt.")],
    decisions: Annotated[
        Path, typer.Option(metavar="FILE", help="The file that records such decisions.")
    ],
    by: Annotated[
        str | None, typer.Option(envvar="USER", help="Who decides; never published.")
    ] = None,
) -> None:
    """Take one attempt back, with a reason: it no longer ranks."""
    from datetime import UTC, datetime

    from grader.classroom.board import decisions as decided
    from grader.model import stamp

    now = datetime.now(UTC)
    known = {entry.id for entry in _collect(results, trust, now).entries}
    whole = decided.whole_id(attempt, known)
    one = decided.Invalidated(attempt=whole, reason=reason, by=by or _user(), at=stamp(now))
    decided.invalidate(decisions, one)
    typer.echo(f"{decisions}: {whole} no longer counts")
    say.message(
        f"next: build the board and the exports again, each with --decisions {decisions}; the "
        "earlier ones still count the attempt"
    )


@leaderboard.command()
def verify(
    results: Results,
    trust: Trust,
    sources: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder with the kernel files, at any depth.")
    ],
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Leaders to run, of each board.")
    ] = 3,
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each kernel.")] = 3,
    decisions: options.Decided = None,
) -> None:
    """Run the leaders of each board again on this GPU, from their source, side by side."""
    from datetime import UTC, datetime

    from grader.classroom import documents
    from grader.classroom.board import decisions as decided
    from grader.classroom.board import rerun
    from grader.course import catalog
    from grader.grading import with_step
    from grader.reports import rerun as text

    if not sources.is_dir():
        raise UsageError(f"There is no folder {sources}.", "Name the folder with the kernel files.")
    _require_gpu()
    reasons = decided.reasons(decisions)
    collected = _collect(results, trust, datetime.now(UTC)).entries
    entries = [entry for entry in collected if entry.id not in reasons]
    found, unusable = rerun.sources(sources)
    for line in documents.problem_lines(unusable):
        say.message(line)
    timed = with_step(catalog.exercises(catalog.find_root()), "speed")
    reruns = rerun.rerun(timed, entries, top, found, rounds, _grade)
    if not reruns:
        raise UsageError("No attempt ranks on any board.", "The reasons are listed above.")
    for line in text.lines(reruns):
        say.show_text(line)
    raise typer.Exit(0 if rerun.all_confirmed(reruns) else 1)


def _require_gpu() -> None:
    from grader.machine import devices
    from grader.model import CannotGrade

    try:
        devices.choose_device("cuda")
    except CannotGrade as error:
        raise CannotGrade(error.message, "Run this on a machine with a CUDA GPU.") from None


def _grade(requests: Sequence[Request]) -> list[Result]:
    from grader.grading import check

    with say.progress() as progress:
        return check.run(
            requests, progress, lambda result: progress(f"graded {result.kernel.path}")
        )


def _user() -> str:
    """Return the user's name where the variable USER has none. Raises UsageError."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise UsageError(
            "The system knows no name of this user.", "Give --by NAME: it names who decides."
        ) from None


@contextmanager
def _many_objects() -> Iterator[None]:
    """Switch the garbage collector off while the attempts of a class are in memory.

    The attempts hold no reference cycles, and scanning millions of objects took longer than all
    other work.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # nor does it scan them later: reference counts free them
        gc.enable()


def _collect(results: list[Path], trust: list[Path], now: datetime) -> Collected:
    from grader.classroom import context_of, documents
    from grader.classroom.board import collect
    from grader.course import catalog

    collected = collect.collect(results, context_of(catalog.find_root(), trust, now))
    for line in documents.problem_lines(collected.problems):
        say.message(line)
    return collected
