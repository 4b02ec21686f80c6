"""A store that no thread came to, and the conditions and loops that kept all threads from it."""

from __future__ import annotations

import ast

from grader.correctness.accesses import lines_of
from grader.correctness.evidence import Evidence
from grader.correctness.source import statement_at

MOST = 2  # stores that a hint names
Head = ast.If | ast.For | ast.While


def never_ran(evidence: Evidence, name: str) -> tuple[str, int] | None:
    """Say what kept all threads from storing to an argument; return the line to look at, too."""
    stores = lines_of(evidence.text, name, reading=False)
    if evidence.traced is None or not evidence.complete or not 0 < len(stores) <= MOST:
        return None
    ran = {line for *_, line, _ in evidence.traced.accesses}
    found = [_kept_from(evidence, store, ran) for store in stores]
    said = [each for each in found if each is not None]
    if len(said) < len(found):
        return None
    return " ".join(sentence for sentence, _ in said), said[-1][1]


def _kept_from(evidence: Evidence, store: int, ran: set[int]) -> tuple[str, int] | None:
    """Say what kept all threads from a line; a head whose body has an access let one through."""
    kernel = evidence.text.around(store)
    launches = () if evidence.traced is None else evidence.traced.launches
    if kernel is None or kernel.name not in {launch.kernel for launch in launches}:
        return None
    statement = statement_at(kernel, store)
    if statement is None or store in ran:
        return None
    heads = [
        (head, body)
        for head in ast.walk(kernel)
        if isinstance(head, Head)
        for body in (head.body, head.orelse)
        if _holds(body, statement) and not any(_spans(body, line) for line in ran)
    ]
    lines = sorted({head.lineno for head, _ in heads} | _exits(kernel, store))
    if not lines:
        return None
    said = f"{evidence.quoted(store)} never ran"
    if len(heads) == len(lines) == 1:
        return f"{said}: {_reason(evidence, *heads[0])}.", lines[0]
    decide = f" Lines {_listed(lines)} decide whether it does." if len(lines) > 1 else ""
    return f"{said} in any thread.{decide}", lines[0]


def _reason(evidence: Evidence, head: Head, body: list[ast.stmt]) -> str:
    line = f"line{evidence.quoted(head.lineno)[4:]}"
    if not isinstance(head, ast.If):
        return f"the loop of {line} had no turn in any thread"
    return f"{line} held in {'no' if body is head.body else 'every'} thread"


def _exits(kernel: ast.FunctionDef, store: int) -> set[int]:
    """Return the lines of `if`s above line `store` that can end a thread or a loop iteration."""
    return {
        head.lineno
        for head in ast.walk(kernel)
        if isinstance(head, ast.If)
        for node in ast.walk(head)
        if isinstance(node, ast.Return | ast.Break | ast.Continue) and node.lineno < store
    }


def _holds(body: list[ast.stmt], statement: ast.stmt) -> bool:
    return any(node is statement for each in body for node in ast.walk(each))


def _spans(body: list[ast.stmt], line: int) -> bool:
    return body[0].lineno <= line <= (body[-1].end_lineno or 0)


def _listed(lines: list[int]) -> str:
    *first, last = map(str, lines)
    return f"{', '.join(first)} and {last}"
