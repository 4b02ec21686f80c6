"""Elements below 0, or rows and windows that are below 0 throughout."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torch import Tensor

from grader.correctness.cause import Cause, Explanation
from grader.correctness.causes.formula import is_elementwise
from grader.correctness.evidence import Evidence, Witness, exactly
from grader.correctness.source import assigned, bare_exponentials, calls, names_in

FEWEST = 4  # elements below 0 that are wrong, and others that are right; fewer may be chance
MOST_BELOW = 0.9  # of the elements below 0 are wrong: some results may be right by chance

# Lines on which a maximum may begin: first by its name, then by a 0 alone.
STARTS = (
    r"^\w*(max|high|larg|best|top|big|peak)\w* = .*(\b0\b|zeros)",
    r"^m\w{0,3} = .*(\b0\b|zeros)",
    r"=\s*(\w+\()?0(\.0*)?\)?$",
    r"zeros\(|, 0(\.0*)?[,)]",
    r"other=-",
)


def explain(evidence: Evidence) -> Explanation | None:
    if evidence.holds(_is_0_for_less) and len(evidence.witnesses) > 1:
        return Explanation(
            "The output is wrong only where it should be below 0, and there it is 0: a maximum "
            f"that begins at 0 stays there. Begin with {_lowest(evidence)}, or with the first "
            f"element.{_constant(evidence)}",
            _begin(evidence),
        )
    if all(is_elementwise(w, name) for w in evidence.witnesses for name in evidence.bad):
        return _of_elements(evidence)  # no maximum of a row takes part
    if any(bare_exponentials(kernel) for kernel in evidence.text.kernels):
        return None  # rows far below 0 are wrong for want of any maximum
    for argument in evidence.spec.arguments:
        name, given = argument.name, evidence.inputs.get(argument.name)
        if argument.role == "out" or not isinstance(given, Tensor):
            continue
        if not given.is_floating_point() or not evidence.holds(partial(_below, name)):
            continue
        if not any(_spared(witness, name) for witness in evidence.witnesses):
            continue
        return Explanation(
            f"The output is wrong only where the elements of {name} are all below 0: a maximum "
            f"that begins at 0 is larger than each of them. Begin with {_lowest(evidence)}"
            f"{_of_masked(evidence)}.{_constant(evidence)}",
            _begin(evidence),
        )
    return None


def _lowest(evidence: Evidence) -> str:
    return "-math.inf" if evidence.threads else 'float("-inf")'


def _of_masked(evidence: Evidence) -> str:
    if evidence.threads:
        return ""
    return ', and give a masked load of a maximum `other=float("-inf")`'


def _begin(evidence: Evidence) -> int:
    first, _ = _first_value(evidence)
    return first or evidence.text.first_line(*STARTS) or evidence.line_of(evidence.bad[0])


def _constant(evidence: Evidence) -> str:
    return evidence.see(_first_value(evidence)[1])


def _first_value(evidence: Evidence) -> tuple[int, int]:
    """Return the line where a variable such as `m = max(m, x)` begins at 0, and its constant's."""
    constants = {
        target.id: node.lineno
        for node in evidence.text.nodes
        if isinstance(node, ast.Assign) and node.col_offset == 0 and _is_0(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for first in _first_values(evidence):
        value = getattr(first, "value", first)
        line = max([constants.get(name, 0) for name in names_in(value)], default=0)
        if line or _is_0(value):
            return first.lineno, line
    return 0, 0


def _is_0(value: ast.AST) -> bool:
    """Say whether an expression is made of zeros: `0.0`, `float32(0)`, `tl.zeros(...)`."""
    numbers = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
    return bool(calls(value, "zeros")) or (bool(numbers) and not any(numbers))


def _first_values(evidence: Evidence) -> Iterator[ast.stmt]:
    """Yield the statements that give a first value to a variable such as `m = max(m, x)`."""
    for kernel in evidence.text.kernels:
        for call in calls(kernel, "max", "maximum", "fmax"):
            for own in [each.id for each in call.args if isinstance(each, ast.Name)]:
                given = assigned(kernel, own)
                if any(getattr(each, "value", None) is call for each in given[1:]):
                    yield given[0]


def _of_elements(evidence: Evidence) -> Explanation | None:
    """Explain elements that are wrong where an input is below 0, and right everywhere else."""
    if len(evidence.bad) != 1:
        return None
    [name] = evidence.bad
    for argument in evidence.spec.arguments:
        given = evidence.inputs.get(argument.name)
        if argument.role != "in" or not isinstance(given, Tensor) or not given.is_floating_point():
            continue
        if given.shape == evidence.wrong[name].shape and _splits(evidence, name, argument.name):
            line = evidence.line_of(name)
            return Explanation(
                f"The output is wrong only where {argument.name} is below 0, and right everywhere "
                f"else: what should become of those elements? {evidence.quoted(line)} computes "
                "what is stored.",
                line,
            )
    return None


def _splits(evidence: Evidence, name: str, argument: str) -> bool:
    """Say whether nearly all elements below 0 are wrong, and no other, in cases that have both."""
    below = wrong = above = 0
    for witness in evidence.witnesses:
        given = witness.inputs[argument]
        assert isinstance(given, Tensor)
        negative, bad = given < 0, witness.wrong[name]
        if bool((bad & ~negative).any()):
            return False
        below, wrong = below + int(negative.sum()), wrong + int(bad.sum())
        above += int((~negative).sum())
    return min(wrong, above) >= FEWEST and wrong >= MOST_BELOW * below


def _is_0_for_less(witness: Witness) -> bool:
    """Say whether wrong elements are 0 and should be negative, and the others are right."""
    for name, wrong in witness.wrong.items():
        got, answer = exactly(witness, name)
        if bool((wrong & ((got != 0) | (answer >= 0))).any()):
            return False
    return witness.fails


def _rows(witness: Witness, name: str) -> tuple[Tensor, Tensor] | None:
    """Return which rows of an input are below 0 throughout, and which rows of outputs are wrong."""
    given = witness.inputs[name]
    assert isinstance(given, Tensor)
    if given.ndim != 2:
        return None
    wrong = given.new_zeros(len(given)).bool()
    for each in witness.wrong.values():
        if len(each) != len(given):
            return None
        wrong |= each.reshape(len(each), -1).any(1)
    return (given < 0).all(1), wrong


def _below(name: str, witness: Witness) -> bool:
    rows = _rows(witness, name)
    if rows is None:
        return False
    negative, wrong = rows
    return bool(wrong.any()) and not bool((wrong & ~negative).any())


def _spared(witness: Witness, name: str) -> bool:
    """Say whether there are rows with an element above 0, all right."""
    rows = _rows(witness, name)
    return rows is not None and bool((~rows[0]).any()) and not bool((rows[1] & ~rows[0]).any())


CAUSE = Cause(
    name="negative_inputs",
    looks_at="elements of inputs that are below 0, and rows that are so throughout",
    order=25,
    kinds=("not_finite", "value", "rms"),
    explain=explain,
)
