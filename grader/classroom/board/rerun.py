"""`grader leaderboard verify`: the leaders of each board once more, from source, side by side.

Each round judges every leader's kernel and the model solution one after the other on this GPU,
every second round in the opposite order, so that what drifts hits all alike.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from grader.classroom import documents
from grader.classroom.board import rank
from grader.classroom.board.entries import Entry
from grader.classroom.board.rank import Span
from grader.classroom.documents import Problem
from grader.course import Exercise
from grader.grading import LARGEST_FILE, Options, Request
from grader.model import (
    BrokenExercise,
    CannotGrade,
    Outcome,
    Result,
    Status,
    quoted,
    verdict,
)
from grader.speed import INDIFFERENCE

Run = Callable[[Sequence[Request]], Sequence[Result]]


class Finding(StrEnum):
    """What became of a claim."""

    CONFIRMED = "confirmed"
    LOWER = "lower"  # right, and slower than claimed
    WRONG = "wrong"  # not right, or impossibly fast, in at least one round
    UNTOLD = "not told"  # no round gave a figure: noise, or the machine
    OTHER_GPU = "other GPU"  # lower, on another model than that of the claim
    NO_SOURCE = "no source"


@dataclass(frozen=True)
class Round:
    """What one round found of one kernel: its share, or why there is none."""

    span: Span | None
    gpu: str
    wrong: bool = False
    problem: str = ""


@dataclass(frozen=True)
class Rerun:
    """One leader, or with `claim` None the model solution, as measured here."""

    claim: Entry | None
    finding: Finding | None
    measured: Span | None
    gpu: str
    problem: str = ""


def sources(folder: Path) -> tuple[dict[str, Path], list[Problem]]:
    """The kernel files in a folder, at all depths, by their SHA-256; and what cannot be used."""
    found: dict[str, Path] = {}
    listed, problems = documents.files([folder], (".py",))
    for path, size in listed:
        if size > LARGEST_FILE:
            reason = f"it is longer than {LARGEST_FILE:,} bytes, and no kernel is"
            problems.append(Problem(quoted(str(path), 200), reason))
            continue
        try:
            found.setdefault(hashlib.sha256(path.read_bytes()).hexdigest(), path)
        except OSError as error:
            problems.append(documents.unreadable(path, error))
    return found, problems


def rerun(
    exercises: Iterable[Exercise],
    entries: Sequence[Entry],
    top: int,
    found: Mapping[str, Path],
    rounds: int,
    run: Run,
) -> dict[str, list[Rerun]]:
    """By exercise, its leaders in the order of its board, then the model solution where it is.

    Raises CannotGrade where this machine gave no figure at all, BrokenExercise, and as `run` does.
    """
    best = rank.best_of(entries)
    told = {
        exercise.name: _board(exercise, rank.leaders(best[exercise.name], top), found, rounds, run)
        for exercise in exercises
        if exercise.name in best and rank.leaders(best[exercise.name], top)
    }
    tried = [one for reruns in told.values() for one in reruns if one.gpu]
    if tried and all(one.measured is None and one.finding is not Finding.WRONG for one in tried):
        raise CannotGrade(
            f"No run on this GPU gave a figure; the first ended with: {tried[0].problem}",
            "Try again when the GPU is quiet.",
        )
    return told


def _board(
    exercise: Exercise,
    leaders: Sequence[Entry],
    found: Mapping[str, Path],
    rounds: int,
    run: Run,
) -> list[Rerun]:
    kernels = {one.kernel: found[one.kernel] for one in leaders if one.kernel in found}
    if exercise.solution.exists():
        kernels[""] = exercise.solution
    seen: dict[str, list[Round]] = {name: [] for name in kernels}
    for number in range(rounds if kernels.keys() - {""} else 0):
        names = list(kernels) if number % 2 == 0 else list(reversed(kernels))
        requests = [_request(exercise, kernels[name]) for name in names]
        for name, result in zip(names, run(requests), strict=True):
            seen[name].append(round_of(result))
    told = [judged(one, seen.get(one.kernel)) for one in leaders]
    solution = seen.get("")
    return told if not solution else [*told, judged(None, solution)]


def _request(exercise: Exercise, kernel: Path) -> Request:
    return Request(exercise, kernel, Options(device="cuda", require_speed=True, hardened=True))


def round_of(result: Result) -> Round:
    """Raises BrokenExercise where the exercise or the grader is at fault."""
    gpu = result.environment.device
    step = verdict.first_problem(result)
    speed = next((one.speed for one in result.steps if one.name == "speed"), None)
    if result.status is Status.ERROR:
        raise BrokenExercise(
            f"{result.exercise}: {quoted(result.message or _told(result), 200)}",
            "`grader verify` shows what is wrong with the exercise.",
        )
    slow = step is not None and step.failure is not None and step.failure.kind == "too_slow"
    if speed is not None and (result.status is Status.PASS or slow):
        return Round(Span(speed.share_low, speed.share, speed.share_high), gpu)
    wrong = step is not None and step.outcome in (Outcome.FAIL, Outcome.NOT_STARTED)
    return Round(None, gpu, wrong, quoted(_told(result), 200))


def _told(result: Result) -> str:
    step = verdict.first_problem(result)
    if step is None:
        return result.message or f"it ended as {result.status}"
    said = step.summary if step.failure is None else step.failure.message
    return f"{step.name}: {said.splitlines()[0] if said else step.outcome}"


def judged(claim: Entry | None, rounds: Sequence[Round] | None) -> Rerun:
    """Whether the rounds bear a claim out; None stands for a kernel file that was not found.

    What was measured has the medians of the rounds' shares and of the ends of their intervals. It
    confirms a claim whose interval it reaches or exceeds; decision.INDIFFERENCE is allowed for,
    for the claim may be of another machine, in another state than this one.
    """
    if rounds is None:
        return Rerun(claim, Finding.NO_SOURCE, None, "", "no file with this SHA-256 is there")
    gpu = rounds[0].gpu
    spans = [one.span for one in rounds if one.span is not None]
    problem = next((one.problem for one in rounds if one.problem), "")
    measured = None
    if spans:
        measured = Span(
            statistics.median(one.low for one in spans),
            statistics.median(one.middle for one in spans),
            statistics.median(one.high for one in spans),
        )
    if claim is None:
        return Rerun(None, None, measured, gpu, problem)
    wrong = any(one.wrong for one in rounds)
    return Rerun(claim, _finding(claim, measured, gpu, wrong), measured, gpu, problem)


def _finding(claim: Entry, measured: Span | None, gpu: str, wrong: bool) -> Finding:
    assert claim.figures is not None
    if wrong:
        return Finding.WRONG
    if measured is None:
        return Finding.UNTOLD
    if measured.high * (1 + INDIFFERENCE) >= claim.figures.share_low:
        return Finding.CONFIRMED
    return Finding.LOWER if gpu == claim.figures.gpu else Finding.OTHER_GPU


def confirmed(told: Mapping[str, Sequence[Rerun]]) -> bool:
    """Whether every leader's claim was borne out."""
    findings = [one.finding for reruns in told.values() for one in reruns if one.claim is not None]
    return all(finding is Finding.CONFIRMED for finding in findings)
