"""Checks of what a spec's functions return, before a kernel is compared with it.

They raise BrokenExercise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real

from torch import Tensor

from grader.model import BrokenExercise, Case, Inputs, Spec

Reference = Callable[[Inputs], Mapping[str, Tensor]]


def unchanging(reference: Reference, inputs: Inputs) -> Mapping[str, Tensor]:
    """Call a reference, which must not write to its inputs: some are the judge's only copy.

    What torch does not count, such as a write through numpy, is not seen.
    """
    tensors = {
        name: value
        for name, value in inputs.items()
        if isinstance(value, Tensor) and not value.is_inference()  # they count no writes
    }
    before = {name: value._version for name, value in tensors.items()}
    outputs = reference(inputs)
    changed = [name for name, value in tensors.items() if value._version != before[name]]
    if changed:
        raise BrokenExercise(
            f"The exercise is broken: the reference writes to its input {changed[0]}.",
            "Compute in new tensors, or in a clone of the input.",
        )
    return outputs


def tolerances(
    what: str, given: Mapping[str, Tensor], outputs: Mapping[str, Tensor]
) -> Mapping[str, Tensor]:
    """Return tolerances that can be compared with: no error exceeds NaN, and none infinity."""
    for name, values in given.items():
        if name not in outputs:
            raise BrokenExercise(
                f"The exercise is broken: its {what} names {name}, which the kernel does not fill.",
                f"Return a tensor for some of {', '.join(sorted(outputs))}.",
            )
        unfit = outputs[name].isfinite() & ~(values.isfinite() & (values >= 0))
        if bool(unfit.any()):
            first = values.expand_as(unfit).flatten()[int(unfit.flatten().byte().argmax())].item()
            raise BrokenExercise(
                f"The exercise is broken: its {what} of {name} is {first} where the output is "
                "finite.",
                "Return finite numbers from 0 up, such as sums of absolute values.",
            )
    return given


def terms_of(spec: Spec, case: Case) -> int:
    terms = spec.tolerance.terms(case)
    if not isinstance(terms, Real) or isinstance(terms, bool) or not 1 <= terms < math.inf:
        raise BrokenExercise(
            f"The exercise is broken: `terms` of its tolerance returns {terms!r}.",
            "Return how many terms the sum for one output has: a number from 1 up.",
        )
    return terms
