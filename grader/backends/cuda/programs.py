"""NVIDIA's `Program`, whose errors name the learner's lines and which finds NVIDIA's headers."""

from __future__ import annotations

import functools
import linecache
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from cuda import core, pathfinder

from grader.backends.cuda.lines import numbered
from grader.backends.cuda.refusals import KERNEL, NotCompiled, sentence

REFUSED = ("NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_INVALID_OPTION")
compiled: list[Any] = []  # the code of all programs of this process: a kernel names none


class Program(core.Program):  # type: ignore[misc]
    """A source that a kernel file compiles."""

    def __init__(
        self, code: Any, code_type: Any, options: core.ProgramOptions | None = None
    ) -> None:
        self.file = _kernel_file()
        options = options or core.ProgramOptions()
        if str(code_type).lower() == "c++" and isinstance(code, str):
            code = numbered(code, [line.rstrip("\n") for line in linecache.getlines(self.file)])
            options = with_headers(options)
        self.code, self.options = code, options
        super().__init__(code, code_type, options)

    def compile(self, *args: Any, **options: Any) -> Any:
        """Compile the source. Raises NotCompiled where NVRTC refuses it."""
        try:
            built = super().compile(*args, **options)
        except Exception as error:
            if not any(name in str(error) for name in REFUSED):
                raise
            said, line = sentence(str(error).partition("compilation log:")[2])
            raise NotCompiled(said, None if line is None else (self.file, line)) from None
        compiled.append(built)
        return built


def _kernel_file() -> str:
    """Return the path of the kernel file whose code is running; "" if no file's code is."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if Path(frame.f_code.co_filename).name == KERNEL:
            return frame.f_code.co_filename
        frame = frame.f_back
    return ""


def with_headers(options: core.ProgramOptions) -> core.ProgramOptions:
    """Add the folders of NVIDIA's headers, as nvcc does, behind those that the file names."""
    given = options.include_path or []
    own = [given] if isinstance(given, str) else list(given)
    return replace(options, include_path=[*own, *headers()])


@functools.cache
def headers() -> tuple[str, ...]:
    found = (pathfinder.find_nvidia_header_directory(name) for name in ("cudart", "cccl"))
    return tuple(folder for folder in found if folder is not None)
