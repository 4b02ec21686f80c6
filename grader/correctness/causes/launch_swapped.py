"""Blocks and threads exchanged in the brackets of a launch."""

from __future__ import annotations

import ast
import re

from grader.correctness.cause import OUTPUTS, Cause, Explanation
from grader.correctness.evidence import Evidence

THREADS = re.compile(r"^(threads|num_threads|n_threads|tpb|threads_?per_?block)$")
BLOCKS = re.compile(r"^(blocks|num_blocks|n_blocks|bpg|blocks_?per_?grid)$")


def explain(evidence: Evidence) -> Explanation | None:
    """Explain by the names in brackets of two: `kernel[threads, blocks]`."""
    for launch in evidence.text.launches:
        assert isinstance(launch.func, ast.Subscript)
        pair = launch.func.slice
        if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
            continue
        first, second = map(_name, pair.elts)
        threads = THREADS.search(first) and "thread" not in second
        blocks = BLOCKS.search(second) and not BLOCKS.search(first)
        if evidence.threads and (threads or blocks):
            return Explanation(
                f"{evidence.quoted(launch.lineno)} has the threads first: a launch is "
                "kernel[blocks, threads](…), the number of blocks first.",
                launch.lineno,
            )
    return None


def _name(node: ast.expr) -> str:
    """Return a name in lower case; an expression, such as `n // threads`, has none."""
    return node.id.lower() if isinstance(node, ast.Name) else ""


CAUSE = Cause(
    name="launch_swapped",
    looks_at="the names in the brackets of a launch",
    order=7,
    kinds=(*OUTPUTS, "launch_refused", "out_of_bounds"),
    explain=explain,
)
