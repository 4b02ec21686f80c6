"""A check, or a verification, as text for a terminal.

Texts from the learner's process go through `rich.text.Text.append`, which does not read markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from grader.model import (
    Count,
    Environment,
    Failure,
    Frame,
    Outcome,
    Resources,
    Result,
    Sanitized,
    SanitizerError,
    Speed,
    Status,
    Step,
    counted,
    first_problem,
    percent,
)
from grader.reports.layout import WIDEST, filled, wrap
from grader.reports.libraries import libraries

if TYPE_CHECKING:
    from grader.authoring import Verified

MOST_FRAMES = 4  # the innermost lines of the learner's code
RAISED = 1.005  # times that the judge's clock raised by less are no news
_DETAIL = " " * 6
_LABEL = 10  # characters of a label such as `expected`, with the space after it

_MARKS = {
    Outcome.PASS: ("✔", "green"),
    Outcome.FAIL: ("✘", "red"),
    Outcome.NOT_STARTED: ("○", "yellow"),
    Outcome.SKIP: ("–", "dim"),
    Outcome.NOT_RUN: ("–", "dim"),
    Outcome.ERROR: ("‼", "magenta"),
    Outcome.CANNOT_GRADE: ("‼", "yellow"),
    Outcome.NOISY: ("‼", "yellow"),
}
_WORDS = {
    Status.PASS: ("PASS", "bold green"),
    Status.FAIL: ("FAIL", "bold red"),
    Status.NOT_STARTED: ("NOT STARTED", "bold yellow"),
    Status.CANNOT_GRADE: ("CANNOT GRADE", "bold yellow"),
    Status.ERROR: ("GRADER ERROR", "bold magenta"),
    Status.INTERRUPTED: ("INTERRUPTED", "bold yellow"),
    Status.UNFINISHED: ("UNFINISHED", "bold magenta"),
}
# What is counted of each kind, and what became of it.
_KINDS = {
    "wrong": ("wrong kernels", " rejected"),
    "no_work": ("degenerate answers", " rejected"),
    "mutant": ("mutants", " rejected"),
    "equivalent": ("equivalent", ""),
    "slower": ("only slower", ""),
    "out_of_reach": ("out of reach", ""),
}


def check_report(result: Result, width: int = WIDEST, following: str | None = None) -> Text:
    """One check: a line for each step, the failures under theirs, the verdict, what to do next.

    `following` is the exercise behind this one, if there is one.
    """
    width = min(width, WIDEST)
    report = _heading(result, width)
    for step in result.steps:
        report.append_text(_step(step, Path(result.kernel.path).name, width))
    for sanitized in result.sanitized:
        report.append_text(_sanitized(sanitized, Path(result.kernel.path).name, width))
    if result.message:
        report.append(filled(result.message, width))
    report.append_text(_verdict(result))
    report.append(
        filled(next_step(result, following), width, " " * 6, first="next: "), style="bold"
    )
    return report


def several(results: Sequence[Result]) -> Text:
    """The line under more than one report."""
    passed = sum(result.status is Status.PASS for result in results)
    points = sum(result.points for result in results)
    most = sum(result.max_points for result in results)
    style = "bold green" if passed == len(results) else "bold"
    return Text(f"{passed} of {len(results)} passed · {points}/{most} points\n", style=style)


def next_step(result: Result, following: str | None = None) -> str:
    """What its reader can do about a result; `following` is what comes after a pass."""
    name = result.exercise
    match result.status:
        case Status.NOT_STARTED:
            return (
                f"write the missing part of {result.kernel.path}; the README.md beside the "
                f"exercise explains it, `grader show {name}` states the contract"
            )
        case Status.FAIL:
            return _after_failure(result)
        case Status.CANNOT_GRADE:
            return (
                "this says nothing against your kernel; put this machine right, or check on another"
            )
        case Status.ERROR | Status.UNFINISHED:
            return (
                "this is not your kernel's fault; tell whoever runs the course, with the output "
                f"of `grader check {name} --seed {result.seed} --json`"
            )
        case Status.INTERRUPTED:
            return f"nothing was decided; run `grader check {name}` again"
        case Status.PASS:
            return _after_pass(result, following)


def _after_failure(result: Result) -> str:
    problem = first_problem(result)
    hint = f"`grader show {result.exercise} --hints 1` gives a first hint"
    if not result.steps:
        return "nothing was run of this kernel file: change what the line above says, and try again"
    if problem is None:
        return (
            "right answers, and an error all the same: change the lines above, or it will go "
            "wrong on another GPU or another day"
        )
    if problem.name == "load":
        return f"make {Path(result.kernel.path).name} load, then check again"
    if problem.name == "speed":
        return f"it is right but slow: look for bytes moved twice and idle threads; {hint}"
    if problem.name in ("traffic", "counts"):
        if _of_puzzle(result) and not _of_warps(problem):
            hint = f"`grader show {result.exercise} --trace` draws what each thread does, {hint}"
        return f"change the kernel and check again; {hint}"
    if problem.failure and problem.failure.replay:
        return f"change the kernel and replay the case above; {hint}"
    return f"change the kernel and check again; {hint}"


def _of_warps(problem: Step) -> bool:
    """Whether there is too much of what no picture of single threads shows."""
    over = next((row.count for row in problem.counts if row.value > row.most), None)
    return over in ("transactions", "bank_conflicts")


def _of_puzzle(result: Result) -> bool:
    """Whether its kernel is one whose single threads can be drawn: it has no speed."""
    return all(step.name != "speed" for step in result.steps)


def _after_pass(result: Result, following: str | None) -> str:
    speed = next((step for step in result.steps if step.name == "speed"), None)
    if speed and speed.outcome is Outcome.SKIP:
        return (
            f"right, as far as this machine can tell; check on one with a CUDA GPU for the "
            f"{speed.max_points} points of speed"
        )
    if speed and speed.speed and speed.speed.share < speed.speed.great:
        return f"passed; {percent(speed.speed.great)} of the ceiling would be great"
    if following is not None:
        return f"{following}; `grader show {following}` says what it asks for"
    return "`grader list` shows the other exercises"


def _heading(result: Result, width: int) -> Text:
    heading = Text()
    heading.append(result.exercise, style="bold")
    heading.append(f"   {result.title} · {result.max_points} points")
    where = _environment(result.environment)
    space = width - heading.cell_len - len(where)
    heading.append(" " * space if space >= 3 else "\n  ")
    heading.append(f"{where}\n", style="dim")
    return heading


def _environment(env: Environment) -> str:
    if env.device == "none":  # of a kernel that no judge saw
        return "not run"
    device = "CPU" if env.device == "cpu" else env.device
    parts = [f"{device}, simulated" if env.simulated else device]
    parts += [f"{name} {version}" for name, version in libraries(env)]
    return " · ".join(parts)


def _step(step: Step, file: str, width: int) -> Text:
    mark, style = _MARKS[step.outcome]
    earned = step.points if step.outcome in (Outcome.PASS, Outcome.FAIL) else "–"
    points = f"{earned}/{step.max_points}" if step.max_points else ""
    indent = " " * 18  # of the summary: after the mark and the step's name
    failure = step.failure
    if failure and step.outcome is Outcome.NOT_STARTED:
        failure = failure.model_copy(update={"case": None, "replay": None})  # any case shows it
    told = step.summary or (_headline(failure) if failure else "")
    first, *more = wrap(told, width - len(indent) - len(points) - 2)
    line = Text("  ")
    line.append(mark, style=style)
    line.append(f" {step.name:<14}{first}")
    line.append(f"{points:>{max(width - line.cell_len, 2)}}".rstrip() + "\n")
    for part in more:
        line.append(f"{indent}{part}\n")
    if step.speed:
        line.append_text(_speed(step.speed, width))
    if step.counts:
        line.append_text(_counts(step.counts))
    if failure:
        if _headline(failure) != told:
            line.append(filled(_headline(failure), width, _DETAIL))
        line.append_text(_failure(failure, file, width))
    return line


def _sanitized(sanitized: Sanitized, file: str, width: int) -> Text:
    """What one tool of compute-sanitizer found: each error, and the learner's lines under it."""
    mark, style = _MARKS[sanitized.outcome]
    indent = " " * 18
    line = Text("  ")
    line.append(mark, style=style)
    first, *more = wrap(sanitized.summary, width - len(indent))
    line.append(f" {sanitized.tool:<14}{first}\n")
    for part in more:
        line.append(f"{indent}{part}\n")
    for error in sanitized.errors:
        line.append(filled(_told_of(error), width, _DETAIL))
        for label, frame in zip(_once("at"), error.frames, strict=False):
            line.append(_row(label, _frame(frame, file), width))
        if not error.frames:
            line.append(_row("at", f"no line of {file} is known; in {error.function}", width))
    if sanitized.replay:
        line.append(f"{_labelled('replay', sanitized.replay)}\n", style="cyan")
    return line


