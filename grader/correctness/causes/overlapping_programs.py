"""Programs that store other values to one element: rows, or blocks, overlap."""

from __future__ import annotations

import ast
import re

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import names_in, root_of

OVERLAP = re.compile(r"program \d+ writes another value to element \d+ of (\w+),")


def explain(evidence: Evidence) -> Explanation | None:
    found = OVERLAP.search(evidence.failure.message)
    argument = next(
        (a for a in evidence.spec.arguments if found is not None and a.name == found[1]), None
    )
    if argument is None:
        return None
    line = evidence.failure.frames[-1].line if evidence.failure.frames else 0
    hint = evidence.failure.hint or ""
    first = evidence.spec.arguments[0].name
    table = argument.like == first or argument.role == "inout"
    if len(evidence.spec.largest) == 2 and table and not _has_stride(evidence, argument.name):
        return Explanation(
            f"Two programs store to one element of {argument.name}: if each has a row of its own, "
            f"row i begins at i * {argument.name}.stride(0).",
            line,
            "row_stride",
        )
    return Explanation(hint, line, "written_twice")


def _has_stride(evidence: Evidence, name: str) -> bool:
    """Say whether the host hands over the argument's own stride, and the kernel uses it."""
    kernels = {kernel.name: kernel for kernel in evidence.text.kernels}
    given = f"{name}.stride"
    for launch in evidence.text.launches:
        assert isinstance(launch.func, ast.Subscript)
        kernel = kernels.get(root_of(launch.func))
        for parameter, argument in zip(
            kernel.args.args if kernel else (), launch.args, strict=False
        ):
            if kernel is not None and ast.unparse(argument).startswith(given):
                return any(parameter.arg in names_in(statement) for statement in kernel.body)
    return given in "\n".join(evidence.source)


CAUSE = Cause(
    name="overlapping_programs",
    looks_at="the message about a race of two stores",
    order=40,
    kinds=("race",),
    explain=explain,
)
