"""A result as the parts of a page: its steps, failures, pictures and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from grader.model import (
    Compiled,
    Failure,
    Outcome,
    Resources,
    Result,
    Status,
    Step,
    Trace,
    percent,
)
from grader.model.verdict import first_problem
from grader.reports.numbers import number_rows
from grader.reports.report_absent import absences
from grader.reports.report_plots import (
    in_bytes,
    memory_plot,
    memory_roof_plot,
    over_call_plot,
    sizes_plot,
)
from grader.reports.result_plots import plots
from grader.reports.small_plots import Plot
from grader.reports.step_rows import MARKS, MOST_FRAMES, frame_words
from grader.reports.text_html import html_of
from grader.reports.trace_terminal import drawing

WIDTH = 100  # characters of a picture and of numbers
MOST_LINES = 60  # of a picture
MEMORY_BOUND = "bandwidth"  # the bound whose ceiling is the roof of memory

Operations = Callable[[str, str], int | None]  # of an entry's call, by the case in words


def no_operations(entry: str, case: str) -> None:
    """Return None: the operations of no call are known."""


def colour_of(status: Status) -> str:
    return {Status.PASS: "good", Status.FAIL: "bad"}.get(status, "faint")


def all_steps(result: Result) -> list[Step]:
    return [step for one in result.entries or (result,) for step in one.steps]


def parts_of(result: Result, operations: Operations = no_operations) -> list[dict[str, Any]]:
    """Return the steps and figures of the result, or those of each of its entries with its name.

    `operations(entry, case)` is the number of operations of a call, or None where it is not known;
    `entry` is empty where the file has one.
    """
    entries = [(one.entry, one.steps) for one in result.entries] or [("", result.steps)]
    return [
        _part(entry, steps, Path(result.kernel.path).name, partial(operations, entry))
        for entry, steps in entries
    ]


def _part(
    entry: str, steps: Sequence[Step], file_name: str, operations: Callable[[str], int | None]
) -> dict[str, Any]:
    pictures = _pictures(steps, operations)
    return {
        "entry": entry,
        "steps": [_step(step) for step in steps],
        "failures": [
            (step.name, _failure(step.failure, file_name)) for step in steps if step.failure
        ],
        "pictures": pictures,
        "resources": _resources(steps),
        "absent": absences(steps, any(one.name == "roofline" for one in pictures)),
    }


def _step(step: Step) -> dict[str, str]:
    earned = str(step.points) if step.outcome in (Outcome.PASS, Outcome.FAIL) else "–"
    failure = step.failure.message.splitlines()[0] if step.failure else ""
    colour = {"green": "good", "red": "bad"}.get(MARKS[step.outcome][1], "faint")
    return {
        "mark": MARKS[step.outcome][0],
        "colour": colour,
        "word": str(step.outcome).replace("_", " "),
        "name": step.name.replace("_", " "),
        "summary": step.summary or failure,
        "points": f"{earned} of {step.max_points}" if step.max_points else "",
    }


def _failure(failure: Failure, file_name: str) -> dict[str, Any]:
    whole = failure.numbers is not None and bool(failure.numbers.outputs)
    numbers = number_rows(failure.numbers, WIDTH) if failure.numbers else None
    return {
        "message": failure.message,
        "rows": [
            (name, text)
            for name, text in (
                ("case", failure.case),
                ("expected", failure.expected),
                ("got", failure.got),
                ("where", None if whole else failure.where),
                ("hint", failure.hint),
            )
            if text
        ],
        "numbers": html_of(numbers) if numbers else Markup(),
        "lines": [frame_words(frame, file_name) for frame in failure.frames[-MOST_FRAMES:]],
        "replay": failure.replay,
    }


def _pictures(steps: Sequence[Step], operations: Callable[[str], int | None]) -> list[Plot]:
    made = plots(steps)
    speed = next((step.speed for step in steps if step.speed), None)
    made += [sizes_plot(speed)] if speed and speed.sizes else []
    points = [
        (one, count)
        for one in (speed.sizes or (speed,) if speed else ())
        if one.bound == MEMORY_BOUND and one.time_ms > 0 and (count := operations(one.case))
    ]
    if points and not any(one.name == "roofline" for one in made):
        made.append(memory_roof_plot(points))
    memory = next((step.memory for step in steps if step.memory), None)
    made += [memory_plot(memory)] if memory else []
    held = memory.over_call if memory else None
    return made + ([over_call_plot(held)] if held and held.kernel and held.torch else [])


def _resources(steps: Sequence[Step]) -> list[tuple[str, ...]]:
    compiled = [one for step in steps for one in step.compiled]
    ran = [one for step in steps if step.speed for one in step.speed.resources]
    return [*map(_compiled, compiled), *map(_ran, ran)]


def _compiled(one: Compiled) -> tuple[str, ...]:
    if one.registers is None:
        return (one.kernel, f"sm_{one.target}, {one.dtype}", one.error or "refused", *"––––")
    return (one.kernel, f"sm_{one.target}, {one.dtype}", *_figures(one))


def _ran(one: Resources) -> tuple[str, ...]:
    return (one.kernel, "as it ran", *_figures(one))


def _figures(one: Compiled | Resources) -> tuple[str, ...]:
    return (
        str(one.registers),
        "–" if one.spills is None else f"{one.spills:,} B",
        "–" if one.shared_bytes is None else in_bytes(one.shared_bytes),
        "–" if one.threads is None else str(one.threads),
        "–" if one.occupancy is None else percent(one.occupancy),
    )


def picture_of(trace: Trace | None) -> Markup | None:
    return None if trace is None else html_of(drawing(trace, width=WIDTH, lines=MOST_LINES))


def has_failing_case(result: Result) -> bool:
    problem = first_problem(result)
    failure = problem.failure if problem else None
    return result.status is Status.FAIL and failure is not None and failure.case is not None


def why_no_picture_of(result: Result) -> str:
    drawn = (
        f"`grader show {result.exercise} --trace` draws what each thread or lane of "
        f"{Path(result.kernel.path).name} does."
    )
    if has_failing_case(result):
        return (
            "No picture: none is kept for this check. `grader check NAME` draws one of a single "
            f"exercise, where the accesses of a small case show the fault. {drawn}"
        )
    return f"No case failed, so there is no picture. {drawn}"
