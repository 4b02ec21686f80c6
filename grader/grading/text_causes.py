"""The likely cause of a failure without outputs to look at, from message and source alone."""

from __future__ import annotations

from grader import backends
from grader.grading.session import Grading
from grader.model import Failure, Frame, Spec
from grader.sandbox import function_around

OUTPUTS = ("value", "not_finite", "rounding", "rms", "never_written")


def with_cause_of_text(failure: Failure, grading: Grading) -> Failure:
    """Give a failure its likely cause, a closer hint and a line, where the text shows them."""
    spec = grading.exercise.any_spec
    if failure.kind in OUTPUTS or not grading.options.shrink or not isinstance(spec, Spec):
        return failure
    from grader.correctness import Evidence, endless_loop, explain

    backend = backends.find(spec.backend)
    evidence = Evidence(
        failure,
        spec,
        None,
        grading.source,
        decorator=backend.decorator,
        threads=backend.can.trace_threads,
        rounded_up=backend.hints.rounded_up,
    )
    found = explain(evidence, grading.note)
    if found is None and failure.kind == "timeout":
        line, asked = endless_loop(evidence)
        told = failure.model_copy(update={"hint": f"{failure.hint or ''} {asked}".strip() or None})
        return with_line(told, grading.source, line)
    if found is None:
        return failure
    cause, explanation = found
    named = failure.model_copy(update={"cause": cause, "hint": explanation.hint or failure.hint})
    return with_line(named, grading.source, explanation.line)


def with_line(failure: Failure, source: list[str], line: int) -> Failure:
    """Add the frame of a line to a failure that has none."""
    if failure.frames or not 0 < line <= len(source):
        return failure
    frame = Frame(line=line, function=function_around(source, line), code=source[line - 1].strip())
    return failure.model_copy(update={"frames": (frame,)})
