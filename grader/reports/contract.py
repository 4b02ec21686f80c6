"""What an exercise asks for, as text: the rows of `grader list` and the page of `grader show`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.text import Text

from grader.course import Exercise
from grader.model import ITEMSIZE, Argument, BrokenExercise, Case, Spec, counted, percent
from grader.reports.layout import WIDEST, filled

OF_ALL_WARPS = ("transactions", "bank_conflicts")  # of spec.COUNTS; the others are of one thread
_ROLES = {
    "in": "read, must not change",
    "out": "filled by the kernel",
    "inout": "read and overwritten",
    "scalar": "a Python number",
}


def course_list(exercises: Sequence[Exercise]) -> Text:
    """A line for each exercise. One whose spec.py is broken says so; it does not hide the rest."""
    rows = [("EXERCISE", "TITLE", "BACKEND", "POINTS"), *map(_list_row, exercises)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    table = Text()
    for number, row in enumerate(rows):
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))
        table.append(f"{cells}  {row[3]:>6}\n", style="" if number else "bold")
    return table


def _list_row(exercise: Exercise) -> tuple[str, str, str, str]:
    try:
        spec = exercise.spec
    except BrokenExercise:
        return (exercise.name, "its spec.py is broken", "", "")
    return (exercise.name, spec.title, spec.backend, str(sum(spec.worth.values())))


def contract(exercise: Exercise, sizes: dict[str, int], case: Case, width: int = WIDEST) -> Text:
    """The page of `grader show`.

    `sizes` holds each tensor's bytes for `case`, from which the least traffic follows.
    """
    spec, width = exercise.spec, min(width, WIDEST)
    page = Text()
    page.append(exercise.name, style="bold")
    page.append(f"   {spec.title} · {spec.backend} · {sum(spec.worth.values())} points\n")
    page.append(filled(spec.summary, width))
    for title, rows in (
        (f"entry  {spec.signature}", _arguments(spec)),
        ("least traffic", _traffic(spec, sizes, case)),
        ("graded", _graded(spec, case)),
    ):
        page.append(f"\n{title}\n", style="bold")
        page.append(_rows(list(rows), width))
    page.append(f"\n{_hints_left(exercise)}\n")
    return page


def _rows(rows: Sequence[tuple[str, str]], width: int) -> str:
    """Labels and their texts in two columns."""
    longest = max(len(label) for label, _ in rows)
    return "".join(
        filled(text, width, " " * (longest + 4), first=f"  {label:<{longest}}  ")
        for label, text in rows
    )


def _hints_left(exercise: Exercise) -> str:
    first = f"`grader show {exercise.name} --hints 1`"
    return f"{counted(len(exercise.spec.hints), 'hints')}; {first} prints the first"


def hints(exercise: Exercise, count: int, width: int = WIDEST) -> Text:
    """The first `count` hints, or as many as there are."""
    text = Text()
    for number, hint in enumerate(exercise.spec.hints[:count], start=1):
        text.append(filled(hint, min(width, WIDEST), "   ", first=f"{number}. "))
    return text


def _arguments(spec: Spec) -> Iterator[tuple[str, str]]:
    for argument in spec.arguments:
        shape = f", shape {argument.shape}" if argument.shape else ""
        if callable(argument.shape):
            shape = ", of a shape that follows from the inputs'"
        like = f", shape of {argument.like}" if argument.like else ""
        dtype = f", {argument.dtype}" if argument.dtype else ""
        yield argument.name, f"{_ROLES[argument.role]}{shape}{like}{dtype}"
    yield "dtypes", ", ".join(spec.dtypes)
    if spec.strided:
        yield "rows", "may lie further apart than they are long: use the strides"


def _traffic(spec: Spec, sizes: dict[str, int], case: Case) -> Iterator[tuple[str, str]]:
    """The bytes model, term by term, for one sample case."""
    for argument in spec.arguments:
        if argument.role != "scalar":
            yield argument.name, f"{_moves(argument)}, {sizes[argument.name]:,} bytes"
    read, written = spec.least_bytes(sizes)
    each = (read + written) / case.elements
    yield (
        "total",
        (f"{read:,} bytes read + {written:,} written for {case.headline}: {each:.2f} per element"),
    )


def _moves(argument: Argument) -> str:
    """How often a perfect kernel moves each element."""
    moves = (("read", argument.reads), ("written", argument.writes))
    return " and ".join(f"{word} {times} ×" for word, times in moves if times) or "not moved"


def _may_move(argument: Argument) -> str:
    """How often a kernel may move each element; empty where any number passes."""
    moves = (("read", argument.most_reads), ("written", argument.most_writes))
    allowed = " and ".join(f"{word} at most {most} ×" for word, most in moves if most)
    return allowed and f"{argument.name} {allowed}"


def _graded(spec: Spec, case: Case) -> Iterator[tuple[str, str]]:
    yield "points", ", ".join(f"{step} {most}" for step, most in spec.worth.items())
    allowed = ", ".join(filter(None, map(_may_move, spec.arguments)))
    yield "traffic", f"on average {allowed}; counted in simulation for {spec.counted.headline}"
    if spec.budgets:
        yield "counts", f"{_budgets(spec)}; counted in simulation for {spec.counted.headline}"
    if spec.scored is not None and spec.gates is not None:
        budget = spec.memory_budget(case)
        yield "memory", f"at most {budget:,} bytes beyond the arguments, for {case.headline}"
        columns = f", rows of {spec.scored.columns:,}" if spec.scored.columns else ""
        yield (
            "speed",
            (
                f"{spec.scored.dtype}{columns}, sized to the GPU: {percent(spec.gates.passing)} of "
                f"this GPU's ceiling passes, {percent(spec.gates.great)} is great"
            ),
        )
    limits = spec.limits
    yield (
        "time",
        f"{limits.load_s:g} s to load, {limits.call_s:g} s for a call, "
        f"{limits.check_s:g} s for all of a check",
    )


def _budgets(spec: Spec) -> str:
    """Such as `in all at most 24 transactions; each thread at most 1 barrier`."""
    told = []
    for whose, of_all in (("in all", True), ("each thread", False)):
        most = [
            counted(budget.most, budget.count)
            for budget in spec.budgets
            if (budget.count in OF_ALL_WARPS) is of_all
        ]
        told += [f"{whose} at most {', '.join(most)}"] if most else []
    return "; ".join(told)


def sample_case(spec: Spec) -> Case:
    """The scored case, small enough to draw on any machine: one row of it. Or the counted one."""
    if spec.scored is None:
        return spec.counted
    columns = spec.scored.columns or 65_536
    rows = (1,) * (len(spec.largest) - 1)
    return Case(shape=(*rows, columns), dtype=spec.scored.dtype)


def tensor_bytes(spec: Spec, case: Case) -> dict[str, int]:
    """The size of each tensor of a case in bytes. Imports torch, to draw the inputs."""
    from grader.correctness import NAMES, CaseDraw

    shapes: dict[str, tuple[tuple[int, ...], str]] = {}
    inputs = spec.inputs(case, CaseDraw(case))
    for name, value in inputs.items():
        if not isinstance(value, float | int):
            shapes[name] = (tuple(value.shape), NAMES[value.dtype])
    for argument in spec.arguments:
        if argument.role == "out":
            shape, dtype = shapes.get(argument.like or "", ((), case.dtype))
            own = argument.shape_for(inputs)
            shapes[argument.name] = (shape if own is None else own, argument.dtype or dtype)
    return {name: math.prod(shape) * ITEMSIZE[dtype] for name, (shape, dtype) in shapes.items()}
