"""Names of cuda.core that a kernel file may not use, with a GPU or without one.

Ready-made machine code is nobody's exercise, and no reader can review it. A graph of cuda.core is
replayed by C code that cannot be switched off in the check without kernels.
"""

from __future__ import annotations

from typing import Any, NoReturn

from cuda import core
from cuda.core import graph

from grader.backends.cuda.refusals import LaunchRefused

READY_MADE = ("from_cubin", "from_fatbin", "from_library", "from_ltoir", "from_object")
GRAPH = "a graph of cuda.core cannot be switched off, so the file may not record one"
Builder = graph.GraphBuilder


def _refused(message: str) -> Any:
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise LaunchRefused(message)

    return refuse


ObjectCode = type(
    "ObjectCode",
    (core.ObjectCode,),
    {
        name: staticmethod(_refused(f"ObjectCode.{name} loads machine code, and no source"))
        for name in READY_MADE
    },
)
GraphDefinition = type("GraphDefinition", (), {"__init__": _refused(GRAPH)})
record_graph = _refused(GRAPH)  # in place of `create_graph_builder`


def install() -> None:
    """Put refusals in the place of these names, before a kernel file imports them."""
    core.ObjectCode = ObjectCode
    graph.GraphDefinition = GraphDefinition
    core.Device.create_graph_builder = record_graph
