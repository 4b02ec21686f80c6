"""Compile TTIR to machine code in a process of the judge's behind walls, without a GPU.

Started as `python -I -m grader.backends.triton.compile_ttir FOLDER ALL_S WITHOUT`. FOLDER is
private; it holds jobs.json, a list of `{"file", "options", "target", "limit_s", "sass"}`, and the
files of TTIR. After ALL_S seconds no further job begins. WITHOUT names walls to leave out,
separated by commas. Appends a line of JSON to built.jsonl for each job:

    {"registers", "spills", "shared", "tensor", "threads", "loads", "stores"}   sizes in bytes
    {"error", "line"}    the compiler refuses the kernel; at a line of the kernel file, or null
    {"timed_out"}        seconds; the jobs behind it are not tried
    {"missing"}          a program that Triton's wheel should have brought

Loads and stores are counted with `sass`, for nvdisasm takes longer than the compiler. The text
comes from a kernel file, so that a parser decides what LLVM sees, and each job has a
process of its own, in which the compiler may crash.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

from grader.backends.triton.device.faults import Malformed, NotSimulated
from grader.backends.triton.device.ttir.parse import parse
from grader.backends.triton.device.ttir.records import Operation, Region
from grader.backends.triton.sass import widths
from grader.machine import processes
from grader.worker import confine, pids
from grader.worker.worker_home import UNUSED_USERS, Place

KERNEL = "kernel.py"  # the name of every kernel file
LONGEST_ERROR = 300  # characters
LIMITS = {
    resource.RLIMIT_DATA: 8 << 30,  # bytes
    resource.RLIMIT_FSIZE: 256 << 20,  # bytes
    resource.RLIMIT_NOFILE: 4096,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_CPU: 900,  # seconds, of a process that may have lost its parent
}
MOST_SAID = 1 << 20  # characters of what the compiler prints
MOST_ANSWER = 1 << 16  # bytes
WRITES_DESCRIPTORS = 90  # the capability for which the driver makes TTIR
DIALECTS = ("tt", "arith", "math", "scf", "cf", "ub")
# Of other dialects: what tl.assume and tl.debug_barrier become.
OPERATIONS = ("llvm.intr.assume", "gpu.barrier", "ttg.barrier")
FLOAT8, LLVM_FLOAT8 = "f8E4M3FN", "f8e4m3nv"
TOOLS = {"ptxas": "ptxas", "ptxas_blackwell": "ptxas-blackwell", "nvdisasm": "nvdisasm"}

_DIAGNOSTIC = re.compile(r"^(?P<file>.*?):(?P<line>\d+):\d+: (?P<kind>error|note): (?P<text>.+)$")
_PTXAS = re.compile(
    r"ptxas[\w-]*\s+(?:.*, line (?P<line>\d+); )?(?:error|fatal)\s*:\s*(?P<text>.+)"
)
_LLVM = re.compile(r"LLVM ERROR: (?P<text>.+)")
_CAPABILITY = re.compile(r"compute capability >= (\d+)(\d)")
_USED = re.compile(r"Used (?P<registers>\d+) registers")
_SPILLED = re.compile(r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads")


class Refused(Exception):
    """The compiler refuses the kernel, or we do before it; `line` is of the kernel file."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line

    def dump(self) -> dict[str, Any]:
        return {"error": str(self)[:LONGEST_ERROR], "line": self.line}


def main(folder: Path, all_s: float, walls: str) -> None:
    processes.die_with_parent(signal.SIGKILL)
    without = [name.strip() for name in walls.split(",") if name.strip()]
    if "pids" not in without and pids.enter_pid_namespace():
        os.setsid()  # the session that the judge made is one outside
    _limit()
    confine.build(Place(folder, "cpu", random.choice(UNUSED_USERS)), without)
    from triton.backends.nvidia import compiler  # noqa: F401  once, for all children

    deadline = time.monotonic() + all_s
    with (folder / "built.jsonl").open("a") as results:
        for job in json.loads(_text(folder / "jobs.json")):
            if time.monotonic() > deadline:
                break
            built = _carry_out(folder, job)
            results.write(json.dumps(built) + "\n")
            results.flush()
            if "timed_out" in built:
                break


def _limit() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for kind, limit in LIMITS.items():
        hard = resource.getrlimit(kind)[1]
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (least, least))


# -- one job, in a process of its own


def _carry_out(folder: Path, job: Mapping[str, Any]) -> dict[str, Any]:
    ours, theirs = os.pipe()
    log = folder / "errors.txt"
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        processes.die_with_parent(signal.SIGKILL)
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
        os.close(ours)
        os.write(theirs, json.dumps(_answer(folder, job, log)).encode())
        os._exit(0)
    os.close(theirs)
    answer = _read(ours, job["limit_s"])
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ours)
    if answer is None:
        return {"timed_out": job["limit_s"]}
    return json.loads(answer) if answer else _crash(log).dump()


def _read(pipe: int, limit_s: float) -> bytes | None:
    """Return what the child wrote, nothing if it died before, or None if time ran out."""
    deadline, answer = time.monotonic() + limit_s, b""
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        chunk = os.read(pipe, 1 << 16)
        if not chunk:
            return answer
        answer += chunk
        if len(answer) > MOST_ANSWER:
            return b""


def _answer(folder: Path, job: Mapping[str, Any], log: Path) -> dict[str, Any]:
    if missing := _missing():
        return {"missing": missing}
    path = folder / job["file"]
    try:
        check(_text(path))
        return _built(folder, path, job)
    except Refused as error:
        return error.dump()
    except Exception as error:
        return _diagnosed(log, error, _text(path)).dump()


