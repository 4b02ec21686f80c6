"""The requests to a judge: one JSON object a line, whose `kind` names the task.

A judge repeats the `tag` of a request in all its answers to it: a random text that no other process
knows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from grader.course import Exercise
from grader.grading.options import Options, as_json, from_json
from grader.model import GraderError

KINDS = ("grade", "trace", "prepare")
FIELDS = {"kind", "exercise", "entry", "kernel", "options", "tag"}
LONGEST_LINE = 1 << 16  # bytes


@dataclass(frozen=True)
class Request:
    """One kernel file to grade against one exercise, or to call once and trace.

    To `prepare` means to start what grading it needs, and has no answer.
    """

    exercise: Exercise
    kernel: Path
    options: Options = field(default_factory=Options)
    task: Literal["grade", "trace", "prepare"] = "grade"


def write(request: Request, tag: str) -> bytes:
    values = {
        "kind": request.task,
        "exercise": str(request.exercise.folder.resolve()),
        "entry": request.exercise.entry,
        "kernel": str(request.kernel.resolve()),
        "options": as_json(request.options),
        "tag": tag,
    }
    return json.dumps(values).encode() + b"\n"


def read(line: bytes) -> tuple[str, Request]:
    """Return the tag and the request that `write` wrote. Raises GraderError for anything else."""
    try:
        values = json.loads(line)
        known = values.keys() == FIELDS and values["kind"] in KINDS
        known = known and isinstance(values["tag"], str) and line.endswith(b"\n")
        if known and isinstance(values["entry"], str | None):
            exercise = Exercise(Path(values["exercise"]), values["entry"])
            options, kernel = from_json(values["options"]), Path(values["kernel"])
            return values["tag"], Request(exercise, kernel, options, values["kind"])
    except (ValueError, TypeError, KeyError, AttributeError):
        pass  # it is of another form
    raise GraderError(
        f"The judge got a request that it does not know: {line[:200]!r}.",
        "This is a fault of the grader, or of an installation that mixes two versions.",
    )
