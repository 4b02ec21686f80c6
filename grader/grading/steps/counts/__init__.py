"""The step `counts`: what single threads and warps do, held against an exercise's budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.grading.step import Finding, Step
from grader.model import counted

if TYPE_CHECKING:
    from grader.grading.session import Grading
    from grader.model import Spec

OF_ALL_WARPS = ("transactions", "bank_conflicts")  # of spec.COUNTS; the others are of one thread


def counts(grading: Grading) -> Finding:
    from grader.grading.steps.counts import budgets

    return budgets.counts(grading)


def has_budgets(spec: Spec) -> bool:
    return bool(spec.budgets)


def asks(spec: Spec) -> str:
    """List the budgets, as in `in all at most 24 transactions; each thread at most 1 barrier`."""
    rows = []
    for whose, of_all in (("in all", True), ("each thread", False)):
        most = [
            counted(budget.most, budget.count)
            for budget in spec.budgets
            if (budget.count in OF_ALL_WARPS) is of_all
        ]
        rows += [f"{whose} at most {', '.join(most)}"] if most else []
    return f"{'; '.join(rows)}; counted in simulation for {spec.counted.headline}"


STEP = Step(
    name="counts",
    title="threads and warps do no more than the budgets allow",
    points=1,
    needs=("traffic",),
    may_skip=True,  # by a kernel that no simulator knows
    applies=has_budgets,
    asks=asks,
    run=counts,
)
