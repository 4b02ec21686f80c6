"""`grader ci`: grade, and report to the system that runs it."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import options, say
from grader.cli.deliver import deliver, log_message, require_writable
from grader.course import settings
from grader.model import UsageError, texts

if TYPE_CHECKING:
    from grader.classroom import Place, Target
    from grader.course import Exercise
    from grader.grading import Options
    from grader.model import Result
    from grader.reports import Context, Report

SCORES = ("classroom50", "gradescope", "prairielearn", "autolab")  # formats with one score
KEY = "GRADER_SIGNING_KEY"  # an environment variable: a private key as PEM

Hardened = Annotated[
    bool, typer.Option("--hardened", help="Exit with 3 if a kernel could reach too much.")
]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FORMAT[=PATH]", help="A report to write, instead of this system's own; repeatable."
    ),
]
Keyfile = Annotated[
    Path | None, typer.Option(metavar="KEYFILE", help="The private key for signed results.")
]
Submission = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Take the kernels from this repository.")
]
Student = Annotated[
    str | None, typer.Option(metavar="LOGIN", help="The student who handed them in.")
]
SubmittedAt = Annotated[
    str | None, typer.Option(metavar="TIME", help="The time of submission, ISO 8601.")
]
OutOf = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="For Classroom 50: the sum of all points."),
]
Changed = Annotated[bool, typer.Option("--changed", help="Grade only what the push changed.")]
RequireStarted = Annotated[
    bool, typer.Option("--require-started", help="Fail if an exercise is not started.")
]
ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit with 0, not 1, if kernels fail.")]


def ci(
    names: options.Names = None,
    every: options.All = False,
    device: options.OnDevice = options.Device.AUTO,
    hardened: Hardened = False,
    submission: Submission = None,
    student: Student = None,
    submitted_at: SubmittedAt = None,
    report: Formats = None,
    sign: Keyfile = None,
    out_of: OutOf = None,
    changed: Changed = False,
    require_started: RequireStarted = False,
    exit_zero: ExitZero = False,
) -> None:
    """Grade in CI, every exercise if none is named, and report in that system's format."""
    # Before any process is started: none of them may inherit the key.
    secret = os.environ.pop(KEY, None)
    from grader.classroom import ci as grading
    from grader.classroom import ci_systems, plan
    from grader.grading import Options
    from grader.reports import Report

    exercises = options.selected(names, every or not names)
    here = ci_systems.place(os.environ, _gradescope_metadata(ci_systems.AUTOGRADER))
    reports = [Report.parse(text) for text in (report or here.reports)]
    now = datetime.now(UTC)
    handed_in = ci_systems.submission_time(submitted_at, here, now)
    whose = ci_systems.student(student, here, submission)
    _require_possible(reports, here, whose)
    context = _context(here, exercises[0].root, submission, handed_in, now, out_of)
    context = _with_key(context, reports, sign, secret, hardened)
    chosen, said = _changed(exercises, reports, submission, here) if changed else (exercises, "")
    context = replace(context, require_started=require_started, scope=said)
    targets = plan(chosen, submission, here.system)
    printing = any(one.prints for one in reports)
    to_stderr = printing or here.system is not ci_systems.System.SHELL
    how = Options(device=device.value, hardened=hardened)
    results = _graded(targets, how, here, to_stderr)
    own = settings.read(exercises[0].root)
    made = grading.attempts_of(targets, results, own, whose, handed_in)
    deliver([document for one in reports for document in one.make(made, context)])
    nothing = changed and not targets
    raise typer.Exit(0 if nothing else grading.exit_code(results, exit_zero, require_started))


def _gradescope_metadata(folder: Path) -> str | None:
    if not (folder / "results").is_dir():
        return None
    try:
        return (folder / "submission_metadata.json").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _require_possible(reports: Sequence[Report], here: Place, student: str) -> None:
    from grader.classroom import CLASSROOM50

    if len([one for one in reports if one.prints]) > 1:
        names = ", ".join(one.name for one in reports if one.prints)
        raise UsageError(
            f"{names} all go to standard output.", "Give a file to all but one: FORMAT=PATH."
        )
    for path in (path for one in reports for path in one.files):
        require_writable(path)
    requested = {one.name for one in reports}
    if requested & {"attempt", "signed"} and not student.strip():
        raise UsageError(
            "An attempt names its student, and this system does not say who that is.",
            "Give --student LOGIN.",
        )
    missing = [name for field, name in CLASSROOM50.items() if not here.identity.get(field)]
    if "classroom50" in requested and missing:
        raise UsageError(
            f"The format classroom50 needs variables that are not set: {', '.join(missing)}.",
            "Use it on Classroom 50's runner, which sets them.",
        )


