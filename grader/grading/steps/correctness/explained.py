"""The case that explains a failure best: the smallest and plainest that fails in the same way."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace

import hypothesis
from hypothesis import HealthCheck, Phase

from grader.correctness import PLAIN_DRAW, cases
from grader.grading.session import Grading
from grader.grading.trials import try_case
from grader.model import Case, Failure, Spec

SHRINK_S = 10.0  # seconds spent on looking for a case that explains more
TRIED = 40  # cases that Hypothesis draws

# Distributions by how well a person follows them, the plainest first. Those of random numbers are
# for specs that have them among their own, and large numbers for specs that have large ones.
FOLLOWED = (
    PLAIN_DRAW,
    "signs",
    "integers",
    "constant",
    "ties",
    "hundreds",
    "depths",
    "rows",
    "spikes",
    "sunken",
    "extremes",
    "denormals",
)
LARGE = {"extremes", "spikes", "sunken"}


def explained(
    grading: Grading, case: Case, failure: Failure, *, smaller: bool
) -> tuple[Case, Failure]:
    """Look for a case with plainer numbers and, if it may be, for a `smaller` one.

    That takes SHRINK_S at most. If no numbers are shown, they need not be plain. The case that is
    returned fails with the same kind of failure; it may be the one given.
    """
    trials = _Trials(grading, case, failure)
    shown = failure.numbers is not None and bool(failure.numbers.outputs)
    if smaller and shown:
        # Most kernels are wrong with any numbers: then all smaller cases have plain ones.
        case = trials.first_failing([replace(case, draw=PLAIN_DRAW)]) or case
    if smaller:
        case = _smallest(trials, case, plain=shown)
    if shown:
        case = trials.first_failing(_plainer(grading.spec, case)) or case
    return case, trials.failed[case]


class _Trials:
    """Cases that fail in the same way as the first one did."""

    def __init__(self, grading: Grading, case: Case, failure: Failure) -> None:
        self.grading, self.kind = grading, failure.kind
        self.failed = {case: failure}
        self._deadline = time.monotonic() + SHRINK_S

    def fails(self, case: Case) -> bool:
        """Try a case, unless the time is over: then only what has failed fails."""
        if case in self.failed or time.monotonic() > self._deadline:
            return case in self.failed
        try:
            failure = try_case(self.grading, case)
        except Exception:
            # A spec need not draw these numbers, and a simulator need not finish: the kernel has
            # failed already, which no further case takes back.
            return False
        if failure is None or failure.kind != self.kind:
            return False
        self.failed[case] = failure
        return True

    def first_failing(self, candidates: Iterator[Case] | list[Case]) -> Case | None:
        return next(filter(self.fails, candidates), None)


def _smallest(trials: _Trials, case: Case, *, plain: bool) -> Case:
    strategy = cases(trials.grading.spec, within=replace(case, seed=0), plain=plain)
    try:
        return hypothesis.find(
            strategy,
            trials.fails,
            settings=search_settings(TRIED, Phase.generate, Phase.shrink),
            random=random.Random(trials.grading.options.seed),
        )
    except (hypothesis.errors.NoSuchExample, hypothesis.errors.Flaky):
        return case


def _plainer(spec: Spec, case: Case) -> Iterator[Case]:
    """Yield cases of the same shape, the plainest first, as far as they are plainer."""
    allowed = {PLAIN_DRAW, "signs", *spec.draws, case.draw}
    if LARGE & set(spec.draws):
        allowed |= {"hundreds", "depths"}
    for draw in filter(allowed.__contains__, FOLLOWED):
        same_place = replace(case, draw=draw)
        for plain in dict.fromkeys((replace(same_place, pad=0, offset=0), same_place)):
            if plain == case:
                return
            yield plain


def search_settings(examples: int, *phases: Phase) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
