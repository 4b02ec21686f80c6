"""Bounds that speed is compared with: each is a file in here that defines `BOUND`.

Adding one registers it. They import nothing heavy before they measure.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from grader.model import BrokenExercise, discover
from grader.speed.bound import Bound
from grader.speed.statistics import IMPOSSIBLE

if TYPE_CHECKING:
    from grader.model import Spec, Speed


def find_bound(name: str) -> Bound:
    """Return a bound. Raises BrokenExercise with close names if no bound has this name."""
    known = discover(__name__, "BOUND", Bound)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
        raise BrokenExercise(
            f"There is no bound {name!r} to hold a speed against.",
            f"Did you mean {' or '.join(close)}?" if close else f"Use one of {', '.join(known)}.",
        )
    return known[name]


def bound_of(spec: Spec) -> Bound:
    """Return the bound of a spec with a scored case.

    Raises BrokenExercise for an unknown bound, and where the spec lacks what its bound needs.
    """
    broken = f"The spec of {spec.title!r} cannot be held to its bound:"
    try:
        bound = find_bound(spec.timed[0].bound)
    except BrokenExercise as error:
        raise BrokenExercise(f"{broken} {error.message}", error.next_step) from None
    if fault := bound.fault(spec):
        raise BrokenExercise(
            f"{broken} {fault}.", "Tell whoever wrote the exercise; your kernel is not at fault."
        )
    return bound


def is_impossible(speed: Speed) -> bool:
    """Report whether no honest kernel reaches a share. Unknown bounds have the least limit."""
    return any(_is_impossible(one) for one in speed.sizes or (speed,))


def _is_impossible(speed: Speed) -> bool:
    bound = discover(__name__, "BOUND", Bound).get(speed.bound)
    most = IMPOSSIBLE if bound is None else bound.most
    return most is not None and speed.share > most


def rates_of(speed: Speed) -> tuple[Bound, float, float]:
    """Return a record's bound, and the rates of kernel and reference in the bound's unit.

    An unknown bound and a record without such rates give bandwidth.
    """
    known = discover(__name__, "BOUND", Bound)
    if speed.bound not in known or speed.rate is None or speed.reference_rate is None:
        return known["bandwidth"], speed.bandwidth_gbps, speed.ceiling_gbps
    return known[speed.bound], speed.rate, speed.reference_rate


def held_to(speed: Speed) -> str:
    return rates_of(speed)[0].held_to
