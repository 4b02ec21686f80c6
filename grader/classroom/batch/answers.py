"""The answers of workers, as JSON that is read like any other that crosses a wall."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import ValidationError

from grader.classroom.batch.collect import why_of
from grader.model import Result, Status, parse_result, verdict


@dataclass(frozen=True)
class Answer:
    """A worker's answer about one part."""

    result: Result | None = None
    measure: bool = False
    fault: str = ""
    log: str = ""
    seconds: float = 0.0

    @classmethod
    def read(cls, text: str) -> Answer:
        try:
            said = json.loads(text)
            log, seconds = str(said["log"]), float(said["seconds"])
            if "fault" in said:
                return cls(fault=str(said["fault"]) or "no reason", log=log, seconds=seconds)
            result = parse_result(json.dumps(said["result"]))
            return cls(result, said["measure"] is True, log=log, seconds=seconds)
        except (ValueError, KeyError, TypeError, ValidationError):
            return cls(fault="the worker answered something that this grader does not know")

    @property
    def words(self) -> str:
        if self.result is None:
            return self.fault
        if self.measure:
            return "all outputs compared; to be measured"
        points = f"{self.result.points} of {self.result.max_points} points"
        return f"{self.result.status}, {points}. {why_of(self.result)}".rstrip()


def may_change(result: Result) -> bool:
    """Report whether another try may end otherwise.

    It does not where the exercise is broken, or where no simulator knows the kernel.
    """
    broken = result.status is Status.ERROR
    return not broken and not any(map(verdict.not_simulated, result.steps))
