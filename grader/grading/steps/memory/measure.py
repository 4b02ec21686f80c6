"""The measurements of the step `memory`: bytes that one call holds beyond its arguments.

A kernel is memory-bound because its arguments are large; a scratch copy of one is as large. On a
GPU the judge watches the free memory from outside, during a call of half the scored rows and during
one of all of them. It counts all that grows between the two calls. What does not grow, such as code
and streams, counts only above the fixed allowance. In simulation the worker counts what the file
allocates on a small case, and on one of twice the rows. Where scratch stops growing at some number
of rows, such as partial sums of so many programs, the spec names a case beyond it. The judge
assumes that what grows between them continues to grow, up to arguments of NOMINAL bytes. Growth
fails where no cap above the small cases can explain it. A call of few rows, which is quickly
simulated, comes before each counted one. Where a file keeps memory from call to call, the judge
counts once more, after calls of as many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import torch

from grader.correctness import reseeded
from grader.grading import counting
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.memory import limits
from grader.grading.steps.memory.limits import MemoryLimit
from grader.grading.steps.memory.over_call import over_call
from grader.grading.trials import with_case
from grader.machine import gpu_lock
from grader.model import (
    Case,
    Failure,
    HeldOverCall,
    Launched,
    Memory,
    Outcome,
    size_in_words,
)
from grader.sandbox import CudaArena, KernelFailure, WorkerLink, entry_of
from grader.speed import (
    FIXED_ALLOWANCE,
    Slots,
    arena_bytes,
    available,
    clock,
    free_bytes,
    scored_case,
)

# For registers that the compiler had to spill, the driver takes memory for each thread that the GPU
# can run at once: as much as the worker says, and at most this.
MOST_STACK = 16 << 10

FEW = 16  # rows of the call before a counted one


def memory(grading: Grading) -> Finding:
    """Compare what one call allocates with the exercise's budget.

    Raises KernelFailure when the call goes wrong, such as by needing more than the card has.
    """
    if grading.options.device != "cpu":
        return _measured(grading)
    found = _simulated(grading, few=True)
    if found.memory is not None and _keeps(found.memory):
        return _simulated(grading, few=False)
    return found


def _keeps(found: Memory) -> bool:
    """Report whether the file held memory as the counted call began, or may have."""
    points = () if found.over_call is None else found.over_call.kernel
    return not points or points[0][1] > 0


def _simulated(grading: Grading, *, few: bool) -> Finding:
    """Count calls that each come after one of `few` rows, or of as many as they have."""
    spec = grading.spec
    own = spec.memory_counted and reseeded(spec.memory_counted, grading.options.seed)
    one = _counted(grading, own, few=few) if own else grading.once(counting.count)
    if isinstance(one, Finding):
        return one
    rows, *columns = one.case.shape
    two = _counted(grading, replace(one.case, shape=(2 * rows, *columns)), few=few)
    if isinstance(two, Finding):
        return two
    growth = (two.peak - one.peak) / rows
    nominal = limits.nominal_case(spec, one.case)
    peak = one.peak + max(0, round(growth * (nominal.shape[0] - rows)))
    most = limits.simulated(spec, nominal, one.peak)
    beyond = f"beyond {limits.NOMINAL >> 30} GiB of arguments"
    return _finding(nominal, peak, most, beyond, over_call=over_call(grading.spec, one))


def _counted(grading: Grading, case: Case, *, few: bool) -> counting.Counted | Finding:
    rows, *columns = case.shape
    first = replace(case, shape=(min(FEW, rows), *columns)) if few else case
    try:
        one = counting.count_case(grading, case, first)
    except KernelFailure as error:
        raise KernelFailure(with_case(error.failure, grading, case)) from None
    wrong = counting.wrong_answer(grading, one)
    return one if wrong is None else Finding(case.headline, wrong, Outcome.FAIL)


def _measured(grading: Grading) -> Finding:
    spec = grading.spec
    grading.executor.close()  # what its worker holds must not be freed meanwhile
    with gpu_lock.exclusive_gpu():
        others = gpu_lock.others()
        rows = max(2, grading.sizing.rows)  # so that half of them are at least one
        case = scored_case(spec, rows)
        with closing(CudaArena(arena_bytes(spec, rows, 1))) as arena:
            fork_server = grading.fork_servers.fork_server(spec.backend, grading.options.device)
            kernel = WorkerLink(entry_of(spec), grading.kernel, fork_server, arena)
            with closing(kernel):
                half = _held(kernel, Slots(spec, scored_case(spec, rows // 2), 1, arena.memory))
                slots = Slots(spec, case, 1, arena.memory)
                whole = _held(kernel, slots)
                allowance = FIXED_ALLOWANCE + _stack(kernel.resources(slots.plan().calls[0]))
    now = gpu_lock.others()
    peak = counted_bytes(half, whole, allowance)
    beyond = "growing with its arguments"
    if peak > growing_bytes(half, whole):
        beyond = f"beyond its arguments and a fixed {size_in_words(allowance)}"
    most = limits.measured(spec, case)
    # The GPU shows no single allocation. A step before this one simulated a small call, if it can.
    one = grading.done(counting.count)
    held = None if one is None else over_call(spec, one)
    found = _finding(case, peak, most, beyond, whole, held)
    cause = gpu_lock.describe_others(others or now)
    # What others took would count against the kernel, and what they gave back would hide its own.
    uncertain = found.failure is not None or now != others
    if uncertain and cause is not None:
        return Finding(found.summary, _noisy(cause), Outcome.NOISY, memory=found.memory)
    return found


def growing_bytes(half: int, whole: int) -> int:
    """Return the bytes that grow with the rows, from those held at half and at all of them."""
    return max(0, 2 * (whole - half))


def counted_bytes(half: int, whole: int, allowance: int) -> int:
    """Return the bytes that count, from those held at half the rows and at all of them.

    They are the bytes that grow, and of the others those beyond the fixed `allowance`:
    growing + max(0, whole - growing - allowance).
    """
    return max(growing_bytes(half, whole), whole - allowance)


def _held(kernel: WorkerLink, slots: Slots) -> int:
    """Return the most bytes that a warmed-up new worker holds in one call.

    The first call loads, compiles and tunes, and the worker gives back what that no longer needs.
    Raises KernelFailure when the call fails, or its output is wrong: a worker that does nothing
    while it is watched would hold nothing.
    """
    calls, filled = slots.refill()
    filled.outputs_right()  # the judge's own work loads code, too: before the first reading
    kernel.start()
    before = available()
    kernel.load()
    kernel.call(calls)
    kernel.settle()
    calls, filled = slots.refill()
    torch.cuda.empty_cache()  # what the judge needed to fill the slot, the kernel may use
    least = _least_free_during(lambda: kernel.call(calls)) + torch.cuda.memory_reserved()
    if not filled.outputs_right():
        raise KernelFailure(clock.wrong_output(filled))
    return before - least


def _least_free_during(work: Callable[[], object]) -> int:
    """Return the fewest free bytes of the GPU while `work` runs, which may raise."""
    least = free_bytes()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        while not done.done():
            least = min(least, free_bytes())
    done.result()
    return min(least, free_bytes())


def _stack(launched: Sequence[Launched]) -> int:
    """Bound the bytes of spilled registers: some compilers count them with local arrays."""
    gpu = torch.cuda.get_device_properties(0)
    threads = gpu.multi_processor_count * gpu.max_threads_per_multi_processor
    spills = [MOST_STACK if one.spills is None else one.spills for one in launched]
    return threads * min(MOST_STACK, max(spills, default=0))


def _finding(
    case: Case,
    peak: int,
    most: MemoryLimit,
    beyond: str,
    whole: int | None = None,
    over_call: HeldOverCall | None = None,
) -> Finding:
    """`whole` is what was held in all, where that was measured."""
    found = Memory(
        case=case.headline,
        peak_bytes=peak,
        most_bytes=most.most_bytes,
        rule=most.rule,
        simulated=whole is None,
        held_bytes=whole,
        over_call=over_call,
    )
    held = f"{size_in_words(peak)} {beyond}"
    summary = f"{case.headline}: {held}"
    if peak <= most.most_bytes:
        return Finding(f"{summary}; {most.in_words()}", memory=found)
    failure = Failure(
        kind="memory",
        message=f"one call holds {held}",
        expected=most.in_words(),
        got=size_in_words(peak),
        hint="Scratch that grows with the input costs as much memory and time as the input. "
        "What must be kept between two passes, and what could stay in registers?",
    )
    return Finding(summary, failure, Outcome.FAIL, memory=found)


def _noisy(cause: str) -> Failure:
    return Failure(
        kind="noisy",
        message=f"the memory that the kernel holds is uncertain: {cause}",
        hint="This does not count against the kernel. Check again when the GPU is quiet.",
    )
