"""The next step that a report advises, by what became of the check."""

from __future__ import annotations

from pathlib import Path

from grader.model import Outcome, Result, Status, Step, first_problem, percent


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
