"""Rules about work beside the call: streams, graphs, threads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.libraries import libraries
from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule, uses
from grader.authoring.lint.source import Source

_STREAMS = uses(
    "torch.Stream",
    "torch.cuda.ExternalStream",
    "torch.cuda.Stream",
    "torch.cuda.StreamContext",
    "torch.cuda.set_stream",
    "torch.cuda.stream",
    "torch.cuda.streams",
    of_library=lambda names: names.streams,
)


def side_streams(source: Source) -> Iterator[Match]:
    yield from _STREAMS(source)
    used = {path for _, paths in source.references for path in paths}
    made = (path.rpartition(".") for names in libraries() for path in names.streams)
    methods = {method for owner, _, method in made if owner in used}
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and node.attr in methods:
            yield Match(node, f"`.{node.attr}`")


RULES = (
    Rule(
        "KG301",
        "side-stream",
        Level.NOTE,
        "{what} puts work on a stream beside the caller's.",
        "Work on another stream can begin before the inputs are written, and end after the "
        "caller reads the output.",
        "Launch on the current stream, or have the two wait for each other: "
        "`other.wait_stream(torch.cuda.current_stream())` before, and the other way round after.",
        side_streams,
    ),
    Rule(
        "KG302",
        "cuda-graph",
        Level.NOTE,
        "{what} records launches, to be replayed later.",
        "A replay uses the addresses, sizes and numbers of the recording. Replayed for another "
        "call it writes the recording's output.",
        "Record anew for each set of addresses, shapes, strides and dtypes, and let kernels read "
        "numbers that change from the GPU's memory.",
        uses(
            "torch.cuda.CUDAGraph",
            "torch.cuda.graph",
            "torch.cuda.graphs",
            "torch.cuda.make_graphed_callables",
        ),
    ),
    Rule(
        "KG303",
        "thread",
        Level.WARNING,
        "{what} runs code beside the call.",
        "A thread can go on after the function has returned, when the clock has stopped.",
        "Do all the work in the call itself: the GPU is what runs in parallel here.",
        uses("threading", "_thread", "concurrent", "multiprocessing", "asyncio", "greenlet"),
    ),
)
