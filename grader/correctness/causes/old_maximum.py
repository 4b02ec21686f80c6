"""Running maxima that never grow, or that are not the one which exponentials must be taken from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.correctness.cause import VALUES, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, calls, last_name, names_in

LOWEST = 1e30  # a maximum that begins at minus so much is a running one


@dataclass(frozen=True)
class Running:
    """A loop with `new = maximum(old, …)`, where old begins at -inf."""

    loop: ast.For | ast.While
    new: str
    old: str
    line: int

    def has(self, node: ast.stmt) -> bool:
        return self.loop.lineno < node.lineno <= (self.loop.end_lineno or 0)


def explain(evidence: Evidence) -> Explanation | None:
    for kernel in evidence.text.kernels:
        for running in _running_maxima(kernel):
            found = (
                _never_replaced(evidence, kernel, running)
                or _subtracted(evidence, running)
                or _of_lanes(evidence, kernel, running)
            )
            if found is not None:
                return found
    return None


def _never_replaced(
    evidence: Evidence, kernel: ast.FunctionDef, running: Running
) -> Explanation | None:
    new, old = running.new, running.old
    if any(running.has(each) for each in assigned(kernel, old)):
        return None
    rescales = any(old in names_in(each) for each in calls(running.loop, "exp", "exp2"))
    return Explanation(
        f"{evidence.quoted(running.line)} computes {new}, and no line of the loop assigns it to "
        f"{old}: each turn begins with the first {old} again. End the turn with {old} = {new}.",
        running.line,
        "rescale" if rescales else "last_block_kept",
        complete=True,
    )


def _subtracted(evidence: Evidence, running: Running) -> Explanation | None:
    """Explain exp(x - old) that enters a sum, which a factor exp(old - new) has brought to new."""
    new, old = running.new, running.old
    exponents = [(call, *_difference(call)) for call in calls(running.loop, "exp", "exp2")]
    factors = [call.lineno for call, left, right in exponents if (left, right) == (old, new)]
    given = [each.lineno for each in assigned(running.loop, old)]
    for call, left, right in exponents:
        late = any(running.line < line < call.lineno for line in given)
        if right != old or left in (new, old) or not factors or late:
            continue
        if min(factors) > call.lineno or _is_rescaled(running.loop, call):
            continue
        return Explanation(
            f"{evidence.quoted(call.lineno)} subtracts {old}, the maximum of earlier blocks, and "
            f"the sum so far is brought to {new}: subtract {new} from this block's numbers.",
            call.lineno,
            "rescale",
            complete=True,
        )
    return None


def _of_lanes(evidence: Evidence, kernel: ast.FunctionDef, running: Running) -> Explanation | None:
    new, old, end = running.new, running.old, running.loop.end_lineno or 0
    exponents = [_difference(call) for call in calls(running.loop, "exp", "exp2")]
    if not _is_of_lanes(kernel, running) or all(right != new for _, right in exponents):
        return None
    for total in (each for each in calls(kernel, "sum") if each.lineno > end):
        lanes = last_name(total.args[0]) if total.args else ""
        given = [each.lineno for each in assigned(kernel, lanes)]
        if any(map(running.has, assigned(kernel, lanes))) and max(given) <= end:
            return Explanation(
                f"{evidence.quoted(total.lineno)} adds lanes whose exponentials are taken from "
                f"different maxima: {old} has one for each lane. Bring the lanes to the largest "
                f"first: multiply {lanes} by exp({old} - largest), where largest is "
                f"tl.max({old}, axis=0).",
                total.lineno,
                "rescale",
                complete=True,
            )
    return None


def _is_of_lanes(kernel: ast.FunctionDef, running: Running) -> bool:
    first = [each for each in assigned(kernel, running.old) if each.lineno < running.loop.lineno]
    value = getattr(first[-1], "value", None)
    made = [each for each in assigned(running.loop, running.new) if each.lineno == running.line]
    names = {name for each in made for name in names_in(each)}
    reduced = any(
        calls(each, "max") for name in names for each in (*made, *assigned(running.loop, name))
    )
    return isinstance(value, ast.Call) and last_name(value.func) == "full" and not reduced


def _difference(call: ast.Call) -> tuple[str, str]:
    exponent = call.args[0] if call.args else call
    if not isinstance(exponent, ast.BinOp) or not isinstance(exponent.op, ast.Sub):
        return "", ""
    right = exponent.right
    return ast.unparse(exponent.left), right.id if isinstance(right, ast.Name) else ""


def _is_rescaled(loop: ast.AST, call: ast.Call) -> bool:
    """Say whether a product has the exponential in a sum: `(s + exp(x - old)) * exp(old - new)`."""
    names = {
        target.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign | ast.AugAssign) and call in ast.walk(node)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(loop):
        if not isinstance(node, ast.BinOp | ast.AugAssign) or not isinstance(node.op, ast.Mult):
            continue
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.target]
        for side in sides:
            adds = isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add)
            late = node.lineno > call.lineno and bool(names & names_in(side))
            if late or (adds and call in ast.walk(side)):
                return True
    return False


def _running_maxima(kernel: ast.FunctionDef) -> Iterator[Running]:
    for loop in (node for node in ast.walk(kernel) if isinstance(node, ast.For | ast.While)):
        for node in ast.walk(loop):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            call, new = node.value, node.targets[0].id
            if isinstance(call, ast.Call) and last_name(call.func) in ("maximum", "max", "fmax"):
                names = {each.id for each in call.args if isinstance(each, ast.Name)} - {new}
                for old in sorted(names):
                    if _begins_lowest(kernel, old, loop.lineno):
                        yield Running(loop, new, old, node.lineno)


def _begins_lowest(kernel: ast.FunctionDef, name: str, before: int) -> bool:
    first = [each for each in assigned(kernel, name) if each.lineno < before]
    value = getattr(first[-1], "value", None) if first else None
    if not isinstance(value, ast.AST):
        return False
    numbers = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
    negated = any(isinstance(node, ast.USub) for node in ast.walk(value))
    large = any(isinstance(each, float) and each >= LOWEST for each in numbers)
    infinite = any(last_name(node) == "inf" for node in ast.walk(value)) or "inf" in numbers
    return "-inf" in numbers or (negated and (large or infinite))


CAUSE = Cause(
    name="old_maximum",
    looks_at="running maxima of loops, and the exponentials from which they are subtracted",
    order=19,
    kinds=VALUES,
    explain=explain,
)
