"""The faults of a spec that show in several of its fields together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.model.cases import are_extents, is_extent

if TYPE_CHECKING:
    from grader.model.exercise import Spec


def faults_of_random(spec: Spec) -> Iterator[str]:
    if sum(a.seeds for a in spec.arguments) != (spec.random is not None):
        yield "a random output needs one seed among the arguments, and a seed needs `random`"
    if spec.random is None:
        return
    if len(spec.random.choices) < 2:
        yield "random has fewer than two choices"
    if spec.tolerance.also_right is not None:
        yield "a random output has choices: the tolerance has no `also_right` beside them"


def faults_of_cases(spec: Spec) -> Iterator[str]:
    if not are_extents(spec.largest):
        yield f"largest is a tuple of whole numbers, 1 or more, and not {spec.largest!r}"
    if not is_extent(spec.most_elements):
        yield f"most_elements is a whole number, 1 or more, and not {spec.most_elements!r}"
    for field, case in spec.named_cases:
        if case.fault:
            yield f"a case of {field} is wrong: {case.fault}"


def faults_of_entries(spec: Spec) -> Iterator[str]:
    names = [one.entry for one in spec.entries]
    for one in spec.also:
        if one.also:
            yield f"{one.entry} has an `also` of its own: name all entries in that of SPEC"
        if (one.kind, one.backends) != (spec.kind, spec.backends):
            yield f"{spec.entry} and {one.entry} differ in backends or kind, and share one file"
    if twice := [name for name in names if names.count(name) > 1]:
        yield f"two entries are called {twice[0]}"
