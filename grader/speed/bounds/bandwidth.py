"""The bound `bandwidth`: what memory moves a second, by a reference kernel of the same mix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grader.speed.bound import Bound, Reference
from grader.speed.statistics import IMPOSSIBLE

if TYPE_CHECKING:
    from grader.model import Spec, Speed
    from grader.sandbox import CudaArena, ForkServers
    from grader.speed.slots import Slots


def work(slots: Slots) -> int:
    """Return the bytes that a perfect kernel reads and writes in one call."""
    return slots.least_bytes


def reference(slots: Slots, fork_servers: ForkServers, arena: CudaArena) -> Reference:
    from grader import backends
    from grader.speed import ceilings

    fork_server = fork_servers.fork_server(backends.reference().name, "cuda", reference=True)
    return ceilings.moving(slots, fork_server, arena)


def fault(spec: Spec) -> str | None:
    scored, _ = spec.timed
    if scored.rows is None:
        return None
    return f"the bound {scored.bound} takes the rows from the GPU: leave out `rows` of `Scored`"


def explain(speed: Speed, *measured: Any) -> Speed:
    from grader.speed.explanation import with_explanation

    return with_explanation(speed, *measured)


BOUND = Bound(
    name="bandwidth",
    unit="GB/s",
    scale=1e9,
    work=work,
    reference=reference,
    rate_name="bandwidth",
    limit="what this GPU's memory can deliver",
    most=IMPOSSIBLE,
    fault=fault,
    explain=explain,
)
