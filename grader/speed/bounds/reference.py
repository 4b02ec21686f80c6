"""The bound `reference`: the time of another implementation, on inputs drawn alike."""

from __future__ import annotations

import ast
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
    scored, _ = spec.timed
    if scored.against is None:
        return "the bound reference needs `against` of `Scored`: the file of an implementation"
    if not scored.against.is_file():
        return f"`against` of `Scored` names a file that does not exist: {scored.against.name}"
    return _fault_of_file(scored.against, spec.entry)


def _fault_of_file(file: Path, entry: str) -> str | None:
    """Read the implementation, which only a GPU runs: a wrong name would come out there."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes(), file.name)))
    except SyntaxError as error:
        place = f"{file.name}, line {error.lineno}"
        return f"`against` of `Scored` names a file that is no Python: {place}"
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    defined |= {node.id for node in nodes if isinstance(node, ast.Name)}  # `rms = other.rms`
    defined |= {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    if entry not in defined:
        return f"`against` of `Scored` names a file that does not define {entry}: {file.name}"
    return None


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
