"""Compile TTIR to machine code in a process of the judge's behind walls, without a GPU.

Started as `python -I -m grader.backends.triton.compile_ttir FOLDER ALL_S WITHOUT`: see
`grader.worker.compile_jobs`. The text comes from a kernel file, so that a parser decides what LLVM
sees.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from grader.backends.triton.device.faults import Malformed, NotSimulated
from grader.backends.triton.device.ttir.lines import grammar
from grader.backends.triton.device.ttir.parse import parse
from grader.backends.triton.device.ttir.records import Operation
from grader.worker import ptxas
from grader.worker.compile_jobs import Compiler, Killed, Refused, carry_out, said, text_of
from grader.worker.ptxas import KERNEL
from grader.worker.sass import count_instructions

WRITES_DESCRIPTORS = 90  # the capability for which the driver makes TTIR
DIALECTS = ("tt", "arith", "math", "scf", "cf", "ub")
# Of other dialects: what tl.assume and tl.debug_barrier become.
OPERATIONS = ("llvm.intr.assume", "gpu.barrier", "ttg.barrier")
FLOAT8, LLVM_FLOAT8 = "f8E4M3FN", "f8e4m3nv"
TOOLS = {"ptxas": "ptxas", "ptxas_blackwell": "ptxas-blackwell", "nvdisasm": "nvdisasm"}

_DIAGNOSTIC = re.compile(r"^(?P<file>.*?):(?P<line>\d+):\d+: (?P<kind>error|note): (?P<text>.+)$")
_KILLED = re.compile(r"ptxas.* failed with error code -9\b")  # Triton's words, by the signal
_LLVM = re.compile(r"LLVM ERROR: (?P<text>.+)")
_CAPABILITY = re.compile(r"compute capability >= (\d+)(\d)")


def _load() -> None:
    importlib.import_module("triton.backends.nvidia.compiler")
    grammar()


def _missing() -> str | None:
    return next((program for name, program in TOOLS.items() if not _is_installed(name)), None)


def _is_installed(tool: str) -> bool:
    from triton import knobs

    try:
        return os.access(getattr(knobs.nvidia, tool).path, os.X_OK)
    except RuntimeError:  # Triton does not find it
        return False


# -- before LLVM sees it


def check(text: str) -> None:
    """Raise Refused unless a text is TTIR as Triton prints it, and links no foreign code."""
    try:
        module = parse(text)
    except Malformed as error:
        raise Refused(f"its TTIR is none that Triton prints: {error.message}") from None
    for operation in module.operations():
        _check_operation(operation)


def _check_operation(operation: Operation) -> None:
    if operation.name == "tt.elementwise_inline_asm":
        _check_assembly(operation)
    if operation.name == "tt.extern_elementwise":
        library, symbol = (operation.attributes.get(name, "") for name in ("libname", "symbol"))
        path = operation.attributes.get("libpath", "")
        if library not in ("", "libdevice") or path or not str(symbol).startswith("__nv_"):
            raise Refused(f"{symbol} of another library than libdevice", _line(operation))
    if operation.name.partition(".")[0] not in DIALECTS and operation.name not in OPERATIONS:
        raise Refused(
            f"{operation.name} is not an operation of Triton's language", _line(operation)
        )


def _check_assembly(operation: Operation) -> None:
    """Let the arithmetic through that the simulated GPU executes, too."""
    from grader.backends.triton.device import ptx  # imports torch, which few kernels need here

    try:
        ptx.check(str(operation.attributes.get("asm_string", "")))
    except (Malformed, NotSimulated) as error:
        raise Refused(
            f"inline assembly beyond arithmetic is not compiled here: {error.message}",
            _line(operation),
        ) from None


def _line(operation: Operation) -> int | None:
    sites = (*reversed(operation.site.callers), operation.site)
    return next((site.line for site in sites if Path(site.file).name == KERNEL), None)


# -- Triton's stages from TTIR on


def _built(path: Path, job: Mapping[str, Any]) -> dict[str, Any]:
    check(text_of(path))
    from triton import knobs

    knobs.nvidia.dump_ptxas_log = True
    cubin, metadata, log = _machine_code(path, job)
    counts = None
    if job["sass"]:
        file = path.with_suffix(f".{job['target']}.cubin")
        file.write_bytes(cubin)
        counts = count_instructions(file, job["target"], knobs.nvidia.nvdisasm.path)
    return {
        **ptxas.figures(log, counts),
        "shared": metadata["shared"],
        "tensor": metadata.get("tmem_size", 0),
        "threads": 32 * metadata.get("num_warps", 1),
    }


def _machine_code(path: Path, job: Mapping[str, Any]) -> tuple[bytes, dict[str, Any], str]:
    """Return a text's cubin, what Triton notes of it, and the log of ptxas.

    Raises Refused for what ptxas refuses, and Killed where the system killed it.
    """
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget, Language
    from triton.backends.nvidia.compiler import CUDABackend

    target = job["target"]
    backend = CUDABackend(GPUTarget("cuda", target, 32))
    stages: dict[str, Any] = {}
    backend.add_stages(stages, backend.parse_options(dict(job["options"])), Language.TRITON)
    if target >= WRITES_DESCRIPTORS:
        del stages["ttir"]  # its passes have run; older GPUs want descriptors rewritten
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    form: Any = ir.parse_mlir_module(str(path), context)
    form.context = context
    metadata: dict[str, Any] = {}
    printed = StringIO()
    before: Any = None
    try:
        with redirect_stdout(printed):
            for stage in stages.values():
                before, form = form, stage(form, metadata)
    except Exception as error:
        if refused := ptxas.refusal(printed.getvalue(), before):
            raise refused from None
        if _KILLED.search(str(error)):
            raise Killed from None
        raise
    return form, metadata, printed.getvalue()


# -- what the compiler says


def _diagnosed(log: Path, error: Exception, text: str = "") -> Refused:
    """Return the first error that MLIR or LLVM printed, at its line; else the exception's own."""
    printed = said(log)
    if fatal := _LLVM.search(printed):
        return _fatal(fatal["text"], text)
    lines = printed.splitlines()
    found = [match for line in lines if (match := _DIAGNOSTIC.match(line))]
    first = next((match for match in found if match["kind"] == "error"), None)
    if first is None:
        words = str(error).strip().splitlines()
        return Refused(words[0] if words else type(error).__name__)
    # Of an operation in a library's function, a note names the line that calls it.
    own = (int(match["line"]) for match in found if Path(match["file"]).name == KERNEL)
    return Refused(first["text"], next(own, None))


def _fatal(sentence: str, text: str = "") -> Refused:
    """Return LLVM's sentence in the words of files and reports, and its line.

    LLVM names no line; where it lacks a type, that is the first line which has the type.
    """
    words = _CAPABILITY.sub(r"compute capability \1.\2 and newer", sentence)
    words = words.replace(LLVM_FLOAT8, "float8_e4m3fn")
    if LLVM_FLOAT8 not in sentence or not text:
        return Refused(words)
    lines = (_line(one) for one in parse(text).operations() if _has(one, FLOAT8))
    return Refused(words, next(lines, None))


def _has(operation: Operation, element: str) -> bool:
    types = (*operation.operand_types, *operation.result_types)
    return any(type_.element == element for type_ in types)


def _crash(log: Path) -> Refused:
    found = _LLVM.search(said(log))
    if found is None:
        return Refused("Triton's compiler crashed")
    return _fatal(found["text"])


COMPILER = Compiler(_load, _missing, _built, _diagnosed, _crash)

if __name__ == "__main__":
    carry_out(COMPILER, Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
