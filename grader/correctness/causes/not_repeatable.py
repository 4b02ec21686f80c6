"""Outputs that change from run to run, and what the records show of the reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.mismatch import describe_where
from grader.correctness.source import last_name, names_in
from grader.correctness.undefined import explain_origin
from grader.model import index_of, printable

READ, WRITE = 0, 1  # kinds of accesses in `Traced`
FILLING = ("to_device", "copy_to_device")
CHANGING = ("rand", "randn", "randint", "random", "normal", "uniform", "randperm", "perf_counter")


def explain(evidence: Evidence) -> Explanation | None:
    """Explain a failure that the same call gives in another way, or not, the second time.

    A race would end a simulated call, so it is none. What lies between rows is new in each call, so
    that a line which reads there explains the change.
    """
    if any(use.beside and use.reads for use in evidence.uses):
        return None
    said = _changed(evidence)
    if said is None:
        return None
    for origin in evidence.origins:
        if origin.array:
            hint, line = explain_origin(origin, evidence.source)
            return Explanation(f"{said} {hint}", line, "unwritten_read")
    unwritten = _unwritten_scratch(evidence)
    if unwritten is not None:
        element, line = unwritten
        return Explanation(
            f"{said} {evidence.quoted(line)} reads {element}, which nothing had written: store to "
            "that memory first.",
            line,
            "unwritten_read",
        )
    if not evidence.complete:
        return None
    line = next(_kept(evidence), 0)
    return Explanation(
        f"{said} Nothing races, and nothing reads memory that nobody wrote: does the file use "
        f"random numbers, or something that an earlier call has left behind?{evidence.see(line)}",
        line,
    )


def _changed(evidence: Evidence) -> str | None:
    if not evidence.main.fails:
        return "The same call was wrong once, and right the next time."
    for name in evidence.bad:
        changed = evidence.changes(name) & evidence.wrong[name]
        if bool(changed.any()):
            place = describe_where(changed)
            one = bool(changed.all()) or int(changed.sum()) == 1
            verb = "has" if one else "have"
            return f"{place[0].upper()}{place[1:]} of {name} {verb} other values in a second call."
    return None


def _unwritten_scratch(evidence: Evidence) -> tuple[str, int] | None:
    """Return the first element of scratch memory that a thread read before any stored to it."""
    if evidence.traced is None or _fills_from_host(evidence):
        return None
    stored: set[tuple[int, int]] = set()
    for _, _, _, _, number, element, kind, line, _ in evidence.traced.accesses:
        array = evidence.traced.arrays[number]
        if array.space != "scratch" or element < 0:
            continue
        if kind != WRITE and (number, element) not in stored:
            index = ", ".join(map(str, index_of(element, array.shape)))
            return f"{printable(array.name)}[{index}]", line
        if kind != READ:
            stored.add((number, element))
    return None


def _fills_from_host(evidence: Evidence) -> bool:
    """Say whether the host may store to scratch memory, which no record has."""
    in_kernels = {id(node) for kernel in evidence.text.kernels for node in ast.walk(kernel)}
    return any(
        (isinstance(node, ast.Call) and last_name(node.func) in FILLING)
        or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
        for node in evidence.text.nodes
        if id(node) not in in_kernels
    )


def _kept(evidence: Evidence) -> Iterator[int]:
    """Yield lines of functions with random numbers, then those that use what the file keeps."""
    functions = evidence.text.functions
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and last_name(node.func) in CHANGING:
                yield node.lineno
            if isinstance(node, ast.Global):
                yield node.lineno
    made = {
        target.id: node.lineno
        for node in evidence.text.nodes
        if isinstance(node, ast.Assign) and id(node) not in inside
        if isinstance(node.value, ast.Call | ast.Dict | ast.List)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id != "__all__"
    }
    for host in evidence.text.hosts:
        for name in sorted(names_in(host) & made.keys()):
            yield made[name]


CAUSE = Cause(
    name="not_repeatable",
    looks_at="the outputs of the same call, made twice",
    order=19,
    kinds=OUTPUTS,
    explain=explain,
)