def _told_of(error: SanitizerError) -> str:
    lines = " and ".join(str(frame.line) for frame in error.frames)
    where = f"line {lines}: " if len(error.frames) == 1 else f"lines {lines}: " if lines else ""
    who = f", thread {error.thread} of block {error.block}" if error.thread else ""
    times = f" ({error.count} reports)" if error.count > 1 else ""
    return f"{where}{error.message}{who}{times}"


def _headline(failure: Failure) -> str:
    return f"{failure.case}: {failure.message}" if failure.case else failure.message


def _failure(failure: Failure, file: str, width: int) -> Text:
    """What a failure says below its headline."""
    block = Text()
    both = _labelled("expected", failure.expected or "")
    both += " " * 6 + f"got  {failure.got}"
    if failure.expected and failure.got and len(both) <= width and "\n" not in both:
        block.append(f"{both}\n")
    else:
        block.append(_row("expected", failure.expected, width))
        block.append(_row("got", failure.got, width))
    block.append(_row("where", failure.where, width))
    if failure.replay:
        block.append(f"{_labelled('replay', failure.replay)}\n", style="cyan")
    for label, frame in zip(_once("at"), failure.frames[-MOST_FRAMES:], strict=False):
        block.append(_row(label, _frame(frame, file), width))
    block.append(_row("hint", failure.hint, width))
    return block


