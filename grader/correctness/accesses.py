"""The lines of a kernel file that read or write an argument, as its text shows them."""

from __future__ import annotations

import ast
import re

from grader.correctness.source import Source, assigned, last_name, names_in, root_of

READING = ("load", "atomic_add", "atomic_max", "atomic_cas")
WRITING = ("store", "atomic_add", "atomic_max", "add")


def lines_of(source: Source, argument: str, *, reading: bool) -> list[int]:
    """Return the lines of kernels that read an argument, or write to it."""
    found: set[int] = set()
    for kernel in source.kernels:
        names = _pointers(kernel, parameters_of(source, kernel, argument))
        for node in ast.walk(kernel):
            if isinstance(node, ast.Subscript) and last_name(node.value) in ("shape", "strides"):
                continue
            if isinstance(node, ast.Subscript) and root_of(node.value) in names:
                stores = isinstance(node.ctx, ast.Store)
                if stores != reading:
                    found.add(node.lineno)
            elif isinstance(node, ast.Call) and node.args:
                used = last_name(node.func) in (READING if reading else WRITING)
                if used and names_in(node.args[0]) & names:
                    found.add(node.lineno)
    return sorted(found)


def parameters_of(source: Source, kernel: ast.FunctionDef, argument: str) -> set[str]:
    """Return the parameters that launches hand an argument to, or those named after it."""
    found = set()
    for launch in source.launches:
        assert isinstance(launch.func, ast.Subscript)
        if root_of(launch.func) == kernel.name:
            for parameter, given in zip(kernel.args.args, launch.args, strict=False):
                if isinstance(given, ast.Name) and given.id == argument:
                    found.add(parameter.arg)
    if not found:
        named = [each.arg for each in kernel.args.args]
        found = {each for each in named if argument in re.split(r"_", each)}
    return found


def _pointers(kernel: ast.FunctionDef, names: set[str]) -> set[str]:
    """Add the names that are computed from pointers, such as that of a row."""
    known = set(names)
    for _ in range(3):
        for node in ast.walk(kernel):
            if not isinstance(node, ast.Assign) or not names_in(node.value) & known:
                continue
            loads = any(
                isinstance(each, ast.Call) and last_name(each.func) in READING
                for each in ast.walk(node.value)
            )
            if not loads and not any(isinstance(e, ast.Subscript) for e in ast.walk(node.value)):
                known |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return known & ({*names} | {t for t in known if assigned(kernel, t)})
