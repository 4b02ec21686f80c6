"""The bound `roofline`: the lower of what memory and arithmetic allow, both measured here.

For work with I operations a byte, a GPU of bandwidth B and peak P allows min(I * B, P) operations a
second: S. Williams, A. Waterman, D. Patterson, "Roofline", Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from grader.speed.bound import Bound, Reference
from grader.speed.bounds import arithmetic

if TYPE_CHECKING:
    from grader.model import Limit, Spec, Speed
    from grader.sandbox import CudaArena, ForkServers
    from grader.speed.reference_kernel import ReferenceKernel
    from grader.speed.slots import Slots


def reference(slots: Slots, fork_servers: ForkServers, arena: CudaArena) -> Reference:
    """Measure one roof after the other, and start the reference of the lower one again."""
    from grader import backends
    from grader.speed import ceilings

    per_byte = arithmetic.work(slots) / slots.least_bytes
    fork_server = fork_servers.fork_server(backends.reference().name, "cuda", reference=True)
    roofs: dict[str, Callable[[], ReferenceKernel]] = {
        "memory": lambda: ceilings.moving(slots, fork_server, arena, work_per_byte=per_byte),
        "arithmetic": lambda: arithmetic.reference(slots, fork_servers, arena),
    }
    slots.refill()  # a GPU spends less on moving zeros
    rates = {}
    for name, start in roofs.items():
        with closing(start()) as roof:  # for a fork server has one worker at a time
            rates[name] = roof.ceiling()
    lower = roofs[min(rates, key=rates.__getitem__)]()
    lower.roofs = tuple(rates.items())
    return lower


def fault(spec: Spec) -> str | None:
    from grader.speed.bounds import bandwidth

    return arithmetic.fault(spec) or bandwidth.fault(spec)


def explain(speed: Speed, spec: Spec, *measured: Any) -> Speed:
    """Add which roof is the lower one, and why the kernel is not nearer to it."""
    from grader.speed.explanation import with_explanation

    speed = with_explanation(speed, spec, *measured)
    lower, other = sorted(speed.roofs, key=lambda roof: roof.rate)
    assert speed.rate is not None, "this bound has rates"
    operations = speed.rate * BOUND.scale * speed.time_ms / 1e3
    allowed = (
        f"At {operations / speed.bytes_moved:.3g} operations a byte {lower.name} is the lower "
        f"roof: it allows {lower.rate:,.3g} {BOUND.unit}, and {other.name} {other.rate:,.3g}."
    )
    if lower.name == "memory":
        return speed.model_copy(update={"explanation": (allowed, *speed.explanation)})
    limit, sentence = _below_the_peak(speed, spec)
    found = {"attainable": None, "limit": limit, "explanation": (allowed, sentence)}
    return speed.model_copy(update=found)


def _below_the_peak(speed: Speed, spec: Spec) -> tuple[Limit, str]:
    from grader.model import Limit, percent
    from grader.speed.explanation import shortfall

    reached = f"{percent(speed.share)} of that"
    if speed.share >= speed.great:
        return Limit.NONE, f"Great: {reached}. Little is left to gain."
    limit, advice = shortfall(spec, speed.resources)
    return limit, (
        f"The kernel reaches {reached}: let each operation be one that the result needs, and give "
        f"a thread several elements, so that one does not wait for the other. Else {advice}"
    )


BOUND = Bound(
    name="roofline",
    unit="TFLOP/s",
    scale=arithmetic.BOUND.scale,
    work=arithmetic.work,
    reference=reference,
    rate_name="arithmetic",
    measured_by="a copy of the same bytes, or the product of large matrices: whichever allows less",
    held_to="the roofline",
    # As for arithmetic, no share is impossible.
    fault=fault,
    explain=explain,
)
