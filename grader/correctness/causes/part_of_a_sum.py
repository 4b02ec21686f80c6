"""Results that are those of the first part of each row alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from torch import Tensor

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence, Witness
from grader.correctness.source import rounded_down
from grader.model import Inputs

Length = Callable[[int], int]
BLOCKS_ADDED = "Are the results of all blocks added?"
GO_ON = "Should a loop go on to further elements?"


def explain(evidence: Evidence) -> Explanation | None:
    """Explain outputs of one number a row, by the reference's for a part of the row."""
    if not _reduces(evidence.main) or len(evidence.bad) != 1:
        return None
    for cause, question, first, stop in _parts(evidence):
        if cause == "tail" and not _rounded(evidence):
            continue
        if _is_part(evidence.main, evidence.bad, first, stop) and all(
            _is_part(witness, evidence.bad, first, stop) for witness in evidence.witnesses[1:]
        ):
            if cause == "first_block_only" and (line := _fixed_turns(evidence)):
                return Explanation(
                    f"{evidence.quoted(line)} makes as many turns however long a row is, and the "
                    "output is that of the first part of each row: take its end from the length.",
                    line,
                    "grid_too_small",
                )
            if cause == "first_block_only" and _one_block_a_row(evidence):
                question = question.replace(BLOCKS_ADDED, GO_ON)
            return Explanation(
                f"The output is that of a part of each row: {question}",
                _line(evidence, cause),
                "loop_missing" if cause == "first_block_only" and _loopless(evidence) else cause,
            )
    return None


def _reduces(witness: Witness) -> bool:
    """Say whether outputs have an axis less than the inputs, or one number for all."""
    shapes = {each.shape for each in witness.inputs.values() if isinstance(each, Tensor)}
    if len(shapes) != 1:
        return False
    [shape] = shapes
    return all(
        out.numel() == 1 or tuple(out.shape) == tuple(shape[:-1])
        for out in witness.outputs.values()
    )


def _parts(evidence: Evidence) -> Iterator[tuple[str, str, Length, Length]]:
    """Yield causes, their questions, and the part of a row of n elements: its first, its end."""
    yield "off_by_one", "is the last element left out?", lambda n: 0, lambda n: n - 1
    yield "off_by_one", "is the first element left out?", lambda n: 1, lambda n: n
    for lanes in sorted(evidence.blocks):
        for of in (lanes, lanes * 2, lanes * 4):
            yield from _blocks(of)


def _blocks(of: int) -> Iterator[tuple[str, str, Length, Length]]:
    yield (
        "tail",
        f"elements after the last whole {of:,} are left out. Does a number of blocks or rounds "
        "round up?",
        lambda n: 0,
        lambda n: n // of * of,
    )
    yield (
        "first_block_only",
        f"only the first {of:,} elements are in it. {BLOCKS_ADDED}",
        lambda n: 0,
        lambda n: min(n, of),
    )
    yield (
        "last_block_kept",
        f"only the last block of {of:,} is in it. Does each block replace what the blocks before "
        "it gave?",
        lambda n: (n - 1) // of * of,
        lambda n: n,
    )


def _is_part(witness: Witness, bad: Sequence[str], first: Length, stop: Length) -> bool:
    """Say whether the outputs that are wrong are those of a part of each row."""

    def part(inputs: Inputs) -> Mapping[str, Tensor]:
        cut = witness.spec.reference(
            {
                name: each[..., first(each.shape[-1]) : stop(each.shape[-1])]
                if isinstance(each, Tensor)
                else each
                for name, each in inputs.items()
            }
        )
        return {n: cut[n] if n in bad else v for n, v in witness.spec.reference(inputs).items()}

    return witness.computes(part)


def _rounded(evidence: Evidence) -> list[int]:
    return sorted({n for each in evidence.text.functions for n in rounded_down(each)})


def _fixed_turns(evidence: Evidence) -> int:
    """Return the line of a loop over a number of turns that the text has, which reads an input."""
    lines = [use.line for use in evidence.uses if use.kind == "read"]
    for kernel in evidence.text.kernels:
        for node in ast.walk(kernel):
            if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
                continue
            ends = node.iter.args
            reads = any(node.lineno < line <= (node.end_lineno or 0) for line in lines)
            if reads and len(ends) == 1 and isinstance(ends[0], ast.Constant):
                return node.lineno
    return 0


def _loopless(evidence: Evidence) -> int:
    """Return a line that reads an input in a kernel without loops, or 0."""
    lines = [use.line for use in evidence.uses if use.kind == "read"]
    around = evidence.text.around(min(lines)) if lines else None
    loops = [n for n in ast.walk(around or ast.Pass()) if isinstance(n, ast.For | ast.While)]
    inside = any(n.lineno <= line <= (n.end_lineno or 0) for n in loops for line in lines)
    return 0 if around is None or inside else min(lines)


def _one_block_a_row(evidence: Evidence) -> bool:
    """Say whether a kernel without loops over a row has no other block that could do the rest."""
    if not _loopless(evidence) or not evidence.launches:
        return False
    x, y, z = evidence.launches[-1].grid
    output = evidence.outputs[evidence.bad[0]]
    return x * y * z <= output.numel()


def _line(evidence: Evidence, cause: str) -> int:
    if cause == "tail":
        return _rounded(evidence)[0]
    if cause == "first_block_only" and (line := _loopless(evidence)):
        return line
    if cause == "off_by_one":
        return evidence.text.first_line(r"- 1\b.*\)|> 1:")
    return evidence.line_of(evidence.bad[0])


CAUSE = Cause(
    name="part_of_a_sum",
    looks_at="the reference's outputs for a part of each row",
    order=47,
    kinds=("value",),
    explain=explain,
)
