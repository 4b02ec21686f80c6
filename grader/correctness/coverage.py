"""The reason why a launch, a loop or a guard leaves elements out."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence

from torch import Tensor

from grader.correctness.addresses import arguments_of
from grader.correctness.axes import exchanged_axes, unused_axis
from grader.correctness.evidence import Evidence
from grader.correctness.masks import first_right, length_before_gap
from grader.correctness.reason import Reason, programs_of, returned_by
from grader.correctness.source import (
    assigned,
    calls,
    draws_tickets,
    grid_lines,
    last_name,
    lines_with,
    mentions,
    names_in,
    root_of,
    rounded_down,
)
from grader.correctness.unreached import (
    ends_a_block_early,
    number_in_no_address,
    turn_in_no_address,
    unused_turn,
    whole_blocks_only,
)

NUMBERS = ("program_id", "blockIdx", "grid")


def reason(evidence: Evidence, missing: Tensor, name: str) -> Reason | None:
    """Return the likely reason why exactly these elements are left out, or None."""
    kernel = _kernel(evidence, name)
    if (unused := _number_unused(evidence, missing, kernel)) is not None:
        return unused
    for own in (_constant_index, number_in_no_address, turn_in_no_address):
        if (found := own(evidence, name)) is not None:
            return found
    for find in (
        *(
            _vector_of_table,
            _starts_late,
            _one_too_few,
            _rounded,
            ends_a_block_early,
            whole_blocks_only,
            unused_axis,
            _sum_of_numbers,
            _sides,
        ),
        *(_fixed, exchanged_axes, unused_turn, _no_loop),
    ):
        found = find(evidence, missing, kernel)
        if found is not None:
            return found
    return None


def _kernel(evidence: Evidence, name: str) -> ast.FunctionDef | None:
    """Return the kernel that accesses the argument, or the file's first."""
    lines = [use.line for use in evidence.uses if use.argument == name]
    around = evidence.text.around(max(lines)) if lines else None
    kernels = evidence.text.kernels
    return around if around in kernels else kernels[0] if kernels else None


def _first_left_out(missing: Tensor) -> int | None:
    """Return how many elements (1-D), or columns or rows of a table, come before the gap."""
    if missing.ndim == 1:
        return length_before_gap(missing) if not bool(missing.all()) else 0
    if missing.ndim == 2:
        if bool(missing.all()):
            return 0
        return first_right(~missing, 1) or first_right(~missing, 0)
    return None


def _launch_is_enough(evidence: Evidence, missing: Tensor) -> bool:
    """Say whether a launch has a thread for each element, along each axis, or is one by design."""
    if evidence.traced is None or len(evidence.launches or ()) != 1 or not evidence.launches:
        return False
    (across, down, _), (wide, high, deep) = evidence.launches[0].grid, evidence.launches[0].block
    if across * down == 1 and wide * high * deep >= math.prod(evidence.spec.largest):
        return True
    if missing.ndim == 2:
        return across * wide >= missing.shape[1] and down * high >= missing.shape[0]
    return across * wide >= missing.numel()


def _number_unused(
    evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None
) -> Reason | None:
    if kernel is None or _first_left_out(missing) is None:
        return None
    if missing.ndim == 2 and evidence.traced is not None and _ignores_rows(evidence, kernel):
        return Reason(
            "program_id_unused",
            "all threads work on one row, because their number along y is not used?",
            evidence.line_of(evidence.bad[0]),
        )
    if programs_of(evidence) < 2:
        return None
    used = lines_with(kernel, *NUMBERS)
    if not used and draws_tickets(evidence.text):
        return None
    stores = [use.line for use in evidence.uses if use.argument in evidence.bad and use.writes]
    at = f" at line {max(stores)}" if stores else ""
    question = (
        f"every program works on the same elements{at}, because its number is not used: where does "
        "the kernel multiply it by the size of a block?"
    )
    if not used:
        places = _fixed_places(kernel, stores) or lines_with(kernel, "arange", "threadIdx")
        line = places[0] if places else evidence.line_of(evidence.bad[0])
        return Reason("program_id_unused", question, line)
    for call in calls(kernel, "program_id"):
        names = [
            target.id
            for node in ast.walk(kernel)
            if isinstance(node, ast.Assign) and any(each is call for each in ast.walk(node.value))
            for target in node.targets
            if isinstance(target, ast.Name)
        ]
        for name in names:
            loads = [
                node
                for node in ast.walk(kernel)
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
            ]
            if not loads:
                after = [each.lineno for each in ast.walk(kernel) if isinstance(each, ast.stmt)]
                line = min((n for n in after if n > call.lineno), default=call.lineno)
                return Reason("program_id_unused", question, line)
    return None


