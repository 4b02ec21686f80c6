"""Blocks that begin one element after each other: a program's number is added to the lanes."""

from __future__ import annotations

from grader.correctness.addresses import LANES, PROGRAM, accesses, terms
from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence


def explain(evidence: Evidence) -> Explanation | None:
    frames = evidence.failure.frames if evidence.failure.kind == "out_of_bounds" else ()
    line = frames[-1].line if frames else 0
    for kernel in evidence.text.kernels:
        for call in accesses(kernel, line):
            alone = {
                part.factors[0] for part in terms(kernel, call.args[0]) if len(part.factors) == 1
            }
            if LANES in alone and any(each.startswith(PROGRAM) for each in alone):
                return Explanation(
                    f"{evidence.quoted(call.lineno)} adds the number of the program to that of the "
                    "lane, so that blocks begin one element after each other. If each program has "
                    "a block of its own, multiply its number by the size of a block; if all lanes "
                    "need one element, leave out the lanes.",
                    call.lineno,
                    "block_index",
                )
    return None


CAUSE = Cause(
    name="unscaled_program",
    looks_at="addresses with the number of the program and the lanes, and no factor",
    order=58,
    kinds=(*OUTPUTS, "out_of_bounds", "stray_write"),
    explain=explain,
)
