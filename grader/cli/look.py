"""The commands that inspect and grade nothing: bench, lint, doctor."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from grader.cli import options, say
from grader.course import catalog
from grader.model import UsageError


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME|PATH", help="An exercise.")],
    kernel: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Measure this file instead.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Measure this file beside it; repeatable."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Plot bandwidth and a roofline into this PNG, SVG or PDF."
        ),
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Add the counters of Nsight Compute.")
    ] = False,
    gpu_memory: options.GpuMemory = None,
    json: options.Json = False,
) -> None:
    """Compare a kernel with torch and the solution, over a range of sizes, on a GPU."""
    (exercise,) = options.selected_files([name], False)
    _ = exercise.spec.timed  # a puzzle raises, before a missing GPU does
    if plot is not None:
        from grader.reports import plots

        plots.require_writable(plot)
    from grader.grading import bench, contenders
    from grader.reports import bench as rendered
    from grader.speed import profile as profiler

    entrants = contenders(exercise, kernel or exercise.kernel, against or [])
    with say.progress() as progress:
        measured = bench.run(exercise, entrants, progress, options.in_bytes(gpu_memory))
        if profile:
            spec = exercise.for_file(entrants[0].kernel).spec
            digest = profiler.run(spec, entrants[0].kernel, options.in_bytes(gpu_memory))
            measured = measured.model_copy(update={"profile": digest})
    if plot is not None:
        plots.draw(measured, plot)
    if json:
        say.write_json(measured.model_dump_json(by_alias=True).encode())
    else:
        say.show_text(rendered.report(measured))


def lint(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Kernel files.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if there is a finding.")
    ] = False,
    sarif: Annotated[
        bool,
        typer.Option("--sarif", help="Print one SARIF 2.1.0 log of all files, and nothing else."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Point out lines of kernel files that a teacher would look at. Runs nothing."""
    if sarif and json:
        raise UsageError("--sarif and --json are two forms of one output.", "Give only one.")
    from grader.authoring.lint import review
    from grader.course import use_extensions
    from grader.reports import lint
    from grader.reports import sarif as log

    with suppress(UsageError):  # outside of a course there are no extensions to load
        use_extensions(catalog.find_root())
    contents = [(path, review.read(path)) for path in dict.fromkeys(files)]
    reviews = [review.review(_in_utf8(path), content) for path, content in contents]
    if sarif:
        say.write_json(log.to_json(reviews, Path.cwd()).encode())
    elif json:
        for one in reviews:
            say.write_json(one.model_dump_json(by_alias=True).encode())
    else:
        say.show(lint.report(reviews, say.width()))
    raise typer.Exit(int(strict and any(one.findings for one in reviews)))


def _in_utf8(path: Path) -> str:
    # JSON has no form for a byte that is no UTF-8.
    return path.as_posix().encode("utf-8", "backslashreplace").decode("utf-8")


def doctor(verbose: options.Verbose = False, json: options.Json = False) -> None:
    """List what works on this machine, what does not, and how to fix it."""
    from grader.doctor import examine, records
    from grader.reports import doctor

    with say.progress() as progress:
        examination = examine.run(progress)
    if json:
        say.write_json(examination.model_dump_json(by_alias=True).encode())
    else:
        say.show(doctor.report(examination, say.width(), brief=not verbose))
    raise typer.Exit(records.exit_code(examination))
