"""The kind `kernel`: a function that launches GPU kernels, written in one of the backends."""

from __future__ import annotations

from grader.grading.kind import Kind, Rows, Sections
from grader.model import Spec

# Answers that take no work at all: names of grader.sandbox.ANSWERS, which needs torch.
NO_WORK = (
    "zeros",
    "ones",
    "nan",
    "constant_mean",
    "first_input",
    "untouched",
    "lower_precision",
)


def backend(spec: Spec) -> str:
    return spec.backend


def describe(spec: Spec) -> Sections:
    from grader.grading.kinds.kernel import contract

    return contract.sections(spec)


def lesson(spec: Spec) -> Rows:
    from grader.grading.kinds.kernel.lesson import table

    return table(spec)


def no_work(spec: Spec) -> tuple[str, ...]:
    """Leave out the mean of a row where a row is one number, for that is right."""
    filled = [argument for argument in spec.arguments if argument.filled]
    numbers = all(isinstance(a.shape, tuple) and a.shape[-1] == 1 for a in filled)
    return tuple(name for name in NO_WORK if not (numbers and name == "constant_mean"))


KIND = Kind(
    name="kernel",
    title="a GPU kernel",
    spec=Spec,
    steps=(
        "load",
        "correctness",
        "randomness",
        "properties",
        "traffic",
        "counts",
        "memory",
        "compile",
        "speed",
    ),
    backend=backend,
    describe=describe,
    lesson=lesson,
    no_work=no_work,
    mutants=True,
)
