"""The reason why a kernel misses this GPU's bandwidth, from its speed, traffic and resources.

All functions are pure: they measure nothing and decide no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader import backends
from grader.model import (
    Argument,
    Launched,
    Limit,
    Resources,
    Spec,
    Speed,
    Traffic,
    how_often,
    percent,
)
from grader.speed.occupancy import Multiprocessor, occupancy

LEAST = 0.97  # an attainable share from here on: the traffic is as good as the least
NEAR = 0.93  # of the attainable share: as fast as the traffic allows
BEYOND = 1.07  # of the attainable share: faster than memory alone could deliver
MANY_LAUNCHES = 3  # in one call; a reduction by blocks needs a second one
FEW_WARPS = 0.25  # occupancy: fewer warps hardly hide the latency of memory
NOTABLE = 0.03  # of the least bytes: excess traffic of an argument that is worth a sentence


def with_explanation(
    speed: Speed,
    spec: Spec,
    traffic: Sequence[Traffic],
    sizes: Mapping[str, int],
    launched: Sequence[Launched],
    sm: Multiprocessor,
) -> Speed:
    """Add its explanation to a measured speed.

    `traffic` is empty where it was not counted. `sizes` are bytes of each argument of the scored
    case. `launched` is the worker's report and may be empty.
    """
    resources = tuple(_resources(kernel, sm) for kernel in launched)
    share = attainable(spec, traffic, sizes)
    speed = speed.model_copy(update={"attainable": share, "resources": resources})
    limit, sentences = explain(speed, spec, traffic, sizes)
    return speed.model_copy(update={"limit": limit, "explanation": sentences})


def _resources(kernel: Launched, sm: Multiprocessor) -> Resources:
    fits = None
    if kernel.threads:
        fits = occupancy(sm, kernel.registers, kernel.shared_bytes, kernel.threads)
    return Resources(
        kernel=kernel.kernel,
        registers=kernel.registers,
        spills=kernel.spills,
        shared_bytes=kernel.shared_bytes,
        threads=kernel.threads,
        launches=kernel.launches,
        occupancy=fits,
    )


def attainable(spec: Spec, traffic: Sequence[Traffic], sizes: Mapping[str, int]) -> float | None:
    """Return the share of the ceiling that the counted traffic allows, in (0, 1].

    It is least bytes / counted bytes, and None where no traffic was counted. Reads and writes weigh
    the same, and every read is assumed to come from memory. `sizes` are bytes of each argument.
    """
    counted = sum((t.reads + t.writes) * sizes[t.argument] for t in traffic)
    least = sum(spec.least_bytes(sizes))
    return min(1.0, least / counted) if counted and least else None


def explain(
    speed: Speed, spec: Spec, traffic: Sequence[Traffic], sizes: Mapping[str, int]
) -> tuple[Limit, tuple[str, ...]]:
    """Name the limit of a kernel with known `attainable` and `resources`: a word, and sentences."""
    reached, allowed = percent(speed.share), speed.attainable
    if speed.share >= speed.great and (allowed is None or allowed >= LEAST):
        return Limit.NONE, (f"Great: {reached} of the ceiling. Little is left to gain.",)
    reason, advice = shortfall(spec, speed.resources)
    if allowed is None:
        unknown = (
            f"The kernel reaches {reached} of the ceiling. Its reads and writes were not counted: "
            "they may or may not be the limit."
        )
        return Limit.UNKNOWN, (unknown, f"If it moves no more than it must: {advice}")
    if allowed >= LEAST:
        return reason, (
            f"The kernel moves the least bytes but reaches {reached} of the ceiling: {advice}",
        )
    excess, fewer = _excess(spec, traffic, sizes)
    limit = (
        f"The kernel {excess}; at that traffic this GPU allows {percent(allowed)} of the ceiling"
    )
    if speed.share > BEYOND * allowed:
        return Limit.CACHE, (
            f"{limit} from memory, and you reach {reached}: the L2 cache serves a part of the "
            f"repeated reads, and {fewer} still help.",
        )
    if speed.share >= NEAR * allowed:
        return Limit.TRAFFIC, (f"{limit} and you reach {reached}: only {fewer} help.",)
    return Limit.BOTH, (
        f"{limit} but you reach only {reached}: {fewer} help, and something else is slow, too.",
        f"To speed up the rest, {advice}",
    )


def _excess(spec: Spec, traffic: Sequence[Traffic], sizes: Mapping[str, int]) -> tuple[str, str]:
    """Describe excess traffic: `reads x 3 times where once is enough`, and `fewer reads`."""
    arguments = {a.name: a for a in spec.arguments}
    excesses = []
    for t in traffic:
        needs: Argument = arguments[t.argument]
        for verb, noun, number, least in (
            ("reads", "reads", t.reads, needs.reads),
            ("writes", "writes", t.writes, needs.writes),
        ):
            excesses.append(
                ((number - least) * sizes[t.argument], verb, noun, t.argument, number, least)
            )
    excesses.sort(key=lambda one: -one[0])
    notable = NOTABLE * sum(spec.least_bytes(sizes))
    listed = [one for one in excesses if one[0] >= notable] or excesses[:1]
    parts = [
        f"{verb} {name} {how_often(number)} where {_enough(least)}"
        for _, verb, _, name, number, least in listed
    ]
    nouns = sorted({noun for _, _, noun, *_ in listed})
    return " and ".join(parts), f"fewer {' and '.join(nouns)}"


def _enough(least: int) -> str:
    if least > 2:
        return f"{least} times are enough"
    return f"{how_often(least)} is enough" if least else "it need not"


def shortfall(spec: Spec, resources: Sequence[Resources]) -> tuple[Limit, str]:
    """Name what else keeps a kernel from its ceiling than its traffic, and the way out."""
    hints = backends.find(spec.backend).hints
    spilling = max(resources, key=lambda r: r.spills or 0, default=None)
    if spilling and spilling.spills:
        return Limit.SPILLS, (
            f"the compiler ran out of registers in {spilling.kernel} and keeps {spilling.spills:,} "
            f"bytes per thread in memory, which costs traffic of its own; "
            f"{hints.more_warps}."
        )
    known = [(r.occupancy, r) for r in resources if r.occupancy is not None]
    fits, sparse = min(known, key=lambda one: one[0], default=(1.0, None))
    if sparse and fits < FEW_WARPS:
        return Limit.OCCUPANCY, (
            f"{sparse.kernel} takes so many registers or so much shared memory that only "
            f"{percent(fits)} of a multiprocessor's warps (groups of 32 threads) fit at once, too "
            f"few to work on while others wait for memory; {hints.more_warps}."
        )
    launches = sum(r.launches for r in resources)
    if launches >= MANY_LAUNCHES:
        return Limit.LAUNCHES, (
            f"one call launches {launches} kernels, and each has to start and to fill the GPU. Can "
            f"one launch do the work? Otherwise {hints.faster}."
        )
    return Limit.SHAPE, f"{hints.faster}."
