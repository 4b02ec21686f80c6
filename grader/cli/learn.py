"""The commands that a learner works with: list, show, check."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from grader.cli import cases, deliver, options, say, standing
from grader.cli.stopwatch import STOPWATCH
from grader.course import Exercise, catalog
from grader.course import progress as standings
from grader.model import TARGETS, BrokenExercise, Status, UsageError, save_file

if TYPE_CHECKING:
    from rich.text import Text

    from grader.authoring import LintFinding
    from grader.grading import Request
    from grader.model import Result, Trace


class CheckCommand(TyperCommand):
    """`grader check`, whose error for an option of `grader show` says what to type."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if unknown := [arg for arg in args if arg in ("--trace", "--html")]:
            name = args[0] if not args[0].startswith("-") else "NAME"
            raise UsageError(
                f"`grader check` has no {unknown[0]}: it draws the case that fails, whole with -v.",
                f"Type `grader show {name} --trace` for a picture of kernel.py, with "
                "`--html FILE` as a page.",
            )
        return super().parse_args(ctx, args)


MOST_NOTES = 3  # below a check; `grader lint` lists all

Solution = Annotated[bool, typer.Option("--solution", help="Grade the model solution instead.")]
KernelFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Grade this file instead.")]
Require = Annotated[
    options.Demand | None, typer.Option(help="Exit with 3 if speed cannot be measured.")
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, max=2**63 - 1, help="Draw the same cases as the run with this seed."),
]
OnlyCase = Annotated[
    str | None,
    typer.Option(metavar="REPRO", help="Try only this case, such as 1x1025,float16,seed=7."),
]
Sanitize = Annotated[
    bool, typer.Option("--sanitize", help="Also look for races and stray accesses, on a GPU.")
]
Targets = Annotated[
    list[int] | None,
    typer.Option(
        metavar="CAPABILITY", help="Also compile for this GPU, such as 75 or 100. Repeatable."
    ),
]
Hardened = Annotated[
    bool, typer.Option("--hardened", help="Exit with 3 if a kernel could reach too much.")
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Print the traceback if the grader itself fails.")
]


def check(
    names: options.Names = None,
    every: options.All = False,
    solution: Solution = False,
    kernel: KernelFile = None,
    backend: options.Language = None,
    device: options.OnDevice = options.Device.AUTO,
    require: Require = None,
    seed: Seed = None,
    case: OnlyCase = None,
    gpu_memory: options.GpuMemory = None,
    sanitize: Sanitize = False,
    target: Targets = None,
    hardened: Hardened = False,
    debug: Debug = False,
    verbose: options.Verbose = False,
    json: options.Json = False,
) -> None:
    """Grade kernels: whether they are right, and how fast they are."""
    chosen = options.selected_files(names, every)
    exercises = options.written_in(chosen, backend, every)
    if hardened and sanitize:
        raise UsageError(
            "--sanitize runs the kernel under a tool that does not work behind the "
            "walls of --hardened.",
            "Leave out --hardened or --sanitize.",
        )
    _require_targets(target or [])
    _require_one_file(len(exercises), kernel, solution, case)
    _require_free_choice(kernel, backend)
    from grader.grading import Options, Request, new_seed

    how = Options(
        seed=new_seed() if seed is None else seed,
        device=device.value,
        case=None if case is None else cases.case_of(exercises[0], case, device.value),
        require_speed=require is options.Demand.SPEED,
        gpu_memory=options.in_bytes(gpu_memory),
        sanitize=sanitize,
        targets=tuple(target or ()),
        hardened=hardened,
        picture=len(exercises) == 1 and not json,
        debug=debug,
    )
    requests = [
        Request(exercise, options.kernel_file(exercise, kernel, solution), how)
        for exercise in exercises
    ]
    own = kernel is None and not solution and case is None
    raise typer.Exit(_check(requests, verbose, json, remember=own))


def _require_targets(targets: Sequence[int]) -> None:
    unknown = [target for target in targets if target not in TARGETS]
    if unknown:
        raise UsageError(
            f"--target {unknown[0]} is no GPU that the grader knows.",
            f"Its compute capability without the point is one of {', '.join(map(str, TARGETS))}.",
        )


def _require_one_file(
    exercises: int, kernel: Path | None, solution: bool, case: str | None
) -> None:
    if solution and kernel:
        raise UsageError("--solution and --kernel each name the file to grade.", "Give only one.")
    if exercises > 1 and (kernel or case is not None):
        raise UsageError(
            f"{'--kernel' if kernel else '--case'} belongs to one exercise, not to {exercises}.",
            "Name that one exercise.",
        )


def _require_free_choice(kernel: Path | None, backend: str | None) -> None:
    if kernel and backend:
        raise UsageError(
            "--backend names a file of the course, and --kernel names another one.",
            "Leave out --backend: what the file imports says its language.",
        )


def _load_reports() -> None:
    """Load what prints results while the judge ends its processes: nobody waits for it then."""
    for name in ("terminal", "trace_terminal"):
        import_module(f"grader.reports.{name}")


