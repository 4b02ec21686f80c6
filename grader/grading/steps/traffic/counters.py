"""The step `traffic` of a kernel that no simulator can run, by the GPU's hardware counters.

They count the bytes of one call of the scored case that leave and reach the GPU's memory, of all
arguments together. A pass needs the right output from the counted launches alone
(`grader.speed.memory_traffic`). Where anything prevents that, the step is skipped, without points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.traffic.allowance import AGAIN, SLACK
from grader.machine import gpu_lock
from grader.model import Argument, Failure, MeasuredTraffic, Outcome, Spec
from grader.speed import Moved, NotCounted, find_ncu, moved

GB = 1e9
SMALL = 0.01  # of the bytes of all arguments


@dataclass(frozen=True)
class Budget:
    """Bytes of one call: the least that it must read, and the most that it may read and write."""

    least_read: int
    most_read: int
    most_written: int


def traffic(grading: Grading, why: str) -> Finding:
    """Compare what one call moves with its budget; `why` says why it is not simulated.

    Raises KernelFailure when the call goes wrong, CannotGrade when the GPU is taken.
    """
    try:
        return _held_against_budget(grading, why)
    except NotCounted as error:
        problem = error.problem.rstrip(".")
        return Finding(f"{why}; no hardware counters: {problem}", outcome=Outcome.SKIP)


def _held_against_budget(grading: Grading, why: str) -> Finding:
    spec = grading.spec
    if grading.options.hardened:
        # The profiler needs rights that no process behind walls has, and loads the file's code.
        raise NotCounted("--hardened runs no profiler")
    if spec.scored is None:
        raise NotCounted("the exercise has no scored case")
    find_ncu()
    one, others = _counted(grading)
    budget = budget_of(spec, one.needed, spec.memory_budget(one.case))
    if one.read * SLACK < budget.least_read:
        raise NotCounted(f"they saw {_gb(one.read)} of {_gb(budget.least_read)} that must be read")
    measured = MeasuredTraffic(
        case=one.case.headline,
        launches=one.launches,
        read_bytes=one.read,
        written_bytes=one.written,
        most_read_bytes=budget.most_read,
        most_written_bytes=budget.most_written,
    )
    summary = (
        f"{one.case.headline}: {_gb(one.read)} read, {_gb(one.written)} written by hardware "
        f"counters ({why})"
    )
    failure = fault(measured)
    if failure is None:
        return Finding(summary, measured=measured)
    if others is not None:  # their bytes count, too
        return Finding(summary, _noisy(others), Outcome.NOISY, measured=measured)
    return Finding(summary, failure, Outcome.FAIL, measured=measured)


def _counted(grading: Grading) -> tuple[Moved, str | None]:
    """Count one call; return also which other programs used the GPU meanwhile, if any did."""
    spec, options = grading.spec, grading.options
    grading.executor.close()  # what its worker holds is needed
    with gpu_lock.exclusive_gpu():
        others = gpu_lock.others()
        workers = grading.fork_servers.fork_server(spec.backend, options.device)
        one = moved(spec, grading.kernel, workers, grading.sizing.rows)
        return one, gpu_lock.describe_others(others or gpu_lock.others())


def budget_of(spec: Spec, sizes: Mapping[str, int], scratch: int) -> Budget:
    """Add up what each argument allows, given their sizes and the scratch of a call in bytes.

    Raises NotCounted where a large argument may be moved any number of times.
    """
    tensors = [argument for argument in spec.arguments if argument.name in sizes]
    large = SMALL * sum(sizes.values())

    def allowed(argument: Argument, most: int | None) -> int:
        size = sizes[argument.name]
        if most is None and size > large:
            raise NotCounted(f"the spec lets {argument.name} be moved any number of times")
        # A small one stays in the cache, however often it is moved.
        return size * (1 if most is None else most)

    return Budget(
        least_read=sum(sizes[one.name] * one.reads for one in tensors),
        most_read=scratch + sum(allowed(one, _most_reads(one)) for one in tensors),
        most_written=scratch + sum(allowed(one, one.most_writes) for one in tensors),
    )


def _most_reads(argument: Argument) -> int | None:
    if argument.role != "out" or argument.most_reads is not None:
        return argument.most_reads
    # Nothing is there to read but what the kernel wrote, and will write over.
    return None if argument.most_writes is None else argument.most_writes - 1


def fault(measured: MeasuredTraffic) -> Failure | None:
    for done, moved_bytes, most in (
        ("read", measured.read_bytes, measured.most_read_bytes),
        ("written", measured.written_bytes, measured.most_written_bytes),
    ):
        if moved_bytes > most * SLACK:
            way = "from" if done == "read" else "to"
            return Failure(
                kind="traffic",
                message=f"{_gb(moved_bytes)} are {done} {way} the GPU's memory in one call, by "
                "hardware counters",
                expected=f"at most {_gb(most)}",
                got=_gb(moved_bytes),
                case=measured.case,
                hint=f"{AGAIN[done]} Registers that the compiler spills count as well.",
            )
    return None


def _noisy(others: str) -> Failure:
    return Failure(
        kind="noisy",
        message=f"the bytes that the kernel moves are uncertain: {others}",
        hint="This does not count against the kernel. Check again when the GPU is quiet.",
    )


def _gb(size: int) -> str:
    return f"{size / GB:.3g} GB"
