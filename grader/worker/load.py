"""Import one kernel file by its path and find the entry in it."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

_numbers = itertools.count()


class LoadError(Exception):
    """The file has no entry that can be called as the exercise says. `kind` is a stable word."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def load_entry(path: Path, entry: str, parameters: Sequence[str]) -> Callable[..., object]:
    """Import the file and return its function `entry`, which must take these parameters.

    Raises LoadError, or any error of the file's own code during the import.
    """
    # A unique name shadows no installed module, and reuses none.
    name = f"learner_kernel_{next(_numbers)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if b"\0" in path.read_bytes():  # Python before 3.11.4 would raise a ValueError
        raise SyntaxError("source code string cannot contain null bytes")
    spec.loader.exec_module(module)
    function = getattr(module, entry, None)
    if function is None:
        raise LoadError("missing_entry", _missing(entry, parameters, vars(module)))
    if not callable(function):
        raise LoadError(
            "not_callable",
            f"{entry} is of type {type(function).__name__} and cannot be called. "
            f"Define it as: def {entry}({', '.join(parameters)}):",
        )
    if hasattr(type(function), "__getitem__"):  # a kernel takes its grid there
        raise LoadError(
            "not_callable",
            f"{entry} is a kernel, which needs a grid. Give it another name, and launch it in "
            f"def {entry}({', '.join(parameters)}): the grader calls that function.",
        )
    _check_parameters(function, entry, parameters)
    return function  # type: ignore[no-any-return]


def _missing(entry: str, parameters: Sequence[str], names: dict[str, object]) -> str:
    own = [n for n, value in names.items() if callable(value) and not n.startswith("_")]
    close = difflib.get_close_matches(entry, own, n=1, cutoff=0.6)
    hint = f" There is {close[0]}: rename it." if close else ""
    return f"The file defines no function {entry}({', '.join(parameters)}).{hint}"


def _check_parameters(
    function: Callable[..., object], entry: str, parameters: Sequence[str]
) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # no signature to check; the first call will show
    try:
        signature.bind(*parameters)
    except TypeError:
        raise LoadError(
            "parameters",
            f"{entry}{signature} cannot take the {len(parameters)} arguments of the grader's "
            f"call. Write: def {entry}({', '.join(parameters)}):",
        ) from None
