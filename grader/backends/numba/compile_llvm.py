"""Compile numba's LLVM code to machine code in a process of the judge's, without a GPU.

Started as `python -I -m grader.backends.numba.compile_llvm FOLDER ALL_S WITHOUT`: see
`grader.worker.compile_jobs`. A text is JSON, `{"modules": [LLVM's texts…], "fastmath", "opt"}`,
as `grader.backends.numba.simulator.launched` writes it. NVIDIA's library NVVM, which is optional,
makes PTX of the modules, as on a GPU; ptxas, nvdisasm and libdevice come with Triton.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.worker import ptxas
from grader.worker.compile_jobs import Compiler, Killed, Refused, carry_out, said, text_of
from grader.worker.sass import count_instructions

# The newer ptxas of two: NVVM's PTX is of its own version of CUDA.
PTXAS, NVDISASM, LIBDEVICE = "ptxas-blackwell", "nvdisasm", "libdevice.10.bc"
MOST_MODULES = 256  # a kernel's own, and one for each function that it calls

# As LLVM reads it: \r ends a comment, too, and i32asm, 1.0asm and %0asm end in a keyword.
_LEXEME = re.compile(
    r';[^\n\r]*|"(?P<text>[^"]*)"|@(?:"(?P<quoted>[^"]*)"|(?P<bare>\d+|[-\w.$]+))'
    r"|[%$!#](?:\d+|[-\w.$]+)|(?P<word>[-\w.$]+)(?P<label>:?)|(?P<slash>/)",
    re.ASCII,
)
_KEYWORD = re.compile(r"(?:.*[\d.])?(?P<keyword>asm|declare|define)", re.ASCII)
# The instructions that numba itself writes as assembly.
_ASSEMBLY = re.compile(
    r"activemask\.b32 \$0;|mov\.u32 \$0, %(?:lanemask_lt|dynamic_smem_size);|brkpt;"
    r"|nanosleep\.u32 \$0;|tanh\.approx\.f32 \$0, \$1;|cvt(?:\.\w+)+ \$0, \$1;"
    r"|ld\.global(?:\.\w+)+ \$0, \[\$1\];|st\.global(?:\.\w+)+ \[\$0\], \$1;"
)
# What a module may take from outside: LLVM's intrinsics, libdevice, and what each GPU's driver has.
_KNOWN = re.compile(r"llvm\.[\w.]+|__nv_\w+|vprintf|__assertfail|malloc|free")
# Of NVIDIA's libraries, which a launch on a GPU links: a barrier of the grid, float16 in CUDA C++.
_LINKED = re.compile(r"cudaCG\w+|\w+_nbst")
_OTHER_VERSION = re.compile(r"Unsupported \.version [\d.]+; current version is '(?P<own>[\d.]+)'")
# "kernel (17, 29): parse use of …" and "error: Error: : Function …".
_BEFORE_WORDS = re.compile(r"^(?:\S+ \(\d+, \d+\): parse|(?:\s*(?:[Ee]rror)?\s*:)+)\s*")
_LLVM = re.compile(r"LLVM ERROR: (?P<text>.+)")


@dataclass(frozen=True)
class Source:
    """A text's modules and options. With `links` a launch adds code that is not in the modules."""

    modules: tuple[str, ...]
    fastmath: bool
    opt: bool
    links: bool


# -- before LLVM sees it


