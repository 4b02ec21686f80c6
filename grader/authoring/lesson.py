"""The lesson of a new exercise: its headings, the facts of its spec, and marks for the author.

A line that begins with `TODO(author)` marks text that only an author can write. Everything else is
derived from the spec, so that a lesson and its spec agree from the first day.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from grader import backends
from grader.course import Exercise
from grader.grading import Step, kind_of, steps_of
from grader.model import BaseSpec, Spec, how_often
from grader.speed import bound_of

TODO = "TODO(author):"
WIDTH = 100  # characters of a line


def skeleton(exercise: Exercise, spec: BaseSpec) -> str:
    """Write the text of README.md. A puzzle's has one idea and no sources."""
    name, puzzle = exercise.name, exercise.shelf == "puzzles"
    opening = _idea() if puzzle else _why()
    closing = "" if puzzle else f"\n## Sources\n\n{TODO} where this can be read about.\n"
    return (
        f"# {spec.title}\n\n{opening}\n{_task(name, spec)}\n{_graded(spec)}\n{_hints(name, spec)}\n"
        f"## Common mistakes\n\n{TODO} what goes wrong, one line for each; the files "
        f"`wrong_*.py` are a start.\n{closing}"
    )


def _idea() -> str:
    return f"## The idea\n\n{TODO} the one new idea, with a small example in a table.\n"


def _why() -> str:
    return (
        f"## Why\n\n{TODO} where this is needed, and what is to be learned.\n\n"
        f"## The bytes model\n\n{TODO} a table of what a perfect kernel reads and writes for each "
        "element,\nand what a simple one does.\n"
    )


def _task(name: str, spec: BaseSpec) -> str:
    kind = kind_of(spec)
    rows = "".join(f"| {left} | {right} |\n" for left, right in kind.lesson(spec))
    table = f"| | |\n| --- | --- |\n{rows}\n" if rows else ""
    return (
        f"## The task\n\n{TODO} which part of `{kind.file}` is to be filled in.\n\n{table}"
        f"    grader show {name}      the contract and what is graded\n"
        f"    grader check {name}     grade your {kind.file}\n"
    )


def _graded(spec: BaseSpec) -> str:
    order = steps_of(spec)
    steps = "".join(
        _filled(f"{number}. **{step.name}**{_of_step(step, spec)}", "   ")
        for number, step in enumerate(order, start=1)
    )
    tables = "".join(_TABLES[step.name](spec) for step in order if step.name in _TABLES)
    return f"## How it is graded\n\n{steps}{tables}"


def _of_step(step: Step, spec: Any) -> str:
    known = _SENTENCES.get(step.name)
    return f": {step.title}." if known is None else known(spec)


# What a lesson says of a step, where that is more than its title.
_SENTENCES: dict[str, Callable[[Any], str]] = {
    "load": lambda spec: ": imports the file and finds the entry.",
    "correctness": lambda spec: f": {TODO} which sizes and values, compared with float64.",
    "properties": lambda spec: f": {TODO} what the tests of `test_kernel.py` hold, in words.",
    "traffic": lambda spec: f": {_moves(spec)}on average over the elements; {_counted(spec)}.",
    "counts": lambda spec: (
        f": see the table below; counted in simulation for {spec.counted.headline}."
    ),
    "memory": lambda spec: ": beyond its arguments a call may hold what `grader show` says.",
    "compile": lambda spec: (
        ": the kernel compiles for your GPU, or for the one that `grader show` names if there is "
        "none."
    ),
    "speed": lambda spec: (
        " (on a GPU): " + " ".join(f"{_scored(one)}, {_compared(one)}" for one in spec.scored_specs)
    ),
}


def _counted(spec: Spec) -> str:
    simulated = backends.find(spec.backend).can.count_traffic
    return "counted in simulation" if simulated else "counted on a GPU whose counters may be read"


def _moves(spec: Spec) -> str:
    """Return such as "`x` read at most once, "."""
    parts = (
        f"`{argument.name}` {done} at most {how_often(most)}, "
        for argument in spec.arguments
        for done, most in (("read", argument.most_reads), ("written", argument.most_writes))
        if most
    )
    return "".join(parts)


def _scored(spec: Spec) -> str:
    scored, _ = spec.timed
    size = ", far larger than the GPU's cache" if scored.rows is None else ""
    if not scored.row:
        return f"{scored.dtype}{size}"
    is_row = len(scored.extents) == 1
    columns = f"{scored.rows_in_words} of {scored.row} columns"
    rows = columns if is_row else f"{scored.row} for each first index"
    return f"{scored.dtype} with {rows}{size}"


def _compared(spec: Spec) -> str:
    bound = bound_of(spec)
    article = "the " if bound.held_to.startswith("the ") else ""
    return (
        f"compared with {bound.measured_by} on the same GPU in the same run, "
        f"{article}**{bound.held_to.removeprefix(article)}**."
    )


def _budgets(spec: Spec) -> str:
    rows = [f"| {b.count.replace('_', ' ')} | {b.most:,} | {b.best:,} |\n" for b in spec.budgets]
    return "".join(["\n| count | allowed | best |\n| --- | --- | --- |\n", *rows])


def _gates(spec: Spec) -> str:
    return "".join(map(_gates_of_one, spec.scored_specs))


def _gates_of_one(spec: Spec) -> str:
    _, gates = spec.timed
    return (
        f"\n| gate | share of {bound_of(spec).held_to} |\n| --- | --- |\n"
        f"| pass | {gates.passing:.2f} |\n| great | {gates.great:.2f} |\n"
    )


_TABLES: dict[str, Callable[[Any], str]] = {"counts": _budgets, "speed": _gates}


def _hints(name: str, spec: BaseSpec) -> str:
    """Say how many there are: who reads on must not see them."""
    count = len(spec.hints)
    return f"## Hints\n\nThere are {count}: `grader hint {name}` shows them one at a time.\n"


def _filled(text: str, indent: str = "") -> str:
    lines = textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "".join(f"{line}\n" for line in lines)
