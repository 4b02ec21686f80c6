"""From paired measurements to a figure with an interval, and to a decision that is rarely wrong.

A sample is the share of the ceiling that one cycle found. Shares are compared as
logarithms, where a relative error is the same size everywhere.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence

# A class makes thousands of decisions in a term (100 students, 10 tasks, 5 tries: 5,000).
ERROR = (
    1e-4  # chance to fail a kernel that is INDIFFERENCE above the gate, or pass one as far below
)
INDIFFERENCE = 0.015  # relative; nearer to the gate than this, either decision is right
THRESHOLD = math.log((1 - ERROR) / ERROR)  # 9.21, of Wald's sequential probability ratio test
# A standard deviation from few samples may be too small; believing it would decide too soon.
CAUTION = 1.25
MIN_DEVIATION = 0.002
IMPOSSIBLE = 1.05  # share of the ceiling that no honest kernel reaches
OUTLIER = 4.0  # deviations beyond which a sample counts as if it were that far
RESAMPLES = 2000
# Relative: so near to their median lie 95 % of the runs of one kernel in fresh processes. Those of
# bench/results/accuracy_repeats_h200.json do; a deviation is half of it.
RERUN = 0.003
CONFIDENCE = 0.95


def decide(shares: Sequence[float], gate: float) -> bool | None:
    """Whether the share lies above the gate; None while that is open.

    Wald's sequential probability ratio test between gate * (1 + INDIFFERENCE) and
    gate * (1 - INDIFFERENCE) for normal errors, their deviation taken from the samples' median
    absolute deviation. (A. Wald, "Sequential Tests of Statistical Hypotheses", Annals of
    Mathematical Statistics 16(2), 1945.)

    The median share is what is published. A sum that lies on the gate's other side decides nothing:
    a worker that claims far too little in just under half of its goes makes such samples.
    """
    excess = [math.log(share / gate) for share in shares]
    deviation = _deviation(excess)
    centre = statistics.median(excess)
    reach = OUTLIER * deviation
    clipped = [min(max(x, centre - reach), centre + reach) for x in excess]
    evidence = 2 * INDIFFERENCE * sum(clipped) / deviation**2
    if abs(evidence) < THRESHOLD or (evidence > 0) != (statistics.median(shares) > gate):
        return None
    return evidence > 0


def _deviation(samples: Sequence[float]) -> float:
    """A standard deviation that outliers do not move: 1.4826 * MAD is that of normal samples."""
    centre = statistics.median(samples)
    spread = 1.4826 * statistics.median(abs(x - centre) for x in samples)
    return max(CAUTION * spread, MIN_DEVIATION)


def interval(shares: Sequence[float]) -> tuple[float, float]:
    """Between which the median share lies with 95 % confidence: a percentile bootstrap."""
    draw = random.Random(0)  # the same samples give the same interval
    medians = sorted(
        statistics.median(draw.choices(shares, k=len(shares))) for _ in range(RESAMPLES)
    )
    cut = round(RESAMPLES * (1 - CONFIDENCE) / 2)
    return medians[cut], medians[-cut - 1]


def interval_of_runs(shares: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the share with what differs from run to run, by RERUN, as well.

    The two are independent: half widths, below and above the median, add as squares.
    """
    middle, (low, high) = statistics.median(shares), interval(shares)
    rerun = RERUN * middle
    return middle - math.hypot(middle - low, rerun), middle + math.hypot(high - middle, rerun)


def spread(values: Sequence[float]) -> float:
    """How far the middle eight tenths of positive values lie apart, relative to their median."""
    ordered = sorted(values)
    cut = len(ordered) // 10
    kept = ordered[cut : len(ordered) - cut]
    return (kept[-1] - kept[0]) / statistics.median(ordered)
