"""`grader check --sanitize`: one small call under compute-sanitizer, once for each of its tools.

Each argument has an allocation of its own, exactly as large as the argument, so that memcheck sees
an access past its end. The findings help the learner and earn no points.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from grader import backends
from grader.correctness import CaseDraw, reseeded
from grader.grading import sanitizer_report
from grader.grading.session import Grading
from grader.machine import toolkit
from grader.model import CannotGrade, Case, Outcome, Sanitized, Spec, counted, printable
from grader.sandbox import commands, destinations

PROGRAM = "compute-sanitizer"
TOOLS = {
    # The padding keeps an access far past one array from landing inside the next.
    "memcheck": ("--padding", "65536", "--report-api-errors", "no"),
    "racecheck": ("--racecheck-report", "analysis"),
}
# Host frames belong to the grader and the libraries. A hundred entries are enough.
COMMON = ("--show-backtrace", "device", "--print-limit", "100")
KEPT_REPORT = 8192  # characters of the tool's own report
MOST_REPORT = 1 << 20  # bytes of a report that are read
FEWEST_ELEMENTS = 1025  # more than one block of most kernels


def require(device: str) -> Path:
    """Find compute-sanitizer. Raises CannotGrade without it, or where kernels are simulated."""
    if device != "cuda":
        raise CannotGrade(
            "--sanitize needs a CUDA GPU: compute-sanitizer watches compiled kernels.",
            "Check without it: the simulators find accesses out of bounds by themselves.",
        )
    tool = toolkit.find(PROGRAM)
    if tool is None:
        raise CannotGrade(
            f"--sanitize needs {PROGRAM}, which was not found.",
            "It is part of NVIDIA's CUDA toolkit: install that, and put its bin folder on PATH "
            "or its folder into CUDA_HOME.",
        )
    return tool


def small_case(spec: Spec) -> Case:
    """Return the smallest edge case of several blocks with an odd tail, or else `spec.counted`.

    It has at least FEWEST_ELEMENTS elements, rows of an odd length, and no offset.
    """
    fitting = [
        case
        for case in spec.edges
        if case.elements >= FEWEST_ELEMENTS and case.shape[-1] % 2 and not case.offset
    ]
    return min(fitting, key=lambda case: case.elements, default=spec.counted)


def sanitize(grading: Grading, program: Path) -> tuple[Sanitized, ...]:
    case = grading.options.case or reseeded(small_case(grading.spec), grading.options.seed)
    load = grading.steps.get("load")
    begun = all(step.outcome is not Outcome.NOT_STARTED for step in grading.steps.values())
    if load is None or load.outcome is not Outcome.PASS or not begun:
        why = "not run: needs a kernel that loads and has been started"
        return tuple(_sanitized(tool, Outcome.NOT_RUN, case, why) for tool in TOOLS)
    return tuple(_run(grading, case, program, tool) for tool in TOOLS)


def _sanitized(tool: str, outcome: Outcome, case: Case, summary: str, **more: Any) -> Sanitized:
    return Sanitized(tool=tool, outcome=outcome, case=str(case), summary=summary, **more)


def _run(grading: Grading, case: Case, program: Path, tool: str) -> Sanitized:
    spec = grading.spec
    limit_s = commands.START_S + spec.limits.load_s + spec.limits.call_s
    with (
        commands.private_home() as home,
        # Apart from the home, whose path the learner's code knows.
        tempfile.TemporaryDirectory(prefix="grader-report-") as reports,
    ):
        kernel = home / "kernel.py"
        kernel.write_bytes(grading.kernel)
        _write_call(spec, case, home)
        log = Path(reports) / "report.txt"
        done = commands.run_once(
            [
                *(str(program), "--tool", tool, "--log-file", str(log), *COMMON, *TOOLS[tool]),
                *commands.program("grader.worker.single_call", str(home)),
            ],
            home,
            limit_s,
            PYTORCH_NO_CUDA_MEMORY_CACHING="1",  # or arguments share one large allocation
        )
        report = _start_of(log)
        read = sanitizer_report.read(
            report,
            sanitizer_report.KernelFile(kernel, grading.kernel.decode(errors="replace")),
            _addresses(home / "addresses.json", spec),
        )
    outcome, summary = _judged(tool, case, read, done, limit_s)
    return _sanitized(
        tool,
        outcome,
        case,
        summary,
        errors=read.errors,
        replay=f"{grading.replay(case)} --sanitize" if read.errors else None,
        report=printable(report, KEPT_REPORT),
    )


def _judged(
    tool: str, case: Case, read: sanitizer_report.Report, done: commands.Done, limit_s: float
) -> tuple[Outcome, str]:
    if read.errors:
        count = len(read.errors)
        return Outcome.FAIL, f"{case.headline}: {counted(count, 'errors')}"
    if done.status is None:
        return (
            Outcome.CANNOT_GRADE,
            f"{case.headline}: not done after {limit_s:.0f} s; {tool} makes a kernel many times "
            "slower: try a smaller --case",
        )
    if done.status != 0 or not read.complete or read.unknown:
        said = [*read.unknown, *done.output.strip().splitlines()[-1:]]
        detail = f": {said[0]}" if said else ""
        return Outcome.CANNOT_GRADE, f"{case.headline}: {tool} gave no verdict{detail}"
    summary = f"{case.headline}: nothing found"
    if read.elsewhere:
        summary += (
            f" in your lines; {read.elsewhere} reported between lines of libraries, such as "
            "their own reductions"
        )
    return Outcome.PASS, summary


def _write_call(spec: Spec, case: Case, home: Path) -> None:
    """Write call.json and a file for each tensor, which `grader.worker.single_call` reads."""
    inputs = dict(spec.inputs(case, CaseDraw(case)))
    values: Mapping[str, Tensor | float] = inputs | destinations(spec, inputs, torch.device("cpu"))
    arguments: list[dict[str, object]] = []
    for argument in spec.arguments:
        value = values[argument.name]
        if not isinstance(value, Tensor):
            arguments.append({"name": argument.name, "value": value})
            continue
        shape, strides = tuple(value.shape), value.stride()
        extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        # From the start of the storage, so that it begins as far past a boundary as the case says.
        whole = value.as_strided((value.storage_offset() + extent,), (1,), 0)
        (home / f"{argument.name}.bin").write_bytes(whole.view(torch.uint8).numpy().tobytes())
        arguments.append(
            {
                "name": argument.name,
                "dtype": str(value.dtype).removeprefix("torch."),
                "shape": shape,
                "strides": strides,
                "offset": value.storage_offset(),
            }
        )
    folder = str(backends.folder(spec.backend))
    call = {"backend": folder, "entry": spec.entry, "arguments": arguments}
    (home / "call.json").write_text(json.dumps(call))


def _start_of(file: Path) -> str:
    try:
        # The learner's code may have put anything there: a link, or a pipe that nobody writes to.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(file, flags), "rb") as stream:
            return stream.read(MOST_REPORT).decode(errors="replace")
    except OSError:
        return ""


def _addresses(file: Path, spec: Spec) -> dict[int, str]:
    """Map addresses to the arguments that begin there, as the learner's process reports them."""
    try:
        reported = json.loads(_start_of(file))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(reported, dict):
        return {}
    names = [argument.name for argument in spec.arguments]
    return {reported[name]: name for name in names if type(reported.get(name)) is int}
