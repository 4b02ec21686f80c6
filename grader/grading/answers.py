"""The answers of a judge: one JSON object a line, with the tag of its request and one answer.

An answer's `kind` names one of these records. The reader refuses every other line: only a whole
result of this version can be a verdict.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from grader.model import (
    CannotGrade,
    GraderError,
    Record,
    Result,
    Step,
    Trace,
    first_error,
)

LONGEST_LINE = 16 << 20  # bytes; a trace of the longest kernel file has a quarter of it


class _Line(Record):
    model_config = ConfigDict(extra="forbid")


class ResultAnswer(_Line):
    """A request is graded. Where it asked for a picture, a TraceAnswer may follow."""

    kind: Literal["result"] = "result"
    result: Result


class TraceAnswer(_Line):
    """The accesses of each thread, in the case that was asked for or in the one that failed."""

    kind: Literal["trace"] = "trace"
    trace: Trace


class ErrorAnswer(_Line):
    """An error that stops the judge. Its exit code says whose fault it is."""

    kind: Literal["error"] = "error"
    message: str
    next_step: str
    exit_code: Literal[3, 4]

    def error(self) -> GraderError:
        kind = CannotGrade if self.exit_code == CannotGrade.exit_code else GraderError
        return kind(self.message, self.next_step)


class StepAnswer(_Line):
    """A step of the current request begins; `why` says for what reason it may take long."""

    kind: Literal["step"] = "step"
    step: str
    why: str


class EndedAnswer(_Line):
    """A step of the current request has ended, of `entry` where the file has several.

    Something to show early: only the result decides.
    """

    kind: Literal["ended"] = "ended"
    step: Step
    entry: str | None = None


class DoneAnswer(_Line):
    """Nothing more follows for a request: the judge waits for the next."""

    kind: Literal["done"] = "done"


Answer = ResultAnswer | TraceAnswer | StepAnswer | EndedAnswer | ErrorAnswer | DoneAnswer


class _Tagged(_Line):
    tag: str
    answer: Annotated[Answer, Field(discriminator="kind")]


_TAGGED = TypeAdapter(_Tagged)


def write(answer: Answer, tag: str) -> bytes:
    return _Tagged(tag=tag, answer=answer).model_dump_json(by_alias=True).encode() + b"\n"


def read(line: bytes, tag: str) -> Answer:
    """Parse an answer to the request with this tag.

    Raises GraderError if a line is too long, is not an answer, or answers another request. An
    error may have no tag, because it may be about reading the request.
    """
    if len(line) > LONGEST_LINE:
        raise _fault(f"a line of more than {LONGEST_LINE:,} bytes")
    try:
        tagged = _TAGGED.validate_json(line)
    except ValidationError as error:
        raise _fault(f"a line that is not an answer ({first_error(error)})") from None
    if tagged.tag != tag and not (tagged.answer.kind == "error" and not tagged.tag):
        raise _fault("an answer to something that it was not asked")
    return tagged.answer


def _fault(what: str) -> GraderError:
    return GraderError(
        f"The judge wrote {what}.",
        "This is a fault of the grader, not of the kernel; its output is above.",
    )