def _text(path: Path) -> str:
    """Return the text as the compiler reads it, which takes line ends as they are."""
    return path.read_bytes().decode()


def _said(log: Path) -> str:
    with log.open(errors="replace") as file:
        return file.read(MOST_SAID)


def _missing() -> str | None:
    from triton import knobs

    for name, program in TOOLS.items():
        try:
            if os.access(getattr(knobs.nvidia, name).path, os.X_OK):
                continue
        except RuntimeError:
            pass
        return program
    return None


# -- before LLVM sees it


def check(text: str) -> None:
    """Raise Refused for a text with operations that could name code of its own."""
    try:
        module = parse(text)
    except Malformed as error:
        raise Refused(f"its TTIR is none that Triton prints: {error.message}") from None
    for function in module.functions.values():
        for operation in _operations(function.body):
            _check_operation(operation)


def _operations(region: Region) -> Iterator[Operation]:
    for block in region.blocks:
        for operation in block.operations:
            yield operation
            for inner in operation.regions:
                yield from _operations(inner)


def _check_operation(operation: Operation) -> None:
    if operation.name == "tt.elementwise_inline_asm":
        _check_assembly(operation)
    if operation.name == "tt.extern_elementwise":
        library, symbol = (operation.attributes.get(name, "") for name in ("libname", "symbol"))
        path = operation.attributes.get("libpath", "")
        if library not in ("", "libdevice") or path or not str(symbol).startswith("__nv_"):
            raise Refused(f"{symbol} of another library than libdevice", _line(operation))
    if operation.name.partition(".")[0] not in DIALECTS and operation.name not in OPERATIONS:
        raise Refused(f"{operation.name} is no operation of Triton's language", _line(operation))


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


def _built(folder: Path, path: Path, job: Mapping[str, Any]) -> dict[str, Any]:
    from triton import knobs
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget, Language
    from triton.backends.nvidia.compiler import CUDABackend

    knobs.nvidia.dump_ptxas_log = True
    target = job["target"]
    backend = CUDABackend(GPUTarget("cuda", target, 32))
    stages: dict[str, Any] = {}
    backend.add_stages(stages, backend.parse_options(dict(job["options"])), Language.TRITON)
    if target >= WRITES_DESCRIPTORS:
        del stages["ttir"]  # its passes have run; older GPUs want descriptors rewritten
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = ir.parse_mlir_module(str(path), context)
    module.context = context
    metadata: dict[str, Any] = {}
    printed = StringIO()
    before: Any = None
    try:
        with redirect_stdout(printed):
            for stage in stages.values():
                before, module = module, stage(module, metadata)
    except Exception:
        if found := _PTXAS.search(printed.getvalue()):
            raise Refused(*_in_ptx(found, before)) from None
        raise
    listing = ""
    if job["sass"]:
        cubin = folder / "kernel.cubin"
        cubin.write_bytes(module)
        listing = _listing(knobs.nvidia.nvdisasm.path, cubin)
    return _facts(printed.getvalue(), metadata, listing)


def _in_ptx(found: re.Match[str], ptx: object) -> tuple[str, int | None]:
    """Return ptxas's sentence and the line of the kernel file that its line belongs to."""
    if found["line"] is None or not isinstance(ptx, str):
        return found["text"], None
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.MULTILINE))
    above = "\n".join(ptx.splitlines()[: int(found["line"])])
    for file, line in reversed(re.findall(r"^\s*\.loc\s+(\d+)\s+(\d+)", above, re.MULTILINE)):
        if Path(files.get(file, "")).name == KERNEL:
            return found["text"], int(line)
    return found["text"], None


def _listing(program: str, cubin: Path) -> str:
    done = subprocess.run(
        [program, "-c", "-ndf", str(cubin)], capture_output=True, text=True, check=True
    )
    return done.stdout


def _facts(log: str, metadata: Mapping[str, Any], listing: str) -> dict[str, Any]:
    used, spilled = _USED.search(log), _SPILLED.search(log)
    if used is None or spilled is None:
        raise Refused("ptxas does not report the registers that it used")
    found = widths(listing)
    return {
        "registers": int(used["registers"]),
        "spills": max(int(spilled["stores"]), int(spilled["loads"])),
        "shared": metadata["shared"],
        "tensor": metadata.get("tmem_size", 0),
        "threads": 32 * metadata.get("num_warps", 1),
        "loads": dict(sorted(found.loads.items())),
        "stores": dict(sorted(found.stores.items())),
    }


# -- what the compiler says


def _diagnosed(log: Path, error: Exception, text: str = "") -> Refused:
    """Return the first error that MLIR or LLVM printed, at its line; else the exception's own."""
    said_of_it = _said(log)
    if fatal := _LLVM.search(said_of_it):
        return _fatal(fatal["text"], text)
    lines = said_of_it.splitlines()
    found = [match for line in lines if (match := _DIAGNOSTIC.match(line))]
    first = next((match for match in found if match["kind"] == "error"), None)
    if first is None:
        said = str(error).strip().splitlines()
        return Refused(said[0] if said else type(error).__name__)
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
    lines = (_line(one) for one in _operations(parse(text).entry.body) if _has(one, FLOAT8))
    return Refused(words, next(lines, None))


def _has(operation: Operation, element: str) -> bool:
    types = (*operation.operand_types, *operation.result_types)
    return any(type_.element == element for type_ in types)


def _crash(log: Path) -> Refused:
    found = _LLVM.search(_said(log) if log.exists() else "")
    if found is None:
        return Refused("Triton's compiler crashed")
    return _fatal(found["text"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
