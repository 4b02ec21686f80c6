"""The budgets of the step `counts`, which limit what threads, warps and programs do.

Counted in the same simulated call as the traffic step's reads and writes, so that the figures are
exact and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from grader.grading import counting
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.counts import budgets_of
from grader.grading.trials import with_case
from grader.model import Count, Failure, Frame, GraderError, Outcome, counted

HINTS = {
    "global_reads": "Does a thread read one element several times, or do the work of others? Keep "
    "it in a variable, let the block share it, or share the elements out evenly.",
    "global_writes": "Add up in a variable, and write the element once, when it is done. Is the "
    "work shared out evenly?",
    "shared_reads": "A thread that reads an element of shared memory twice could keep it in a "
    "variable. If one thread reads alone, share its work with the others.",
    "shared_writes": "Add up in a variable, and write to shared memory once.",
    "transactions": "Neighbouring threads (threadIdx.x and the next) should read and write "
    "neighbouring elements: then one piece of memory serves eight of them.",
    "bank_conflicts": "Elements of shared memory that lie 32 words apart share a bank. An array "
    "with one column more than it needs moves each row one bank further on.",
    "barriers": "A barrier is needed only between one thread's write to shared memory and "
    "another's use of it, before or after.",
    "programs": "Each program costs time to start: let one do more, with a larger block or a loop.",
    "loads": "Does a program load a block that it has already? A block in a variable costs nothing "
    "to use again; a larger block needs fewer loads.",
    "stores": "Keep a block in a variable until it is final, and store it once: one store takes "
    "all lanes.",
    "bytes": "Does one program do the work of others, or load lanes that it does not use? Share "
    "the work out evenly, and mask lanes off.",
}


def counts(grading: Grading) -> Finding:
    """Compare the counts of the spec's counted case with its budgets.

    Raises GraderError when one was not counted: nothing passes by default.
    """
    found = counting.counted(grading)
    if isinstance(found, Finding):
        return found
    rows = tuple(
        Count(
            count=budget.count,
            value=_value(found.counts, budget.count),
            most=budget.most,
            best=budget.best,
        )
        for budget in budgets_of(grading.spec)
    )
    listed = ", ".join(counted(row.value, row.count) for row in rows)
    over = next((row for row in rows if row.value > row.most), None)
    if over is None:
        return Finding(f"{found.case.headline}: {listed}", counts=rows)
    failure = with_case(_failure(grading, over, found.counts), grading, found.case)
    return Finding(f"{found.case.headline}: {listed}", failure, Outcome.FAIL, counts=rows)


def _value(counts: Mapping[str, int], name: str) -> int:
    try:
        return counts[f"counts.{name}"]
    except KeyError:
        raise GraderError(f"The worker did not count the {name.replace('_', ' ')}.") from None


def _failure(grading: Grading, row: Count, counts: Mapping[str, int]) -> Failure:
    message = _MESSAGES[row.count](row.value)
    line = counts.get(f"line.{row.count}", 0)
    source = grading.source
    frames: tuple[Frame, ...] = ()
    threads, worst = counts.get(f"threads.{row.count}", 0), counts.get(f"worst.{row.count}", 0)
    if 0 < line <= len(source):
        if row.count in _WORST and threads > 1 and worst > 1:
            message = f"{_WORST[row.count](threads, worst)}: {message}"
            frames = (_frame(line, source),)
        elif row.count not in _WORST:
            frames = (_frame(line, source),)
    return Failure(
        kind="counts",
        message=f"{message}, where {_enough(row)}",
        expected=f"at most {counted(row.most, row.count)}" if row.most else "none",
        got=f"{row.value:,}",
        frames=frames,
        hint=HINTS[row.count],
    )


def _frame(line: int, source: Sequence[str]) -> Frame:
    return Frame(line=line, function="", code=source[line - 1].strip())


def _enough(row: Count) -> str:
    if row.most == 0:
        return "none is needed"
    if row.count.endswith(("reads", "writes", "loads", "stores")):
        return f"{_times(row.most)} is enough"
    return f"{row.most:,} {'is' if row.most == 1 else 'are'} enough"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


# What a count says of a kernel, from its value.
_MESSAGES: dict[str, Callable[[int], str]] = {
    "global_reads": lambda value: f"the busiest thread reads global memory {_times(value)}",
    "global_writes": lambda value: f"the busiest thread writes to global memory {_times(value)}",
    "shared_reads": lambda value: f"the busiest thread reads shared memory {_times(value)}",
    "shared_writes": lambda value: f"the busiest thread writes to shared memory {_times(value)}",
    "transactions": lambda value: f"{counted(value, 'transactions')} in all",
    "bank_conflicts": lambda value: f"{counted(value, 'bank_conflicts')} in all",
    "barriers": lambda value: f"the busiest thread waits at {counted(value, 'barriers')}",
    "programs": lambda value: f"{counted(value, 'programs')} in all",
    "loads": lambda value: f"the busiest program loads {_times(value)}",
    "stores": lambda value: f"the busiest program stores {_times(value)}",
    "bytes": lambda value: f"the busiest program moves {counted(value, 'bytes')}",
}
# What the worst request of a warp does: its threads, and how many pieces or passes it takes.
_WORST: dict[str, Callable[[int, int], str]] = {
    "transactions": lambda threads, worst: (
        f"{threads} threads of a warp touch {worst} separate 32-byte pieces of memory at once"
    ),
    "bank_conflicts": lambda threads, worst: (
        f"{threads} threads of a warp come to shared memory "
        f"at once, and one bank has {worst} different words to serve, one after the other"
    ),
}
