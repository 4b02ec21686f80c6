"""The commands for model solutions: `grader solutions publish`, `grader solution`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli import options, say
from grader.cli.standing import note, remembered
from grader.course import Exercise, catalog
from grader.course import progress as standings
from grader.model import BrokenExercise, UsageError, counted

if TYPE_CHECKING:
    from grader.classroom import Model, Shown
    from grader.course import Policy
    from grader.model import Result

app = typer.Typer(
    help="Publish the model solutions of a course.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def solutions() -> None:
    """Publish the model solutions of a course."""


@app.command()
def publish(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to make or to replace.")],
    when: Annotated[
        str | None,
        typer.Option(
            metavar="now|on-pass|after:DATE", help="Instead of `solutions` in course.toml."
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this exercise; repeatable.")
    ] = None,
    results: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Results of the solutions, as JSON; repeatable."),
    ] = None,
) -> None:
    """Write solutions, commentary, figures and mistakes as Markdown and as web pages."""
    chosen = options.selected(only, every=not only)
    exercises = [one for one in catalog.exercises(chosen[0].root) if one in chosen]
    from grader.classroom.publish import folder, models, records
    from grader.course import settings
    from grader.reports import solutions as pages

    course_settings = settings.read(exercises[0].root)
    policy = _policy(when, course_settings.solutions)
    course_settings = replace(course_settings, solutions=policy)
    now = datetime.now(UTC)
    if (day := records.future_release(policy, now)) is not None:
        made = pages.announced(course_settings, day)
        folder.write(out, made.files, made.record)
        say.message(f"{out}: solutions come on {day} (UTC); until then the folder only says so")
        return
    folder.require_free(out, course_settings.name)
    given = _results(results or [], now)
    published, left_out = models.collect(exercises, [result for _, result in given])
    for problem in left_out:
        say.message(f"warning: {problem}")
    if not published:
        raise UsageError(
            "There is no solution to publish.", "Run this in a course with a folder solutions/."
        )
    made = pages.published(course_settings, published)
    folder.write(out, made.files, made.record)
    _note_unmeasured(published, given if results else None)
    say.message(f"{out}: {counted(len(published), 'solutions')}, shown {_in_words(policy)}")
    if len(published) < len(exercises):
        raise typer.Exit(BrokenExercise.exit_code)


def _results(files: list[Path], now: datetime) -> list[tuple[str, Result]]:
    """Read results with their places, and warn of other files. Raises UsageError for no result."""
    from grader.classroom import documents
    from grader.classroom.publish import evidence

    given = evidence.read(files, now)
    for problem in documents.problem_lines(given.problems):
        say.message(f"warning: {problem}")
    if files and not given.things:
        raise UsageError(
            "No file that --results names holds a result of a solution.",
            "Make them with `grader check --all --solution --json`; signed attempts of students do "
            "not count.",
        )
    return given.things


def _note_unmeasured(published: Sequence[Model], given: list[tuple[str, Result]] | None) -> None:
    from grader.classroom import documents
    from grader.classroom.publish import evidence

    if given is None:
        say.message(
            "note: the pages show no measurements; run `grader check --all --solution --json` on a "
            "GPU, and give its output with --results"
        )
        return
    of_other_files = evidence.unused(
        given,
        {one.name: {one.sha256, *(each.sha256 for each in one.further)} for one in published},
    )
    for line in documents.problem_lines(of_other_files):
        say.message(f"note: {line}")
    for missing, names in _unmeasured(published).items():
        say.message(f"note: {', '.join(names)}: {missing}")


def _unmeasured(published: Sequence[Model]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for model in published:
        if model.evidence.missing:
            names.setdefault(model.evidence.missing, []).append(model.name)
    return names


def _policy(when: str | None, of_the_course: Policy) -> Policy:
    from grader.course import Policy, When

    try:
        policy = of_the_course if when is None else Policy.parse(when)
    except ValueError as error:
        raise UsageError(f"--when: {error}.", "Give --when now, for example.") from None
    if policy.when is When.NEVER:
        raise UsageError(
            f"The solutions of this course are never shown: {_source_of(when)}.",
            "Change `solutions` in course.toml, or give --when now, on-pass or after:YYYY-MM-DD.",
        )
    return policy


def _source_of(when: str | None) -> str:
    return "course.toml says so, or says nothing" if when is None else "--when says so"


def _in_words(policy: Policy) -> str:
    from grader.course import When

    if policy.when is When.ON_PASS:
        return "by `grader solution` to everyone who passes; the folder is open to all who have it"
    return "to everybody"


def solution(
    name: options.OneName,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="A folder of published solutions."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Another one of the exercise, such as fast.py."),
    ] = None,
) -> None:
    """Show the model solution of an exercise, if the course allows it."""
    if source is None:
        exercise = catalog.find(catalog.find_root(), name)
        shown, policy = _from_course(exercise, file)
    else:
        shown, policy = _from_folder(source, name, file)
    _require_allowed(policy, shown.name)
    from grader.reports import solution_terminal

    say.show(solution_terminal.solution(shown, say.width()))


def _from_course(exercise: Exercise, file: str | None) -> tuple[Shown, Policy]:
    from grader.classroom import Shown
    from grader.classroom.publish import folder, models
    from grader.classroom.publish.further import further
    from grader.classroom.publish.sources import text_of
    from grader.course import settings, with_solution

    policy = settings.read(exercise.root).solutions
    exercise = with_solution(exercise)
    if not exercise.solution.is_file():
        raise UsageError(
            f"This course holds no solution of {exercise.name}.",
            f"`grader solution {exercise.name} --from DIR` shows it from a folder of published "
            "solutions; ask whoever runs the course for one.",
        )
    title = exercise.any_spec.title
    others = {one.file: one for one in further(exercise, ())}
    if file is None:
        commentary = models.commentary_of(exercise)
        source = text_of(exercise.solution)
        return Shown(exercise.name, title, source, commentary, tuple(others)), policy
    if file not in others:
        raise folder.no_such_file(exercise.name, file, list(others))
    one = others[file]
    return Shown(exercise.name, title, one.source, one.text if one.own else "", file=file), policy


def _from_folder(source: Path, name: str, file: str | None) -> tuple[Shown, Policy]:
    from grader.classroom.publish import folder
    from grader.course import Policy

    record = folder.read(source)
    policy = Policy.parse(record.policy)
    _require_begun(policy)
    published = {one.name: one for one in record.exercises}
    meant = catalog.meant([Exercise(source / one) for one in published], name)
    if meant is None:
        names = ", ".join(published)
        raise UsageError(f"{source} holds no solution named {name!r}.", f"It holds {names}.")
    return folder.solution(source, published[meant.name], file), policy


def _require_begun(policy: Policy) -> None:
    from grader.classroom.publish import records

    if (day := records.future_release(policy, datetime.now(UTC))) is not None:
        raise UsageError(
            f"The solutions are shown from {day} on (0:00 UTC).",
            "`grader hint NAME` gives a hint.",
        )


def _require_allowed(policy: Policy, name: str) -> None:
    from grader.course import When

    if policy.when is When.NEVER:
        raise UsageError(
            "The solutions of this course are not shown.",
            f"`grader hint {name}` gives a hint.",
        )
    _require_begun(policy)
    if policy.when is When.ON_PASS:
        _require_passed(catalog.find(catalog.find_root(), name))


def _require_passed(exercise: Exercise) -> None:
    """Exit with the check's own code if the learner's kernel has not passed and does not pass."""
    if standings.standing_of(remembered(exercise.root), exercise.name).passed:
        return
    from grader.grading import Options, check
    from grader.model import Status, verdict
    from grader.reports import next_step

    say.message(
        f"the solution of {exercise.name} is shown once you pass; checking your kernel.py first"
    )
    with say.progress() as progress:
        request = check.Request(exercise, exercise.kernel, Options(device="auto"))
        (result,) = check.run([request], progress)
    note(standings.record(exercise.root, result))
    if result.status is Status.PASS:
        return
    ended = result.status.value.replace("_", " ")
    if result.status in (Status.FAIL, Status.NOT_STARTED):
        problem = verdict.first_problem(result)
        where = f" at {problem.name}" if problem else ""
        say.message(
            f"Not yet: your kernel ended as '{ended}'{where}. The solution teaches you more once "
            "you have worked through the exercise yourself."
        )
    else:
        say.message(
            f"The check could not decide whether your kernel passes: it ended as '{ended}'."
        )
    say.message(f"next: `grader check {exercise.name}` shows the whole report;")
    say.message(f"      {next_step(result)}")
    raise typer.Exit(verdict.exit_code([result]))
