"""The bound `latency`: calls on a small input, compared with single launches of a small kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grader.speed.bound import Bound, Reference

if TYPE_CHECKING:
    from grader.model import Limit, Spec, Speed
    from grader.sandbox import CudaArena, ForkServers
    from grader.speed.slots import Slots

ELEMENTS = 1024  # that the small kernel adds: one block or a few
MOST_ELEMENTS = 1 << 16  # of a case: the work of more would outweigh its launch
# Of a batch. So many calls last some milliseconds, and filling their arguments takes about 0.15 s.
CALLS = 128
# On a rented machine with an H100 a core needs half as long again for a while, probably because a
# neighbour uses its other half. That lasts milliseconds or seconds, and slows a loop of Python as
# much as a launch. So kernel and reference share a core, and their batches follow each other.
# Batches of one worker that lay 20 ms apart differed by less than 5 % in two thirds of all cases,
# and a median of so many quotients leaves out the others.
CYCLES = 32
# 95 % of the shares of a right kernel lie between 5.9 % less and 1 % more than the true one. This
# is computed from batches that were measured: bench/latency_cores.py.
RERUN = 0.06
# The overhead of a batch is half as long as its calls, and varies by a tenth of them.
LEEWAY = 4.0
# The reference's best batch without the kernel may be this much faster than its best beside it. So
# much may the best batches lower a share that the second best do not confirm. On a quiet core, best
# batches of twelve were up to 6 % apart.
STEADY = 0.1
# A share that is closer to its gate than its own error cannot be decided.
INDIFFERENCE = 0.15


def work(slots: Slots) -> float:
    return 1.0  # the call itself


def reference(slots: Slots, fork_servers: ForkServers, arena: CudaArena) -> Reference:
    """Start the trial kernel of the spec's backend, which adds two short vectors.

    They lie at the arena's end, behind the slots.
    """
    from grader import backends
    from grader.model import TensorRef
    from grader.sandbox import Entry
    from grader.speed.bound import ReferenceCalls
    from grader.speed.reference_kernel import ReferenceKernel

    trial = backends.find(slots.spec.backend).trial
    entry = Entry(trial.entry, ("a", "b", "out"))
    size = 4 * ELEMENTS
    end = arena.memory.numel() // size
    call = [
        TensorRef(name, (end - place) * size, (ELEMENTS,), (1,), "float32")
        for place, name in enumerate(entry.parameters, start=1)
    ]
    timed = ReferenceCalls(entry, [call] * slots.calls, work=1.0, spare=call)
    file = (backends.folder(slots.spec.backend) / trial.file).read_bytes()
    fork_server = fork_servers.fork_server(slots.spec.backend, "cuda", reference=True)
    return ReferenceKernel(timed, file, fork_server, arena)


def fault(spec: Spec) -> str | None:
    scored, _ = spec.timed
    if scored.rows is None:
        return "the bound latency needs `rows` of `Scored`: its input is small on every GPU"
    elements = scored.rows
    for extent in scored.extents:
        elements *= extent
    if elements > MOST_ELEMENTS:
        return (
            f"the bound latency is for at most {MOST_ELEMENTS:,} elements, and `Scored` has "
            f"{elements:,}"
        )
    return None


def explain(speed: Speed, *measured: Any) -> Speed:
    """Add the kernels that a call launches, and what takes the time beside one launch."""
    from grader.speed.explanation import with_explanation

    speed = with_explanation(speed, *measured)
    launches = sum(kernel.launches for kernel in speed.resources)
    limit, sentence = _limit(speed.share, speed.great, launches)
    return speed.model_copy(update={"attainable": None, "limit": limit, "explanation": (sentence,)})


def _limit(share: float, great: float, launches: int) -> tuple[Limit, str]:
    from grader.model import Limit

    as_long = f"a call takes as long as {1 / share:.1f} launches of a small kernel"
    if share >= great:
        return Limit.NONE, f"Great: {as_long}. Little is left to gain."
    if launches > 1:
        return Limit.LAUNCHES, (
            f"On so small an input {as_long}, and it launches {launches} kernels: let one launch "
            "do the work of several."
        )
    return Limit.HOST, (
        f"On so small an input {as_long}: allocations, copies such as `.contiguous()` and Python "
        "work in the entry take the rest. Leave out what you can, and do once what does not depend "
        "on the inputs."
    )


BOUND = Bound(
    name="latency",
    unit="calls/s",
    scale=1.0,
    work=work,
    reference=reference,
    rate_name="rate of calls",
    measured_by="single launches of a small kernel",
    held_to="the rate of single launches",
    hopeless="Does one call launch many kernels, wait for the GPU, or allocate again and again?",
    calls=CALLS,
    steady=STEADY,
    leeway=LEEWAY,
    indifference=INDIFFERENCE,
    any_length=True,
    by_host=True,
    cycles=CYCLES,
    rerun=RERUN,
    # No share is impossible: a launch with fewer arguments than the small kernel's is faster.
    fault=fault,
    explain=explain,
)
