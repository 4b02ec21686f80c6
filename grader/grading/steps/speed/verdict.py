"""The verdict of the speed step: measured figures become a pass, a failure, or `noisy`."""

from __future__ import annotations

from grader.grading.step import Finding
from grader.model import Failure, Outcome, Speed, percent
from grader.speed import Bound

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
        hint="Does each program do a fair part of the work, with loads of whole blocks?",
    )
    return Finding(share, failure, Outcome.FAIL)


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
