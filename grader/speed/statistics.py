"""From paired measurements to a share with an interval, and to a decision that is rarely wrong.

A sample is the share of the ceiling that one cycle found. Shares are compared as logarithms, where
a relative error is the same size everywhere.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

# A class makes thousands of decisions in a term (100 students, 10 tasks, 5 tries: 5,000).
# Probability to fail a kernel that is `indifference` above the gate, or to pass one as far below.
ERROR = 1e-4
# Relative; closer to the gate than this, either decision is right. A rough bound has a larger one.
INDIFFERENCE = 0.015
THRESHOLD = math.log((1 - ERROR) / ERROR)  # 9.21, of Wald's sequential probability ratio test
# A standard deviation from few samples may be too small, and would then decide too soon.
CAUTION = 1.25
MIN_DEVIATION = 0.002
MIN_CYCLES = 10  # enough for an interval, and for a deviation to decide with
IMPOSSIBLE = 1.05  # share of the ceiling that no honest kernel reaches
OUTLIER = 4.0  # deviations: a sample further away counts as if it were that far
RESAMPLES = 2000
# Relative: 95 % of the runs of one kernel in fresh processes lie this close to their median, by
# bench/results/accuracy_repeats_h200.json. It is two standard deviations.
RERUN = 0.003
CONFIDENCE = 0.95


def decide(shares: Sequence[float], gate: float, indifference: float = INDIFFERENCE) -> bool | None:
    """Decide whether the share lies above the gate; None while that is open.

    This is Wald's sequential probability ratio test between gate * (1 + indifference) and gate * (1
    - indifference) for normal errors. Their deviation comes from the samples' median absolute
    deviation. (A. Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical
    Statistics 16(2), 1945.)

    The grader publishes the median share. When the test's sum lies on the other side of the gate
    than the median, nothing is decided: a worker that claims far too little in just under half of
    its batches makes such samples.
    """
    excess = [math.log(share / gate) for share in shares]
    deviation = _deviation(excess)
    centre = statistics.median(excess)
    reach = OUTLIER * deviation
    clipped = [min(max(x, centre - reach), centre + reach) for x in excess]
    evidence = 2 * indifference * sum(clipped) / deviation**2
    if abs(evidence) < THRESHOLD or (evidence > 0) != (statistics.median(shares) > gate):
        return None
    return evidence > 0


def _deviation(samples: Sequence[float]) -> float:
    centre = statistics.median(samples)
    # Outliers do not move it; for normal samples it is the standard deviation.
    spread = 1.4826 * statistics.median(abs(x - centre) for x in samples)
    return max(CAUTION * spread, MIN_DEVIATION)


def interval(shares: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median share, by a percentile bootstrap."""
    draw = random.Random(0)  # the same samples give the same interval
    medians = sorted(
        statistics.median(draw.choices(shares, k=len(shares))) for _ in range(RESAMPLES)
    )
    cut = round(RESAMPLES * (1 - CONFIDENCE) / 2)
    return medians[cut], medians[-cut - 1]


def interval_of_runs(shares: Sequence[float], rerun: float = RERUN) -> tuple[float, float]:
    """Return the 95 % interval of the share, including the variation between runs (`rerun`).

    The two are independent: half widths, below and above the median, add as squares.
    """
    middle, (low, high) = statistics.median(shares), interval(shares)
    between = rerun * middle
    return middle - math.hypot(middle - low, between), middle + math.hypot(high - middle, between)


def spread(values: Sequence[float]) -> float:
    """Return the width of the middle eight tenths of positive values, relative to their median."""
    ordered = sorted(values)
    cut = len(ordered) // 10
    middle = ordered[cut : len(ordered) - cut]
    return (middle[-1] - middle[0]) / statistics.median(ordered)
