"""The end of a class run in a terminal: a table of the exercises, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.model import Cell, ClassRun, login_of, texts

MOST_NAMED = 5  # students who are named with one reason
MOST_IDLE = 3  # exercises without graded work, with a line each
STARTED = ("passed", "partly", "failed", "not graded")
COLUMNS = ("passed", "partly", "failed", "not started", "missing", "unreadable", "not graded")


def summary(run: ClassRun, width: int, kept: Sequence[tuple[str, str]] = ()) -> Text:
    """Draw how many students are where in each exercise, and name those with nothing to grade.

    Exercises without graded work are only counted, if there are many. `kept` has a student and a
    reason for points that a regrade left as they were.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("exercise", overflow="fold")
    counts = {name: _counts(run, name) for name in run.exercises}
    shown = [one for one in COLUMNS if any(count[one] for count in counts.values())]
    for column in shown:
        table.add_column(column, justify="right")
    idle = [name for name, count in counts.items() if not any(map(count.get, STARTED))]
    together = len(idle) > MOST_IDLE
    for name, count in counts.items():
        if not (together and name in idle):
            table.add_row(name, *(str(count[one] or "") for one in shown))
    lines = [] if together and len(idle) == len(counts) else [_drawn(table, width)]
    if together:
        lines.append(f"left out: {len(idle)} exercises without graded work")
    return Text("\n".join([*lines, *_named(run, kept), ""]))


def changes(before: ClassRun, after: ClassRun, width: int) -> Text:
    """Draw a line for each student and exercise whose points or standing changed."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("student", "exercise", "before", "now", "why"):
        table.add_column(column, overflow="fold", justify="left")
    old = {
        (login_of(row.student), cell.exercise): cell for row in before.rows for cell in row.cells
    }
    for row in after.rows:
        for cell in row.cells:
            was = old.get((login_of(row.student), cell.exercise))
            if was is None or _shown(was) != _shown(cell):
                earlier = "–" if was is None else _shown(was)
                shown = (texts.one_line(row.student, 40), cell.exercise, earlier, _shown(cell))
                table.add_row(*map(Text, (*shown, texts.one_line(cell.why, 80))))
    if not table.row_count:
        return Text("No points changed.\n")
    return Text(_drawn(table, width) + "\n\n")


def _shown(cell: Cell) -> str:
    if cell.points is None:
        return cell.standing.replace("_", " ")
    return f"{cell.points} of {cell.max_points}"


def _drawn(table: Table, width: int) -> str:
    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _counts(run: ClassRun, exercise: str) -> Counter[str]:
    count: Counter[str] = Counter()
    for row in run.rows:
        for cell in row.cells:
            if cell.exercise != exercise:
                continue
            if cell.standing != "graded":
                count[cell.standing.replace("_", " ")] += 1
            elif cell.status == "pass":
                count["passed"] += 1
            else:
                count["partly" if cell.points else "failed"] += 1
    return count


def _named(run: ClassRun, kept: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a line for each note, and each reason for no new grade, with some of the students."""
    by_reason: dict[str, list[str]] = {}
    for row in run.rows:
        who = texts.one_line(row.student, 40)
        for note in row.notes:
            by_reason.setdefault(texts.one_line(note, 200), []).append(who)
        if row.standing == "missing":
            by_reason.setdefault("handed in nothing", []).append(who)
        elif row.standing == "unreadable":
            by_reason.setdefault(f"could not be read: {row.why}", []).append(who)
        for cell in row.cells:
            if cell.standing == "not_graded":
                reason = f"{cell.exercise} has no result: {cell.why}"
                by_reason.setdefault(reason, []).append(who)
    for student, reason in kept:
        by_reason.setdefault(reason, []).append(texts.one_line(student, 40))
    for reason, logins in by_reason.items():
        more = f" and {len(logins) - MOST_NAMED} more" if len(logins) > MOST_NAMED else ""
        yield f"{', '.join(logins[:MOST_NAMED])}{more}: {reason}"


def next_steps(run: ClassRun, out: Path, failed: bool, kept: bool = False) -> Iterator[str]:
    """Yield the commands that come next, from the record's folder.

    `failed` says that something which was to be graded could not be, `kept` that earlier points
    stay for that reason.
    """
    if kept:
        yield "next: run `grader regrade` for those who keep earlier points: --students LOGINS"
    if failed:
        yield "next: run `grader grade` with --resume: it tries what could not be graded"
    elif any(cell.standing == "not_graded" for row in run.rows for cell in row.cells):
        yield "next: run `grader grade` with --resume and without a choice: it grades the others"
    yield f"next: grader export csv-wide {out} --out grades.csv"
