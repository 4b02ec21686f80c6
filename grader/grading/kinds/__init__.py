"""The kinds of exercises: each is a folder in here that defines `KIND`; adding it registers it."""

from __future__ import annotations

import difflib

from grader.grading.kind import Kind
from grader.model import BaseSpec, BrokenExercise, discover


def kind_of(spec: BaseSpec) -> Kind:
    """Return the kind that a spec names.

    Raises BrokenExercise where it does not exist, and for a spec that is of another kind's type.
    """
    known = discover(__name__, "KIND", Kind)
    if spec.kind not in known:
        close = difflib.get_close_matches(spec.kind, known, n=2, cutoff=0.4)
        raise BrokenExercise(
            f"{spec.title!r} is an exercise of the kind {spec.kind!r}, which does not exist.",
            f"Did you mean {' or '.join(close)}?" if close else f"Use one of {', '.join(known)}.",
        )
    kind = known[spec.kind]
    if not isinstance(spec, kind.spec):
        raise BrokenExercise(
            f"{spec.title!r} is an exercise of the kind {spec.kind}, and its SPEC is a "
            f"{type(spec).__name__}, not a {kind.spec.__name__}.",
            f"Write SPEC = {kind.spec.__name__}(...), or name the kind that it is for.",
        )
    return kind
