"""What is told of an answer that is right although no kernel had any effect."""

from __future__ import annotations

from collections.abc import Iterable

from grader import backends
from grader.model import Failure, Spec, percent

# The most of an output that may come from elsewhere than kernels, such as a remainder at its end.
MOST_WITHOUT = 0.1


def no_kernel(spec: Spec, shares: Iterable[tuple[str, float]]) -> Failure | None:
    """The failure of the first output of which too much came out right, if there is one.

    `shares` are of each output, from 0 to 1, with every launch of a kernel left without effect.
    """
    decorator = backends.find(spec.backend).decorator
    for output, share in shares:
        if share > MOST_WITHOUT:
            return Failure(
                kind="no_kernel",
                message=f"the answer does not come from a kernel: with the launches of all kernels "
                f"switched off, {percent(share)} of {output} came out right all the same",
                expected=f"at most {percent(MOST_WITHOUT)} right without kernels",
                got=percent(share),
                hint=f"Let a kernel of yours ({decorator}) compute it and write it; "
                "torch and numpy may prepare memory.",
            )
    return None
