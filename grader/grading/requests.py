"""The requests to a judge: one JSON object a line, whose `kind` names the task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from grader.course import Exercise
from grader.grading.options import Options, as_json, from_json
from grader.model import GraderError

KINDS = ("grade", "trace")
FIELDS = {"kind", "exercise", "entry", "kernel", "options"}


@dataclass(frozen=True)
class Request:
    """One kernel file to grade against one exercise, or to call once and trace."""

    exercise: Exercise
    kernel: Path
    options: Options = field(default_factory=Options)
    task: Literal["grade", "trace"] = "grade"


def write(requests: Iterable[Request]) -> bytes:
    return b"".join(json.dumps(_as_json(request)).encode() + b"\n" for request in requests)


def _as_json(request: Request) -> dict[str, object]:
    return {
        "kind": request.task,
        "exercise": str(request.exercise.folder.resolve()),
        "entry": request.exercise.entry,
        "kernel": str(request.kernel.resolve()),
        "options": as_json(request.options),
    }


def read(lines: Iterable[bytes]) -> Sequence[Request]:
    """Read what `write` wrote. Raises GraderError for anything else."""
    return [_request(line) for line in lines]


def _request(line: bytes) -> Request:
    try:
        values = json.loads(line)
        known = values.keys() == FIELDS and values["kind"] in KINDS
        if known and isinstance(values["entry"], str | None):
            exercise = Exercise(Path(values["exercise"]), values["entry"])
            kernel = Path(values["kernel"])
            return Request(exercise, kernel, from_json(values["options"]), values["kind"])
    except (ValueError, TypeError, KeyError, AttributeError):
        pass  # it is of another form
    raise GraderError(
        f"The judge got a request that it does not know: {line[:200]!r}.",
        "This is a fault of the grader, or of an installation that mixes two versions.",
    )
