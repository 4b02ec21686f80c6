"""Axes of a grid that are exchanged, that nobody asks for, or that the grid lacks."""

from __future__ import annotations

import ast
import math

from torch import Tensor

from grader.correctness.addresses import arguments_of, extent_of, grid_of
from grader.correctness.evidence import Evidence
from grader.correctness.reason import Reason, returned_by
from grader.correctness.source import calls, grid_line, grid_lines, last_name, lines_with


def exchanged_axes(
    evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None
) -> Reason | None:
    """Explain rows or columns left out because two axes of the grid are exchanged."""
    if missing.ndim != 2 or len(evidence.launches or ()) != 1 or not evidence.launches:
        return None
    (across, down, _), (wide, high, _) = evidence.launches[0].grid, evidence.launches[0].block
    rows, columns = missing.shape
    written = ~missing
    reached_rows = int(written.any(1).sum())
    reached_columns = int(written.any(0).sum())
    lines = grid_lines(evidence.text)
    question = "two axes of the grid, or of a block, are exchanged between launch and kernel?"
    if evidence.traced is not None:
        enough = across * wide >= columns and down * high >= rows
        sides = across * high >= columns and down * wide >= rows and wide != high
        one = math.prod(evidence.launches[0].block) >= math.prod(evidence.spec.largest)
        if not enough and sides and one:
            return Reason("grid_axes_swapped", question, lines[-1] if lines else 0)
        turned = down * wide >= columns and across * high >= rows
        from_kernel = reached_rows == min(rows, across * wide) and (
            reached_columns == min(columns, down * high)
        )
        if enough and from_kernel:
            line = _line_of_axes(kernel) or (lines[0] if lines else 0)
            return Reason("grid_axes_swapped", question, line)
        by_other_side = (across, down) == (-(-columns // high), -(-rows // wide))
        if not enough and (by_other_side or (turned and across != down)):
            return Reason("grid_axes_swapped", question, lines[0] if lines else 0)
        return None
    if across == down:
        return None
    if by := _turned(evidence, missing, across, down):
        of_kernel = _line_of_axes(kernel) if by == "kernel" else 0
        return Reason("grid_axes_swapped", question, of_kernel or grid_line(evidence.text))
    if down == 1:
        return None
    lanes = max((use.lanes for use in evidence.uses if use.writes), default=1)
    needed = -(-columns // lanes)
    if {across, down} != {rows, needed}:
        return None
    if reached_rows == min(rows, down if across == rows else across) and rows != needed:
        return Reason(
            "grid_axes_swapped",
            question,
            lines[0]
            if across != rows and lines
            else _line_of_axes(kernel) or (lines[0] if lines else 0),
        )
    return None


def _turned(evidence: Evidence, missing: Tensor, across: int, down: int) -> str | None:
    """Say where axes are exchanged, in a grid of tiles: in the launch, in the kernel, or nowhere.

    The launch has as many programs along each axis as tiles lie along the other one; or it has the
    right ones, rows first, and the kernel takes the first number for that of a column.
    """
    rows, columns = missing.shape
    lanes = max((use.lanes for use in evidence.uses if use.writes), default=1)
    reached = int((~missing).any(1).sum()), int((~missing).any(0).sum())
    for high in (2**power for power in range(1, lanes.bit_length() - 1)):
        wide = lanes // high
        tiles = -(-rows // high), -(-columns // wide)
        for where, given in (("launch", (down, across)), ("kernel", (across, down))):
            other = min(rows, tiles[1] * high), min(columns, tiles[0] * wide)
            if given == tiles and reached == other:
                return where
    return None


def _line_of_axes(kernel: ast.FunctionDef | None) -> int:
    lines = [] if kernel is None else lines_with(kernel, "program_id", "grid", "blockIdx")
    return lines[0] if lines else 0


def unused_axis(
    evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None
) -> Reason | None:
    """Explain by an axis of the grid that the kernel never asks for, or by one that has no grid."""
    if kernel is None or evidence.traced is not None or len(evidence.launches or ()) != 1:
        return None
    assert evidence.launches is not None
    asked = {
        axis: call
        for call in calls(kernel, "program_id")
        for axis in (0, 1, 2)
        if call.args and ast.unparse(call.args[0]) == str(axis)
    }
    grid = evidence.launches[0].grid
    for axis, programs in enumerate(grid):
        if programs > 1 and axis not in asked and asked:
            lanes = [c.lineno for c in calls(kernel, "arange")]
            numbered = {c.lineno for c in calls(kernel, "program_id")}
            plain = [line for line in lanes if line not in numbered]
            single = [c.lineno for other, c in asked.items() if grid[other] == 1]
            return Reason(
                "program_id_unused",
                f"the grid has {programs:,} programs along axis {axis}, and the kernel never asks "
                f"for tl.program_id({axis})?",
                (single or plain or sorted(numbered))[0],
            )
    lines = {each.lineno for each in evidence.text.launches}
    grids = [
        (grid_of(evidence.text, launch, host), host)
        for launch, host, _ in arguments_of(evidence.text, kernel)
    ]
    longest = max(asked, default=0)
    if longest and grids and all(_lacks_axis(evidence, *each, longest) for each in grids):
        return Reason(
            "grid_too_small",
            f"the kernel asks for tl.program_id({longest}), and the grid has no such axis, so that "
            "this number is 0 in every program?",
            min(lines),
        )
    return None


def _lacks_axis(evidence: Evidence, grid: list[ast.expr], host: ast.FunctionDef, axis: int) -> bool:
    """Say whether a grid, as the text shows it, lacks an axis; a helper's may have any."""
    made = returned_by(evidence, last_name(grid[0].func)) if isinstance(grid[0], ast.Call) else []
    if len(grid) == 1 and made:
        return isinstance(made[0], ast.Tuple) and len(made[0].elts) <= axis
    unknown = isinstance(grid[0], ast.Name) and extent_of(evidence.text, grid[0], host) is None
    return len(grid) <= axis and not unknown
