"""The judge's own part: a result stands whatever becomes of its picture, and long texts wait."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.course import Exercise
from grader.grading import judge, judge_process, pytest_run, requests, tracing
from grader.grading import result as record
from grader.grading.answers import Answer
from grader.grading.options import Options
from grader.grading.requests import Request
from grader.model.cases import Case
from grader.model.errors import BrokenExercise
from grader.model.outcomes import Status
from grader.model.results import Result, parse_result

pytestmark = pytest.mark.slow

PASSED = parse_result((Path(__file__).parents[1] / "courses" / "result.json").read_bytes())
PRINTED = "def work():\n    raise KeyError\nE   KeyError: 'x'\n924 lines more\n"


def grading(result: Result = PASSED, **options: object) -> SimpleNamespace:
    return SimpleNamespace(
        exercise=Exercise(Path("01_double")),
        options=Options(**options),
        spec=None,
        failing={},
        tracebacks=[],
        result=result,
        close=lambda: None,
    )


def test_a_result_stands_without_its_picture(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def trace_of(*_: object) -> None:
        raise BrokenExercise("The reference fails.")

    monkeypatch.setattr(tracing, "trace_of", trace_of)
    sent: list[Answer] = []
    judge._draw(grading(), Case((1,), "float32"), sent.append)
    assert [answer.kind for answer in sent] == ["step"]
    assert capsys.readouterr().err == "There is no picture of this case: The reference fails.\n"


def test_ctrl_c_before_the_judge_is_ready_ends_it_quietly(capfd: pytest.CaptureFixture[str]):
    reader, writer = os.pipe()
    started = judge_process._start(writer, None)
    started.send_signal(signal.SIGINT)
    os.close(writer)
    exercise = Exercise(Path(__file__).parents[1] / "courses" / "bad" / "exercises" / "01_copy")
    started.communicate(requests.write(Request(exercise, exercise.kernel), "7f"))
    assert started.returncode == judge_process.INTERRUPTED
    assert os.read(reader, 1) == b""
    os.close(reader)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("status", "debug", "said"),
    [
        (Status.UNFINISHED, False, "KeyError: 'x'\n"),
        (Status.UNFINISHED, True, PRINTED + "\n"),
        (Status.PASS, True, ""),
    ],
)
def test_what_pytest_printed_is_for_who_asks_with_debug(
    status: Status,
    debug: bool,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(pytest_run, "run", lambda *_: (0, PRINTED))
    monkeypatch.setattr(record, "result_of", lambda one, *_: one.result)
    ended = PASSED.model_copy(update={"status": status})
    one = grading(ended, debug=debug)
    gradings = SimpleNamespace(
        options=one.options, of=lambda folder: {None: one}, begin=lambda grading: None
    )
    assert judge._graded(gradings, one.exercise) == [ended]
    assert capsys.readouterr().err == said