def _fixed_places(kernel: ast.FunctionDef, stores: Sequence[int]) -> list[int]:
    """Return the lines that give a name in the index of a store one number, as in `row = 0`."""
    return [
        given[0].lineno
        for node in ast.walk(kernel)
        if isinstance(node, ast.Subscript) and node.lineno in stores
        for name in sorted(names_in(node.slice))
        for given in [assigned(kernel, name)]
        if len(given) == 1
        and isinstance(given[0], ast.Assign)
        and isinstance(given[0].value, ast.Constant)
    ]


def _ignores_rows(evidence: Evidence, kernel: ast.FunctionDef) -> bool:
    """Say whether a launch has threads along y, and the kernel never asks for their number."""
    if not evidence.launches or evidence.launches[0].block[1] * evidence.launches[0].grid[1] < 2:
        return False
    numbers = [node for node in ast.walk(kernel) if isinstance(node, ast.Attribute)]
    along_y = any(node.attr == "y" and "Idx" in ast.unparse(node) for node in numbers)
    return not along_y and not calls(kernel, "grid")


def _constant_index(evidence: Evidence, name: str) -> Reason | None:
    """Explain elements that are left out because an index is a number, the same in all threads."""
    if evidence.traced is None:
        return None
    for line in sorted({use.line for use in evidence.uses if use.argument == name}):
        function = evidence.text.around(line)
        for node in ast.walk(function) if function is not None else ():
            if not isinstance(node, ast.Subscript) or node.lineno != line:
                continue
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if root_of(node.value) == name and any(isinstance(p, ast.Constant) for p in parts):
                return Reason(
                    "program_id_unused",
                    f"`{ast.unparse(node)[:60]}` has a number for an index, the same in every "
                    "thread?",
                    line,
                )
    return None


def _starts_late(
    evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None
) -> Reason | None:
    """Explain a first element that is left out by an index that begins at 1."""
    flat = missing.flatten()
    if kernel is None or missing.ndim != 1 or not bool(flat[0]) or int(flat.sum()) != 1:
        return None
    for call in calls(kernel, "arange"):
        if isinstance(call.args[0], ast.Constant) and call.args[0].value == 1:
            return Reason("off_by_one", "do the lanes begin at 1?", call.lineno)
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            one = isinstance(node.value.right, ast.Constant) and node.value.right.value == 1
            numbered = mentions(node.value.left, "grid", "threadIdx", "arange")
            if one and numbered and isinstance(node.value.op, ast.Add):
                return Reason("off_by_one", "does the index begin at 1?", node.lineno)
    return None


def _one_too_few(
    evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None
) -> Reason | None:
    flat = missing if missing.ndim < 2 else missing.all(1)
    if int(flat.sum()) != 1 or not bool(flat.flatten()[-1]):
        return None
    if missing.ndim == 2 and int(missing.sum()) != missing.shape[1]:
        return None
    places = [
        node.lineno
        for function in evidence.text.functions
        for node in ast.walk(function)
        if isinstance(node, ast.expr) and _ends_one_early(node)
    ]
    if len(set(places)) != 1:
        return None
    return Reason("off_by_one", "is a number one too small, as in `n - 1` for n?", places[0])


