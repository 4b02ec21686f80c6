"""`grader leaderboard verify`: run the leaders of each board again, from source, side by side.

Each round judges every leader's kernel and the model solution, one after the other, on this GPU.
Every second round has the opposite order: a drift of the clocks affects all alike.
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
    """The verdict on a claim."""

    CONFIRMED = "confirmed"
    LOWER = "lower"  # right, and slower than claimed
    WRONG = "wrong"  # not right, or impossibly fast, in at least one round
    UNMEASURED = "no figure"  # from any round: noise, or the machine
    OTHER_GPU = "other GPU"  # lower, on another model than that of the claim
    NO_SOURCE = "no source"


@dataclass(frozen=True)
class Round:
    """The result of one kernel in one round: its share, or the problem."""

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
    """Find the kernel files in a folder, at all depths, by SHA-256; and those not usable."""
    by_digest: dict[str, Path] = {}
    listed, problems = documents.files([folder], (".py",))
    for path, size in listed:
        if size > LARGEST_FILE:
            reason = f"it is longer than {LARGEST_FILE:,} bytes, and no kernel is"
            problems.append(Problem(quoted(str(path), 200), reason))
            continue
        try:
            by_digest.setdefault(hashlib.sha256(path.read_bytes()).hexdigest(), path)
        except OSError as error:
            problems.append(documents.unreadable(path, error))
    return by_digest, problems


def rerun(
    exercises: Iterable[Exercise],
    entries: Sequence[Entry],
    top: int,
    kernels: Mapping[str, Path],
    rounds: int,
    run: Run,
) -> dict[str, list[Rerun]]:
    """Run the leaders of each exercise, in the order of its board, then the model solution if any.

    `kernels` are files by SHA-256. Raises CannotGrade where this machine gave no figure at all,
    BrokenExercise, and as `run` does.
    """
    best = rank.best_of(entries)
    reruns = {
        one.name: _board(one, rank.leaders(best[one.name], top), kernels, rounds, run)
        for one in exercises
        if one.name in best and rank.leaders(best[one.name], top)
    }
    ran = [one for board in reruns.values() for one in board if one.gpu]
    if ran and all(one.measured is None and one.finding is not Finding.WRONG for one in ran):
        raise CannotGrade(
            f"No run on this GPU gave a figure; the first ended with: {ran[0].problem}",
            "Try again when the GPU is quiet.",
        )
    return reruns


def _board(
    exercise: Exercise,
    leaders: Sequence[Entry],
    kernels: Mapping[str, Path],
    rounds: int,
    run: Run,
) -> list[Rerun]:
    files = {one.kernel: kernels[one.kernel] for one in leaders if one.kernel in kernels}
    if exercise.solution.exists():
        files[""] = exercise.solution
    by_kernel: dict[str, list[Round]] = {name: [] for name in files}
    for number in range(rounds if files.keys() - {""} else 0):
        names = list(files) if number % 2 == 0 else list(reversed(files))
        requests = [_request(exercise, files[name]) for name in names]
        for name, result in zip(names, run(requests), strict=True):
            by_kernel[name].append(round_of(result))
    reruns = [judged(one, by_kernel.get(one.kernel)) for one in leaders]
    solution = by_kernel.get("")
    return reruns if not solution else [*reruns, judged(None, solution)]


def _request(exercise: Exercise, kernel: Path) -> Request:
    return Request(exercise, kernel, Options(device="cuda", require_speed=True, hardened=True))


def round_of(result: Result) -> Round:
    """Read one round off a result. Raises BrokenExercise for a fault of exercise or grader."""
    gpu = result.environment.device
    step = verdict.first_problem(result)
    speed = next((one.speed for one in result.steps if one.name == "speed"), None)
    if result.status is Status.ERROR:
        raise BrokenExercise(
            f"{result.exercise}: {quoted(result.message or _problem(result), 200)}",
            "`grader verify` shows what is wrong with the exercise.",
        )
    slow = step is not None and step.failure is not None and step.failure.kind == "too_slow"
    if speed is not None and (result.status is Status.PASS or slow):
        return Round(Span(speed.share_low, speed.share, speed.share_high), gpu)
    wrong = step is not None and step.outcome in (Outcome.FAIL, Outcome.NOT_STARTED)
    return Round(None, gpu, wrong, quoted(_problem(result), 200))


def _problem(result: Result) -> str:
    step = verdict.first_problem(result)
    if step is None:
        return result.message or f"it ended as {result.status}"
    text = step.summary if step.failure is None else step.failure.message
    return f"{step.name}: {text.splitlines()[0] if text else step.outcome}"


def judged(claim: Entry | None, rounds: Sequence[Round] | None) -> Rerun:
    """Compare a claim with the rounds, which are None if its kernel file was not found.

    The measured span has the medians of the rounds' shares and of the ends of their intervals. It
    confirms a claim whose interval it reaches or exceeds. statistics.INDIFFERENCE is allowed for:
    the claim may come from another machine, or from this one in another state.
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
        return Finding.UNMEASURED
    if measured.high * (1 + INDIFFERENCE) >= claim.figures.share_low:
        return Finding.CONFIRMED
    return Finding.LOWER if gpu == claim.figures.gpu else Finding.OTHER_GPU


def all_confirmed(reruns: Mapping[str, Sequence[Rerun]]) -> bool:
    findings = [one.finding for board in reruns.values() for one in board if one.claim is not None]
    return all(finding is Finding.CONFIRMED for finding in findings)
