"""The backend of a kernel file: of those that its spec allows, the one whose modules it imports.

The file is parsed and never run. The judge asks once, where it binds a file to its spec.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from grader import backends
from grader.model import BrokenExercise, Spec

LONGEST = 200_000  # bytes of a kernel file; Python's parser may need much memory
MOST_NODES = 50_000


def imported_backends(spec: Spec, content: bytes) -> tuple[str, ...]:
    """List the backends of the spec whose modules a file imports; none where it is no Python."""
    if not spec.also_in:
        return ()
    imported = set(_imports(content))
    return tuple(
        name for name in spec.backends if imported.intersection(backends.find(name).modules)
    )


def backend_of(spec: Spec, content: bytes) -> str:
    """Return the one backend that a file imports, or the spec's first where it is not just one."""
    named = imported_backends(spec, content)
    return named[0] if len(named) == 1 else spec.backend


def in_backend(spec: Spec, name: str) -> Spec:
    """Return the spec for files in one of its backends.

    Raises BrokenExercise for a backend that the spec does not allow.
    """
    if name == spec.backend:
        return spec
    if name not in spec.also_in:
        raise BrokenExercise(f"{spec.title!r} allows {', '.join(spec.backends)}, and no {name}.")
    return replace(
        spec,
        backend=name,
        also_in=tuple(other for other in spec.backends if other != name),
        also=tuple(in_backend(one, name) for one in spec.also),
    )


def _imports(content: bytes) -> Iterator[str]:
    """Yield the top-level modules that a file imports anywhere in it."""
    if len(content) > LONGEST:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the learner's strings
            nodes = list(islice(ast.walk(ast.parse(content)), MOST_NODES))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
