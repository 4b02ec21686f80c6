"""Programs that have too little at a time, or too much: one element, one row, all the work."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.correctness.addresses import accesses, arguments_of, depends_on, grid_of
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import calls, lines_with

TOO_MANY, TOO_BUSY, BYTES = "programs in all", "the busiest program ", " bytes"


def explain(evidence: Evidence) -> Explanation | None:
    if evidence.threads:
        return None
    told = evidence.failure.message
    for kernel in evidence.text.kernels:
        if not accesses(kernel):
            continue
        if not calls(kernel, "arange"):
            # `small_block` speaks of the number of programs.
            return None if TOO_MANY in told else _of_one_element(evidence, kernel)
        found = None
        if TOO_BUSY in told:
            found = (
                _of_all_the_work(evidence, kernel)
                or _of_a_loop(evidence, kernel)
                or _of_short_turns(evidence, kernel)
            )
        if found is not None:
            return found
    return None


def _of_one_element(evidence: Evidence, kernel: ast.FunctionDef) -> Explanation:
    places = lines_with(kernel, "program_id") or [accesses(kernel)[0].lineno]
    return Explanation(
        f"{evidence.quoted(places[0])} gives the place of one element, and the kernel has no block "
        "of lanes: a program is no thread. Let it take many elements at once, with offsets such "
        "as program * BLOCK + tl.arange(0, BLOCK).",
        places[0],
        "one_thread",
    )


def _of_all_the_work(evidence: Evidence, kernel: ast.FunctionDef) -> Explanation | None:
    """Explain a launch of one program whose loop goes through what others could do."""
    for launch, host, _ in arguments_of(evidence.text, kernel):
        grid = grid_of(evidence.text, launch, host)
        loops = list(_loops(kernel))
        if loops and all(isinstance(each, ast.Constant) and each.value == 1 for each in grid):
            return Explanation(
                f"{evidence.quoted(launch.lineno)} starts one program, and its loop at line "
                f"{loops[0].lineno} does the work of many, one turn after the other: start a "
                "program for each turn, and use its number in place of the loop's.",
                loops[0].lineno,
                "one_thread",
            )
    return None


def _of_a_loop(evidence: Evidence, kernel: ast.FunctionDef) -> Explanation | None:
    """Explain a loop that loads or stores one element a turn, as a thread would."""
    for loop in _loops(kernel):
        for call in accesses(kernel):
            inside = loop.lineno < call.lineno <= (loop.end_lineno or 0)
            if inside and not depends_on(kernel, call.args[0], "arange"):
                return Explanation(
                    f"{evidence.quoted(call.lineno)} takes one element in each turn of the loop at "
                    f"line {loop.lineno}, as a thread would. A block takes many at once: put "
                    "tl.arange(0, BLOCK) in place of the loop's number.",
                    loop.lineno,
                    "one_thread",
                )
    return None


def _of_short_turns(evidence: Evidence, kernel: ast.FunctionDef) -> Explanation | None:
    """Explain more loads or stores than needed, of a loop that accesses each element once.

    The traffic is counted before, and fails where an element is read more often than it may be. Of
    too many bytes, a block that is too large may be the cause.
    """
    if BYTES in evidence.failure.message:
        return None
    inputs = [argument for argument in evidence.spec.arguments if argument.role == "in"]
    once = all(argument.most_reads == 1 for argument in inputs)
    frames = evidence.failure.frames
    if not once or not frames or not frames[-1].line:
        return None
    line = frames[-1].line
    if not any(loop.lineno < line <= (loop.end_lineno or 0) for loop in _loops(kernel)):
        return None
    return Explanation(
        f"{evidence.quoted(line)} accesses each element once, in more turns than needed: take a "
        "larger block, so that a turn does more.",
        line,
        "small_block",
    )


def _loops(kernel: ast.FunctionDef) -> Iterator[ast.For | ast.While]:
    found = [node for node in ast.walk(kernel) if isinstance(node, ast.For | ast.While)]
    yield from sorted(found, key=lambda node: node.lineno)


CAUSE = Cause(
    name="one_program",
    looks_at="the lanes, loops and grids of kernels that are written for programs",
    order=31,
    kinds=("counts", "traffic"),
    explain=explain,
)
