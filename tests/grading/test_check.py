"""The command's side of a check: what it believes of what comes back from a judge."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader import cli
from grader.course import Exercise, catalog
from grader.grading import answers, check, judge_process
from grader.grading.options import Options
from grader.model.errors import CannotGrade, GraderError
from grader.model.results import Result

pytestmark = pytest.mark.slow

ROOT = catalog.find_root(Path(__file__).parents[1])
ADD = catalog.find(ROOT, "01_vector_add")
RESULT = {
    "schema": "grader/result/v1",
    "exercise": "01_vector_add",
    "title": "",
    "status": "pass",
    "points": 10,
    "max_points": 10,
    "kernel": {"path": "kernel.py", "sha256": ""},
    "environment": {"grader": "0", "python": "3", "device": "cpu", "simulated": True},
    "seed": 7,
    "started_at": "",
    "duration_s": 1.5,
    "steps": [],
}


TAG = "the tag of the request"  # a stand-in writes the real one in its place


def said(answer: object, tag: str = TAG) -> str:
    return json.dumps({"tag": tag, "answer": answer}) + "\n"


ANSWER = said({"kind": "result", "result": RESULT})
DONE = said({"kind": "done"})
ERROR = {"kind": "error", "message": "No GPU.", "next_step": "Take another.", "exit_code": 3}

PYTHON = sys.executable


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make checks start a program in the judge's place that writes a text and ends with a code.

    It reads one request, whose tag takes the place of TAG.
    """

    def stand_in(text: str, code: int = 0) -> None:
        program = tmp_path / "judge"
        (tmp_path / "said").write_bytes(text.encode())
        program.write_text(
            f"#!{PYTHON}\n"
            "import json, os, sys\n"
            "tag = json.loads(sys.stdin.buffer.readline())['tag'].encode()\n"
            f"said = open({str(tmp_path / 'said')!r}, 'rb').read().replace({TAG.encode()!r}, tag)\n"
            "while said:\n"
            "    said = said[os.write(int(sys.argv[-1]), said):]\n"
            f"os._exit({code})\n"
        )
        program.chmod(0o755)
        monkeypatch.setattr(judge_process.sys, "executable", str(program))

    return stand_in


def graded(options: Options | None = None) -> list[str]:
    request = check.Request(ADD, ADD.solution, options or Options())
    return [result.status.value for result in check.run([request], lambda text: None)]


def test_a_judge_that_came_to_its_end_is_believed(judge):
    judge(ANSWER + DONE)
    assert graded() == ["pass"]


def test_what_an_interrupted_judge_has_answered_is_kept(judge):
    judge(ANSWER, 130)
    assert graded() == ["pass"]


@pytest.mark.parametrize(("results", "code"), [(0, 0), (1, 1), (1, 9), (0, 130)], ids=str)
def test_a_verdict_that_something_else_may_have_written_is_none(
    judge, results: int, code: int, snapshot: SnapshotAssertion
):
    """A kernel file that reached the judge's pipe, and ended the judge, would say more or less."""
    judge(ANSWER * results, code)
    with pytest.raises(GraderError) as caught:
        graded()
    assert text_of(caught.value) == snapshot


@pytest.mark.parametrize("code", [1, 130, -9])
def test_a_judge_that_is_done_must_end_by_itself(judge, code: int, snapshot: SnapshotAssertion):
    """Else what wrote its last answers may have ended it, too."""
    judge(ANSWER + DONE, code)
    with pytest.raises(GraderError) as caught:
        graded()
    assert text_of(caught.value) == snapshot


@pytest.mark.parametrize("tag", ["", "another"])
def test_only_who_knows_the_request_can_answer_it(judge, tag: str, snapshot: SnapshotAssertion):
    judge(said({"kind": "result", "result": RESULT}, tag) + DONE)
    with pytest.raises(GraderError) as caught:
        graded()
    assert text_of(caught.value) == snapshot


def test_a_request_without_a_result_is_not_done(judge, snapshot: SnapshotAssertion):
    judge(DONE)
    with pytest.raises(GraderError) as caught:
        graded()
    assert text_of(caught.value) == snapshot


