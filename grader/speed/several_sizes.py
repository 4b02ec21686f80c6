"""The speeds of several scored cases as one: geometric means, in which no case outweighs others."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from grader.model import Gates, Spec, Speed

SEVERAL = "several"  # bounds that differ
# Figures that are means. The interval's, too: errors of one run may have one cause, so that they
# need not cancel each other.
_MEANS = (
    "time_ms",
    "bandwidth_gbps",
    "ceiling_gbps",
    "share",
    "share_low",
    "share_high",
    "passing",
    "great",
)


def mean_speed(speeds: Sequence[Speed]) -> Speed:
    """Return the record of all scored cases; of a single one, its own."""
    if len(speeds) == 1:
        return speeds[0]
    lowest = min(speeds, key=lambda speed: speed.share / speed.passing)
    bounds = {speed.bound for speed in speeds}
    means = {name: _mean([getattr(speed, name) for speed in speeds]) for name in _MEANS}
    rates = {
        name: _mean(values)
        for name in ("rate", "reference_rate")
        if len(bounds) == 1 and None not in (values := [getattr(speed, name) for speed in speeds])
    }
    return lowest.model_copy(
        update={
            "case": f"{len(speeds)} sizes",
            "bound": bounds.pop() if len(bounds) == 1 else SEVERAL,
            "bytes_moved": round(_mean([speed.bytes_moved for speed in speeds])),
            "raised": max(speed.raised for speed in speeds),
            "rate": None,
            "reference_rate": None,
            "attainable": None,
            "explanation": tuple(f"{lowest.case}: {one}" for one in lowest.explanation),
            "sizes": tuple(speeds),
            **means,
            **rates,
        }
    )


def mean_gates(spec: Spec) -> Gates:
    """Return the geometric means of the gates of all scored cases."""
    gates = [one.timed[1] for one in spec.scored_specs]
    return Gates(
        passing=_mean([one.passing for one in gates]), great=_mean([one.great for one in gates])
    )


def _mean(values: Sequence[float]) -> float:
    mean = statistics.geometric_mean(values) if min(values) > 0 else 0.0
    return min(max(mean, min(values)), max(values))  # rounding may lead outside