def _frame(frame: Frame, file: str) -> str:
    function = f" in {frame.function}" if frame.function else ""
    return f"{file}:{frame.line}{function}: {frame.code.strip()}"


def _once(label: str) -> Iterator[str]:
    yield label
    while True:
        yield ""


def _speed(speed: Speed, width: int) -> Text:
    measured = (
        f"{speed.time_ms:.3g} ms per call · {speed.bandwidth_gbps:,.0f} GB/s · "
        f"{percent(speed.share)} of this GPU's ceiling ({speed.ceiling_gbps:,.0f} GB/s)"
    )
    interval = f"{percent(speed.share_low)} to {percent(speed.share_high)} with 95 % confidence"
    gates = f"pass {percent(speed.passing)}, great {percent(speed.great)}"
    start = (
        f"first call {speed.first_call_s:.1f} s, with compiling · "
        f"{speed.latency_case} takes {speed.latency_us:.1f} µs"
    )
    rows = [("measured", measured), ("interval", interval), ("gates", gates), ("start", start)]
    if speed.raised >= RAISED:
        longer = percent(speed.raised - 1)
        clock = (
            f"calls took {longer} longer by the judge's clock than by CUDA events: the processor "
            "is busy, or some work is not in the events"
        )
        rows.append(("clock", clock))
    rows += zip(_once("limit"), speed.explanation, strict=False)
    rows += zip(_once("compiled"), map(_resources, speed.resources), strict=False)
    return Text("".join(_row(label, text, width) for label, text in rows))


