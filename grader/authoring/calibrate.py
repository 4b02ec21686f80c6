"""`grader verify --calibrate`: gates for an exercise, proposed from repeated runs on this GPU.

The model solution is checked several times, each time in fresh processes and with new inputs. The
gates follow from its shares of the ceiling, all rounded down to whole hundredths:

    passing = PASSING_SHARE * median, and at most lowest / (1 + SPARE)
    great   = lowest * (1 - INDIFFERENCE) - (highest - lowest), and at most 1

So a kernel that is 15 % slower than the solution passes. The solution exceeds `passing` by 5 % in
every run, as docs/authoring.md requires. `great` is a speed that the solution reached each time:
the speed step resolves differences from 1.5 % on, and the runs differ by their spread. A wrong
kernel that is right and slow (`Rejected at: speed`) is run as often, and `passing` is raised until
it lies above. Of several scored cases, each has gates of its own, and such a kernel need be slow at
one alone: it counts for the case at which it is furthest behind the solution.

The gates of the six exercises were chosen by hand: `passing` from 83 % to 87 % of the solution's
share on an H200 (67 % for cross entropy), `great` from 97 % to 101 % of it, but above it where the
lesson holds a challenge out.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from pydantic import Field

from grader.course import Exercise, rejected_at, rejected_entry
from grader.grading import Options, check
from grader.machine import devices
from grader.model import (
    BrokenExercise,
    CannotGrade,
    Record,
    Result,
    Speed,
    Status,
    first_problem,
    percent,
)
from grader.speed import INDIFFERENCE

RUNS = 5
LEAST_RUNS = 3  # that count: fewer do not show how far runs differ
SPARE = 0.05  # by which a solution's share must exceed `passing`, as a share of it
PASSING_SHARE = 0.85
WIDEST = 0.05  # relative: where runs differ by more, no gate can be set from them
_MEASURED = ("too_slow", "too_close")  # kinds of failures whose share counts all the same


class Measured(Record):
    """One kernel, checked several times."""

    kernel: str = Field(description="`kernel`, the solution, or the name of a wrong kernel")
    shares: tuple[float, ...] = Field(description="of the ceiling, of the runs that count")
    left_out: tuple[str, ...] = Field(description="why the other runs do not count")
    fault: str = Field(description="cause of that: `machine`, `exercise`, or empty")
    median: float | None = Field(description="this and the next three: null without shares")
    lowest: float | None
    highest: float | None
    spread: float | None = Field(description="(highest - lowest) / median")


class Proposal(Record):
    """Gates, or the reason why there are none. `fault` is then `machine` or `exercise`."""

    passing: float | None = None
    great: float | None = None
    reason: str = ""
    fault: str = ""


class Calibration(Record):
    """One scored case of an exercise: its measurements, gates, and the proposed gates."""

    exercise: str
    device: str
    case: str = Field(description="the scored case, or empty when no run counts")
    kernels: tuple[Measured, ...] = Field(description="the solution first")
    passing: float = Field(description="as in the spec, like `great`")
    great: float
    spare: float | None = Field(description="of the lowest share above `passing`, relative to it")
    holds: bool = Field(description="whether `spare` is enough")
    great_runs: int = Field(description="runs of the solution that reached `great`")
    proposed: Proposal


def run(
    exercises: Sequence[Exercise], runs: int, progress: Callable[[str], None]
) -> list[Calibration]:
    """Check each solution, and each kernel that must be too slow, `runs` times.

    They take turns, so that a drift of the GPU shows as spread. Return a Calibration for each
    scored case. Raises CannotGrade without a GPU, UsageError for an exercise whose speed is not
    graded, BrokenExercise for one without a solution, KeyboardInterrupt after a Ctrl-C, and the
    errors of check.run.
    """
    kernels = [(exercise, kernel) for exercise in exercises for kernel in _kernels(exercise)]
    if not devices.has_driver():
        raise CannotGrade(
            "Gates are set from speeds measured on a GPU, and this machine has no driver for one.",
            "Run `grader verify --calibrate` on the kind of GPU that the course is graded on.",
        )
    results: dict[tuple[str, Path], list[Result]] = {}
    for number in range(1, runs + 1):
        for exercise, kernel in kernels:
            progress(f"run {number} of {runs}: {exercise.name} {kernel.name}")
            request = check.Request(
                exercise, kernel, Options(device="cuda", require_speed=True, shrink=False)
            )
            (result,) = check.run([request], lambda text: None)
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            results.setdefault((exercise.name, kernel), []).append(result)
    return [
        calibration(
            exercise, {k.stem: results[exercise.name, k] for k in _kernels(exercise)}, place
        )
        for exercise in exercises
        for place in range(len(exercise.spec.scored_specs))
    ]


def _kernels(exercise: Exercise) -> Iterator[Path]:
    """Yield the solution, then the wrong kernels that are only too slow."""
    _ = exercise.spec.timed
    if not exercise.solution.is_file():
        raise BrokenExercise(
            f"{exercise.name} has no solution: {exercise.solution} does not exist.",
            "Write the solution: gates are set from its speed.",
        )
    yield exercise.solution
    slow = [k for k in exercise.wrong_kernels if rejected_at(k) == "speed"]
    yield from (k for k in slow if exercise.entry is None or rejected_entry(k) == exercise.entry)


def calibration(
    exercise: Exercise, results: dict[str, list[Result]], place: int = 0
) -> Calibration:
    """Return the calibration of one of the exercise's scored cases, by its place among them."""
    specs = exercise.spec.scored_specs
    _, gates = specs[place].timed
    kernels = tuple(measured(kernel, some, place) for kernel, some in results.items())
    solution, *slow = kernels
    slow = [one for one in slow if _slowest_at(len(specs), results, one.kernel) == place]
    everything = [result for some in results.values() for result in some]
    speeds = [s.speed for result in everything for s in result.steps if s.speed]
    spare = None if solution.lowest is None else solution.lowest / gates.passing - 1
    return Calibration(
        exercise=exercise.name,
        device=everything[0].environment.device,
        case=_at(speeds[0], place).case if speeds else "",
        kernels=kernels,
        passing=gates.passing,
        great=gates.great,
        spare=spare,
        holds=spare is not None and spare >= SPARE,
        great_runs=sum(share >= gates.great for share in solution.shares),
        proposed=propose(solution, slow),
    )


