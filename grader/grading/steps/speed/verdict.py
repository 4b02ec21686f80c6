"""The verdict of the speed step: measured figures become a pass, a failure, or `noisy`."""

from __future__ import annotations

from collections.abc import Sequence

from grader.grading.step import Finding
from grader.model import Failure, Outcome, Speed, percent
from grader.speed import Bound, mean_speed

_QUIET_GPU = (
    "This does not count against the kernel. Check again when the GPU and its machine are quiet."
)


def finding(
    bound: Bound,
    measured: str,
    speed: Speed,
    explained: Speed,
    passed: bool | None,
    noise: str | None,
) -> Finding:
    """Decide the step. A speed that is noisy or impossible comes without its explanation."""
    if noise is not None:
        return Finding(measured, _noisy(noise), Outcome.NOISY, speed)
    if bound.most is not None and speed.share > bound.most:
        return Finding(measured, _impossible(speed, bound), Outcome.FAIL, speed)
    if passed is None:
        return Finding(measured, _too_close(speed), Outcome.NOISY, speed)
    if not passed:
        return Finding(measured, _too_slow(explained, bound), Outcome.FAIL, explained)
    return Finding(measured, speed=explained)


def hopeless(rough: float, bound: Bound) -> Finding:
    share = f"about {percent(rough)} of {bound.held_to}, by a single call"
    failure = Failure(
        kind="too_slow",
        message=f"far too slow: {share}",
        hint=bound.hopeless,
    )
    return Finding(share, failure, Outcome.FAIL)


def together(found: Sequence[tuple[str, Finding]]) -> Finding:
    """Decide the step from the findings of its scored cases, each with the words for its case.

    One that fails decides, whatever the others are; else one that is noisy, or did not pass for
    another reason. The failure names the case. Without a speed for each case, the finding has none.
    """
    if len(found) == 1:
        return found[0][1]
    speeds = [one.speed for _, one in found if one.speed is not None]
    speed, summary = None, "; ".join(_named(case, one.summary) for case, one in found)
    if len(speeds) == len(found):
        speed = mean_speed(speeds)
        summary = f"{percent(speed.share)} in the geometric mean of {len(speeds)} sizes"
    for outcome in (Outcome.FAIL, *(one for one in Outcome if one is not Outcome.PASS)):
        for case, one in found:
            if one.outcome is outcome:
                failure = one.failure and one.failure.model_copy(update={"case": case})
                return Finding(summary, failure, outcome, speed)
    return Finding(summary, speed=speed)


def _named(case: str, summary: str) -> str:
    return summary if summary.startswith(case) else f"{case}: {summary}"


def _too_close(speed: Speed) -> Failure:
    return Failure(
        kind="too_close",
        message=f"the speed is uncertain: {percent(speed.share, 2)} ± "
        f"{percent((speed.share_high - speed.share_low) / 2, 2)} is too close to the "
        f"{percent(speed.passing, 0)} that pass for this many calls to decide",
        hint=_QUIET_GPU,
    )


def _noisy(noise: str) -> Failure:
    return Failure(kind="noisy", message=f"the speed is uncertain: {noise}", hint=_QUIET_GPU)


def _impossible(speed: Speed, bound: Bound) -> Failure:
    return Failure(
        kind="impossible",
        message=f"{percent(speed.share, 0)} of {bound.limit}: some of the "
        "work of the task was not done",
        expected=f"at most {percent(bound.most or 1.0, 0)} of {bound.held_to}",
        got=f"{percent(speed.share)}",
    )


def _too_slow(speed: Speed, bound: Bound) -> Failure:
    return Failure(
        kind="too_slow",
        message=f"right, but too slow: {percent(speed.share)} of {bound.held_to}",
        expected=f"at least {percent(speed.passing, 0)} of {bound.held_to}",
        got=f"{percent(speed.share)}",
        hint=speed.explanation[0] if speed.explanation else None,
    )
