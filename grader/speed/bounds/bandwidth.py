"""The bound `bandwidth`: what memory moves a second, by a reference kernel of the same mix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grader.speed.bound import Bound
from grader.speed.statistics import IMPOSSIBLE

if TYPE_CHECKING:
    from grader.model import Speed
    from grader.sandbox import CudaArena, ForkServers
    from grader.speed.ceilings import ReferenceKernel
    from grader.speed.slots import Slots


def work(slots: Slots) -> int:
    """Return the bytes that a perfect kernel reads and writes in one call."""
    return slots.least_bytes


def reference(slots: Slots, fork_servers: ForkServers, arena: CudaArena) -> ReferenceKernel:
    from grader import backends
    from grader.speed.ceilings import ReferenceKernel

    fork_server = fork_servers.fork_server(backends.reference().name, "cuda", reference=True)
    return ReferenceKernel(slots.stream(), fork_server, arena)


def explain(speed: Speed, *measured: Any) -> Speed:
    from grader.speed.explanation import with_explanation

    return with_explanation(speed, *measured)


BOUND = Bound(
    name="bandwidth",
    unit="GB/s",
    scale=1e9,
    work=work,
    reference=reference,
    limit="what this GPU's memory can deliver",
    most=IMPOSSIBLE,
    explain=explain,
)
