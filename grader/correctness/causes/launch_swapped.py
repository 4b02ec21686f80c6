"""Blocks and threads exchanged in the brackets of a launch."""

from __future__ import annotations

import ast

from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence


def explain(evidence: Evidence) -> Explanation | None:
    """Explain by the names in brackets of two: `kernel[threads, blocks]`."""
    for launch in evidence.text.launches:
        assert isinstance(launch.func, ast.Subscript)
        pair = launch.func.slice
        if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
            continue
        first, second = (ast.unparse(each).lower() for each in pair.elts)
        threads = "thread" in first and "thread" not in second
        blocks = "block" in second and "block" not in first and "blocksize" not in second
        if evidence.threads and (threads or (blocks and "grid" not in first)):
            return Explanation(
                f"{evidence.quoted(launch.lineno)} has the threads first: a launch is "
                "kernel[blocks, threads](…), the number of blocks first.",
                launch.lineno,
            )
    return None


CAUSE = Cause(
    name="launch_swapped",
    looks_at="the names in the brackets of a launch",
    order=7,
    kinds=(*OUTPUTS, "launch_refused", "out_of_bounds"),
    explain=explain,
)
