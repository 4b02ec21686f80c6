"""The mask of a load that has other axes than its addresses, or another bound than other masks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.correctness.addresses import bare, depends_on, text_of
from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.mismatch import describe_where
from grader.correctness.ranks import rank_of
from grader.correctness.source import assigned, calls, names_in, statement_at


def explain(evidence: Evidence) -> Explanation | None:
    refused = evidence.failure.kind == "compile"
    if refused and "shape" not in evidence.failure.message:
        return None
    explain_load = _of_axes if refused else _of_bound
    for kernel in evidence.text.kernels:
        for load in calls(kernel, "load"):
            mask = next((each.value for each in load.keywords if each.arg == "mask"), None)
            found = None if mask is None else explain_load(evidence, kernel, load, mask)
            if found is not None:
                return found
    return None


def _of_axes(
    evidence: Evidence, kernel: ast.FunctionDef, load: ast.Call, mask: ast.expr
) -> Explanation | None:
    """Explain a mask of more axes than the addresses: the load gives as many as the mask has."""
    axes, more = rank_of(kernel, load.args[0]), rank_of(kernel, mask)
    if axes is None or more is None or axes == 0 or more <= axes:
        return None
    if not _uses(evidence, kernel, load):
        return None
    own = [
        f"`{name} < {text_of(bound.comparators[0])}`"
        for name, bound in _bounds(kernel, mask)
        if name in names_in(load.args[0])
    ]
    such = f", such as {own[0]}" if len(own) == 1 else ""
    number = "1 axis" if axes == 1 else f"{axes} axes"
    return Explanation(
        f"{evidence.quoted(load.lineno)} has addresses of {number} and a mask of {more} axes: so "
        f"the load gives {more} axes, and what is done with it later does not fit. Give it a mask "
        f"of {number}{such}.",
        load.lineno,
        "mask_shape",
    )


def _of_bound(
    evidence: Evidence, kernel: ast.FunctionDef, load: ast.Call, mask: ast.expr
) -> Explanation | None:
    """Explain elements that a mask leaves out, for it has another bound than the other masks."""
    lines = range(load.lineno, (load.end_lineno or load.lineno) + 1)
    name = next((use.argument for use in evidence.uses if use.reads and use.line in lines), "")
    read = evidence.read(name)
    if not evidence.complete or read is None or bool(read.all()):
        return None
    own = list(_bounds(kernel, mask))
    inside = {id(bound) for _, bound in own}
    for lanes, bound in own:
        others = [
            each
            for number, each in _bounds(kernel, kernel)
            if number == lanes and id(each) not in inside
        ]
        texts = {text_of(each.comparators[0]) for each in others}
        text = text_of(bound.comparators[0])
        if len(texts) == 1 and text not in texts:
            return Explanation(
                f"{evidence.quoted(load.lineno)} leaves {describe_where(~read)} of {name} out: its "
                f"mask compares {lanes} with {text}, and line {others[0].lineno} compares it with "
                f"{texts.pop()}. Which is the length along that axis?",
                load.lineno,
                "never_read",
                complete=True,
            )
    return None


def _bounds(kernel: ast.FunctionDef, node: ast.AST) -> Iterator[tuple[str, ast.Compare]]:
    """Yield the comparisons `lanes < bound` of an expression, and of names that it uses."""
    waiting, seen = [node], set[str]()
    while waiting:
        for each in ast.walk(waiting.pop()):
            if isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Lt):
                lanes = bare(each.left)
                if len(each.ops) == 1 and isinstance(lanes, ast.Name):
                    yield lanes.id, each
            elif isinstance(each, ast.Name) and node is not kernel and each.id not in seen:
                seen.add(each.id)
                given = assigned(kernel, each.id)
                waiting += [s.value for s in given if isinstance(s, ast.Assign) and len(given) == 1]


def _uses(evidence: Evidence, kernel: ast.FunctionDef, load: ast.Call) -> bool:
    line = evidence.failure.frames[-1].line if evidence.failure.frames else 0
    failing, loading = statement_at(kernel, line), statement_at(kernel, load.lineno)
    if failing is None or not isinstance(loading, ast.Assign):
        return False
    return failing is loading or depends_on(kernel, failing, *names_in(loading.targets[0]))


CAUSE = Cause(
    name="load_mask",
    looks_at="the axes of addresses and masks, the bounds of masks, and elements never read",
    order=9,
    kinds=(*OUTPUTS, "compile"),
    explain=explain,
)
