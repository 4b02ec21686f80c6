"""The transitions of the loop: a save, an answer of the judge or a key changes its state.

A transition takes the state and returns the next one, with the deeds that the session must do. It
reads no file, starts nothing and draws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.cli.loop.state import (
    Answer,
    Change,
    Choose,
    Deed,
    Grade,
    Interrupt,
    KeepPicture,
    Look,
    Loop,
    Open,
    Page,
    Remember,
    Run,
    Sweep,
    View,
    Why,
)
from grader.course import Exercise
from grader.course.progress import Progress
from grader.model import Result, Status, Step, Trace, first_problem

if TYPE_CHECKING:
    from grader.authoring import LintFinding

RESTARTED = "The judge ended unexpectedly, and was started again."


# -- saves, and what the judge answers


def arrive(loop: Loop, name: str) -> Change:
    """Make an exercise the current one, and look at its file. Pages and full reports end."""
    loop = replace(
        loop, current=name, view=View.REPORT, page=None, whole=False, asking=False, note=""
    )
    deeds: list[Deed] = [Choose(name), Look()]
    if loop.run is not None and loop.run.why is not Why.SWEEP and loop.run.name != name:
        loop, deeds = _given_up(loop), [Interrupt(), *deeds]
    return loop, deeds


def saved(loop: Loop) -> Change:
    """Look at the current file, which may have changed."""
    return loop, [Look()]


def turned(loop: Loop, exercise: Exercise) -> Change:
    """Switch the current exercise to another language, whose file the learner edits."""
    return replace(loop.taking(exercise), note=f"{exercise.file} is checked now."), []


def looked(loop: Loop, digest: str | None) -> Change:
    """Grade the current file if its content has changed since it was last graded.

    A digest of None means that the file cannot be read: the answer says so.
    """
    if digest is None:
        missing = Answer(
            error=f"{loop.exercise.file} of {loop.current} does not exist, or cannot be read.",
            advice="save it, or press x to write the stub again",
        )
        loop = replace(loop, answers={**loop.answers, loop.current: missing})
        return _idle(replace(loop, digests=_without(loop.digests, loop.current)))
    if loop.digests.get(loop.current) == digest:
        return _idle(loop)
    loop = replace(loop, digests={**loop.digests, loop.current: digest}, note="")
    loop, deeds = _begin(loop, loop.current, Why.SAVED)
    if loop.view is View.DIFF:
        return loop, [*deeds, Open(View.DIFF)]
    # A lesson stays open, and the reader keeps the place; any other page would hide the report.
    return loop if loop.view is View.LESSON else replace(loop, view=View.REPORT, page=None), deeds


def broken(loop: Loop, message: str, advice: str) -> Change:
    """Show that the current exercise cannot be graded, whatever its kernel file holds."""
    answer = Answer(error=message, advice=advice or "n goes on to the next exercise")
    return _idle(replace(loop, answers={**loop.answers, loop.current: answer}))


def began(loop: Loop, number: int, step: str, slow: str) -> Change:
    """Note that a step begins."""
    if loop.run is None or loop.run.number != number:
        return loop, []
    return replace(loop, run=replace(loop.run, step=step, slow=slow)), []


def ended(loop: Loop, number: int, step: Step) -> Change:
    """Note that a step has ended."""
    if loop.run is None or loop.run.number != number:
        return loop, []
    return replace(loop, run=replace(loop.run, ended=(*loop.run.ended, step))), []


def graded(
    loop: Loop, number: int, result: Result, waited_s: float, notes: Sequence[LintFinding] = ()
) -> Change:
    """Take a verdict, unless the run was given up."""
    run = loop.run
    if run is None or run.number != number:
        return loop, []
    if run.why is Why.SPEED and result.status is Status.CANNOT_GRADE and _has_verdict(loop):
        return replace(loop, run=replace(run, result=result), note=_in_words(result)), []
    answer = Answer(result, waited_s, notes)
    loop = _answered(replace(loop, run=replace(run, result=result)), answer)
    loop = replace(loop, digests={**loop.digests, run.name: result.kernel.sha256})
    if run.why is Why.SWEEP and loop.sweep is not None:
        passed = loop.sweep.passed + (result.status is Status.PASS)
        loop = replace(loop, sweep=replace(loop.sweep, passed=passed, done=loop.sweep.done + 1))
    return loop, [Remember(result)]


def traced(loop: Loop, number: int, trace: Trace) -> Change:
    """Take the picture of the failing case, which comes after the verdict."""
    run = loop.run
    if run is None or run.number != number or run.name not in loop.answers:
        return loop, []
    return _answered(loop, replace(loop.answers[run.name], trace=trace)), [KeepPicture(trace)]


def over(loop: Loop, number: int, error: str = "", advice: str = "", crash: bool = False) -> Change:
    """End a run. After a crash the judge tries once more; a run without a result is an error."""
    run = loop.run
    if run is None or run.number != number:
        return loop, []
    if crash and not run.again:
        again = Run(loop.runs + 1, run.name, run.why, again=True)
        return replace(loop, run=again, runs=again.number, note=RESTARTED), [Grade(again)]
    if run.result is None and run.why is Why.SPEED and _has_verdict(loop) and not crash:
        return _sweep_on(replace(loop, run=None, note=f"{error} {advice}".strip()))
    if run.result is None:
        broke = Answer(
            error=error or "The judge ended without a verdict.",
            advice=advice or "press r to check again",
        )
        loop = replace(_answered(loop, broke), digests=_without(loop.digests, run.name))
        if run.why is Why.SWEEP and loop.sweep is not None:
            loop = replace(loop, sweep=replace(loop.sweep, done=loop.sweep.done + 1))
    return _sweep_on(replace(loop, run=None))


def noted(loop: Loop, note: str) -> Change:
    """Show a sentence above the verdict."""
    return replace(loop, note=note), []


def opened(loop: Loop, page: Page) -> Change:
    return replace(loop, view=page.view, page=page), []


def remembered(loop: Loop, progress: Progress) -> Change:
    """Take the progress as it is on disk now, and say what could not be remembered."""
    return replace(loop, progress=progress, note=progress.notice or loop.note), []


def _in_words(result: Result) -> str:
    problem = first_problem(result)
    return f"{problem.name.capitalize()} {problem.summary}." if problem else ""


def _has_verdict(loop: Loop) -> bool:
    answer = loop.answers.get(loop.run.name) if loop.run else None
    return answer is not None and answer.result is not None


# -- runs


def check_again(loop: Loop, why: Why = Why.SAVED) -> Change:
    """Grade the current file though its content is what was graded last."""
    return _begin(replace(loop, view=View.REPORT, page=None, note=""), loop.current, why)


def sweep(loop: Loop) -> Change:
    """Check all exercises in the background, or stop doing so."""
    if loop.sweep is not None:
        deeds: list[Deed] = []
        if loop.run is not None and loop.run.why is Why.SWEEP:
            loop, deeds = _given_up(loop), [Interrupt()]
        return replace(loop, sweep=None, note="The check of all exercises was stopped."), deeds
    return _idle(replace(loop, sweep=Sweep(tuple(loop.names)), note=""))


def _idle(loop: Loop) -> Change:
    return _sweep_on(loop) if loop.run is None else (loop, [])


def _sweep_on(loop: Loop) -> Change:
    if loop.sweep is None:
        return loop, []
    if not loop.sweep.left:
        done = f"All exercises are checked: {loop.sweep.passed} of {loop.sweep.done} pass."
        return replace(loop, sweep=None, note=done), []
    name, *left = loop.sweep.left
    return _begin(replace(loop, sweep=replace(loop.sweep, left=tuple(left))), name, Why.SWEEP)


def _begin(loop: Loop, name: str, why: Why) -> Change:
    deeds: list[Deed] = []
    if loop.run is not None:
        digest = loop.digests.get(name)
        loop, deeds = _given_up(loop), [Interrupt()]
        if digest is not None and why is not Why.SWEEP:
            loop = replace(loop, digests={**loop.digests, name: digest})
    run = Run(loop.runs + 1, name, why)
    return replace(loop, run=run, runs=run.number), [*deeds, Grade(run)]


def _given_up(loop: Loop) -> Loop:
    """Take back a run without a result, so that its file is graded at the next occasion."""
    run = loop.run
    if run is None or run.result is not None:
        return replace(loop, run=None)
    if run.why is Why.SWEEP and loop.sweep is not None:
        left = (run.name, *loop.sweep.left)
        return replace(loop, run=None, sweep=replace(loop.sweep, left=left))
    return replace(loop, run=None, digests=_without(loop.digests, run.name))


def _answered(loop: Loop, answer: Answer) -> Loop:
    assert loop.run is not None
    return replace(loop, answers={**loop.answers, loop.run.name: answer})


def _without(digests: Mapping[str, str], name: str) -> Mapping[str, str]:
    return {each: digest for each, digest in digests.items() if each != name}