def _ends_one_early(node: ast.AST) -> bool:
    """Say whether a comparison, a range or a grid ends at a length less one."""
    bounds: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        bounds = node.comparators
    elif isinstance(node, ast.Call) and last_name(node.func) == "range":
        bounds = node.args[1:2] or node.args
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
        bounds = [each for each in ast.walk(node.func.slice) if isinstance(each, ast.BinOp)]
    return any(_is_less_one(bound) for bound in bounds)


def _is_less_one(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.right, ast.Constant)
        and node.right.value == 1
        and not isinstance(node.left, ast.BinOp)
    )


def _rounded(evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None) -> Reason | None:
    lines = sorted({n for each in evidence.text.functions for n in rounded_down(each)})
    lines = [line for line in lines if _sizes_work(evidence, line)]
    if not lines or _first_left_out(missing) is None:
        return None
    return Reason(
        "tail",
        "a number of blocks or rounds is rounded down, and leaves out what is left after the last "
        f"whole one: round up, as {evidence.rounded_up} does.",
        lines[0],
    )


def _sizes_work(evidence: Evidence, line: int) -> bool:
    """Say whether a line makes a grid or the bound of a loop.

    A number that a kernel's helper returns is mostly a place, such as that of a program's tile.
    """
    if line in grid_lines(evidence.text):
        return True
    function = evidence.text.around(line)
    if function is None:
        return False
    text = evidence.text.text(line)
    if text.startswith(("for ", "while ")):
        return True
    if text.startswith("return "):
        return function not in evidence.text.kernels
    statement = re.match(r"(\w+)\s*=", text)
    if statement is None:
        return False
    name = statement.group(1)
    loops = [n for n in ast.walk(function) if isinstance(n, ast.For | ast.While)]
    heads = [each.iter if isinstance(each, ast.For) else each.test for each in loops]
    return any(name in names_in(head) for head in heads) or any(
        name in names_in(launch.func) for launch in evidence.text.launches
    )


def _sum_of_numbers(
    evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None
) -> Reason | None:
    """Explain blocks that begin one element after each other: `program + lane`."""
    if missing.ndim != 1 or kernel is None or not evidence.launches:
        return None
    across, block = evidence.launches[-1].grid[0], evidence.launches[-1].block[0]
    lanes = max((u.lanes for u in evidence.uses if u.writes and u.lanes > 1), default=block)
    reached = length_before_gap(missing)
    if across < 2 or reached != across + lanes - 1:
        return None
    places = lines_with(kernel, "arange", "blockIdx")
    return Reason(
        "block_index",
        "each block begins one element after the block before: is its number multiplied by the "
        "size of a block?",
        places[-1] if places else 0,
    )


def _fixed(evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None) -> Reason | None:
    """Explain a grid, or a guard, that a literal number limits."""
    if _first_left_out(missing) is None:
        return None
    # A further kernel that adds up what this one left rightly has a grid of fixed size.
    others = {each.name for each in evidence.text.kernels if kernel and each is not kernel}
    for host in () if _launch_is_enough(evidence, missing) else evidence.text.hosts:
        for launch in (n for n in ast.walk(host) if isinstance(n, ast.Call)):
            if not isinstance(launch.func, ast.Subscript) or root_of(launch.func) in others:
                continue
            slices = [launch.func.slice]
            for name in names_in(launch.func.slice):
                slices += [s.value for s in assigned(host, name) if isinstance(s, ast.Assign)]
                slices += returned_by(evidence, name)
            for part in slices:
                grid, line = _literal_grid(evidence, part), part.lineno
                if grid is not None:
                    cause = "first_block_only" if grid == 1 else "grid_too_small"
                    return Reason(
                        cause,
                        f"the launch has a fixed size ({evidence.text.text(line)}), which does "
                        "not grow with the input?",
                        line,
                    )
    if kernel is not None:
        for node in ast.walk(kernel):
            if isinstance(node, ast.Compare) and _is_literal_bound(node, missing):
                return Reason(
                    "grid_too_small",
                    f"`{evidence.text.text(node.lineno)}` has a fixed number for a length?",
                    node.lineno,
                )
    return None


