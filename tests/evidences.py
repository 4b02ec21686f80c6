"""Evidence of kernels that are plain functions: what the detectors of causes see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.correctness.acceptance import expect, first_mismatch
from grader.correctness.causes import explain
from grader.correctness.evidence import Evidence, Witness
from grader.correctness.uses import Use
from grader.model import Case, Failure, Inputs, LaunchRef, Spec
from grader.spec import Tolerance, reads, writes

Kernel = Callable[[Inputs], Mapping[str, Tensor]]


def spec_of(reference: Kernel, *names: str, shape: Any = None, **changes: Any) -> Spec:
    """Return a spec of inputs of these names, like `case.shape`, and one output `out`."""
    kind = changes.pop("out_dtype", "float32")
    out = writes("out", shape=shape, dtype=kind) if shape else writes("out", like=names[0])
    fields: dict[str, Any] = {
        "title": "A test",
        "summary": "for tests",
        "backend": "triton",
        "entry": "run",
        "arguments": (*(reads(name) for name in names), out),
        "dtypes": ("float32",),
        "draws": ("rows",),
        "edges": (Case((3,), "float32"),),
        "largest": (100,),
        "most_elements": 1000,
        "inputs": lambda case, draw: {},
        "reference": reference,
        "tolerance": Tolerance(terms=lambda case: 1000),
        "counted": Case((3,), "float32"),
        "hints": ("one", "two", "three"),
    }
    return Spec(**fields | changes)


UNWRITTEN = -12345.0  # in an output: the kernel leaves this element as it was


def witness_of(spec: Spec, kernel: Kernel, case: Case, given: Inputs | None = None) -> Witness:
    """Call a kernel on drawn inputs."""
    generator = torch.Generator().manual_seed(case.seed)
    inputs: dict[str, Tensor | float] = {
        argument.name: torch.randn(case.shape, generator=generator)
        for argument in spec.arguments
        if argument.role == "in"
    }
    inputs |= given or {}
    outputs = {name: value.float() for name, value in kernel(inputs).items()}
    unwritten = {name: value == UNWRITTEN for name, value in outputs.items()}
    return Witness(spec, case, inputs, outputs, expect(spec, case, inputs), unwritten)


def evidence_of(
    spec: Spec,
    kernel: Kernel,
    *shapes: tuple[int, ...],
    given: Inputs | None = None,
    source: str = "",
    uses: Sequence[Use] = (),
    grid: tuple[int, int, int] | None = None,
    **fields: Any,
) -> Evidence:
    """Return the evidence of a kernel that fails in the first of some shapes."""
    cases = [Case(shape, "float32", seed=number) for number, shape in enumerate(shapes)]
    main = witness_of(spec, kernel, cases[0], given)
    mismatch = first_mismatch(main.expected, main.outputs, main.unwritten)
    assert mismatch is not None, "the kernel is right in the case that should fail"
    launches = None if grid is None else (LaunchRef("kernel", grid, (32, 1, 1)),)
    return Evidence(
        failure=Failure(kind=mismatch.kind, message=mismatch.message),
        spec=spec,
        case=main,
        source=source.splitlines(),
        decorator=fields.pop("decorator", "@triton.jit"),
        uses=tuple(uses),
        launches=fields.pop("launches", launches),
        others=tuple(cases[1:]),
        attempt=fields.pop("attempt", lambda case: witness_of(spec, kernel, case)),
        **fields,
    )


def refused(
    failure: Failure,
    source: str,
    spec: Spec,
    decorator: str = "@triton.jit",
    *,
    threads: bool = False,
) -> Evidence:
    """Return the evidence of a failure that leaves no outputs."""
    return Evidence(failure, spec, None, source.splitlines(), decorator, threads)


def cause_of(evidence: Evidence) -> tuple[str, int] | None:
    """Return the stable word and the line that are found, or None."""

    def broken(error: Exception) -> None:
        raise error

    found = explain(evidence, broken)
    return None if found is None else (found[0], found[1].line)


def use(line: int, kind: str, argument: str, marks: Tensor, **fields: Any) -> Use:
    return Use(line, kind, argument, marks.bool(), **fields)
