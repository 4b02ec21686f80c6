"""Reasons for which a step may take long, for somebody who waits: `slow` of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader import backends

if TYPE_CHECKING:
    from grader.grading.session import Grading


def calls(grading: Grading) -> str:
    """Say why many calls of the kernel take long on the device of this check."""
    if grading.options.device != "cpu":
        return "many cases are compiled, run and compared with torch"
    return simulated(grading)


def simulated(grading: Grading) -> str:
    if backends.find(grading.spec.backend).can.trace_threads:
        return "the CPU simulates each thread: many threads, and long loops, take long"
    return (
        "the CPU simulates each operation on a block: a loop over single elements takes long, "
        "loads of whole blocks do not"
    )


def compiling(grading: Grading) -> str:
    return "a compiler makes machine code of each kernel, for each dtype and several GPUs"


def timing(grading: Grading) -> str:
    return "the kernel and a reference kernel take turns until the share is exact"


def importing(grading: Grading) -> str:
    return "the file is imported, with the libraries that it uses"