def _check(requests: Sequence[Request], verbose: bool, json: bool, remember: bool) -> int:
    from grader.grading import check

    traces: list[Trace] = []
    ended: list[float] = []  # seconds from the start of the command to each result
    notices: list[str] = []

    def hear(result: Result) -> None:
        ended.append(STOPWATCH.seconds())
        if remember:
            notices.append(standings.record(requests[0].exercise.root, result).notice)
        if not json:
            _load_reports()

    with say.progress() as progress:
        graded = check.run(requests, progress, hear, traces.append, progress.step)
    if remember and traces:
        from grader.course import history

        history.keep_picture(requests[0].exercise.root / standings.STATE, traces[0])
    for notice in dict.fromkeys(filter(None, notices)):
        say.message(f"note: {notice}")
    # After the last result its picture was drawn.
    ended[len(graded) - 1 :] = [STOPWATCH.seconds()]
    from grader.model import results, texts, verdict

    for number, result in enumerate(graded):
        if result.output:
            say.message(texts.barred(f"printed by {result.kernel.path}:\n{result.output.rstrip()}"))
        if json:
            say.write_json(results.result_json(result).encode())
            continue
        if number:
            say.show_text("")
        waited_s = ended[number] - (ended[number - 1] if number else 0.0)
        say.show(_report(requests[number], result, waited_s, traces, verbose))
    if len(requests) > 1 and not json:
        from grader.reports import terminal

        say.show_text("")
        say.show(terminal.several(graded))
    return verdict.exit_code(graded) if len(graded) == len(requests) else _incomplete(graded)


def _report(
    request: Request, result: Result, waited_s: float, traces: Sequence[Trace], verbose: bool
) -> Text:
    from grader.reports import terminal, trace_terminal

    exercise = request.exercise
    following = standings.following_on(exercise, standings.read(exercise.root))
    pictures = [trace_terminal.drawing(one, width=say.width(), brief=True) for one in traces]
    return terminal.check_report(
        result,
        say.width(),
        following.name if following else None,
        notes=_lessons_in(request.kernel, result),
        picture=pictures[0] if pictures else None,
        excerpt=_excerpt(traces[0], pictures[0]) if traces else None,
        waited_s=waited_s,
        brief=not verbose,
    )


def _excerpt(trace: Trace, picture: Text) -> Callable[[int], Text | None]:
    from grader.reports import trace_terminal

    return partial(trace_terminal.excerpt, trace, picture, say.width())


def _lessons_in(kernel: Path, result: Result) -> Sequence[LintFinding]:
    """Find what lessons warn of in a kernel that passed; another has more urgent faults."""
    if result.status is not Status.PASS:
        return ()
    from grader import authoring

    return authoring.lessons_in(kernel, result.kernel.sha256)[:MOST_NOTES]


def _incomplete(graded: Sequence[Result]) -> int:
    from grader.model import verdict

    return max(verdict.exit_code(graded), BrokenExercise.exit_code)


def list_exercises(
    as_map: Annotated[
        bool, typer.Option("--map", help="Show which exercises each one builds on.")
    ] = False,
) -> None:
    """List the exercises of this course."""
    from grader.course import course_map
    from grader.grading import points_of
    from grader.reports import contract

    exercises = catalog.exercises(catalog.find_root())
    if not exercises:
        raise UsageError("This course has no exercises yet.", "Add a folder with a spec.py.")
    if as_map:
        say.show(contract.map_of(course_map(exercises), say.width()))
        return
    known = standing.remembered(exercises[0].root)
    say.show(contract.course_list(exercises, known, say.width()))
    for exercise in exercises:
        _ = points_of(exercise.any_spec)  # a broken spec raises, after the table shows the others


def show(
    name: options.OneName,
    hints: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Print the first N hints instead.")
    ] = None,
    trace: Annotated[
        bool,
        typer.Option("--trace", help="Draw what each thread or lane of kernel.py does instead."),
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --trace: also write a web page.")
    ] = None,
    solution: Annotated[
        bool, typer.Option("--solution", help="With --trace: draw the model solution.")
    ] = False,
    kernel: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --trace: draw this file.")
    ] = None,
    case: Annotated[
        str | None, typer.Option(metavar="REPRO", help="With --trace: draw this case.")
    ] = None,
) -> None:
    """Show the contract of an exercise, or draw what the threads or programs of a kernel do."""
    exercise = catalog.find_entry(catalog.find_root(), name)
    if trace:
        _show_trace(exercise, options.kernel_file(exercise, kernel, solution), case, html)
        return
    if html or solution or kernel or case is not None:
        raise UsageError(
            "--html, --solution, --kernel and --case belong to --trace.", "Add --trace."
        )
    from grader.reports import contract

    if hints is not None:
        say.show(contract.hints(exercise, hints, say.width()))
        return
    say.show(contract.contract(exercise, say.width()))


def _show_trace(exercise: Exercise, kernel: Path, case: str | None, page: Path | None) -> None:
    from grader.grading import Options, Request, check

    only = None if case is None else cases.case_of(exercise, case, "cpu")
    if page is not None:
        deliver.require_writable(page)
    with say.progress() as progress:
        progress(f"drawing {exercise.name} …")
        trace = check.trace(Request(exercise, kernel, Options(case=only)))
    from grader.reports import trace_terminal

    say.show_text("")
    say.show(trace_terminal.drawing(trace, width=say.width(), lines=_lines()))
    if page is not None:
        from grader.reports import trace_html

        save_file(page, trace_html.page(trace))
        say.message(f"{page}: written; open it in a web browser")


def _lines() -> int | None:
    """Return how many lines a picture may fill; None if the output is not a terminal.

    Piped into a file or a pager, a picture is drawn in full.
    """
    return shutil.get_terminal_size().lines - 2 if sys.stdout.isatty() else None
