"""The bound `arithmetic`: operations of a dtype a second, measured with torch's matrix product."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    return slots.spec.operations(slots.case)


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
    spec.operations(spec.sample_case)  # raises for a number that is none, also without a GPU
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
