"""An exponential of the numbers as they are, beside one from which a maximum is subtracted."""

from __future__ import annotations

import ast

from grader.correctness.addresses import bare as without_conversions
from grader.correctness.cause import VALUES, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, bare_exponentials, calls, last_name, root_of


def explain(evidence: Evidence) -> Explanation | None:
    """Explain two exponentials of what a kernel reads at one pointer, of which one is lowered."""
    for kernel in evidence.text.kernels:
        lines = bare_exponentials(kernel)
        exponents = [each.args[0] for each in calls(kernel, "exp", "exp2") if each.args]
        for bare in (each for each in exponents if each.lineno in lines):
            read = _read_by(kernel, bare)
            for other in exponents:
                if not isinstance(other, ast.BinOp) or not isinstance(other.op, ast.Sub):
                    continue
                if read and read == _read_by(kernel, other.left):
                    return Explanation(
                        f"{evidence.quoted(bare.lineno)} takes the exponential of the numbers as "
                        f"they are, where line {other.lineno} subtracts {ast.unparse(other.right)} "
                        "from them. Subtract the same in both.",
                        bare.lineno,
                        "overflow",
                        complete=True,
                    )
    return None


def _read_by(kernel: ast.FunctionDef, node: ast.expr) -> set[str]:
    """Return the pointers or arrays that numbers are read from; none if more is done to them."""
    found, seen, waiting = set[str](), set[str](), [node]
    while waiting:
        node = without_conversions(waiting.pop())
        if isinstance(node, ast.Subscript):
            found.add(root_of(node))
        elif isinstance(node, ast.Call) and last_name(node.func) == "load" and node.args:
            address = node.args[0]
            while isinstance(address, ast.BinOp):
                address = address.left
            found.add(root_of(address))
        elif isinstance(node, ast.Call) and last_name(node.func) == "float32":
            waiting += node.args
        elif isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            given = [getattr(each, "value", None) for each in assigned(kernel, node.id)]
            if not given or not all(isinstance(each, ast.expr) for each in given):
                return set()
            waiting += [each for each in given if isinstance(each, ast.expr)]
        elif not isinstance(node, ast.Name):
            return set()
    return found


CAUSE = Cause(
    name="unlike_exponentials",
    looks_at="the exponentials of a kernel, and what each is taken of",
    order=61,
    kinds=VALUES,
    explain=explain,
)
