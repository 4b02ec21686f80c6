"""The most that one call may hold beyond its arguments, each with the rule that it follows."""

from __future__ import annotations

from dataclasses import dataclass

from grader.model import MIB, Case, Spec, a_hundredth, limit_in_words, size_in_words
from grader.speed import bytes_per_row, largest_bytes

NOMINAL = 1 << 30  # bytes of all arguments, at which a simulated kernel is held to its budget
# In simulation scratch that grows may stop growing above the counted cases, such as partial results
# of at most so many blocks. What still grows to this part of an argument is taken for a copy.
COPY_PART = 4
# Torch gets memory for scratch of 1 to 10 MiB in segments of this size (kLargeBuffer of its
# CUDACachingAllocator), and for more in pages of 2 MiB. So scratch is seen up to one segment too
# large, at all of the rows or at half of them, and its growth, which is doubled, up to two.
SEGMENT = 20 * MIB
GRANULARITY = 2 * SEGMENT

HUNDREDTH = "1 % of the largest argument, or 4 MiB if that is more"
OWN = "the exercise's own limit, which its README.md explains"
QUARTER = "a quarter of the largest argument, because a simulated check counts only small cases"


@dataclass(frozen=True)
class MemoryLimit:
    """The most bytes that a call may hold beyond its arguments, and why."""

    most_bytes: int
    rule: str

    def in_words(self, case: str = "") -> str:
        return limit_in_words(self.most_bytes, self.rule, case)


def budget(spec: Spec, case: Case) -> MemoryLimit:
    """Return the exercise's budget for a case."""
    rule = HUNDREDTH if spec.memory_budget is a_hundredth else OWN
    return MemoryLimit(spec.memory_budget(case), rule)


def measured(spec: Spec, case: Case) -> MemoryLimit:
    """Return the limit on a GPU."""
    own = budget(spec, case)
    more = f"{size_in_words(GRANULARITY)} more, because torch takes memory in segments"
    return MemoryLimit(own.most_bytes + GRANULARITY, f"{own.rule}; and {more}")


def simulated(spec: Spec, nominal: Case, counted: int = 0) -> MemoryLimit:
    """Return the limit without a GPU, for a call that held `counted` bytes on a small case.

    If that is within the budget of the large case, what grows may be scratch that stops growing.
    """
    own = budget(spec, nominal)
    quarter = MemoryLimit(largest_bytes(spec, nominal) // COPY_PART, QUARTER)
    growing = counted <= own.most_bytes < quarter.most_bytes
    return quarter if growing else own


def asks(spec: Spec) -> str:
    """Return both limits, as `grader show` prints them."""
    scored, _ = spec.timed
    case = Case(scored.fixed_extents, scored.dtype) if scored.rows else spec.sample_case
    own = f"beyond its arguments a call may hold {budget(spec, case).in_words(case.headline)}"
    nominal = nominal_case(spec, spec.memory_counted or spec.counted)
    without = simulated(spec, nominal)
    if without.rule != QUARTER:
        return own
    return f"{own}; without a GPU {without.in_words(nominal.headline)}"


def nominal_case(spec: Spec, counted: Case) -> Case:
    """Return the case like the counted one whose arguments take NOMINAL bytes."""
    return Case((NOMINAL // bytes_per_row(spec, counted), *counted.shape[1:]), counted.dtype)
