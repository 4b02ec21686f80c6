"""The lesson of a new exercise: its headings, all that its spec already says, and what to write.

What only an author can tell is a line that begins with `TODO(author)`. The rest are facts of the
spec, so that a lesson and its spec agree from the first day on.
"""

from __future__ import annotations

import textwrap

from grader.model import Argument, Spec

TODO = "TODO(author):"
WIDTH = 100  # characters of a line
TIMES = {1: "once", 2: "twice", 3: "three times"}
_ROLES = {
    "in": "read only",
    "out": "filled by the kernel",
    "inout": "read and overwritten",
    "scalar": "a Python number",
}


def skeleton(name: str, spec: Spec) -> str:
    """The text of README.md for the exercise `name`. Without a scored case it is a puzzle's."""
    puzzle = spec.scored is None
    opening = _idea() if puzzle else _why()
    closing = "" if puzzle else f"\n## Sources\n\n{TODO} where this can be read about.\n"
    return (
        f"# {spec.title}\n\n{opening}\n{_task(name, spec)}\n{_graded(spec)}\n{_hints(spec)}\n"
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


def _task(name: str, spec: Spec) -> str:
    rows = [("entry", f"`{spec.signature}`")]
    rows += [(f"`{argument.name}`", _argument(argument)) for argument in spec.arguments]
    rows += [("dtypes", ", ".join(spec.dtypes)), ("returns", "nothing")]
    table = "".join(f"| {left} | {right} |\n" for left, right in rows)
    return (
        f"## The task\n\n{TODO} which part of `kernel.py` is to be filled in.\n\n"
        f"| | |\n| --- | --- |\n{table}\n"
        f"    grader show {name}      the contract and what is graded\n"
        f"    grader check {name}     grade your kernel.py\n"
    )


def _argument(argument: Argument) -> str:
    like = f", shape of `{argument.like}`" if argument.like else ""
    dtype = f", {argument.dtype}" if argument.dtype else ""
    return f"{_ROLES[argument.role]}{like}{dtype}"


def _graded(spec: Spec) -> str:
    said = {
        "load": ": imports the file and finds the entry.",
        "correctness": f": {TODO} which sizes and values, compared with float64.",
        "properties": f": {TODO} what the tests of `test_kernel.py` hold, in words.",
        "traffic": f": {_moves(spec)}on average over the elements; counted in simulation.",
        "counts": f": see the table below; counted in simulation for {spec.counted.headline}.",
        "memory": ": beyond its arguments a call may hold what `grader show` says.",
        "speed": f" (on a GPU): {_scored(spec)}, far larger than the GPU's cache, compared with "
        "a reference kernel on the same GPU in the same run, the **ceiling**.",
    }
    steps = "".join(
        _filled(f"{number}. **{step}**{said[step]}", "   ")
        for number, step in enumerate(spec.steps, start=1)
    )
    return f"## How it is graded\n\n{steps}{_budgets(spec)}{_gates(spec)}"


def _moves(spec: Spec) -> str:
    """Such as "`x` read at most once, "."""
    told = (
        f"`{argument.name}` {done} at most {TIMES.get(most, f'{most} times')}, "
        for argument in spec.arguments
        for done, most in (("read", argument.most_reads), ("written", argument.most_writes))
        if most
    )
    return "".join(told)


def _scored(spec: Spec) -> str:
    if spec.scored is None:
        return ""
    rows = f" with rows of {spec.scored.columns:,} columns" if spec.scored.columns else ""
    return f"{spec.scored.dtype}{rows}"


def _budgets(spec: Spec) -> str:
    rows = [f"| {b.count.replace('_', ' ')} | {b.most:,} | {b.best:,} |\n" for b in spec.budgets]
    return "".join(["\n| count | allowed | best |\n| --- | --- | --- |\n", *rows]) if rows else ""


def _gates(spec: Spec) -> str:
    if spec.gates is None:
        return ""
    return (
        "\n| gate | share of the ceiling |\n| --- | --- |\n"
        f"| pass | {spec.gates.passing:.2f} |\n| great | {spec.gates.great:.2f} |\n"
    )


def _hints(spec: Spec) -> str:
    return "## Hints\n\n" + "".join(
        f"<details><summary>Hint {number}</summary>\n\n{_filled(hint)}\n</details>\n"
        for number, hint in enumerate(spec.hints, start=1)
    )


def _filled(text: str, indent: str = "") -> str:
    lines = textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "".join(f"{line}\n" for line in lines)
