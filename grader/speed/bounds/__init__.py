"""Bounds that speed is held against: each is a file in here that defines `BOUND`.

Adding one registers it. They import nothing heavy before they measure.
"""

from __future__ import annotations

import difflib

from grader.model import BrokenExercise, discover
from grader.speed.bound import Bound
from grader.speed.statistics import IMPOSSIBLE


def find_bound(name: str) -> Bound:
    """Return a bound. Raises BrokenExercise with close names if no bound has this name."""
    known = discover(__name__, "BOUND", Bound)
    if name not in known:
        close = difflib.get_close_matches(name, known, n=2, cutoff=0.4)
        raise BrokenExercise(
            f"There is no bound {name!r} to hold a speed against.",
            f"Did you mean {' or '.join(close)}?" if close else f"There is {', '.join(known)}.",
        )
    return known[name]


def is_impossible(share: float, name: str) -> bool:
    """Report whether no honest kernel reaches the share; a bound that is not known allows least."""
    known = discover(__name__, "BOUND", Bound)
    most = known[name].most if name in known else IMPOSSIBLE
    return most is not None and share > most
