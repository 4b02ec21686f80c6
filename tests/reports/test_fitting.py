"""Reports of failures fit a terminal, whatever went wrong; what matters most is left."""

from __future__ import annotations

import pytest
from ended_checks import (
    CORRECTNESS_FAILS,
    LOAD,
    MASK,
    PASSED,
    REPORTS,
    TOO_SLOW,
    changed,
    failed,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text
from syrupy.assertion import SnapshotAssertion

from grader.model.outcomes import Outcome, Status
from grader.model.results import Compiled, Count, Failure, Frame, Sanitized, SanitizerError, Step
from grader.reports import terminal
from grader.reports.fitting import Part, cut, fitted, joined, rows
from grader.reports.trace_boxes import BAD

WORDS = st.sampled_from(["abc", "one two"])
TEXTS = st.sampled_from(["a", "b c", "line\n" * 40, "word " * 300, "x" * 700])
FRAMES = st.lists(
    st.builds(Frame, line=st.integers(1, 9), function=WORDS, code=TEXTS), max_size=9
).map(tuple)
FAILURES = st.builds(
    Failure,
    kind=st.just("value"),
    message=TEXTS,
    expected=st.none() | TEXTS,
    got=st.none() | TEXTS,
    where=st.none() | TEXTS,
    case=st.none() | WORDS,
    replay=st.none() | WORDS,
    frames=FRAMES,
    hint=st.none() | TEXTS,
)
COMPILED = st.lists(
    st.builds(
        Compiled,
        kernel=WORDS,
        dtype=st.just("float32"),
        target=st.sampled_from([75, 80, 90, 100]),
        required=st.booleans(),
        registers=st.none() | st.integers(1, 255),
        error=st.none() | TEXTS,
    ),
    max_size=9,
).map(tuple)
COUNTS = st.lists(
    st.builds(
        Count,
        count=st.sampled_from(["barriers", "atomics"]),
        value=st.integers(0, 99),
        most=st.integers(0, 99),
        best=st.integers(0, 9),
    ),
    max_size=8,
).map(tuple)
STEPS = st.lists(
    st.builds(
        Step,
        name=st.sampled_from(["load", "correctness", "properties", "compile", "counts"]),
        outcome=st.sampled_from(Outcome),
        points=st.just(0),
        max_points=st.integers(0, 3),
        summary=st.just("") | TEXTS,
        duration_s=st.just(0.1),
        failure=st.none() | FAILURES,
        compiled=COMPILED,
        counts=COUNTS,
    ),
    max_size=9,
).map(tuple)
SANITIZED = st.lists(
    st.builds(
        Sanitized,
        tool=st.just("memcheck"),
        outcome=st.just(Outcome.FAIL),
        case=WORDS,
        summary=TEXTS,
        errors=st.lists(
            st.builds(SanitizerError, kind=WORDS, message=TEXTS, function=WORDS, frames=FRAMES),
            max_size=3,
        ).map(tuple),
    ),
    max_size=2,
).map(tuple)
PICTURES = st.lists(
    st.tuples(
        st.sampled_from(["", "", "title", "  boxes", "    │ t0 │", "    └────┘"]), st.booleans()
    ),
    max_size=90,
)
FAILED = [status for status in Status if status is not Status.PASS]


def picture_of(drawn: list[tuple[str, bool]]) -> Text:
    picture = Text("01_double · a case\n")
    for line, bad in drawn:
        picture.append(f"{line}\n", style=BAD if bad else "")
    return picture


@pytest.mark.slow
@settings(max_examples=40)
@given(STEPS, SANITIZED, st.sampled_from(FAILED), st.none() | PICTURES, st.integers(80, 120))
def test_a_failure_has_at_most_thirty_lines_and_ends_with_verdict_and_next_step(
    steps, sanitized, status, drawn, width
):
    result = changed(PASSED, steps=steps, sanitized=sanitized, status=status, message="")
    picture = None if drawn is None else picture_of(drawn)
    report = terminal.check_report(result, width, picture=picture, brief=True)
    assert rows(report, min(width, 100)) <= terminal.MOST_LINES
    above, _, step = report.plain.rpartition("\nnext: ")
    assert all(line.startswith("      ") for line in step.splitlines()[1:]), "a wrapped line"
    assert above.splitlines()[-1].startswith(f"{terminal.word_of(status)}  ")


@pytest.mark.parametrize("result", REPORTS.values(), ids=REPORTS)
def test_no_short_report_loses_a_line_of_its_failure(result):
    whole = terminal.check_report(result, 80).plain.splitlines()
    brief = terminal.check_report(result, 80, brief=True).plain
    lost = [line for line in whole if line not in brief]
    assert all(" not run: needs " in line for line in lost)


LONG = changed(
    CORRECTNESS_FAILS.steps[1].failure,
    message="\n".join(f"line {n}" for n in range(60)),
    hint="word " * 200,
    frames=tuple(Frame(line=n, function="f", code="f()") for n in range(9)),
)


def test_what_a_learner_needs_most_is_left(snapshot: SnapshotAssertion):
    steps = (LOAD, failed(CORRECTNESS_FAILS.steps[1], LONG), *CORRECTNESS_FAILS.steps[2:])
    result = changed(CORRECTNESS_FAILS, steps=steps)
    assert terminal.check_report(result, 80, brief=True).plain == snapshot


def test_of_many_steps_those_that_passed_share_a_line():
    steps = (*TOO_SLOW.steps[:5], failed(TOO_SLOW.steps[5], LONG))
    report = terminal.check_report(changed(TOO_SLOW, steps=steps), 80, brief=True).plain
    assert "✔ passed        load, correctness, properties, traffic, memory" in report
    assert str(MASK.replay) in report


BOXES = "  {0} (input), read by\n       0\n    ┌────┐\n    │ t0 │\n    └────┘\n"


def test_a_picture_stands_above_the_verdict(snapshot: SnapshotAssertion):
    picture = Text(
        f"01_double · 1 element of float32\n\ntitle\n\n{BOXES.format('x')}\nt0: thread 0\n"
    )
    report = terminal.check_report(CORRECTNESS_FAILS, 80, picture=picture, brief=True)
    assert report.plain == snapshot


def test_of_a_long_picture_the_drawing_with_the_fault_is_left(snapshot: SnapshotAssertion):
    picture = Text("01_double · 1 element of float32\n")
    for name in "abcdef":
        picture.append(f"\ntitle of {name}\n\n").append(BOXES.format(name), BAD * (name == "e"))
    picture.append("\nt0: thread 0\n")
    report = terminal.check_report(CORRECTNESS_FAILS, 80, picture=picture, brief=True)
    assert report.plain == snapshot
    assert picture.plain in terminal.check_report(CORRECTNESS_FAILS, 80, picture=picture).plain


def test_of_a_tall_drawing_the_rows_with_the_fault_are_left():
    picture = Text("01_double · 1 element of float32\n\ntitle\n\n  x (input), read by\n")
    for number in range(20):
        picture.append(
            f"      {number}\n    ┌────┐\n    │ t0 │\n    └────┘\n", BAD * (number == 17)
        )
    report = terminal.check_report(CORRECTNESS_FAILS, 80, picture=picture, brief=True).plain
    assert "title\n\n  x (input), read by\n      17\n    ┌────┐\n" in report


def test_a_picture_for_which_no_space_is_left_is_named():
    picture = Text(
        "01_double · 1 element of float32\n\ntitle\n\n  x (input), read by\n"
        + "  │\n" * 40
        + "  └\n"
    )
    report = terminal.check_report(CORRECTNESS_FAILS, 80, picture=picture, brief=True).plain
    assert "\n  `-v` draws who reads and writes what.\n" in report
    assert "│" not in report


def test_a_check_that_passed_is_printed_whole():
    assert terminal.check_report(PASSED, 80, brief=True) == terminal.check_report(PASSED, 80)


def test_the_form_of_the_lowest_rank_is_used_first():
    long, short = Text("a\n" * 5), Text("a\n")
    parts = [Part(long, ((2, short),)), Part(long, ((1, short), (3, Text())))]
    assert fitted(parts, 10, 80).plain == joined(parts).plain
    assert fitted(parts, 9, 80).plain == "a\n" * 6
    assert fitted(parts, 2, 80).plain == "a\n" * 2
    assert fitted(parts, 1, 80).plain == "a\n"


def test_what_no_form_makes_fit_is_cut_and_says_so():
    assert cut(Text("a\nb\nc\n"), 3, 80).plain == "a\nb\nc\n"
    assert cut(Text("a\nb\nc\n"), 2, 80).plain == "a\n      … 2 more lines; `-v` prints all\n"


def test_a_line_that_the_terminal_breaks_counts_as_several():
    assert rows(Text("x" * 80 + "\n"), 80) == 1
    assert rows(Text("x" * 81 + "\n\n"), 80) == 3