def read(text: str) -> Source:
    """Return a kernel's source. Raises Refused for code that numba's compiler does not write."""
    try:
        value = json.loads(text)
        modules, fastmath, opt = value["modules"], value["fastmath"], value["opt"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused("its code is none that numba writes") from None
    if type(fastmath) is not bool or type(opt) is not bool or not _are_texts(modules):
        raise Refused("its code is none that numba writes")
    declared: set[str] = set()
    defined: set[str] = set()
    for module in modules:
        _sort_functions(_lexemes(module), declared, defined)
    missing = sorted(name for name in declared - defined if not _KNOWN.fullmatch(name))
    for name in missing:
        if not _LINKED.fullmatch(name):
            raise Refused(f"{name} is a function of another library")
    return Source(tuple(modules), fastmath, opt, bool(missing))


def _are_texts(modules: Any) -> bool:
    return (
        isinstance(modules, list)
        and 0 < len(modules) <= MOST_MODULES
        and all(isinstance(module, str) and "\0" not in module for module in modules)
    )


def _lexemes(module: str) -> Iterator[tuple[str, str]]:
    """Yield the keywords, texts and global names of LLVM's code, without its comments.

    Keywords are those of `_KEYWORD`. Raises Refused for a comment between /* and */, which only
    newer versions of LLVM read.
    """
    for found in _LEXEME.finditer(module):
        if found["slash"]:
            raise Refused("its code is none that numba writes")
        if found["word"] is not None and not found["label"]:
            if keyword := _KEYWORD.fullmatch(found["word"]):
                yield "keyword", keyword["keyword"]
        elif found["text"] is not None:
            yield "text", found["text"]
        elif (name := found["quoted"] or found["bare"]) is not None:
            yield "name", name


def _sort_functions(
    lexemes: Iterator[tuple[str, str]], declared: set[str], defined: set[str]
) -> None:
    """Add each function to one of the sets. Raises Refused for assembly that is not numba's."""
    for kind, text in lexemes:
        if kind != "keyword":
            continue
        if text == "asm":
            template = next((given for of, given in lexemes if of == "text"), "")
            if not _ASSEMBLY.fullmatch(template):
                raise Refused("inline assembly is not compiled here")
        else:
            name = next((given for of, given in lexemes if of == "name"), "")
            (declared if text == "declare" else defined).add(name)


# -- NVIDIA's tools


def _nvvm() -> Any:
    return importlib.import_module("cuda.bindings.nvvm")


def _load() -> None:
    with suppress(ImportError, RuntimeError):  # each job reports that it is missing
        _nvvm().version()


def _missing() -> str | None:
    for name in (PTXAS, NVDISASM):
        if not os.access(_tool(name), os.X_OK):
            return name
    if not _tool(LIBDEVICE).exists():
        return LIBDEVICE
    try:
        _nvvm().version()
    except (ImportError, RuntimeError):
        return "NVVM"
    return None


def _tool(name: str) -> Path:
    """Return the place of a tool in Triton's package, which is not imported."""
    found = importlib.util.find_spec("triton")
    package = Path() if found is None or found.origin is None else Path(found.origin).parent
    return package / "backends" / "nvidia" / ("lib" if name == LIBDEVICE else "bin") / name


def _built(path: Path, job: Mapping[str, Any]) -> dict[str, Any]:
    source, options = read(text_of(path)), job["options"]
    architecture = f"{job['target']}a" if job["target"] >= 90 else f"{job['target']}"  # as numba
    ptx, cubin = _ptx(source, architecture), path.with_suffix(f".{architecture}.cubin")
    command = [str(_tool(PTXAS)), "--verbose", f"--gpu-name=sm_{architecture}", "-o", str(cubin)]
    command += [f"--maxrregcount={options['maxnreg']}"] if options["maxnreg"] else []
    command += ["--compile-only"] if source.links else []
    log = _assembled(command, ptx, path.with_suffix(f".{architecture}.ptx"))
    nvdisasm = str(_tool(NVDISASM))
    counts = count_instructions(cubin, job["target"], nvdisasm) if job["sass"] else None
    return {
        **ptxas.figures(log, counts),
        "shared": ptxas.static_shared(log) + options["shared"],
        "tensor": 0,
        "threads": 32 * options["num_warps"],
    }


def _ptx(source: Source, architecture: str) -> str:
    nvvm = _nvvm()
    options = [f"-arch=compute_{architecture}", f"-opt={3 if source.opt else 0}"]
    options += ["-ftz=1", "-fma=1", "-prec-div=0", "-prec-sqrt=0"] if source.fastmath else []
    program = nvvm.create_program()
    try:
        for module in source.modules:
            _add(nvvm.add_module_to_program, program, module.encode())
        nvvm.verify_program(program, len(options), options)
        # Behind the verification, to which libdevice does not hold.
        _add(nvvm.lazy_add_module_to_program, program, _tool(LIBDEVICE).read_bytes())
        nvvm.compile_program(program, len(options), options)
    except nvvm.nvvmError as error:
        raise Refused(_sentence(_said(nvvm, program)) or str(error)) from None
    ptx = bytearray(nvvm.get_compiled_result_size(program))
    nvvm.get_compiled_result(program, ptx)
    return ptx.decode(errors="replace").rstrip("\0")


def _add(add: Any, program: Any, code: bytes) -> None:
    add(program, code, len(code), "kernel")


def _said(nvvm: Any, program: Any) -> str:
    log = bytearray(nvvm.get_program_log_size(program))
    nvvm.get_program_log(program, log)
    return log.decode(errors="replace").rstrip("\0")


def _sentence(log: str) -> str:
    """Return what NVVM says, which may be several lines, without its form."""
    return _BEFORE_WORDS.sub("", " ".join(log.split()))


def _assembled(command: Sequence[str], ptx: str, path: Path) -> str:
    """Return ptxas's log. Raises Refused where it refuses the code.

    NVVM may be newer than ptxas. numba uses nothing of the newest PTX, so a version that ptxas does
    not know yet becomes its own.
    """
    log = _run(command, ptx, path)
    if other := _OTHER_VERSION.search(log):
        version = f".version {other['own']}"
        log = _run(command, re.sub(r"^\.version .*", version, ptx, flags=re.MULTILINE), path)
    if refused := ptxas.refusal(log, ptx):
        raise refused
    return log


def _run(command: Sequence[str], ptx: str, path: Path) -> str:
    path.write_text(ptx)
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGKILL:
        raise Killed
    return done.stderr + done.stdout


def _diagnosed(log: Path, error: Exception, text: str) -> Refused:
    words = str(error).strip().splitlines()
    return Refused(words[0] if words else type(error).__name__)


def _crashed(log: Path) -> Refused:
    found = _LLVM.search(said(log))
    return Refused("NVIDIA's compiler crashed" if found is None else found["text"])


COMPILER = Compiler(_load, _missing, _built, _diagnosed, _crashed)

if __name__ == "__main__":
    carry_out(COMPILER, Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
