"""The check that all cases of a spec have as many extents: its functions unpack each of them."""

from __future__ import annotations

from collections.abc import Iterator

from grader.model import Spec, counted


def misshapen(spec: Spec) -> str | None:
    """Describe in one sentence the first case with other extents than `largest`."""
    most = len(spec.largest)
    wrong = ((name, extents) for name, extents in _extents(spec) if extents != most)
    return next(
        (f"{name} has {counted(n, 'extents')}, and `largest` has {most}" for name, n in wrong), None
    )


def _extents(spec: Spec) -> Iterator[tuple[str, int]]:
    for field, case in spec.named_cases:
        yield f"a case of {field}, {case},", len(case.shape)
    for one in spec.scored_specs:
        scored, _ = one.timed
        yield "a scored case, with its rows,", 1 + len(scored.extents)
