"""Compile CUDA C++ to machine code in a process of the judge's behind walls, without a GPU.

Started as `python -I -m grader.backends.cuda.compile_cpp FOLDER ALL_S WITHOUT`: see
`grader.worker.compile_jobs`. A text is JSON, as `grader.backends.cuda.dry_run` writes it. Options
that name files are not among those that are taken over: the headers are NVIDIA's own.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from grader.backends.cuda.refusals import sentence
from grader.worker import ptxas
from grader.worker.compile_jobs import Compiler, Refused, carry_out, said, text_of
from grader.worker.sass import count_instructions

TEXTS, NUMBERS, MACROS = ("std",), ("max_register_count",), ("define_macro", "undefine_macro")
SWITCHES = (
    *("ftz", "prec_sqrt", "prec_div", "fma", "use_fast_math", "extra_device_vectorization"),
    *("restrict", "minimal", "device_as_default_execution_space", "device_int128", "lineinfo"),
    *("builtin_move_forward", "builtin_initializer_list", "debug", "device_code_optimize"),
    "disable_warnings",
)
FAMILIES = 90  # from here on a GPU has features of its own, for which sm_90a stands
_ARCH = re.compile(r"(?:sm|compute)_\d+(?P<family>[af]?)")
_PLAIN = re.compile(r"[\w+]*", re.ASCII)


@dataclass(frozen=True)
class Source:
    """A text's code, its options, the family of its GPU, and the kernel that is launched."""

    code: str
    options: dict[str, Any]
    family: str
    names: tuple[str, ...]
    kernel: str


def read(text: str) -> Source:
    """Return a kernel's source. Raises Refused for a text that no worker of ours writes."""
    try:
        value = json.loads(text)
        arch = _ARCH.fullmatch(value["arch"])
        source = Source(
            value["code"],
            dict(value["options"]),
            "" if arch is None else arch["family"],
            tuple(value["names"]),
            value["kernel"],
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused("its text is none that a kernel file compiles") from None
    texts = (source.code, source.kernel, *source.names)
    if not all(isinstance(one, str) and "\0" not in one for one in texts):
        raise Refused("its text is none that a kernel file compiles")
    for name, option in source.options.items():
        if not _is_allowed(name, option):
            raise Refused(f"the option {name!r} is not taken here")
    return source


def _is_allowed(name: str, value: Any) -> bool:
    if name in SWITCHES:
        return type(value) is bool
    if name in NUMBERS:
        return type(value) is int
    if name in TEXTS:
        return isinstance(value, str) and _PLAIN.fullmatch(value) is not None
    return name in MACROS and isinstance(value, list) and all(isinstance(one, str) for one in value)


def _load() -> None:
    with suppress(ImportError, RuntimeError):  # each job reports that it is missing
        _version()
        importlib.import_module("grader.backends.cuda.programs").headers()


def _version() -> Any:
    return importlib.import_module("cuda.bindings.nvrtc").nvrtcVersion()


def _missing() -> str | None:
    try:
        _version()
    except (ImportError, RuntimeError):
        return "NVRTC"
    return None if os.access(_nvdisasm(), os.X_OK) else "nvdisasm"


def _nvdisasm() -> Path:
    found = importlib.util.find_spec("triton")
    package = Path() if found is None or found.origin is None else Path(found.origin).parent
    return package / "backends" / "nvidia" / "bin" / "nvdisasm"


def _built(path: Path, job: Mapping[str, Any]) -> dict[str, Any]:
    from cuda.core import Program, ProgramOptions

    from grader.backends.cuda.programs import with_headers

    source, target = read(text_of(path)), job["target"]
    family = source.family if target >= FAMILIES else ""
    options = ProgramOptions(**source.options, arch=f"sm_{target}{family}", ptxas_options=["-v"])
    log = StringIO()
    program = Program(source.code, "c++", with_headers(options))
    code = program.compile("cubin", name_expressions=source.names, logs=log)
    symbol = code.symbol_mapping.get(source.kernel, source.kernel)
    entries = _entries(log.getvalue())
    own = entries.get(symbol if isinstance(symbol, str) else symbol.decode())
    if own is None:
        raise Refused(f"the source has no kernel {source.kernel}")
    counts = None
    if job["sass"] and len(entries) == 1:  # of several kernels, nothing says whose a load is
        cubin = path.with_suffix(f".{target}.cubin")
        cubin.write_bytes(code.code)
        counts = count_instructions(cubin, target, str(_nvdisasm()))
    launched = job["options"]
    return {
        **ptxas.figures(own, counts),
        "shared": ptxas.static_shared(own) + launched["shared"],
        "tensor": 0,
        "threads": 32 * launched["num_warps"],
    }


def _entries(log: str) -> dict[str, str]:
    _, *parts = re.split(r"Compiling entry function '([^']+)' for '\w+'", log)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _diagnosed(log: Path, error: Exception, text: str) -> Refused:
    return Refused(*sentence(str(error).partition("compilation log:")[2] or str(error)))


def _crashed(log: Path) -> Refused:
    words = said(log).strip().splitlines()
    return Refused(words[-1] if words else "NVIDIA's compiler crashed")


COMPILER = Compiler(_load, _missing, _built, _diagnosed, _crashed)

if __name__ == "__main__":
    carry_out(COMPILER, Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
