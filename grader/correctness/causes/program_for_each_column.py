"""A grid with a program for each column, whose numbers the kernel takes for rows."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from grader.correctness.addresses import PROGRAM, accesses, arguments_of, extent_of, grid_of, terms
from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, last_name, names_in


def explain(evidence: Evidence) -> Explanation | None:
    """Explain a grid as long as the last axis, where an address has `program * length of a row`."""
    axes = len(evidence.spec.largest)
    for kernel in evidence.text.kernels:
        for launch, host, given in arguments_of(evidence.text, kernel):
            grid = grid_of(evidence.text, launch, host)
            extent = extent_of(evidence.text, grid[0], host) if len(grid) == 1 else None
            if axes < 2 or extent is None or extent[1] not in (-1, axes - 1):
                continue
            rows = {
                name for name, value in given.items() if _is_row_length(evidence, value, host, axes)
            }
            if not rows or not _takes_it_for_a_row(kernel, rows):
                continue
            if line := _unpacked_the_other_way(evidence, kernel, host, given):
                return Explanation(
                    f"{evidence.quoted(line)} gives the number of rows to the name that stands for "
                    "columns in the kernel, and the grid has a program for each column: are the "
                    "two exchanged?",
                    line,
                    "transposed",
                )
            return Explanation(
                f"{evidence.quoted(launch.lineno)} starts a program for each column, and the "
                "kernel takes a program's number for that of a row: should the grid have a "
                "program for each row?",
                launch.lineno,
                "grid_axes_swapped",
            )
    return None


def _unpacked_the_other_way(
    evidence: Evidence,
    kernel: ast.FunctionDef,
    host: ast.FunctionDef,
    given: Mapping[str, ast.expr],
) -> int:
    """Return the line that unpacks a shape whose first length the kernel compares columns with."""
    compared = {
        name
        for node in ast.walk(kernel)
        if isinstance(node, ast.Compare)
        for name in names_in(node.comparators[-1])
    }
    for name in compared & set(given):
        value = given[name]
        extent = extent_of(evidence.text, value, host)
        if extent is not None and extent[1:] == (0, 2) and isinstance(value, ast.Name):
            return assigned(host, value.id)[0].lineno
    return 0


def _is_row_length(evidence: Evidence, value: ast.expr, host: ast.FunctionDef, axes: int) -> bool:
    if isinstance(value, ast.Call) and last_name(value.func) == "stride":
        return ast.unparse(value).endswith(("(0)", "(-2)"))
    extent = extent_of(evidence.text, value, host)
    return extent is not None and extent[1] in (-1, axes - 1)


def _takes_it_for_a_row(kernel: ast.FunctionDef, lengths: set[str]) -> bool:
    return any(
        len(part.factors) == 2 and f"{PROGRAM} 0" in part.factors and lengths & set(part.factors)
        for call in accesses(kernel)
        for part in terms(kernel, call.args[0])
    )


CAUSE = Cause(
    name="program_for_each_column",
    looks_at="the length that a grid has, and the factor of a program's number in addresses",
    order=15,
    kinds=(*OUTPUTS, "out_of_bounds", "stray_write", "race"),
    explain=explain,
)
