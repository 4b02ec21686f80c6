"""The step `compile`: machine code for GPUs that need not be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader import backends
from grader.grading import slow
from grader.grading.step import Finding, Step

if TYPE_CHECKING:
    from grader.grading.session import Grading
    from grader.model import Spec


def compile_kernels(grading: Grading) -> Finding:
    from grader.grading.steps.compile import findings

    return findings.compiled(grading)


def prepare(grading: Grading) -> None:
    """Load the compiler while outputs are compared, which takes one core.

    Where many files are graded, the others have work, and most wrong kernels are never compiled.
    """
    from grader.grading.steps.compile import findings

    # Trials of an author's kernels do not shrink cases, and class runs are hardened.
    somebody_waits = grading.options.shrink and not grading.options.hardened
    if somebody_waits and _in_parallel(grading):
        grading.once(findings.compiler_process)


def _in_parallel(grading: Grading) -> bool:
    """Report whether to compile while other steps run: those of this check need no GPU."""
    options = grading.options
    return options.device == "cpu" and options.pretend is None and options.case is None


def begin(grading: Grading) -> None:
    """Compile while later steps run."""
    from grader.grading.steps.compile import findings

    if _in_parallel(grading):
        grading.once(findings.jobs)
        grading.begin(findings.build)


def can_be_compiled(spec: Spec) -> bool:
    """Report whether the exercise has the step.

    With an optional compiler, only an exercise that grades speed or names targets has it. Any other
    check would ask for a package whose figures explain speed alone.
    """
    backend = backends.find(spec.backend)
    graded = spec.scored is not None or bool(spec.targets)
    return backend.compiler is not None and (graded or not backend.compiler_optional)


def unsimulated(spec: Spec) -> bool:
    """Report whether the backend compiles on a machine where nothing runs its kernels."""
    return backends.find(spec.backend).can.dry_run


def asks(spec: Spec) -> str:
    required = spec.targets[0] if spec.targets else 90
    return f"each dtype for the GPU that is there, or else for sm_{required}"


STEP = Step(
    name="compile",
    title="the kernel compiles to machine code",
    needs=("correctness",),
    may_skip=True,  # where no compiler is installed
    applies=can_be_compiled,
    asks=asks,
    unsimulated=unsimulated,
    run=compile_kernels,
    prepare=prepare,
    begin=begin,
    slow=slow.compiling,
)
