"""Private names of torch that workers rely on."""

from __future__ import annotations

from grader.model import Package
from grader.worker.requirements import Library, touchpoints

# The same as in `grader doctor`, whose room no worker imports.
TORCH = Package(name="torch", tested=("2.13.0", "2.11.0"), needs=">=2.11,<2.14")
_OPERATIONS = "worker/torch_operations.py"

# Follow each of torch's operations in simulation.
SIMULATED = Library(
    TORCH,
    (
        *touchpoints(
            "torch.utils._python_dispatch",
            _OPERATIONS,
            *("TorchDispatchMode.__init__(self)", "TorchDispatchMode._should_skip_dynamo()"),
            "TorchDispatchMode.__torch_dispatch__(self, func, types, args, kwargs)",
        ),
        *touchpoints("torch.utils._pytree", "worker/leaves.py", "tree_leaves(tree)"),
        *touchpoints("torch", _OPERATIONS, "_C.DispatchKey.CompositeImplicitAutograd"),
        *touchpoints(
            "torch._ops",
            _OPERATIONS,
            *("OpOverload.has_kernel_for_dispatch_key(self, k)", "OpOverload.decompose(self)"),
        ),
        *touchpoints(
            "torch.multiprocessing.reductions",
            _OPERATIONS,
            *("StorageWeakRef(storage)", "StorageWeakRef.expired(self)"),
        ),
    ),
)
# Withhold the launches that torch recorded.
COMPILED = Library(
    TORCH,
    touchpoints("torch.cuda", "worker/launches.py", "CUDAGraph.replay(self)"),
)