def _is_literal_bound(node: ast.Compare, missing: Tensor) -> bool:
    bound = node.comparators[-1]
    return (
        isinstance(bound, ast.Constant)
        and type(bound.value) is int
        and bound.value > 1
        and isinstance(node.ops[-1], ast.Lt)
        and _first_left_out(missing) == bound.value
    )


def _literal_grid(evidence: Evidence, part: ast.expr) -> int | None:
    inner = part
    if isinstance(part, ast.Tuple) and evidence.traced is not None and len(part.elts) == 2:
        inner = part.elts[0]
        threads = part.elts[1]
        if isinstance(threads, ast.Constant) and isinstance(threads.value, int):
            return 1 if isinstance(inner, ast.Constant) and inner.value == 1 else threads.value
    numbers = [inner] if isinstance(inner, ast.Constant) else getattr(inner, "elts", [])
    literal = [n.value for n in numbers if isinstance(n, ast.Constant) and type(n.value) is int]
    return literal[-1] if literal else None


def _no_loop(evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None) -> Reason | None:
    """Explain what lies beyond all threads of a launch of fixed size, or of a row's program."""
    if kernel is None or not evidence.launches or _first_left_out(missing) is None:
        return None
    if _launch_is_enough(evidence, missing):
        return None
    if any(isinstance(node, ast.For) for node in ast.walk(kernel)):
        return None
    across, down, _ = evidence.launches[0].grid
    if missing.ndim == 1:
        heads = [n for launch in evidence.text.launches for n in names_in(launch.func)]
        fixed = all(name.isupper() or name == kernel.name for name in heads)
        if not fixed or len(evidence.launches) > 1:
            return None
    elif not (down == 1 and across == len(missing) and first_right(~missing, 1)):
        return None
    guards = [node.lineno for node in ast.walk(kernel) if isinstance(node, ast.If)]
    places = lines_with(kernel, "arange")
    size = _fixed_block(evidence, kernel)
    at = f" (the size of a block is fixed at line {size})" if size else ""
    line = (guards or places or [evidence.line_of(evidence.bad[0])])[0]
    return Reason(
        "loop_missing",
        "each thread or program does one element or block, and no loop goes on to further ones"
        f"{at}?",
        line,
    )


def _fixed_block(evidence: Evidence, kernel: ast.FunctionDef) -> int:
    """Return the line of a host function that gives the size of a block a number, or 0."""
    sizes = set().union(*(names_in(call) for call in calls(kernel, "arange")))
    for _, host, given in arguments_of(evidence.text, kernel):
        for name in sizes & set(given):
            value = given[name]
            if isinstance(value, ast.Constant):
                return value.lineno
            places = assigned(host, value.id) if isinstance(value, ast.Name) else []
            for place in places:
                if isinstance(place, ast.Assign) and isinstance(place.value, ast.Constant):
                    return place.lineno
    return 0


def _sides(evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None) -> Reason | None:
    """Explain by blocks whose number along one axis is multiplied by their size along another."""
    for node in () if kernel is None else ast.walk(kernel):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = [ast.unparse(node.left), ast.unparse(node.right)]
            axes = {each[-1] for each in sides if "blockIdx." in each or "blockDim." in each}
            if len(axes) == 2 and any("blockIdx." in each for each in sides):
                return Reason(
                    "block_index",
                    "the number of a block along one axis is multiplied by its size along another?",
                    node.lineno,
                )
    return None


def _vector_of_table(
    evidence: Evidence, missing: Tensor, kernel: ast.FunctionDef | None
) -> Reason | None:
    """Explain a vector of which as many elements are used as a table has rows, or a block lanes."""
    tables = [each for each in evidence.wrong.values() if each.ndim == 2]
    reached = length_before_gap(missing) if missing.ndim == 1 else None
    if not tables or reached is None or not evidence.launches:
        return None
    rows, columns = tables[0].shape
    if len(missing) == columns and reached == evidence.launches[0].block[0]:
        return Reason(
            "block_index", "does the place in the block stand for that in the whole table?", 0
        )
    if len(missing) == columns != rows and reached == rows:
        return Reason("transposed", "is the row used where the column belongs?", 0)
    return None
