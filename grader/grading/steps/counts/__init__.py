"""The step `counts`: what single threads, warps or programs do, compared with budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader import backends
from grader.grading import slow
from grader.grading.step import Finding, Step
from grader.model import counted

if TYPE_CHECKING:
    from grader.grading.session import Grading
    from grader.model import Budget, Spec

# Of spec.COUNTS; the others are of one thread, or of one program.
IN_ALL = ("transactions", "bank_conflicts", "programs")
OF_PROGRAMS = ("loads", "stores", "bytes")


def counts(grading: Grading) -> Finding:
    from grader.grading.steps.counts import budgets

    return budgets.counts(grading)


def budgets_of(spec: Spec) -> list[Budget]:
    """List the budgets that hold in the spec's backend: those of another's counts do not."""
    known = backends.find(spec.backend).counts
    return [budget for budget in spec.budgets if budget.count in known]


def has_budgets(spec: Spec) -> bool:
    return bool(budgets_of(spec))


def asks(spec: Spec) -> str:
    """List the budgets, as in `in all at most 24 transactions; each thread at most 1 barrier`."""
    rows = []
    for whose in ("in all", "each thread", "each program"):
        most = [
            counted(budget.most, budget.count)
            for budget in budgets_of(spec)
            if _whose(budget.count) == whose
        ]
        rows += [f"{whose} at most {', '.join(most)}"] if most else []
    return f"{'; '.join(rows)}; counted in simulation for {spec.counted.headline}"


def _whose(count: str) -> str:
    if count in IN_ALL:
        return "in all"
    return "each program" if count in OF_PROGRAMS else "each thread"


STEP = Step(
    name="counts",
    title="threads, warps and programs do no more than the budgets allow",
    points=1,
    needs=("traffic",),
    may_skip=True,  # by a kernel that no simulator knows
    applies=has_budgets,
    asks=asks,
    run=counts,
    slow=slow.simulated,
)
