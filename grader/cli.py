"""The command line: argv to one call to an exit code. Only this module prints.

Results go to standard output, and nothing else does; progress, messages and what a kernel printed
go to standard error. `grader --help` and `grader list` must answer at once, so that each command
imports what it needs when it runs.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader import course, stub
from grader.course import Exercise
from grader.errors import BrokenExercise, GraderError, UsageError
from grader.spec import Case

if TYPE_CHECKING:
    from rich.text import Text

    from grader.check import Request
    from grader.results import Result

app = typer.Typer(
    name="grader",
    help="Learn to write memory-bound GPU kernels, and have them judged.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


BROKEN = BrokenExercise.exit_code


class Device(StrEnum):
    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class Demand(StrEnum):
    SPEED = "speed"


Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME|PATH]...", help="Exercises: a name, its number, or a path."),
]
All = Annotated[bool, typer.Option("--all", help="Every exercise of the course.")]
OnDevice = Annotated[Device, typer.Option(help="Where kernels run; auto takes a GPU if it can.")]
GpuMemory = Annotated[
    float | None,
    typer.Option(min=0.1, metavar="GIB", help="Time sizes that fit a GPU with this memory."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line, and nothing else.")]


def main(argv: Sequence[str] | None = None) -> int:
    """The single exit: run one command line and say how it went (see grader.errors)."""
    try:
        typer.main.get_command(app).main(
            args=None if argv is None else list(argv), prog_name="grader"
        )
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else BROKEN
    except KeyboardInterrupt:
        _tell("interrupted: nothing of this check counts")
        return 130
    except GraderError as error:
        _tell(f"error: {error.message}")
        if error.next_step:
            _tell(f"next: {error.next_step}")
        return error.exit_code
    except Exception:
        _tell(traceback.format_exc().rstrip())
        _tell("error: This is a fault of the grader, not of your kernel.")
        _tell("next: Report it with the lines above to whoever runs the course.")
        return BROKEN
    return BROKEN  # typer always exits: whatever ends here is no pass


@app.command()
def check(
    names: Names = None,
    every: All = False,
    solution: Annotated[
        bool, typer.Option("--solution", help="Grade the model solution instead.")
    ] = False,
    kernel: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Grade this file instead.")
    ] = None,
    device: OnDevice = Device.AUTO,
    require: Annotated[
        Demand | None, typer.Option(help="Exit with 3 where speed cannot be measured.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="Draw the same cases again.")
    ] = None,
    case: Annotated[
        str | None,
        typer.Option(metavar="REPRO", help="Only this case, such as 1x1025,float16,seed=7."),
    ] = None,
    gpu_memory: GpuMemory = None,
    sanitize: Annotated[
        bool,
        typer.Option("--sanitize", help="Also look for races and stray accesses, on a GPU."),
    ] = False,
    hardened: Annotated[
        bool, typer.Option("--hardened", help="Exit with 3 where a kernel could reach too much.")
    ] = False,
    json: Json = False,
) -> None:
    """Grade kernels: are they right, and how fast are they?"""
    exercises = _selected(names, every)
    if solution and kernel:
        raise UsageError("--solution and --kernel each name the file to grade.", "Give only one.")
    if hardened and sanitize:
        raise UsageError(
            "--sanitize runs the kernel under a tool that works behind no walls.",
            "Leave out --hardened or --sanitize.",
        )
    if len(exercises) > 1 and (kernel or case):
        raise UsageError(
            f"{'--kernel' if kernel else '--case'} belongs to one exercise, not to "
            f"{len(exercises)}.",
            "Name that one exercise.",
        )
    if case:
        _require_case(exercises[0], case)
    from grader.check import Request

    requests = [
        Request(
            exercise=exercise,
            kernel=_kernel_file(exercise, kernel, solution),
            device=device.value,
            seed=seed,
            case=case,
            require_speed=require is Demand.SPEED,
            gpu_memory=_bytes(gpu_memory),
            sanitize=sanitize,
            hardened=hardened,
        )
        for exercise in exercises
    ]
    raise typer.Exit(_check(requests, json))


def _check(requests: Sequence[Request], json: bool) -> int:
    from grader import check, results, verdict
    from grader.render import terminal

    with _progress() as progress:
        graded = check.run(requests, progress)
    for number, result in enumerate(graded):
        if result.output:
            _tell(f"printed by {result.kernel.path}:\n{result.output.rstrip()}")
        if json:
            _write_json(results.to_json(result).encode())
            continue
        if number:
            _show_text("")
        following = course.following(requests[number].exercise)
        _show(terminal.check_report(result, _width(), following.name if following else None))
        if len(requests) == 1:
            _show_failing(requests[number], result)
    if len(requests) > 1 and not json:
        _show_text("")
        _show(terminal.several(graded))
    return verdict.exit_code(graded) if len(graded) == len(requests) else _incomplete(graded)


def _show_failing(request: Request, result: Result) -> None:
    """Below a report that says what is wrong: what each thread did, where that can be drawn."""
    from grader import picture

    case = picture.case_of(result, request.exercise.spec)
    if case is not None:
        _draw(replace(request, case=str(case)), None)


def _draw(request: Request, page: Path | None) -> None:
    """Call the kernel once, and show what its threads did; as a web page if one is named."""
    from grader import check
    from grader.render import trace_html, trace_terminal

    with _progress() as progress:
        progress(f"drawing {request.exercise.name} …")
        trace = check.trace(request)
    _show_text("")
    _show(trace_terminal.drawing(trace, width=_width()))
    if page is not None:
        page.write_text(trace_html.page(trace), encoding="utf-8")
        _tell(f"{page}: written; open it in a web browser")


def _incomplete(graded: Sequence[Result]) -> int:
    """The exit code where kernels were left out: that of an interruption, or a fault of ours."""
    from grader import verdict

    return max(verdict.exit_code(graded), BROKEN)


@app.command(name="list")
def list_exercises() -> None:
    """The exercises of this course."""
    from grader.render import contract

    exercises = course.exercises(course.find_root())
    if not exercises:
        raise UsageError("This course has no exercises yet.", "Add a folder with a spec.py.")
    _show(contract.course_list(exercises))
    for exercise in exercises:
        _ = exercise.spec  # raises BrokenExercise, after the table has shown the others


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="An exercise: a name, its number, or a path.")],
    hints: Annotated[
        int | None, typer.Option(min=1, help="Print the first so many hints instead.")
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Draw what each thread of kernel.py does instead.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --trace: also as a web page.")
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
    """What an exercise asks for, or what the threads of a kernel do."""
    exercise = course.find(course.find_root(), name)
    if trace:
        _show_trace(exercise, _kernel_file(exercise, kernel, solution), case, html)
        return
    if html or solution or kernel or case:
        raise UsageError(
            "--html, --solution, --kernel and --case say what to draw.", "Add --trace."
        )
    from grader.render import contract

    if hints is not None:
        _show(contract.hints(exercise, hints, _width()))
        return
    sample = contract.sample_case(exercise.spec)
    sizes = contract.tensor_bytes(exercise.spec, sample)
    _show(contract.contract(exercise, sizes, sample, _width()))


def _show_trace(exercise: Exercise, kernel: Path, case: str | None, page: Path | None) -> None:
    if case:
        _require_case(exercise, case)
    from grader.check import Request

    _draw(Request(exercise, kernel, case=case), page)


@app.command(name="stub")
def write_stubs(
    names: Names = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail where a stub has drifted.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a kernel.py that was worked on.")
    ] = False,
) -> None:
    """Make each kernel.py, or those named, from the solutions."""
    exercises = _selected(names, every=not names)
    if check:
        drifted = [exercise.name for exercise in exercises if stub.drifted(exercise)]
        if drifted:
            raise BrokenExercise(
                f"{', '.join(drifted)}: kernel.py is not the stub that the solution makes.",
                f"`grader stub {' '.join(drifted)} --force` writes it again.",
            )
        typer.echo(f"{len(exercises)} stubs are what their solutions make of them.")
        return
    refused = []
    for exercise in exercises:
        try:
            written = stub.write(exercise, force)
        except UsageError as error:
            refused.append(error)
        else:
            typer.echo(f"{exercise.kernel}: {'written' if written else 'unchanged'}")
    if refused:
        raise UsageError(
            "\n       ".join(error.message for error in refused),
            "\n      ".join(error.next_step for error in refused),
        )


@app.command()
def verify(
    names: Names = None,
    every: All = False,
    device: OnDevice = Device.AUTO,
    mutants: Annotated[
        str, typer.Option(metavar="N|all", help="Try so many mutants of each solution.")
    ] = "6",
    seed: Annotated[int, typer.Option(min=0, help="Draw another choice of mutants.")] = 0,
    json: Json = False,
) -> None:
    """Prove that exercises tell right from wrong."""
    if mutants != "all" and not (mutants.isascii() and mutants.isdigit()):
        raise UsageError(f"--mutants {mutants!r} is no number.", "Give a number, or all.")
    exercises = _selected(names, every)
    from pydantic import TypeAdapter

    from grader import verify
    from grader.render import terminal

    with _progress() as progress:
        sample = verify.Sample(None if mutants == "all" else int(mutants), seed)
        verified = verify.run(exercises, device.value, progress, sample)
    if json:
        for one in verified:
            _write_json(TypeAdapter(verify.Verified).dump_json(one, by_alias=True))
    else:
        _show(terminal.verification(verified, _width()))
    seen = {one.exercise for one in verified}
    complete = seen == {exercise.name for exercise in exercises}
    raise typer.Exit(0 if complete and all(one.ok for one in verified) else BROKEN)


@app.command()
def doctor(json: Json = False) -> None:
    """What works on this machine, what does not, and what to do."""
    from grader.doctor import examine, records
    from grader.render import doctor

    with _progress() as progress:
        examination = examine.run(progress)
    if json:
        _write_json(examination.model_dump_json(by_alias=True).encode())
    else:
        _show(doctor.report(examination, _width()))
    raise typer.Exit(records.exit_code(examination))


@app.command()
def bench(
    name: Annotated[str, typer.Argument(metavar="NAME|PATH", help="An exercise.")],
    kernel: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Measure this file instead.")
    ] = None,
    against: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Another kernel file beside it.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw two pictures into this PNG, SVG or PDF."),
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Add what Nsight Compute counts.")
    ] = False,
    gpu_memory: GpuMemory = None,
    json: Json = False,
) -> None:
    """Measure a kernel beside torch and the solution, over a range of sizes, on a GPU."""
    (exercise,) = _selected([name], False)
    if plot is not None:
        from grader.render import plots

        plots.writable(plot)
    from grader import bench
    from grader import profile as profiler
    from grader.render import bench as rendered

    entrants = bench.contenders(exercise, kernel or exercise.kernel, against or [])
    with _progress() as progress:
        measured = bench.run(exercise, entrants, progress, _bytes(gpu_memory))
        if profile:
            digest = profiler.run(exercise.spec, entrants[0].kernel, _bytes(gpu_memory))
            measured = measured.model_copy(update={"profile": digest})
    if plot is not None:
        plots.draw(measured, plot)
    if json:
        _write_json(measured.model_dump_json(by_alias=True).encode())
    else:
        _show_text(rendered.report(measured))


@app.command()
def lint(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Kernel files.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 where anything is found.")
    ] = False,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="One SARIF 2.1.0 log of all files, and nothing else.")
    ] = False,
    json: Json = False,
) -> None:
    """Point out what a teacher would look at in kernel files. Changes no score, runs nothing."""
    if sarif and json:
        raise UsageError("--sarif and --json are two forms of one output.", "Give only one.")
    from grader.lint import review
    from grader.render import lint
    from grader.render import sarif as log

    contents = [(path, review.read(path)) for path in dict.fromkeys(files)]
    reviews = [review.review(path.as_posix(), content) for path, content in contents]
    if sarif:
        _write_json(log.to_json(reviews, Path.cwd()).encode())
    elif json:
        for one in reviews:
            _write_json(one.model_dump_json(by_alias=True).encode())
    else:
        _show(lint.report(reviews, _width()))
    raise typer.Exit(int(strict and any(one.findings for one in reviews)))


def _bytes(gibibytes: float | None) -> int | None:
    return None if gibibytes is None else int(gibibytes * 2**30)


def _selected(names: Sequence[str] | None, every: bool) -> list[Exercise]:
    """The exercises that a command line names, each once. Raises UsageError."""
    if every and names:
        raise UsageError("--all and names of exercises exclude each other.", "Give only one.")
    if not every and not names:
        raise UsageError(
            "No exercise is named.", "Name one (`grader list` shows them), or give --all."
        )
    root = course.find_root()
    chosen = course.exercises(root) if every else [course.find(root, name) for name in names or ()]
    if not chosen:
        raise UsageError(f"The course in {root} has no exercises.", "Add a folder with a spec.py.")
    return list({exercise.folder: exercise for exercise in chosen}.values())


def _kernel_file(exercise: Exercise, given: Path | None, solution: bool) -> Path:
    """The file to grade. Raises UsageError in a course without solutions."""
    if not solution:
        return given or exercise.kernel
    if not exercise.solution.exists():
        raise UsageError(
            f"There is no solution {exercise.solution}.",
            "A learner's copy of a course has none: grade your own kernel.",
        )
    return exercise.solution


def _require_case(exercise: Exercise, text: str) -> None:
    """Raises UsageError unless the text is a case of this exercise."""
    example = f"A case of {exercise.name} looks like '{exercise.spec.edges[0]}'."
    try:
        case = Case.parse(text)
    except ValueError as error:
        raise UsageError(f"--case {text!r}: {error}.", example) from None
    spec = exercise.spec
    if len(case.shape) != len(spec.largest):
        raise UsageError(
            f"--case {text!r} has {len(case.shape)} dimensions; {spec.signature} takes "
            f"{len(spec.largest)}.",
            example,
        )
    if case.dtype not in spec.dtypes:
        raise UsageError(
            f"--case {text!r}: {spec.signature} takes {', '.join(spec.dtypes)}.", example
        )


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A function that tells how far a command is: one changing line on a terminal, else lines."""
    if not sys.stderr.isatty():
        yield _tell
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text("starting")) as status:
        yield lambda text: status.update(Text(text))


def _width() -> int:
    from rich.console import Console

    return Console().width


def _show(text: Text) -> None:
    """Print with colour where standard output is a terminal that has it."""
    from rich.console import Console

    console = Console()
    with console.capture() as captured:
        console.print(text, soft_wrap=True, end="")
    _show_text(captured.get(), end="")


def _show_text(text: str, end: str = "\n") -> None:
    print(_fitting(text, sys.stdout.encoding), end=end)


def _tell(text: str) -> None:
    print(_fitting(text, sys.stderr.encoding), file=sys.stderr)


def _fitting(text: str, encoding: str | None) -> str:
    """The text, with other characters for those that the terminal's encoding lacks."""
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        from grader.render.layout import PLAIN

        return text.translate(PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text


def _write_json(line: bytes) -> None:
    """JSON is UTF-8, whatever the terminal takes."""
    typer.echo(line)


if __name__ == "__main__":
    sys.exit(main())
