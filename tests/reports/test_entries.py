"""Reports of a file with several entries: which one a line is about, and what comes next."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from reported import SPEED, attempt, not_started, timed, wrong

from grader.classroom.board.site import tasks
from grader.course import catalog
from grader.grading.entries import together
from grader.model.results import Result
from grader.reports import terminal
from grader.reports.advice import next_step
from grader.reports.formats import facts, junit

SCALE = catalog.find(Path(__file__).parents[1] / "courses" / "entries", "01_scale")
SLOWER = SPEED.model_copy(update={"share": 0.7, "passing": 0.6, "great": 0.9})


def file_of(forward: Result, backward: Result) -> Result:
    return together(SCALE, [forward, backward])


WRONG = file_of(timed(), wrong("out[3] is 1, and 2 is right"))
HALF = file_of(timed(), not_started())


def slower() -> Result:
    result = timed()
    last = result.steps[-1].model_copy(update={"speed": SLOWER})
    return result.model_copy(update={"steps": (*result.steps[:-1], last)})


def test_a_terminal_shows_the_steps_of_each_entry_below_its_name():
    lines = str(terminal.check_report(WRONG, 80)).splitlines()
    forward, backward = (
        lines.index(f"scale{'10/10':>75}"),
        lines.index(f"scale_backward{'0/10':>66}"),
    )
    (failed,) = (n for n, line in enumerate(lines) if line.startswith("  ✘ correctness"))
    assert forward < backward < failed
    assert "  ✔ correctness" in lines[forward + 2]


def test_a_brief_report_still_fits_a_terminal():
    both = file_of(wrong("out[3] is 1, and 2 is right"), wrong("out[2] is 1, and 2 is right"))
    lines = str(terminal.check_report(both, 80, brief=True)).splitlines()
    assert len(lines) <= terminal.MOST_LINES
    assert sum(line.startswith("scale") for line in lines) == 2


@pytest.mark.parametrize(("backward", "great"), [(timed(), True), (slower(), False)])
def test_a_file_is_great_if_each_of_its_entries_is(backward: Result, great: bool):
    assert ("great speed" in str(terminal.check_report(file_of(timed(), backward)))) == great


def test_the_next_step_names_the_entry_that_is_not_started():
    assert next_step(HALF).startswith("write scale_backward in ")


def test_after_one_entry_the_next_step_is_the_whole_file():
    one = timed(exercise="01_scale:scale")
    assert next_step(one) == "`grader check 01_scale` checks all entries of the file"


def test_junit_has_a_test_case_for_each_step_of_each_entry():
    suite = ElementTree.fromstring(junit.document([attempt(WRONG)])).find("testsuite")
    cases = [(case.get("classname"), case.get("name")) for case in suite.iter("testcase")]
    assert len(set(cases)) == len(cases)
    assert {name.rpartition(".")[2] for name, _ in cases} == {"scale", "scale_backward"}
    failed = [
        case.get("classname") for case in suite.iter("testcase") if case.find("failure") is not None
    ]
    assert failed == ["small.01_scale.scale_backward"]


def test_formats_of_one_line_name_the_entry_in_it():
    """They read only the steps of the whole."""
    assert facts.reason(WRONG) == (
        "correctness: 7 elements of float16: scale_backward: out[3] is 1, and 2 is right"
    )
    assert facts.line_of(WRONG) == 12


def test_a_board_has_the_gates_of_the_first_entry_that_is_timed():
    (task,) = tasks([SCALE])
    assert (task.name, task.gates.passing) == ("01_scale", 0.3)
