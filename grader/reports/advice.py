"""The next step that a report advises, depending on how the check ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.model import Outcome, Result, Status, Step, first_problem, percent
from grader.speed import held_to

# Of a stub: while it stands, all that is written below it is never reached.
STUB_LINE = "its line `raise NotImplementedError`"


def next_step(result: Result, following: str | None = None, lesson: str = "") -> str:
    """Return what the reader can do next; `following` names the exercise after this one.

    `lesson` is the path of the lesson, where the graded file is a copy, such as a notebook's cell.
    """
    name = result.exercise
    match result.status:
        case Status.NOT_STARTED if lesson:
            return (
                f"write the missing part, delete {STUB_LINE} and check again; {lesson} explains it"
            )
        case Status.NOT_STARTED:
            missing = [one.entry for one in result.entries if one.status is Status.NOT_STARTED]
            part = f"{missing[0]} in" if missing else "the missing part of"
            return (
                f"write {part} {result.kernel.path} and delete {STUB_LINE}; the README.md in its "
                f"folder explains it, `grader show {name}` prints the contract"
            )
        case Status.FAIL:
            return _after_failure(result)
        case Status.CANNOT_GRADE if _problem_kind(result) == "not_simulated":
            return "check on a machine with a CUDA GPU"
        case Status.CANNOT_GRADE if _problem_kind(result) == "too_many_operations":
            return "load blocks of elements and check again, or check on a machine with a CUDA GPU"
        case Status.CANNOT_GRADE:
            return "your kernel is not at fault; fix the problem above, or check on another machine"
        case Status.ERROR | Status.UNFINISHED:
            return (
                "your kernel is not at fault; report this to whoever runs the course, with the "
                f"output of `grader check {name} --seed {result.seed} --json`"
            )
        case Status.INTERRUPTED:
            return f"nothing was decided; run `grader check {name}` again"
        case Status.PASS:
            return _after_pass(result, following)


def _problem_kind(result: Result) -> str:
    problem = first_problem(result)
    return problem.failure.kind if problem and problem.failure else ""


def _after_failure(result: Result) -> str:
    problem = first_problem(result)
    hint = f"`grader hint {result.exercise}` gives a hint"
    if not result.steps:
        return "this kernel file was not run: change what the line above names, and check again"
    if problem is None:
        return (
            "the outputs are right, but the kernel has an error: change the lines above, or it may "
            "fail on another GPU"
        )
    if problem.name == "load":
        return f"make {Path(result.kernel.path).name} load, then check again"
    if problem.name == "speed":
        return f"it is right but slow: look for bytes that move twice and for idle threads; {hint}"
    if problem.name in ("traffic", "counts"):
        if _is_puzzle(result) and not _exceeds_a_count_of_warps(problem):
            hint = (
                f"`grader show {result.exercise} --trace` draws what each thread or program does, "
                f"{hint}"
            )
        return f"change the kernel and check again; {hint}"
    if problem.failure and problem.failure.replay:
        return f"change the kernel and replay the case above; {hint}"
    return f"change the kernel and check again; {hint}"


def _exceeds_a_count_of_warps(problem: Step) -> bool:
    """Return whether the first excess is one that a picture of single threads cannot show."""
    over = next((row.count for row in problem.counts if row.value > row.most), None)
    return over in ("transactions", "bank_conflicts")


def _is_puzzle(result: Result) -> bool:
    """Return whether single threads of the kernel can be drawn: only puzzles have no speed step."""
    return all(step.name != "speed" for step in result.steps)


def _after_pass(result: Result, following: str | None) -> str:
    if result.message:  # one case alone was graded
        return "check again without --case: only all cases together earn points"
    name, colon, _ = result.exercise.partition(":")
    if colon:
        return f"`grader check {name}` checks all entries of the file"
    onward = "`grader list` shows the other exercises"
    if following is not None:
        onward = f"read the README.md of {following}; `grader show {following}` prints its contract"
    speed = next((step for step in result.steps if step.name == "speed"), None)
    if speed and speed.outcome is Outcome.SKIP:
        return (
            f"{onward}. A machine with a CUDA GPU also grades speed here, for "
            f"{speed.max_points} points"
        )
    if speed and speed.speed and speed.speed.share < speed.speed.great:
        great = percent(speed.speed.great)
        return f"{onward}. Here {great} of {held_to(speed.speed)} would be great"
    return onward


def next_of_several(results: Sequence[Result]) -> str:
    """Return what the reader of several results can do next."""
    left = next((result for result in results if result.status is not Status.PASS), None)
    if left is None:
        return "`grader list` shows the other exercises"
    return f"`grader check {left.exercise}` checks the first one that did not pass"
