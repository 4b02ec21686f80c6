"""Arguments of a launch whose names fit each other's parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import takewhile

from grader.correctness.source import Source, root_of


def exchanged(source: Source) -> tuple[str, str, int] | None:
    """Return two arguments that a launch gives to each other's parameters, and its line.

    An argument's name must be a word of the other's parameter, and not of its own: `x` belongs to
    `x_ptr`, and `out.stride(0)` to `out_stride`.
    """
    kernels = {kernel.name: kernel for kernel in source.kernels}
    for launch in source.launches:
        assert isinstance(launch.func, ast.Subscript)
        kernel = kernels.get(root_of(launch.func))
        if kernel is None:
            continue
        misfits = list(_misfits(kernel, launch))
        for argument, wanted, line in misfits:
            for other, meant, _ in misfits:
                if argument != other and meant == argument and wanted == other:
                    return argument, other, line
    return None


def _misfits(kernel: ast.FunctionDef, launch: ast.Call) -> Iterator[tuple[str, str, int]]:
    """Yield arguments whose parameter has the name of another argument, and that name."""
    roots = {root_of(each) for each in launch.args} - {""}
    plain = takewhile(lambda each: not isinstance(each, ast.Starred), launch.args)
    for parameter, argument in zip(kernel.args.args, plain, strict=False):
        words = set(re.split(r"_|(?<=[a-z])(?=[A-Z])", parameter.arg.lower()))
        root = root_of(argument)
        others = (words & roots) - {root}
        if root and root not in words and len(others) == 1:
            yield root, others.pop(), argument.lineno
