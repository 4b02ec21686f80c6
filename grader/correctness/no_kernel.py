"""Detect outputs that are right with all launches disabled: no kernel computed them."""

from __future__ import annotations

from collections.abc import Iterable

from grader import backends
from grader.model import Failure, Spec, percent

# At most this share of an output may come from outside kernels, such as a remainder at its end.
MOST_WITHOUT = 0.1


def no_kernel_failure(spec: Spec, shares: Iterable[tuple[str, float]]) -> Failure | None:
    """Build the failure for the first output with too many right elements, or return None.

    `shares` are the right elements of each output, from 0 to 1, with all launches disabled.
    """
    decorator = backends.find(spec.backend).decorator
    for output, share in shares:
        if share > MOST_WITHOUT:
            return Failure(
                kind="no_kernel",
                message=f"the output does not come from a kernel: with the launches of all kernels "
                f"switched off, {percent(share)} of {output} is still right",
                expected=f"at most {percent(MOST_WITHOUT)} right without kernels",
                got=percent(share),
                hint=f"Compute and write the output in a kernel of your own ({decorator}); "
                "torch and numpy may prepare memory.",
            )
    return None