def _slowest_at(cases: int, results: dict[str, list[Result]], kernel: str) -> int:
    """Return the place of the scored case at which a kernel is furthest behind the solution."""

    def behind(place: int) -> float:
        solution, *_ = (measured(name, some, place) for name, some in results.items())
        slow = measured(kernel, results[kernel], place)
        return math.inf if slow.highest is None else slow.highest / (solution.lowest or math.inf)

    return min(range(cases), key=behind)


def _at(speed: Speed, place: int) -> Speed:
    return speed.sizes[place] if speed.sizes else speed


def measured(kernel: str, results: Sequence[Result], place: int = 0) -> Measured:
    """Return a kernel's shares of the scored case at this place."""
    outcomes = [_share(result, place) for result in results]
    shares = tuple(one for one in outcomes if isinstance(one, float))
    middle = statistics.median(shares) if shares else None
    uncounted = {r.status for r, one in zip(results, outcomes, strict=True) if isinstance(one, str)}
    return Measured(
        kernel=kernel,
        shares=shares,
        left_out=tuple(one for one in outcomes if isinstance(one, str)),
        fault=_fault(uncounted),
        median=middle,
        lowest=min(shares, default=None),
        highest=max(shares, default=None),
        spread=(max(shares) - min(shares)) / middle if middle else None,
    )


def _share(result: Result, place: int) -> float | str:
    """Return the share that a check measured, or the reason why it has none that counts.

    A solution below the gate, or too close to it to decide, was measured like any other.
    """
    problem = first_problem(result)
    speed = next((step for step in result.steps if step.name == "speed"), None)
    if problem is None and speed is not None and speed.speed is not None:
        return _at(speed.speed, place).share
    if problem is None:
        return result.message or "its speed was not measured"
    failure = problem.failure
    if problem is speed and failure and failure.kind in _MEASURED and problem.speed:
        return _at(problem.speed, place).share
    return f"{problem.name}: {failure.message if failure else problem.summary}"


def _fault(uncounted: Collection[Status]) -> str:
    """Return whose fault it is that checks ended with these statuses, and not with a share."""
    if not uncounted:
        return ""
    return "machine" if set(uncounted) == {Status.CANNOT_GRADE} else "exercise"


def propose(solution: Measured, slow: Sequence[Measured] = ()) -> Proposal:
    """Propose gates from the solution's shares, above those of kernels that must be too slow."""
    if len(solution.shares) < LEAST_RUNS:
        runs = len(solution.shares) + len(solution.left_out)
        why = f": {solution.left_out[0]}" if solution.left_out else ""
        reason = f"{len(solution.shares)} of {runs} runs count{why}"
        return Proposal(reason=reason, fault=solution.fault or "machine")
    assert solution.median is not None
    assert solution.lowest is not None
    assert solution.highest is not None
    assert solution.spread is not None
    if solution.spread > WIDEST:
        return Proposal(
            reason=f"runs differ by {percent(solution.spread)}; let nobody else use this GPU",
            fault="machine",
        )
    most = _down(solution.lowest / (1 + SPARE))
    passing = min(_down(PASSING_SHARE * solution.median), most)
    for wrong in slow:
        if wrong.highest is not None:
            passing = max(passing, _up(wrong.highest * (1 + INDIFFERENCE)))
    if passing > most:
        return Proposal(
            reason="a kernel that must be too slow is nearly as fast as the solution",
            fault="exercise",
        )
    steady = solution.lowest * (1 - INDIFFERENCE) - (solution.highest - solution.lowest)
    return Proposal(passing=passing, great=min(max(_down(steady), passing), 1.0))


def gates_line(proposal: Proposal) -> str:
    if proposal.passing is None or proposal.great is None:
        return ""
    return f"gates=Gates(passing={proposal.passing:.2f}, great={proposal.great:.2f}),"


def exit_code(calibrations: Sequence[Calibration]) -> int:
    """Return 0 when gates are proposed for each; else the code of a fault, an exercise's first."""
    faults = {one.proposed.fault for one in calibrations}
    if "exercise" in faults or not calibrations:
        return BrokenExercise.exit_code
    return CannotGrade.exit_code if "machine" in faults else 0


def _down(share: float) -> float:
    return math.floor(share * 100) / 100


def _up(share: float) -> float:
    return math.ceil(share * 100) / 100
