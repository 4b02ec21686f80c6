"""The bound `arithmetic`: operations of a dtype a second, measured with torch's matrix product."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grader.model import BrokenExercise
from grader.speed.bound import Bound

if TYPE_CHECKING:
    from grader.model import Spec
    from grader.sandbox import CudaArena, ForkServers
    from grader.speed.reference_kernel import ReferenceKernel
    from grader.speed.slots import Slots

# The edge of square matrices whose product lasts 1 to 3 ms on an H100: long enough to be timed, and
# large enough that cuBLAS is as fast as with larger ones.
EDGES = {"float32": 4096, "float16": 8192, "bfloat16": 8192}


def work(slots: Slots) -> float:
    """Return the operations of one call.

    Raises BrokenExercise for a number that no share can be made of: of no operations every kernel
    is too slow, and of endlessly many every one is fast enough.
    """
    assert slots.spec.flops is not None, "fault() lets no such spec pass"
    try:
        flops = float(slots.spec.flops(slots.case))
    except Exception as error:
        raise _broken(slots, f"fails: {type(error).__name__}: {error}") from error
    if not 0 < flops < math.inf:
        raise _broken(slots, f"returns {flops}")
    return flops


def _broken(slots: Slots, fault: str) -> BrokenExercise:
    return BrokenExercise(
        f"The exercise is broken: `flops` {fault}, for {slots.case.headline}.",
        "Tell whoever wrote the exercise; your kernel is not at fault.",
    )


def reference(slots: Slots, fork_servers: ForkServers, arena: CudaArena) -> ReferenceKernel:
    """Start the product of two random matrices of the scored dtype.

    cuBLAS computes float32 in float32: torch's TF32 stays off.
    """
    from grader import backends
    from grader.sandbox import Entry
    from grader.speed.bound import ReferenceCalls
    from grader.speed.reference_kernel import ReferenceKernel

    dtype = slots.case.dtype
    edge = EDGES[dtype]
    timed = ReferenceCalls(
        Entry(f"product_{dtype}", ("edge",)),
        calls=[[edge]] * slots.calls,
        work=2 * edge**3,
        spare=[edge],
    )
    fork_server = fork_servers.fork_server(backends.reference().name, "cuda", reference=True)
    return ReferenceKernel(timed, backends.reference_file().read_bytes(), fork_server, arena)


def fault(spec: Spec) -> str | None:
    scored, _ = spec.timed
    if spec.flops is None:
        return f"the bound {scored.bound} needs `flops`: a function of a case to its operations"
    if scored.dtype not in EDGES:
        return f"the bound {scored.bound} is for {', '.join(EDGES)}, and not for {scored.dtype}"
    return None


BOUND = Bound(
    name="arithmetic",
    unit="TFLOP/s",
    scale=1e12,
    work=work,
    reference=reference,
    rate_name="arithmetic",
    measured_by="the product of large matrices",
    held_to="torch's matrix product",
    # No share is impossible: float32 products on tensor cores, or by fewer operations than counted,
    # are faster than cuBLAS, and honest.
    fault=fault,
)
