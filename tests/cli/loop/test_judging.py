"""The judge's thread: a run that was given up says nothing, and a fault of ours is no pass."""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from loops import Script, begun

from grader.cli.loop import session, state, transitions
from grader.cli.loop.judging import JudgeThread
from grader.cli.loop.state import Change, Loop, Run, Transition, Why
from grader.grading import Options, Request, WarmJudge
from grader.grading.answers import Answer
from grader.model.errors import CannotGrade, GraderError
from grader.model.outcomes import Status

PATIENCE_S = 60
ROOT = Path(__file__).parents[3]


class Thread:
    """A judge's thread, and the loop that its transitions act on."""

    def __init__(self, loop: Loop, judge: Script | WarmJudge, log: Callable[[], str]) -> None:
        self.loop, self._posted = loop, queue.Queue[Transition]()
        self.device = "cpu"
        self.thread = JudgeThread(judge, self._posted.put, log)
        self.thread.start()

    def grade(self, text: str) -> Run:
        """Grade a kernel file with this text, as the session does."""
        kernel = self.loop.exercise.kernel
        kernel.write_text(text, encoding="utf-8")
        self.loop, deeds = transitions.looked(self.loop, text)
        if any(isinstance(one, state.Interrupt) for one in deeds):
            self.thread.interrupt()
        assert self.loop.run is not None
        request = Request(self.loop.exercise, kernel, Options(device=self.device))
        self.thread.grade(self.loop.run, request)
        return self.loop.run

    def next(self) -> Change:
        self.loop, deeds = self._posted.get(timeout=PATIENCE_S)(self.loop)
        return self.loop, deeds

    def over(self) -> Sequence[state.Deed]:
        """Let everything happen until no run is in work; return the deeds."""
        deeds: list[state.Deed] = []
        while self.loop.run is not None:
            deeds += self.next()[1]
            if any(isinstance(one, state.Grade) for one in deeds):
                return deeds
        return deeds


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Thread]]:
    made: list[Thread] = []

    def start(judge: Script | WarmJudge, log: Callable[[], str] = lambda: "") -> Thread:
        made.append(Thread(begun(tmp_path), judge, log))
        return made[-1]

    yield start
    for one in made:
        one.thread.close()


def test_answers_become_transitions(make: Callable[..., Thread]):
    thread = make(Script({"wrong": Status.FAIL}))
    thread.grade("wrong")
    (remember,) = thread.over()
    assert isinstance(remember, state.Remember)
    answer = thread.loop.answers["p01_copy"]
    assert answer.result is not None
    assert answer.result.status is Status.FAIL


def test_a_run_that_was_given_up_makes_way(make: Callable[..., Thread]):
    judge = Script({"wrong": Status.FAIL})
    thread = make(judge)
    thread.grade("wait")
    while thread.next()[0].run.step != "correctness":
        pass
    thread.grade("wrong")
    thread.over()
    assert thread.loop.answers["p01_copy"].result.status is Status.FAIL
    assert judge.asked == ["p01_copy"] * 2


def test_of_several_saves_in_a_row_only_the_last_is_graded(make: Callable[..., Thread]):
    judge = Script()
    thread = make(judge)
    thread.grade("wait")
    while thread.next()[0].run.step != "correctness":
        pass
    for text in ("1", "2", "3"):
        thread.grade(text)
    results = [one for one in thread.over() if isinstance(one, state.Remember)]
    assert len(results) == 1, "the two between were not begun, or given up at once"
    assert thread.loop.run is None


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (GraderError("The judge ended."), 2),
        (RuntimeError("a fault"), 2),
        (CannotGrade("No GPU."), 1),
    ],
)
def test_only_a_crash_is_tried_again(error: Exception, tries: int, make: Callable[..., Thread]):
    thread = make(Script({"crash": error}))
    run = thread.grade("crash")
    again = [one for one in thread.over() if isinstance(one, state.Grade)]
    assert len(again) == tries - 1
    if again:
        assert again[0].run == Run(run.number + 1, "p01_copy", Why.SAVED, again=True)
    else:
        assert thread.loop.answers["p01_copy"].error == "No GPU."


def test_what_a_judge_prints_is_noted_unless_the_kernel_passed(make: Callable[..., Thread]):
    thread = make(Script({"wrong": Status.FAIL}), lambda: "There is no picture of this case.")
    thread.grade("wrong")
    thread.over()
    assert thread.loop.note == "There is no picture of this case."
    thread.grade("right")
    thread.over()
    assert thread.loop.note == ""


def test_a_missing_file_is_no_request_to_a_judge(make: Callable[..., Thread]):
    judge = Script()
    thread = make(judge)
    run = Run(1, "p01_copy", Why.SAVED)
    thread.loop = transitions.looked(thread.loop, "x")[0]
    missing = thread.loop.exercise.folder / "gone.py"
    thread.thread.grade(run, Request(thread.loop.exercise, missing, Options(device="cpu")))
    thread.over()
    assert "does not exist" in thread.loop.answers["p01_copy"].error
    assert judge.asked == []


def test_a_judge_that_still_starts_is_not_interrupted_before_it_answers(
    make: Callable[..., Thread],
):
    """It would be lost, and with each save during its start the next one would be, too."""
    interrupted: list[str] = []

    class Starting(Script):
        def ask(self, request: Request, hear: Callable[[Answer], None]) -> None:
            assert ready.wait(PATIENCE_S)
            super().ask(request, hear)

        def interrupt(self) -> None:
            interrupted.append("interrupted")
            super().interrupt()

    ready = threading.Event()
    thread = make(Starting())
    thread.grade("1")
    thread.grade("2")
    assert interrupted == []
    ready.set()
    thread.over()
    assert thread.loop.answers["p01_copy"].result is not None


@pytest.mark.slow
def test_a_real_judge_passes_on_each_step_as_it_ends(make: Callable[..., Thread], tmp_path: Path):
    shutil.copytree(ROOT / "puzzles" / "p01_map", tmp_path / "map" / "puzzles" / "p01_map")
    thread = make(WarmJudge())
    thread.loop = session.first_loop(tmp_path / "map", None)
    thread.grade((ROOT / "solutions/p01_map/kernel.py").read_text(encoding="utf-8"))
    seen: list[tuple[str, ...]] = []
    while thread.loop.run is not None:
        if (run := thread.next()[0].run) is not None:
            seen.append(tuple(step.name for step in run.ended))
    assert seen.index(("load",)) < seen.index(("load", "correctness"))
    result = thread.loop.answers["p01_map"].result
    assert result is not None
    assert result.status is Status.PASS


@pytest.mark.gpu
@pytest.mark.slow
def test_on_a_gpu_correctness_is_shown_before_speed_is_measured(
    make: Callable[..., Thread], tmp_path: Path
):
    name = "01_vector_add"
    shutil.copytree(ROOT / "exercises" / name, tmp_path / "add" / "exercises" / name)
    thread = make(WarmJudge())
    thread.loop = session.first_loop(tmp_path / "add", None)
    thread.device = "cuda"
    thread.grade((ROOT / "solutions" / name / "kernel.py").read_text(encoding="utf-8"))
    in_work: list[tuple[str, tuple[str, ...]]] = []
    while thread.loop.run is not None:
        if (run := thread.next()[0].run) is not None:
            in_work.append((run.step, tuple(step.name for step in run.ended)))
    before_speed = next(ended for step, ended in in_work if step == "speed")
    assert "correctness" in before_speed
    result = thread.loop.answers[name].result
    assert result is not None
    assert result.steps[-1].name == "speed"
