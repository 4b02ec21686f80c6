"""The memory step: how much one call holds beyond its arguments.

A kernel is memory-bound because its arguments are large; a scratch copy of one is as large. On a
GPU the judge watches the free memory from outside while the call runs. In simulation the worker
counts what the file allocates on a small case, and on one of twice the rows: what grows between
them is taken to grow on, up to arguments of NOMINAL bytes, and fails where no cap above the small
cases can explain it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import torch

from grader import exclusive, traffic
from grader.arena import CudaArena
from grader.link import KernelFailure, WorkerLink, entry_of
from grader.results import Failure, Memory
from grader.session import Finding, Grading
from grader.slots import Slots, arena_bytes, bytes_per_row, scored_case
from grader.spec import ITEMSIZE, Case
from grader.steps import with_case
from grader.terms import Outcome
from grader.wire import Launched

MIB = 1 << 20
NOMINAL = 1 << 30  # bytes of all arguments, at which a simulated kernel is held to its budget
# In simulation scratch that grows may stop growing above the counted cases, such as partial results
# of at most so many blocks. What still grows to this part of an argument is taken for a copy.
COPY_PART = 4
FEW_ROWS = 64  # of the call that loads what there is to load; 16 of them and more divide alike
# Torch gets memory for scratch of 1 to 10 MiB in segments of this size (kLargeBuffer of its
# CUDACachingAllocator), and the driver in pages of 2 MiB.
SEGMENT = 20 * MIB
# What the driver may take for the code of a file's kernels. For registers that the compiler had to
# spill it takes room in each thread that the GPU can run at once: as much as the worker says, and
# at most this. Both are freed with the process, and are no scratch.
CODE, MOST_STACK = 16 * MIB, 16 << 10


def memory(grading: Grading) -> Finding:
    """Hold what one call allocates against the exercise's budget.

    Raises KernelFailure when the call goes wrong, such as by needing more than the card has.
    """
    return _simulated(grading) if grading.options.device == "cpu" else _measured(grading)


def _simulated(grading: Grading) -> Finding:
    spec = grading.spec
    one = grading.counted(traffic.count)
    rows, *columns = one.case.shape
    double = replace(one.case, shape=(2 * rows, *columns))
    try:
        two = traffic.count_case(grading, double)
    except KernelFailure as error:
        raise KernelFailure(with_case(error.failure, grading, double)) from None
    wrong = traffic.wrong_answer(grading, two)
    if wrong is not None:
        return Finding(double.headline, wrong, Outcome.FAIL)
    growth = (two.peak - one.peak) / rows
    nominal_rows = NOMINAL // bytes_per_row(spec, one.case)
    nominal = Case((nominal_rows, *columns), one.case.dtype)
    peak = one.peak + max(0, round(growth * (nominal_rows - rows)))
    most = spec.memory_budget(nominal)
    if one.peak <= most:
        most = max(most, nominal.elements * ITEMSIZE[nominal.dtype] // COPY_PART)
    return _finding(nominal, peak, most, simulated=True)


def _measured(grading: Grading) -> Finding:
    spec = grading.spec
    grading.executor.close()  # what its worker holds must not be freed meanwhile
    with exclusive.gpu_for_us_alone():
        others = exclusive.others()
        rows = grading.sizing.rows
        case = scored_case(spec, rows)
        with closing(CudaArena(arena_bytes(spec, rows, 1))) as arena:
            nursery = grading.workshop.nursery(spec.backend, grading.options.device)
            kernel = WorkerLink(entry_of(spec), grading.kernel, nursery, arena)
            with closing(kernel):
                peak = _peak(
                    kernel,
                    Slots(spec, scored_case(spec, FEW_ROWS), 1, arena.memory),
                    Slots(spec, case, 1, arena.memory),
                )
    found = _finding(case, peak, spec.memory_budget(case) + SEGMENT, simulated=False)
    disturbed = exclusive.disturbance(others)
    if found.failure is not None and disturbed is not None:
        return Finding(found.summary, _noisy(disturbed), Outcome.NOISY, memory=found.memory)
    return found


def _peak(kernel: WorkerLink, small: Slots, large: Slots) -> int:
    """The most bytes that the kernel's process takes, less what its code may."""
    few, _ = small.refill()
    kernel.start()
    before = _free()
    kernel.load()
    kernel.call(few)
    loaded = _free()
    code = CODE + _stack(kernel.resources(few[0]))
    many, _ = large.refill()
    torch.cuda.empty_cache()  # what the judge needed to fill the slot is not the kernel's
    ready = _free()
    least = _least_free_during(lambda: kernel.call(many))
    return max(0, before - loaded - code) + max(0, ready - least)


def _least_free_during(work: Callable[[], object]) -> int:
    """The fewest free bytes of the GPU while `work` runs, which may raise."""
    least = _free()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        while not done.done():
            least = min(least, _free())
    done.result()
    return min(least, _free())


def _free() -> int:
    return torch.cuda.mem_get_info()[0]


def _stack(launched: Sequence[Launched]) -> int:
    """Bytes of spilled registers. Numba does not tell them from local arrays: it gets the most."""
    gpu = torch.cuda.get_device_properties(0)
    threads = gpu.multi_processor_count * gpu.max_threads_per_multi_processor
    spills = [MOST_STACK if one.spills is None else one.spills for one in launched]
    return threads * min(MOST_STACK, max(spills, default=0))


def _finding(case: Case, peak: int, most: int, *, simulated: bool) -> Finding:
    found = Memory(case=case.headline, peak_bytes=peak, most_bytes=most, simulated=simulated)
    arguments = f"{NOMINAL >> 30} GiB of arguments" if simulated else "its arguments"
    held = f"{_mib(peak)} beyond {arguments}"
    tried = f"{case.headline}: {held}"
    if peak <= most:
        return Finding(tried, memory=found)
    failure = Failure(
        kind="memory",
        message=f"one call holds {held}",
        expected=f"at most {_mib(most)}",
        got=_mib(peak),
        hint="Scratch that grows with the input costs what the input costs, in room and in time. "
        "What must be kept between two passes, and what could stay in registers?",
    )
    return Finding(tried, failure, Outcome.FAIL, memory=found)


def _noisy(disturbed: str) -> Failure:
    return Failure(
        kind="noisy",
        message=f"what the kernel holds cannot be told: {disturbed}",
        hint="This does not count against the kernel. Check again when the GPU is quiet.",
    )


def _mib(size: int) -> str:
    """`nothing`, `12 bytes`, or from a tenth of a MiB on such as `1.4 MiB`."""
    if size < MIB // 10:
        return f"{size:,} bytes" if size else "nothing"
    return f"{size / MIB:,.1f}".removesuffix(".0") + " MiB"
