"""A bound as plain data and functions: what the speed of a kernel is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from grader.speed.sizing import CALLS
from grader.speed.statistics import INDIFFERENCE, MIN_CYCLES, RERUN

if TYPE_CHECKING:
    from grader.model import Spec, Speed
    from grader.sandbox import Call, CudaArena, Entry, ForkServers
    from grader.speed.clock import BatchTime
    from grader.speed.slots import Slots
    from grader.speed.spot_checks import SlotContents


@dataclass(frozen=True)
class ReferenceCalls:
    """Calls of one entry of ours, one for each slot, and a warm-up call.

    `work` is that of one call, in units of the bound, such as bytes or operations.
    """

    entry: Entry
    calls: Sequence[Call]
    work: float
    spare: Call


class Reference(Protocol):
    """Timed work of ours beside the kernel's, by the same clock.

    Rates are in units of the bound's work per second. Where the reference is the lowest of several
    that were measured, `roofs` has the name and the rate of each.
    """

    roofs: Sequence[tuple[str, float]]

    def prepare(self) -> None:
        """Hand over the calls of the next batch, and stop the worker until it begins."""

    def rest(self) -> None:
        """Wait until the worker has rested as a learner's does while its inputs are written."""

    def time_batch(self, contents: SlotContents) -> BatchTime:
        """Time the prepared batch; comparing its outputs takes as long as for a kernel's."""

    def rate(self, batch: BatchTime) -> float: ...

    def median_rate(self, batches: Sequence[BatchTime]) -> float: ...

    def close(self) -> None: ...


# A reference kernel's bandwidth may vary by this part, over the cycles or from before to after.
STEADY = 0.03


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A figure that speeds are compared with: `BOUND` in a file of `grader.speed.bounds`.

    `work(slots)` is the work of one call of the scored case, such as bytes, operations, or 1 for
    the call itself. `reference(slots, fork_servers, arena)` starts the reference, which
    shows how much of this work the GPU does a second, in the same run. `fault` describes in one
    sentence what a spec lacks for this bound, or returns None. `explain` adds the reason why a
    speed is not higher, as `speed.explanation.with_explanation` does.

    A batch has at most `calls` calls. The reference's rate may vary by `steady`, as a part of it.
    The limits by which the judge's clock is in doubt are `leeway` times as wide. A share that is
    closer to its gate than `indifference`, as a part of it, may be decided either way. A share
    follows from at least `cycles` cycles; 95 % of the runs of one kernel lie within `rerun` of
    their median, as a part of it. With `any_length`, a batch of the reference may be as short as it
    is.

    With `by_host`, the host takes most of a call's time, and not the GPU. Kernel and reference then
    share one core of the processor, and a cycle's times are compared with each other only.

    A share above `most` means that work was left out; None where no share is impossible.

    The rest is for reports. A rate in `unit`, such as GB/s, is `scale` units of work per second;
    `rate_name` names it. `held_to` and `limit` complete "93 % of ...", in a
    report and where that is impossible; `measured_by` completes "compared with ...". `hopeless` is
    the hint for a kernel that is far too slow.
    """

    name: str
    unit: str
    scale: float
    work: Callable[[Slots], float]
    reference: Callable[[Slots, ForkServers, CudaArena], Reference]
    rate_name: str = "speed"
    held_to: str = "the ceiling"
    measured_by: str = "a reference kernel"
    limit: str = "what this GPU can do"
    hopeless: str = "Does each program do a fair part of the work, with loads of whole blocks?"
    calls: int = CALLS
    steady: float = STEADY
    leeway: float = 1.0
    indifference: float = INDIFFERENCE
    cycles: int = MIN_CYCLES
    rerun: float = RERUN
    any_length: bool = False
    by_host: bool = False
    most: float | None = None
    fault: Callable[[Spec], str | None] = lambda spec: None
    explain: Callable[..., Speed] | None = None

    def rate_text(self, rate: float) -> str:
        """Return a rate in words, such as `2,752 GB/s`, from units of work per second."""
        return f"{rate / self.scale:,.0f} {self.unit}"