@pytest.mark.parametrize("code", [0, 1, 130])
def test_a_judge_that_dies_within_an_answer_is_not_believed(
    judge, code: int, snapshot: SnapshotAssertion
):
    judge(ANSWER + ANSWER.rstrip(), code)
    with pytest.raises(GraderError) as caught:
        graded()
    assert text_of(caught.value) == snapshot


@pytest.mark.parametrize("more", [ANSWER, DONE + ANSWER], ids=["before done", "after it"])
@pytest.mark.parametrize("code", [0, 130])
def test_more_answers_than_requests_are_refused(
    judge, code: int, more: str, snapshot: SnapshotAssertion
):
    judge(ANSWER + more, code)
    with pytest.raises(GraderError) as caught:
        graded()
    assert text_of(caught.value) == snapshot


def test_a_picture_comes_only_where_one_is_wanted(judge, snapshot: SnapshotAssertion):
    trace = {"schema": "grader/trace/v1", "exercise": "", "case": "", "source": []}
    judge(ANSWER + said({"kind": "trace", "trace": trace}) + DONE)
    assert graded(Options(picture=True)) == ["pass"]
    with pytest.raises(GraderError) as caught:
        graded()
    assert text_of(caught.value) == snapshot


STEP = said({"kind": "step", "step": "load", "why": "it is large"})


def test_the_step_in_work_is_named_and_settles_nothing(judge):
    judge(STEP + ANSWER + DONE)
    seen: list[str] = []
    request = check.Request(ADD, ADD.solution, Options())
    check.run(
        [request],
        lambda text: seen.append(text),
        lambda result: seen.append("result"),
        on_step=lambda *step: seen.append(": ".join(step)),
    )
    assert seen == [
        "grading 01_vector_add …",
        f"grading 01_vector_add …: {check.STARTING}",
        "grading 01_vector_add: load …: it is large",
        "result",
    ]
    judge(STEP)
    with pytest.raises(GraderError, match="before it had graded everything"):
        graded()


ENDED = {
    "kind": "ended",
    "step": {
        "name": "load",
        "outcome": "pass",
        "points": 0,
        "max_points": 0,
        "summary": "",
        "duration_s": 0.1,
    },
}


def test_a_step_that_ended_settles_nothing(judge):
    judge(STEP + said(ENDED) + ANSWER + DONE)
    assert graded() == ["pass"]
    judge(said(ENDED))
    with pytest.raises(GraderError, match="before it had graded everything"):
        graded()
    judge(ANSWER + said(ENDED) + DONE)
    with pytest.raises(GraderError, match="a ended after the result"):
        graded(Options(picture=True))


def test_after_the_last_result_no_step_begins_but_that_of_a_picture(judge):
    judge(ANSWER + STEP + DONE)
    assert graded(Options(picture=True)) == ["pass"]
    with pytest.raises(GraderError, match="unexpected answer: a step after the result"):
        graded()


def test_what_a_judge_cannot_do_is_raised(judge, snapshot: SnapshotAssertion):
    judge(said(ERROR))
    with pytest.raises(CannotGrade) as caught:
        graded()
    assert text_of(caught.value) == snapshot
    judge(said(ERROR | {"exit_code": 4}, tag=""))  # of what was asked, it could read nothing
    with pytest.raises(GraderError) as caught:
        graded()
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    "answer",
    [
        RESULT,  # without a kind
        {"kind": "verdict", "result": RESULT},
        {"kind": "result", "result": RESULT, "points": 10},
        {"kind": "result", "result": RESULT | {"status": "fine"}},
        {"kind": "result", "result": RESULT | {"schema": "grader/result/v0"}},
        {"kind": "result"},
        ERROR | {"exit_code": 0},
        [],
        "pass",
    ],
    ids=str,
)
def test_a_line_of_any_other_form_is_refused(judge, answer: object, snapshot: SnapshotAssertion):
    judge(said(answer))
    with pytest.raises(GraderError) as caught:
        graded()
    assert text_of(caught.value) == snapshot


def test_a_line_that_is_no_json_is_refused(judge, snapshot: SnapshotAssertion):
    judge("Fatal Python error\n" + ANSWER)
    with pytest.raises(GraderError) as caught:
        graded()
    assert text_of(caught.value) == snapshot