def _changed(
    exercises: Sequence[Exercise],
    reports: Sequence[Report],
    submission: Path | None,
    here: Place,
) -> tuple[Sequence[Exercise], str]:
    """Return what the push changed, and a sentence on it.

    Raises UsageError where a score of some exercises would pass for that of all.
    """
    from grader.classroom import ci_changes

    if submission is not None:
        raise UsageError(
            "--changed does not go with --submission: what counts is all that was handed in.",
            "Leave --changed out.",
        )
    if whole := [one.name for one in reports if one.name in SCORES]:
        raise UsageError(
            f"--changed does not go with --report {whole[0]}, which gives one score for all.",
            "Leave --changed out.",
        )
    scope = ci_changes.scope(exercises, ci_changes.base(here.system, os.environ))
    log_message(scope.sentence)
    return scope.exercises, scope.sentence


def _context(
    here: Place,
    root: Path,
    submission: Path | None,
    handed_in: str,
    now: datetime,
    out_of: int | None,
) -> Context:
    from grader.reports import Context

    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return Context(
        title=settings.read(root).title,
        submitted_at=handed_in,
        made_at=now.isoformat(timespec="seconds"),
        identity=here.identity,
        out_of=out_of,
        folder=None if submission else _folder_on_github(root),
        summary=Path(summary) if summary else None,
        summary_bytes=_size(summary),
    )


def _folder_on_github(root: Path) -> str | None:
    try:
        workspace = Path(os.environ.get("GITHUB_WORKSPACE") or root).resolve()
        return root.resolve().relative_to(workspace).as_posix().removeprefix(".")
    except ValueError:
        return None


def _size(path: str | None) -> int:
    try:
        return os.stat(path).st_size if path else 0
    except OSError:
        return 0


def _with_key(
    context: Context,
    reports: Sequence[Report],
    keyfile: Path | None,
    secret: str | None,
    hardened: bool,
) -> Context:
    if not any(one.name == "signed" for one in reports):
        if keyfile is not None:
            raise UsageError(
                "--sign needs --report signed, whose attempts it signs.", "Add --report signed."
            )
        return context
    if not hardened:
        raise UsageError(
            "Signed results need --hardened: without its walls a kernel file may read the key.",
            "Add --hardened, or use --report attempt, which is not signed.",
        )
    from grader.classroom import signing

    if keyfile is not None:
        try:
            pem = keyfile.read_bytes()
        except OSError as error:
            raise UsageError(
                f"The key {keyfile} cannot be read: {error.strerror}.", "Name a private key's file."
            ) from None
    elif secret is not None:
        pem = secret.encode()
    else:
        raise UsageError(
            "The format signed needs a key.",
            f"Give --sign KEYFILE, or put the key itself into the variable {KEY}.",
        )
    private = signing.private_key(pem, str(keyfile or KEY))
    return replace(context, sign=lambda attempts: signing.sign(attempts, private))


# -- the log of the job


def _graded(
    targets: Sequence[Target], how: Options, here: Place, to_stderr: bool
) -> Sequence[Result]:
    from grader.classroom import ci as grading
    from grader.grading import Request

    def request(target: Target) -> Request:
        return Request(target.exercise, target.kernel, how)

    with _without_github_commands(here):
        with sigterm_as_interrupt(), say.progress() as progress:
            results = grading.run(targets, request, progress)
        for target in targets:
            for note in target.notes:
                log_message(f"note: {note}")
        _show(results, to_stderr)
    return results


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Turn SIGTERM, which cancels a job, into KeyboardInterrupt: verdicts so far are reported."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _without_github_commands(here: Place) -> Iterator[None]:
    """Keep GitHub's runner from taking a line that is printed meanwhile for a command."""
    from grader.classroom import System

    if here.system not in (System.GITHUB, System.CLASSROOM50):
        yield
        return
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", file=sys.stderr, flush=True)


def _show(results: Sequence[Result], to_stderr: bool) -> None:
    """Print the reports for people, and to standard error, marked, what the kernels printed."""
    from grader.reports import terminal

    for result in results:
        if result.output:
            printed = texts.lines(result.output).rstrip()
            log_message(texts.barred(f"printed by {result.kernel.path}:\n{printed}"))
    reports = [terminal.check_report(result, say.width()) for result in results]
    if len(results) > 1:
        reports.append(terminal.several(results))
    for number, report in enumerate(reports):
        if to_stderr:
            log_message(report.plain)
            continue
        if number:
            say.show_text("")
        say.show(report)
