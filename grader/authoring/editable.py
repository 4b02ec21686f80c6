"""The source of a kernel file, in which the text of a node can be replaced."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from grader import backends


@dataclass(frozen=True)
class Edit:
    """A replacement of the text of `node` by `text`."""

    node: ast.AST
    text: str


class Kernel:
    """The source of a kernel file, as text and as a tree."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self.half = _half(source)
        self._bytes = source.encode()
        lines = self._bytes.splitlines(keepends=True)
        self._starts = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
        calls = [n for n in ast.walk(self.tree) if isinstance(n, ast.Call)]
        # kernel[grid](x, out)
        self._launched = [c.func for c in calls if isinstance(c.func, ast.Subscript)]
        self.strides = [call for call in calls if called(call) == "stride"]
        self.grids = self._grids()

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the offsets, in bytes, of the begin and the end of a node's text."""
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        begin, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return self._starts[first - 1] + begin, self._starts[last - 1] + end

    def text(self, node: ast.AST) -> str:
        begin, end = self.span(node)
        return self._bytes[begin:end].decode()

    def between(self, left: ast.AST, right: ast.AST) -> str:
        return self._bytes[self.span(left)[1] : self.span(right)[0]].decode()

    def replaced(self, edit: Edit) -> str:
        begin, end = self.span(edit.node)
        return (self._bytes[:begin] + edit.text.encode() + self._bytes[end:]).decode()

    def _grids(self) -> list[ast.expr]:
        """List each number of programs, blocks or threads in a launch `kernel[...]`."""
        named = {s.slice.id for s in self._launched if isinstance(s.slice, ast.Name)}
        grids: list[ast.expr] = [s.slice for s in self._launched]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in named:
                grids.append(node.value)
        return [e for grid in grids if isinstance(grid, ast.Tuple) for e in grid.elts]

    def is_launched(self, node: ast.AST) -> bool:
        return any(node is launched for launched in self._launched)


def _half(source: str) -> str:
    """Return the text by which the library of a kernel file rounds `{value}` to float16."""
    for backend in backends.every():
        if any(re.search(rf"^\s*(import|from) {name}\b", source, re.M) for name in backend.modules):
            return backends.source_names(backend.name).half
    return "np.float16({value})"


def called(node: ast.AST) -> str:
    """Return the last part of the name that a call calls, such as `load`; else an empty text."""
    if not isinstance(node, ast.Call):
        return ""
    return ast.unparse(node.func).split(".")[-1]