def test_a_line_without_end_is_refused(
    judge, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    monkeypatch.setattr(answers, "LONGEST_LINE", 1000)
    monkeypatch.setattr(judge_process, "STOP_S", 0.0)  # this one, which still writes, never stops
    judge("x" * 100_000)
    with pytest.raises(GraderError) as caught:
        graded()
    assert text_of(caught.value) == snapshot


FAILING = f"""#!{PYTHON}
import os, sys
from grader.grading import judge

def graded(*_):
    raise LookupError("no such thing\\nat all")

judge._graded = graded
os._exit(judge.main(sys.argv[-1:]))
"""


@pytest.mark.parametrize("debug", [False, True])
def test_a_fault_of_the_judge_is_named_in_three_lines(
    debug: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    """What pytest prints of it, and Python, is for who asks with --debug."""
    program = tmp_path / "judge"
    program.write_text(FAILING)
    program.chmod(0o755)
    monkeypatch.setattr(judge_process.sys, "executable", str(program))
    options = ["--solution", "--device", "cpu", *["--debug"] * debug]
    assert cli.main(["check", "p01_map", *options]) == 4
    said = capfd.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert lines[-3:] == [
        "error: The judge failed: LookupError: no such thing",
        "This is a fault of the grader, not of your kernel.",
        "next: Report it to whoever runs the course, with what `grader check NAME --debug` prints.",
    ]
    assert len(lines) == 4 or debug
    assert ("Traceback (most recent call last):" in lines) is debug


def properties(result: Result) -> str:
    (step,) = (step for step in result.steps if step.name == "properties")
    return step.summary


HELPED = """
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import helper


def test_its_own_helper(kernel):
    assert Path(helper.__file__).parent == Path(__file__).parent
"""


def helped(root: Path, name: str) -> Exercise:
    """Copy an exercise; its tests import a helper.py beside them."""
    one = catalog.find(ROOT, name)
    for folder in (one.folder, one.answers):
        shutil.copytree(folder, root / folder.relative_to(ROOT))
    made = catalog.find(root, name)
    made.tests.write_text(HELPED)
    made.tests.with_name("helper.py").write_text("")
    # pytest would take it for a package, and import it.
    (made.folder.parent / "__init__.py").write_text("raise OSError")
    return made


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[Result]]:
    """Two exercises, one of them twice, and copies with helpers: what one judge tells of all."""
    names, told = ("p01_map", "p02_zip"), []
    first, second = (catalog.find(ROOT, name) for name in names)
    root = tmp_path_factory.mktemp("course")
    exercises = [first, first, second, *(helped(root, name) for name in names)]
    requests = [check.Request(one, one.solution, Options(device="cpu")) for one in exercises]
    results = check.run(
        requests, told.append, lambda result: told.append(f"{result.exercise}: {result.status}")
    )
    return told, results


def test_one_judge_grades_several_exercises_each_by_its_own_tests(
    together: tuple[list[str], list[Result]],
):
    """All of their files are called test_kernel.py: pytest took the first for those of the rest."""
    told, results = together
    assert told[:5] == [
        *("grading p01_map …", "p01_map: pass", "p01_map: pass"),
        *("grading p02_zip …", "p02_zip: pass"),
    ]
    first, again, second = map(properties, results[:3])
    assert first == again
    assert "own place only" in first
    assert "swapped arrays turn the sign" in second


def test_what_an_exercises_tests_import_is_not_the_nexts(
    together: tuple[list[str], list[Result]],
):
    """Nor where they look for it: two exercises may each have a helper.py beside their tests."""
    _, results = together
    assert [str(result.status) for result in results[3:]] == ["pass", "pass"]
    assert ["own helper" in properties(result) for result in results[3:]] == [True, True]


def test_several_exercises_have_one_judge(monkeypatch: pytest.MonkeyPatch):
    """What it imports takes as long as to grade two puzzles."""
    started: list[int] = []
    monkeypatch.setattr(judge_process, "ask", lambda some, hear: started.append(len(some)))
    check.run([check.Request(one, one.solution) for one in catalog.exercises(ROOT)], print)
    assert started == [len(catalog.exercises(ROOT))]


def test_nothing_to_grade_starts_no_judge(judge):
    judge("", code=1)
    assert check.run([], print) == []
