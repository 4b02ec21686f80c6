"""Programs that store other values to one element: rows, or blocks, overlap."""

from __future__ import annotations

import ast
import re

from grader.correctness.addresses import PROGRAM, accesses, arguments_of, terms, text_of
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import names_in, root_of

OVERLAP = re.compile(r"program [\d(), ]+ writes another value to element \d+ of (\w+),")


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
    if (of_column := _of_column_stride(evidence, argument.name)) is not None:
        return of_column
    if len(evidence.spec.largest) == 2 and table and not _has_stride(evidence, argument.name):
        return Explanation(
            f"Two programs store to one element of {argument.name}: if each has a row of its own, "
            f"row i begins at i * {argument.name}.stride(0).",
            line,
            "row_stride",
        )
    return _of_step_1(evidence, line) or Explanation(hint, line, "written_twice")


def _of_column_stride(evidence: Evidence, name: str) -> Explanation | None:
    wrong = [f"{name}.stride(1)", f"{name}.stride(-1)"]
    for kernel in evidence.text.kernels:
        addresses = [terms(kernel, store.args[0]) for store in accesses(kernel)]
        rows = {
            factor
            for address in addresses
            if any(each.lanes for each in address)  # along a row
            for each in address
            if len(each.factors) == 2 and PROGRAM in " ".join(each.factors)
            for factor in each.factors
        }
        for _, _, given in arguments_of(evidence.text, kernel):
            for parameter, argument in given.items():
                if text_of(argument) in wrong and parameter in rows:
                    return Explanation(
                        f"Line {argument.lineno} gives {text_of(argument)} to {parameter}: that is "
                        f"the step from column to column. Rows begin {name}.stride(0) apart.",
                        argument.lineno,
                        "row_stride",
                    )
    return None


def _of_step_1(evidence: Evidence, line: int) -> Explanation | None:
    kernel = evidence.text.around(line)
    if kernel is None:
        return None
    for store in accesses(kernel, line):
        address = terms(kernel, store.args[0])
        lanes = [each.lanes for each in address if each.lanes not in (None, "1")]
        numbered = [each for each in address if PROGRAM in " ".join(each.factors)]
        if len(lanes) == len(numbered) == 1 and numbered[0].alone is not None:
            masks = any(each.arg == "mask" for each in store.keywords)
            length = "the length of a row or block" if masks else lanes[0]
            return Explanation(
                "Each program begins 1 element after the one before, and stores "
                f"{'several' if masks else lanes[0]}: multiply its number by {length}.",
                line,
                "block_index",
            )
    return None


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
