"""The functions that a worker process carries out: probe itself, grade one part, end its judge.

A worker keeps a warm judge. It never imports a submission: the judge's own workers do. Arguments
and results are texts and bytes; what came of a submission travels as JSON.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.classroom.batch import units
from grader.course import catalog
from grader.grading import Options, Request, WarmJudge, check, two_parts
from grader.machine import nvml
from grader.model import GraderError, Result, parse_result, result_json

LONGEST_LOG = 8000  # characters of what a judge printed
# Of this process as it was started: later each job names the lane's own GPU in this variable.
_visible = os.environ.get(nvml.VISIBLE)
_turn = threading.Lock()


class _Judge:
    """The warm judge of this process, and the file that it prints to."""

    def __init__(self) -> None:
        self._printed = tempfile.TemporaryFile("a+b")  # noqa: SIM115  it is as old as its judges
        self.warm = WarmJudge(self._printed.fileno())

    def taken_log(self) -> str:
        """Return what judges have printed since the last time."""
        self._printed.seek(0)
        text = self._printed.read(4 * LONGEST_LOG).decode(errors="replace")
        self._printed.truncate(0)
        return text[:LONGEST_LOG]

    def close(self) -> None:
        self.warm.close()
        self._printed.close()


_judge: _Judge | None = None


def probe(root: str, names: list[str]) -> str:
    """Describe this worker as JSON: its machine, its GPUs, versions, the course's files, clock."""
    found: dict[str, Any] = {
        "host": socket.gethostname(),
        "gpus": [[card.uuid, card.name, card.memory] for card in nvml.visible(_visible)],
        "versions": dict(units.versions()),
        "rules": {},
        "fault": "",
    }
    try:
        folder = _root(root)
        found["rules"] = units.rules_of_all(catalog.find(folder, name) for name in names)
    except GraderError as error:
        found["fault"] = error.message
    return json.dumps(found | {"time": time.time()})


def _root(given: str) -> Path:
    """Return the course here: the folder that was given, else that of GRADER_COURSE."""
    return catalog.find_root(Path(given) if Path(given).is_dir() else None)


def grade(asked: str, content: bytes) -> str:
    """Grade one part of a kernel file, and return JSON: a result, or the fault of this machine.

    `asked` has the fields root, exercise, part, seed, gpu, hardened and first: the first part's
    result, for the second. `measure` in the answer asks for the second part.
    """
    job = json.loads(asked)
    began = time.monotonic()
    with _turn:
        judge = _judge_of(job["gpu"])
        try:
            answer = _graded(judge.warm, job, content)
        except GraderError as error:
            answer = {"fault": f"{error.message} {error.next_step}".strip()}
        except KeyboardInterrupt:
            answer = {"fault": "The judge was interrupted."}
        answer |= {"log": judge.taken_log(), "seconds": round(time.monotonic() - began, 3)}
    return json.dumps(answer)


def close() -> str:
    """End this process's judge and all that it started: nothing of it is on the GPU then."""
    global _judge
    with _turn:
        if _judge is not None:
            _judge.close()
            _judge = None
    return "{}"


def _judge_of(gpu: str) -> _Judge:
    global _judge
    if gpu:
        os.environ[nvml.VISIBLE] = gpu  # a warm judge with another one ends
    if _judge is None:
        _judge = _Judge()
    return _judge


def _graded(judge: WarmJudge, job: Mapping[str, Any], content: bytes) -> dict[str, Any]:
    exercise = catalog.find(_root(job["root"]), job["exercise"])
    options = Options(
        seed=job["seed"], device="cuda" if job["gpu"] else "cpu", hardened=job["hardened"]
    )
    with _as_file(exercise.kernel.name, content) as kernel:
        request = Request(exercise, kernel, options)
        match job["part"]:
            case "whole":
                return _answer(_asked(judge, request))
            case "first":
                first = _asked(judge, two_parts.first_part(request))
                if two_parts.reaches_measuring(request, first):
                    return _answer(first, measure=True)
                return _answer(two_parts.joined(request, first))
        first = parse_result(job["first"])
        second = _asked(judge, two_parts.second_part(request))
        return _answer(two_parts.joined(request, first, second))


def _asked(judge: WarmJudge, request: Request) -> Result:
    (result,) = check.run([request], lambda text: None, judge=judge)
    return result


def _answer(result: Result, measure: bool = False) -> dict[str, Any]:
    return {"result": json.loads(result_json(result)), "measure": measure}


@contextmanager
def _as_file(name: str, content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="grader-class-") as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        yield path
