"""What `grader verify --junit` writes: valid, whole, and never a pass for what was not verified.

    PYTHONPATH=tests python tests/reports/test_junit_verify.py

writes the golden file anew.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import junit_schema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import cli
from grader.authoring import verify
from grader.authoring.verify import Verified
from grader.course.exercise import Exercise
from grader.model.errors import BrokenExercise, CannotGrade, GraderError
from grader.model.outcomes import Status
from grader.model.results import parse_result
from grader.reports.junit_verify import junit

TESTS = Path(__file__).parents[1]
GOLDEN = TESTS / "junit" / "verify.xml"
PASSED = parse_result((TESTS / "courses" / "result.json").read_bytes())


def one(
    exercise: str,
    kind: str,
    kernel: str,
    actual: str,
    expected: str | None = None,
    status: Status = Status.FAIL,
    **more: str,
) -> Verified:
    result = PASSED.model_copy(update={"status": status, "duration_s": 1.25})
    ok = expected is None
    return Verified(
        exercise=exercise,
        kind=kind,
        kernel=kernel,
        expected=actual if expected is None else expected,
        actual=actual,
        ok=ok,
        detail=more.pop("detail", ""),
        result=result,
        **more,
    )


FOUND = [
    one("05_swiglu", "stub", "stub", "not_started", status=Status.NOT_STARTED),
    one("05_swiglu", "solution", "solution", "pass", status=Status.PASS),
    one("05_swiglu", "wrong", "wrong_gelu", "correctness"),
    one("05_swiglu", "no_work", "zeros", "correctness"),
    one(
        "05_swiglu",
        "mutant",
        "mutant 3: drop_mask",
        "pass",
        "rejected",
        Status.PASS,
        change="kernel.py, line 4\n- mask=inside < 3\n+ mask=None",
        advice="Add an edge to spec.py that tells it & the solution apart.",
    ),
    one("06_cross_entropy", "stub", "stub", "not_started", status=Status.NOT_STARTED),
    one(
        "06_cross_entropy",
        "solution",
        "solution",
        "cannot_grade",
        "pass",
        Status.CANNOT_GRADE,
        detail="the GPU stopped answering: \x1b[31mXid 79\x00",
    ),
]
NAMES = ["05_swiglu", "06_cross_entropy", "07_never_came"]


def written() -> str:
    return junit(NAMES, FOUND)


def held_to_the_form(text: str) -> ET.Element:
    root = ET.fromstring(text.encode())
    assert root.tag == "testsuites"
    assert not junit_schema.faults(root)
    for suite in root:
        assert suite.tag == "testsuite"
        assert suite.attrib["name"]
        assert {child.tag for child in suite} == {"testcase"}
        stamp = suite.get("timestamp")
        assert stamp is None or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", stamp)
        for case in suite:
            assert {"name", "classname", "time"} <= set(case.attrib)
            assert len(case) <= 1
            assert {child.tag for child in case} <= {"failure", "error"}
            assert all({"message", "type"} == set(child.attrib) for child in case)
        names = [(case.get("classname"), case.get("name")) for case in suite]
        assert len(set(names)) == len(names)
    for counted in (root, *root):
        assert int(counted.attrib["tests"]) == len(counted.findall(".//testcase"))
        assert int(counted.attrib["failures"]) == len(counted.findall(".//failure"))
        assert int(counted.attrib["errors"]) == len(counted.findall(".//error"))
        assert re.fullmatch(r"\d+\.\d{3}", counted.attrib["time"])
    return root


def test_the_golden_file():
    assert written() == GOLDEN.read_text(encoding="utf-8")


def test_every_kernel_is_a_case_of_its_exercise():
    root = held_to_the_form(written())
    assert [suite.get("name") for suite in root] == NAMES
    cases = [case.get("name") for case in root.iter("testcase")]
    assert cases == [found.kernel for found in FOUND] + ["verify"]
    assert root.get("time") == "8.750"


def test_a_failure_has_change_detail_and_advice():
    (failure,) = held_to_the_form(written()).iter("failure")
    assert failure.attrib == {"message": "expected rejected, got pass", "type": "pass"}
    assert failure.text == (
        "kernel.py, line 4\n- mask=inside < 3\n+ mask=None\n"
        "Add an edge to spec.py that tells it & the solution apart."
    )


def test_what_the_machine_did_is_an_error_without_its_control_characters():
    error, _ = held_to_the_form(written()).iter("error")
    assert error.get("message") == "expected pass, got cannot_grade"
    assert error.text == "the GPU stopped answering: \ufffd[31mXid 79\ufffd"


def test_what_was_not_verified_is_never_a_pass():
    *_, error = held_to_the_form(written()).iter("error")
    assert error.get("type") == "not_verified"
    assert error.text == "grader verify ended before it reached this exercise"
    everything = held_to_the_form(junit(NAMES, [], {NAMES[0]: "it has no \x0csolution"}))
    assert [e.text for e in everything.iter("error")] == ["it has no \ufffdsolution"] + [
        "grader verify ended before it reached this exercise"
    ] * 2


texts = st.text(st.characters(codec=None), max_size=20)  # halves of characters, too


@given(kernel=texts, detail=texts, change=texts, advice=texts)
def test_any_text_is_carried(kernel: str, detail: str, change: str, advice: str):
    found = one(
        "01", "wrong", kernel, "pass", "correctness", detail=detail, change=change, advice=advice
    )
    (failure,) = held_to_the_form(junit(["01"], [found])).iter("failure")
    told = failure.text or ""
    for character in detail:
        if character.isprintable() and not character.isspace():
            assert character in told


# -- the command


@pytest.fixture
def course(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_COURSE", str(TESTS / "courses" / "small"))


@pytest.mark.usefixtures("course")
def test_the_command_writes_what_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = [one("01_double", "wrong", "wrong_x", "pass", "correctness")]
    monkeypatch.setattr(verify, "run", lambda *_: found)
    file = tmp_path / "verify.xml"
    assert cli.main(["verify", "01", "--junit", str(file)]) == 4
    assert file.read_text(encoding="utf-8") == junit(["01_double"], found)
    assert [path.name for path in tmp_path.iterdir()] == ["verify.xml"]


@pytest.mark.usefixtures("course")
def test_a_command_that_ends_early_leaves_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "verify.xml"

    def interrupted(*_: object) -> list[Verified]:
        raise KeyboardInterrupt

    monkeypatch.setattr(verify, "run", interrupted)
    assert cli.main(["verify", "01", "02", "--junit", str(file)]) == 130
    assert file.read_text(encoding="utf-8") == junit(["01_double", "02_row_sum"], [])


@pytest.mark.usefixtures("course")
@pytest.mark.parametrize(
    ("fault", "code"), [(BrokenExercise("It is so."), 4), (CannotGrade("No GPU.", "Take one."), 3)]
)
def test_an_exercise_that_cannot_be_verified_is_named_and_stops_no_other(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fault: GraderError,
    code: int,
):
    """Its fault stood on each of the others as well, and named no exercise."""

    def run(exercises: list[Exercise], *given: object) -> list[Verified]:
        given[-1](exercises[1], fault)
        return [one("01_double", "solution", "solution", "pass", status=Status.PASS)]

    monkeypatch.setattr(verify, "run", run)
    file = tmp_path / "verify.xml"
    assert cli.main(["verify", "01", "02", "--junit", str(file)]) == code
    told = capsys.readouterr()
    assert f"error: 02_row_sum cannot be verified: {fault.message}\n" in told.err
    assert ("next: Take one.\n" in told.err) == bool(fault.next_step)
    assert "01_double" in told.out
    first, second = held_to_the_form(file.read_text(encoding="utf-8"))
    assert (first.get("errors"), second.get("errors")) == ("0", "1")
    assert [error.text for error in second.iter("error")] == [fault.message]


@pytest.mark.usefixtures("course")
def test_a_file_that_cannot_be_written_is_told_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(verify, "run", lambda *_: pytest.fail("it ran"))
    for file in (tmp_path, tmp_path / "nowhere" / "verify.xml"):
        assert cli.main(["verify", "01", "--junit", str(file)]) == 2
        assert f"error: {file} cannot be written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


if __name__ == "__main__":
    GOLDEN.write_text(written(), encoding="utf-8")
