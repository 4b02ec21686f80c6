"""The check of a spec against its backends, when it loads and not in the middle of grading."""

from __future__ import annotations

from collections.abc import Iterator

from grader import backends
from grader.model import Spec


def misfit(spec: Spec) -> str | None:
    """Describe in one sentence the first part of the spec that one of its backends cannot handle.

    Raises BrokenExercise for a backend that does not exist.
    """
    return next((fault for name in spec.backends for fault in _misfits(spec, name)), None)


def _misfits(spec: Spec, name: str) -> Iterator[str]:
    backend = backends.find(name)
    for dtype in _dtypes(spec):
        if dtype not in backend.dtypes:
            yield f"{backend.title} takes no {dtype}: its dtypes are {', '.join(backend.dtypes)}"
    for argument in spec.arguments:
        if argument.role == "scalar" and argument.dtype not in backend.scalars:
            some = f"only {', '.join(backend.scalars)}" if backend.scalars else "no numbers"
            yield f"{argument.name} is a {argument.dtype}, and {backend.title} takes {some}"
    for budget in spec.budgets:
        if name == spec.backend and budget.count not in backend.counts:
            known = f"only {', '.join(backend.counts)}" if backend.counts else "no counts"
            yield f"a budget is for {budget.count}, and simulated {backend.title} has {known}"


def _dtypes(spec: Spec) -> Iterator[str]:
    yield from spec.dtypes
    yield from (case.dtype for _, case in spec.named_cases)
    yield from (one.timed[0].dtype for one in spec.scored_specs)
    tensors = (argument for argument in spec.arguments if argument.role != "scalar")
    yield from (argument.dtype for argument in tensors if argument.dtype)
