"""The bytes that a counted call held as they changed, beside those of torch's own call."""

from __future__ import annotations

from grader.correctness import held_by_torch
from grader.grading.counting import Counted
from grader.model import HeldOverCall, Spec


def over_call(spec: Spec, one: Counted) -> HeldOverCall:
    """Return both series, or the one that is known and why the other is missing.

    Raises nothing, for no verdict depends on it: the reference has computed this case in float64
    and in float32, and only here it does so in the dtypes of the inputs.
    """
    found = HeldOverCall(case=one.case.headline, kernel=one.held.points, missing=one.held.missing)
    try:
        torch = held_by_torch(spec, one.inputs)
    except Exception as error:
        why = (found.missing, f"torch's own call failed, {error!r}")
        return found.model_copy(update={"missing": "; ".join(filter(None, why))})
    return found.model_copy(update={"torch": torch.series.points, "torch_outputs": torch.outputs})
