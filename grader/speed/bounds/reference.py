"""The bound `reference`: the time of another implementation, on inputs drawn alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from pathlib import Path
from typing import TYPE_CHECKING

from grader.speed.bound import Bound, Reference

if TYPE_CHECKING:
    from grader.model import Spec
    from grader.sandbox import CudaArena, ForkServers
    from grader.speed.slots import Slots


# At its power limit a GPU lowers its clock, and another implementation may draw more power than a
# copy: within a run of exercise 07 the clock of an H200 went from 1,980 to 1,635 MHz, and the
# reference's rate varied by up to 7.5 %. The kernel meets the same clock in the same cycle: the
# shares of the cycles varied by 2 %.
STEADY = 0.1


def work(slots: Slots) -> float:
    return 1.0  # the call itself


def reference(slots: Slots, fork_servers: ForkServers, arena: CudaArena) -> Reference:
    from grader import backends
    from grader.speed.implementation import Implementation
    from grader.speed.torch_compile import compiled

    scored, _ = slots.spec.timed
    assert scored.against is not None, "fault() lets no such spec pass"
    file = scored.against.read_bytes()
    if scored.compiled:
        file += compiled(slots.spec).encode()
    fork_server = fork_servers.fork_server(backends.reference().name, "cuda", reference=True)
    return Implementation(slots, file, fork_server, arena)


def fault(spec: Spec) -> str | None:
    from grader.speed.torch_compile import compiled_name

    scored, _ = spec.timed
    if scored.against is None:
        return "the bound reference needs `against` of `Scored`: the file of an implementation"
    if not scored.against.is_file():
        return f"`against` of `Scored` names a file that does not exist: {scored.against.name}"
    needed = {spec.entry}
    if scored.compiled:
        needed.add(compiled_name(spec))
    return _fault_of_file(scored.against, needed)


def _fault_of_file(file: Path, needed: Set[str]) -> str | None:
    """Describe why a file cannot be the implementation, which only a GPU runs."""
    try:
        statements = ast.parse(file.read_bytes(), file.name).body
    except SyntaxError as error:
        place = f"{file.name}, line {error.lineno}" if error.lineno else file.name
        return f"`against` of `Scored` names a file that is not valid Python: {place}"
    defined = {name for statement in statements for name in _names(statement)}
    missing = ", ".join(sorted(needed - defined))
    if missing and "*" not in defined:
        return f"`against` of `Scored` names a file that does not define {missing}: {file.name}"
    return None


def _names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module may define; `*` for any."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name  # and none of those inside
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):  # below `if` or `try`
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


BOUND = Bound(
    name="reference",
    unit="calls/s",
    scale=1.0,
    work=work,
    reference=reference,
    measured_by="another implementation",
    held_to="the reference's speed",
    steady=STEADY,
    fault=fault,
)
