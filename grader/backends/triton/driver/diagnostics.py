"""Errors that Triton's compiler only prints, as exceptions with a line.

A part of its checks is MLIR's: these print where the fault is, and the whole kernel, to the file
descriptor of standard error, and raise "error encountered during parsing" or "PassManager::run
failed".
"""

from __future__ import annotations

import ast
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import wraps
from typing import IO, Any

from triton.compiler import code_generator
from triton.compiler.errors import CompilationError
from triton.runtime.jit import get_jit_fn_file_line

_ERROR = re.compile(r"^(?P<file>.*):(?P<line>\d+):\d+: error: (?P<sentence>.+)$", re.MULTILINE)


class Diagnosed(CompilationError):
    """MLIR's first error, at its line of the kernel's function."""


class _Compiling:
    """The function that this process compiles now: stages after the first do not know it."""

    function: Any = None


@contextmanager
def diagnosed() -> Iterator[None]:
    """Raise what is printed about the function meanwhile, where Triton raises nothing better."""
    with _captured() as (errors, output):
        try:
            yield
        except RuntimeError:
            errors.seek(0)
            found = _ERROR.search(errors.read())
            if found is None or _Compiling.function is None:
                raise
            for printed in (errors, output):  # it is the whole kernel
                printed.seek(0)
                printed.truncate()
            raise _at_its_line(_Compiling.function, found) from None


def _at_its_line(function: Any, found: re.Match[str]) -> Diagnosed:
    file, begin = get_jit_fn_file_line(function)
    node = ast.Pass(lineno=int(found["line"]) - begin + 1, col_offset=0)
    inside = found["file"] == file
    return Diagnosed(function.src, node if inside else ast.Pass(), found["sentence"])


@contextmanager
def _captured() -> Iterator[tuple[IO[str], IO[str]]]:
    """Keep what is written to standard error and printed meanwhile, and write it at the end."""
    sys.stderr.flush()
    saved = os.dup(2)
    output = io.StringIO()
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        os.dup2(errors.fileno(), 2)
        try:
            with redirect_stdout(output):
                yield errors, output
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
            errors.seek(0)
            sys.stderr.write(errors.read())
            sys.stdout.write(output.getvalue())


def install() -> None:
    """Diagnose the checks at the end of the translation from Python to TTIR."""
    translate: Callable[..., Any] = code_generator.ast_to_ttir

    @wraps(translate)
    def ast_to_ttir(fn: Any, *args: Any, **options: Any) -> Any:
        _Compiling.function = fn
        with diagnosed():
            return translate(fn, *args, **options)

    code_generator.ast_to_ttir = ast_to_ttir
