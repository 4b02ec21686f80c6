"""The table of the task in a kernel's lesson."""

from __future__ import annotations

from grader.grading.kind import Rows
from grader.grading.kinds.kernel.contract import SEED
from grader.model import Argument, Spec

_ROLES = {
    "in": "read only",
    "out": "filled by the kernel",
    "inout": "read and overwritten",
    "scalar": "a Python number",
}


def table(spec: Spec) -> Rows:
    for one in spec.entries:
        yield "entry", f"`{one.signature}`"
        yield from ((f"`{argument.name}`", _argument(argument)) for argument in one.arguments)
        yield "dtypes", ", ".join(one.dtypes)
    yield "returns", "nothing"


def _argument(argument: Argument) -> str:
    like = f", shape of `{argument.like}`" if argument.like else ""
    dtype = f", {argument.dtype}" if argument.dtype else ""
    role = SEED if argument.seeds else _ROLES[argument.role]
    return f"{role}{like}{dtype}"