def _counts(counts: Sequence[Count]) -> Text:
    """A small table: what was counted, what is allowed, and the best that is known."""
    rows = [("", "yours", "allowed", "best known")]
    rows += [
        (one.count.replace("_", " "), f"{one.value:,}", f"{one.most:,}", f"{one.best:,}")
        for one in counts
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = Text()
    for row, count in zip(rows, (None, *counts), strict=True):
        name, *numbers = (
            f"{cell:<{width}}" if number == 0 else f"{cell:>{width}}"
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        over = count is not None and count.value > count.most
        style = "dim" if count is None else "red" if over else ""
        table.append(f"{_DETAIL}{'   '.join((name, *numbers))}\n", style=style)
    return table


def _resources(kernel: Resources) -> str:
    """Such as `_softmax_kernel: 48 registers, 0 spilled, 4 KiB shared, 256 threads, …`."""
    if kernel.spills is None:
        spilled = "spills unknown"
    else:
        spilled = f"{kernel.spills} bytes spilled" if kernel.spills else "none spilled"
    shared = f"{_size(kernel.shared_bytes)} shared" if kernel.shared_bytes else "no shared memory"
    fits = "unknown" if kernel.occupancy is None else percent(kernel.occupancy)
    times = f", launched {kernel.launches} times" if kernel.launches > 1 else ""
    return (
        f"{kernel.kernel}: {kernel.registers} registers, {spilled}, {shared}, "
        f"{kernel.threads} threads, occupancy {fits}{times}"
    )


def _size(size: int) -> str:
    """Such as `32 bytes` or `4 KiB`."""
    return f"{size / 1024:.1f}".removesuffix(".0") + " KiB" if size >= 1024 else f"{size} bytes"


def _verdict(result: Result) -> Text:
    word, style = _WORDS[result.status]
    line = Text(word, style=style)
    facts = [f"  {result.points}/{result.max_points} points"]
    facts += ["great speed"] if _is_great(result) else []
    facts += [f"{result.duration_s:.1f} s", f"seed {result.seed}"]
    line.append(" · ".join(facts) + "\n", style="not bold default")
    return line


def _is_great(result: Result) -> bool:
    measured = [step.speed for step in result.steps if step.outcome is Outcome.PASS and step.speed]
    return result.status is Status.PASS and any(s.share >= s.great for s in measured)


def verification(verified: Sequence[Verified], width: int = WIDEST) -> Text:
    """What `grader verify` found: a line for each exercise, and under it what went wrong."""
    width = min(width, WIDEST)
    report = Text()
    for exercise, group in groupby(verified, key=lambda one: one.exercise):
        kernels = list(group)
        sound = all(one.ok for one in kernels)
        report.append("✔ " if sound else "✘ ", style="green" if sound else "red")
        report.append(exercise, style="bold")
        report.append("  " + " · ".join(_tally(kernels)) + "\n")
        for one in kernels:
            if not one.ok:
                report.append(f"{_DETAIL}{one.kernel}\n", style="red")
                for number, line in enumerate(one.change.splitlines()):
                    report.append(_row("" if number else "change", line, width))
                report.append(_row("expected", one.expected, width))
                report.append(_row("actual", one.actual, width))
                report.append(_row("detail", one.detail, width))
                report.append(_row("next", one.advice, width))
    return report


def _tally(kernels: Sequence[Verified]) -> Iterator[str]:
    """How many kernels of each kind did as they must."""
    for kind, kernels_of_kind in groupby(kernels, key=lambda one: one.kind):
        group = list(kernels_of_kind)
        good = sum(one.ok for one in group)
        match kind:
            case "stub":
                yield "stub ok" if good else "stub not ok"
            case "solution":
                yield "solution passes" if good else "solution does not pass"
            case _:
                some = f"{good} of " if good != len(group) else ""
                what, became = _KINDS[kind]
                yield f"{some}{counted(len(group), what)}{became}"


def _labelled(label: str, text: str) -> str:
    return f"{_DETAIL}{label:<{_LABEL}}{text}"


def _row(label: str, text: str | None, width: int) -> str:
    """A labelled line, wrapped under its own start; nothing when there is no text."""
    if not text:
        return ""
    return filled(text, width, _labelled("", ""), first=_labelled(label, ""))
