"""The loop's screen as text: its first lines, the report or page, the verdict and the next step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rich.console import RenderableType
from rich.text import Text

from grader.cli.loop.keys import KEYS
from grader.cli.loop.state import Answer, Loop, Run, View, Why
from grader.cli.progress import words
from grader.course import Exercise
from grader.course.progress import mark, standing_of
from grader.model import BrokenExercise, Result, Status, Trace, first_problem, texts
from grader.reports import filled, next_step, standing, terminal, trace_terminal

MOST_PRINTED = 4  # lines that a kernel printed, above a report that is not shown in full
MARK_STYLES = {"✔": "green", "●": "yellow", "○": "dim"}
SIGNS = {"question_mark": "?"}
PAGE_KEYS = "Esc back  ↑ ↓ PgUp PgDn scroll"
LIST_KEYS = "↑ ↓ PgUp PgDn choose  Enter go  Esc back"


def top(loop: Loop, width: int) -> Text:
    """Return the two lines at the top: the exercise, how many are done, and the keys."""
    done = sum(standing_of(loop.progress, name).passed for name in loop.names)
    right = f"{done} of {len(loop.names)} done"
    if loop.sweep is not None:
        right = f"checking all: {loop.sweep.done} of {len(loop.names)} · {right}"
    sign = mark(standing_of(loop.progress, loop.current))
    line = Text(f"{sign} ", style=MARK_STYLES[sign])
    line.append(loop.current, style="bold not dim default")
    line.append(texts.cut(f"  {_title(loop.exercise)}", max(width - line.cell_len - len(right), 4)))
    line.append(" " * max(width - line.cell_len - len(right), 2), style="not dim default")
    line.append(right, style="not dim default")
    line.truncate(width)
    return line.append("\n").append(key_line(loop, width), style="dim")


def key_line(loop: Loop, width: int) -> str:
    """Name the keys of the view, as many as fit."""
    if loop.view is View.LIST:
        return LIST_KEYS
    if loop.view is not View.REPORT:
        return f"h next hint  {PAGE_KEYS}" if loop.view is View.HINTS else PAGE_KEYS
    shown = [f"{sign_of(key.letter)} {key.word}" for key in KEYS if key.short]
    while len("  ".join(shown)) > width and len(shown) > 2:
        del shown[-3]  # help and quit stay
    return "  ".join(shown)


def body(loop: Loop, width: int, height: int) -> RenderableType:
    """Return what the middle of the screen shows. Only the list needs no more than `height`."""
    if loop.view is View.LIST:
        return list_of(loop, width, height)
    if loop.view is View.HELP:
        return help_text()
    if loop.page is not None:
        return loop.page.content
    if (run := own_run(loop)) is not None:
        return so_far(run, loop.exercise, width)
    answer = loop.answers.get(loop.current)
    if answer is None or answer.result is None:
        return Text(filled(_summary(loop.exercise), width))
    return report(answer, width, None if loop.whole else height)


def bottom(loop: Loop, width: int, elapsed_s: float) -> Text:
    """Return the last lines: a note, the verdict and the next step.

    `elapsed_s` are the seconds since the current step began.
    """
    text = Text(filled(loop.note, width), style="yellow") if loop.note else Text()
    if loop.asking:
        head = Text(f"RESET {loop.exercise.file} of {loop.current}?\n", style="bold yellow")
        following = "y writes the stub again and keeps a backup of your file; other keys do not"
        lost = standing.forgotten(standing_of(loop.progress, loop.current))
        if lost:
            head.append(filled(f"It begins anew in the list, without {lost}.", width))
    elif (run := own_run(loop)) is not None:
        work = words(run.step or "starting", run.slow, elapsed_s)
        head = Text(filled(f"CHECKING  {work} …", width), style="bold cyan")
        following = "wait, or change the file and save: the check then starts anew"
    elif (answer := loop.answers.get(loop.current)) is None:
        head = Text("NOT CHECKED\n", style="bold yellow")
        following = "save the kernel file, or press r to check it"
    elif answer.result is None:
        head = Text(filled(f"NO VERDICT  {answer.error}", width), style="bold magenta")
        following = answer.advice
    else:
        head = terminal.verdict(answer.result, answer.waited_s)
        following = advice(loop, answer.result)
    text.append_text(head)
    text.append(filled(following, width, " " * 6, first="next: "), style="bold default")
    text.rstrip()
    return text


def own_run(loop: Loop) -> Run | None:
    """Return the run of the current exercise that has no result yet, if it is not of a sweep."""
    run = loop.run
    own = run is not None and run.name == loop.current and run.why is not Why.SWEEP
    return run if own and run is not None and run.result is None else None


def report(answer: Answer, width: int, height: int | None) -> Text:
    """Return the report of a check, in `height` lines or in full, above its verdict."""
    result = answer.result
    assert result is not None
    printed = _printed(result, width, height)
    space = None if height is None else max(height - len(printed.plain.splitlines()), 1)
    picture = excerpt = None
    if answer.trace is not None:
        picture = trace_terminal.drawing(answer.trace, width=width, brief=True)
        excerpt = _excerpt(answer.trace, picture, width)
    steps = terminal.check_body(
        result,
        width,
        space,
        heading=height is None,
        notes=answer.notes,
        picture=picture,
        excerpt=excerpt,
    )
    steps.rstrip()
    # A report names the option of `grader check`, which is a key here.
    return printed.append_text(Text("`v`").join(steps.split("`-v`", allow_blank=True)))


def _excerpt(trace: Trace, picture: Text, width: int) -> Callable[[int], Text | None]:
    return partial(trace_terminal.excerpt, trace, picture, width)


def _printed(result: Result, width: int, height: int | None) -> Text:
    """Show what the kernel file printed, of which a learner wants to see the last lines."""
    if not result.output:
        return Text()
    lines = texts.visible(result.output).expandtabs(4).rstrip("\n").split("\n")
    left_out = 0 if height is None else max(len(lines) - MOST_PRINTED, 0)
    shown = [texts.cut(f"{texts.BAR}{line}", width) for line in lines[left_out:]]
    above = f"… {left_out} more lines; `v` prints all\n" if left_out else ""
    head = f"printed by {texts.cut(result.kernel.path, width - 12)}:\n"
    return Text(head + above + "".join(f"{line}\n" for line in shown))


def so_far(run: Run, exercise: Exercise, width: int) -> Text:
    """Return the steps that have ended, and the current one; at first, what the exercise is."""
    if not run.step:
        return Text(filled(_summary(exercise), width))
    text = terminal.steps_so_far(run.ended, exercise.file, width)
    return text.append(f"  … {run.step}", style="cyan")


def list_of(loop: Loop, width: int, height: int) -> Text:
    """Return the exercises around the cursor, in `height` lines: mark, name, title and points."""
    first = min(max(loop.cursor - height // 2, 0), max(len(loop.exercises) - height, 0))
    longest = max(map(len, loop.names))
    text = Text()
    for place, exercise in list(enumerate(loop.exercises))[first : first + height]:
        standing = standing_of(loop.progress, exercise.name)
        sign = mark(standing)
        points = f"{standing.points}/{standing.of}" if standing.of else ""
        title = texts.cut(_title(exercise), max(width - longest - 16, 8))
        row = Text("> " if place == loop.cursor else "  ")
        row.append(sign, style=MARK_STYLES[sign])
        row.append(f" {exercise.name:<{longest}}  {title}")
        row.append(f"{points:>{max(width - row.cell_len, len(points) + 1)}}".rstrip())
        if place == loop.cursor:
            row.stylize("bold reverse")
        text.append_text(row).append("\n")
    text.rstrip()
    return text


def help_text() -> Text:
    """Return a line for each key."""
    rows = [f"  {sign_of(key.letter)}   {key.does}\n" for key in KEYS]
    return Text("".join(rows)).append(
        "\nSaving the kernel file checks it. ✔ done ● begun ○ not begun"
    )


def in_words(loop: Loop) -> str:
    """Say whether the current exercise is done, begun or not begun."""
    sign = mark(standing_of(loop.progress, loop.current))
    return {"✔": "done", "●": "begun", "○": "not begun"}[sign]


def sign_of(letter: str) -> str:
    """Return a key as it is typed."""
    return SIGNS.get(letter, letter)


def advice(loop: Loop, result: Result) -> str:
    """Return the next step in words of the loop's keys."""
    file = loop.exercise.file
    match result.status:
        case Status.PASS:
            return _onward(loop)
        case Status.NOT_STARTED:
            return (
                f"write the missing part of {result.kernel.path}, delete its `raise`, and save; "
                "o opens the lesson"
            )
        case Status.INTERRUPTED:
            return "nothing was decided; r checks again"
        case Status.FAIL:
            problem = first_problem(result)
            if problem is not None and problem.name == "load":
                return f"make {file} load, and save; h shows a hint"
            if problem is not None and problem.name == "speed":
                return (
                    "it is right but slow: look for bytes that move twice and for idle threads; "
                    "h shows a hint"
                )
            return f"change {file} and save; h shows a hint"
    return next_step(result)


def _onward(loop: Loop) -> str:
    unfinished = [name for name in loop.names if not standing_of(loop.progress, name).passed]
    unfinished = [name for name in unfinished if name != loop.current]
    if not unfinished:
        return "every exercise is done; l lists them"
    if loop.place + 1 < len(loop.names):
        return f"n goes on to {loop.names[loop.place + 1]}"
    return f"l lists what is left: {len(unfinished)} of {len(loop.names)}"


def _summary(exercise: Exercise) -> str:
    try:
        return exercise.any_spec.summary
    except BrokenExercise as error:
        return f"{error.message} {error.next_step}"


def _title(exercise: Exercise) -> str:
    try:
        title = exercise.any_spec.title
        return f"{title} · {exercise.file}" if exercise.backend else title
    except BrokenExercise:
        return "its spec.py is broken"
