"""A line of the kernel file as a picture quotes it: with the rest of its statement."""

from __future__ import annotations

import ast
import functools
import re
import warnings

from grader.model import Trace

_INSIDE = re.compile(r"(?<=[(\[{]) |,? (?=[)\]}])")


def code_at(trace: Trace, line: int) -> str:
    """Return the line, or its whole statement where that takes several: `tl.store(out_ptr, x)`.

    A compiler may name the line of an argument, which alone says nothing.
    """
    first, last = _spans(trace.source).get(line, (line, line))
    whole = " ".join(text.partition(" # ")[0].strip() for text in trace.source[first - 1 : last])
    return _INSIDE.sub("", whole) if last > first else trace.source[line - 1].strip()


@functools.lru_cache(maxsize=4)
def _spans(source: tuple[str, ...]) -> dict[int, tuple[int, int]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the file, such as "\d"
            tree = ast.parse("\n".join(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {
        line: (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and not hasattr(node, "body")
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
