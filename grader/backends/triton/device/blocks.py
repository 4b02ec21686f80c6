"""Functions of several blocks: programs part at branches, and meet at the next common block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.plan import BlockPlan
from grader.backends.triton.device.values import Value, agreed, joined, merged, taken

if TYPE_CHECKING:
    from grader.backends.triton.device.run import Run


@dataclass(frozen=True)
class _Group:
    """Programs that are about to execute a block; `rows` are their places in the function."""

    run: Run
    rows: Tensor
    arguments: Sequence[Value]


def run_blocks(run: Run, plans: Sequence[BlockPlan], arguments: Sequence[Value]) -> list[Value]:
    """Execute the blocks of a function or region, and return the values that its programs return.

    Of the groups that wait, one that is at the earliest block goes first, so that others can join
    it at a later one.
    """
    places = {plan.label: i for i, plan in enumerate(plans)}
    live = _live(plans, places)
    waiting: dict[int, list[_Group]] = {0: [_Group(run, torch.arange(run.count), arguments)]}
    returned: list[tuple[Tensor, list[Value]]] = []
    while waiting:
        place = min(waiting)
        group = _together(waiting.pop(place), live[place])
        plan = plans[place]
        group.run.steps(plan, group.arguments)
        if not plan.end.name.startswith("cf."):
            values = [group.run.values[name] for name in plan.end.operands]
            returned.append((group.rows, values))
            continue
        for label, onward in _branches(plan, group):
            if label not in places:
                raise Malformed(f"no block ^{label}")
            waiting.setdefault(places[label], []).append(onward)
    results = len(returned[0][1])
    return [
        merged([(rows, values[i]) for rows, values in returned], run.count) for i in range(results)
    ]


def _branches(plan: BlockPlan, group: _Group) -> list[tuple[str, _Group]]:
    """Return the labels of the blocks that a group goes to, and the programs that go there."""
    values = group.run.values
    targets = [
        (label, [values[name] for name in operands]) for label, operands in plan.end.successors
    ]
    if plan.end.name == "cf.br" and len(targets) == 1:
        [(label, arguments)] = targets
        return [(label, _Group(group.run, group.rows, arguments))]
    if plan.end.name != "cf.cond_br" or len(targets) != 2:
        raise Malformed(f"{plan.end.name} ends a block")
    condition = values[plan.end.operands[0]]
    assert isinstance(condition, Tensor)
    everywhere = agreed(condition)
    if everywhere is not None:
        label, arguments = targets[0 if everywhere else 1]
        return [(label, _Group(group.run, group.rows, arguments))]
    parts = []
    for (label, arguments), side in zip(targets, (condition, ~condition), strict=True):
        rows = side.nonzero().flatten()
        part = _Group(
            group.run.narrowed(rows), group.rows[rows], [taken(each, rows) for each in arguments]
        )
        parts.append((label, part))
    return parts


def _together(groups: Sequence[_Group], live: frozenset[str]) -> _Group:
    """Join groups that are at the same block into one, with the values that are read from there."""
    if len(groups) == 1:
        return groups[0]
    counts = [group.run.count for group in groups]
    run = groups[0].run.separate(torch.cat([group.run.programs for group in groups]))
    for name in live:
        values = [value for group in groups if (value := group.run.values.find(name)) is not None]
        if len(values) == len(groups):
            run.values[name] = joined(values, counts)
    arguments = [
        joined(values, counts)
        for values in zip(*(group.arguments for group in groups), strict=True)
    ]
    return _Group(run, torch.cat([group.rows for group in groups]), arguments)


def _live(plans: Sequence[BlockPlan], places: Mapping[str, int]) -> list[frozenset[str]]:
    """Return for each block the names that it or a block that can follow it reads."""
    live = [plan.used for plan in plans]
    changed = True
    while changed:
        changed = False
        for i, plan in enumerate(plans):
            after = [live[places[label]] for label, _ in plan.end.successors if label in places]
            names = live[i].union(*after)
            if names != live[i]:
                live[i], changed = names, True
    return live
