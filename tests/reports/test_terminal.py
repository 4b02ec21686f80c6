"""What people read: whole reports, as they stand on a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ended_checks import (
    CORRECTNESS,
    CORRECTNESS_FAILS,
    CRASHED,
    GREAT,
    LOAD,
    MASK,
    MEASURED,
    ON_A_GPU,
    PASSED,
    PROPERTIES,
    REPORTS,
    TRAFFIC,
    changed,
    failed,
)
from rich.console import Console
from rich.text import Text
from syrupy.assertion import SnapshotAssertion

from grader.authoring.lint.review import review
from grader.model.outcomes import Limit, Outcome, Status, percent
from grader.model.results import (
    Count,
    Failure,
    Frame,
    Kernel,
    Resources,
    Result,
    Sanitized,
    SanitizerError,
)
from grader.reports import terminal
from grader.reports.advice import next_step
from grader.reports.layout import MOST_LINES, PLAIN, filled, wrap

LINT = Path(__file__).parents[1] / "lint" / "found"


@pytest.mark.parametrize("result", REPORTS.values(), ids=REPORTS)
def test_a_report_reads_like_this(result: Result, snapshot: SnapshotAssertion):
    assert terminal.check_report(result).plain == snapshot


def test_eighty_columns_are_enough(snapshot: SnapshotAssertion):
    assert terminal.check_report(CORRECTNESS_FAILS, 80).plain == snapshot


@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("result", REPORTS.values(), ids=REPORTS)
def test_no_line_is_wider_than_the_terminal_but_the_command_to_copy(result: Result, width: int):
    for line in terminal.check_report(result, width).plain.splitlines():
        assert len(line) <= min(width, 100) or line.lstrip().startswith("replay"), line
        assert line == line.rstrip()


@pytest.mark.parametrize("result", REPORTS.values(), ids=REPORTS)
def test_points_are_never_glued_to_the_text_before_them(result: Result):
    report = terminal.check_report(result, 40).plain
    points = re.findall(r"(..)(?:\d+|–)/\d$", report, re.MULTILINE)
    assert set(points) <= {"  "}


def test_what_is_behind_a_bar_stays_there_when_it_is_wrapped():
    assert wrap("one\n| two three four five six", 20) == ["one", "| two three four", "| five six"]


def test_what_does_not_fit_beside_the_title_goes_below():
    where = "CPU, simulated · torch 2.13.0 · triton 3.9.0"
    heading = "01_double   Double · 10 points"
    assert terminal.check_report(PASSED, 77).plain.startswith(f"{heading}   {where}\n")
    assert terminal.check_report(PASSED, 76).plain.startswith(f"{heading}\n  {where}\n")


def test_great_speed_is_said():
    report = terminal.check_report(GREAT).plain
    assert "PASS  10/10 points · great speed · 3.2 s" in report
    assert report.endswith("next: `grader list` shows the other exercises\n")
    report = terminal.check_report(GREAT, following="05_swiglu").plain
    assert report.endswith("; `grader show 05_swiglu` prints its contract\n")


def test_what_a_lesson_warns_of_stands_above_the_verdict(snapshot: SnapshotAssertion):
    source = (LINT / "KG605_wide_accumulator.py").read_bytes()
    report = terminal.check_report(PASSED, 80, notes=review("kernel.py", source).findings[:1]).plain
    assert report == snapshot


@pytest.mark.parametrize("status", Status)
def test_every_status_has_a_word_and_a_next_step(status: Status):
    assert next_step(changed(PASSED, status=status))
    report = terminal.check_report(changed(PASSED, status=status)).plain
    assert status.value.replace("_", " ") in report.lower()


def test_a_step_that_nobody_knows_is_shown_by_its_name():
    steps = (*PASSED.steps[:1], changed(PASSED.steps[0], name="sunrise", summary="at six"))
    shown = terminal.check_report(PASSED.model_copy(update={"steps": steps})).plain
    assert "✔ sunrise       at six\n" in shown


@pytest.mark.parametrize("name", ["traffic", "counts"])
def test_who_moves_too_much_in_a_puzzle_is_led_to_its_picture(name: str):
    """A wrong answer ends with one by itself; an exercise that has a speed has none."""
    bad = failed(changed(CORRECTNESS, name=name), MASK)
    puzzle = changed(PASSED, status=Status.FAIL, steps=(bad,))
    draws = "`grader show 01_double --trace` draws what each thread or program does"
    assert draws in next_step(puzzle)
    timed = next(step for step in PASSED.steps if step.name == "speed")
    assert draws not in next_step(changed(puzzle, steps=(bad, timed)))


@pytest.mark.parametrize(
    ("count", "drawn"), [("global_reads", True), ("transactions", False), ("bank_conflicts", False)]
)
def test_nobody_is_led_to_a_picture_that_does_not_show_the_fault(count: str, drawn: bool):
    """What a warp does together is in no picture of single threads; nor is it in a replay."""
    over = Count(count=count, value=9, most=4, best=4)
    within = Count(count="barriers", value=1, most=1, best=1)
    step = changed(CORRECTNESS, name="counts", counts=(within, over))
    puzzle = changed(PASSED, status=Status.FAIL, steps=(failed(step, MASK),))
    said = next_step(puzzle)
    assert said.startswith("change the kernel and check again; ")
    assert ("--trace" in said) == drawn
    assert "`grader hint 01_double` gives a hint" in said


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_a_mark(outcome: Outcome):
    steps = tuple(changed(step, outcome=outcome) for step in PASSED.steps)
    assert terminal.check_report(changed(PASSED, steps=steps))


def test_what_the_learner_wrote_is_not_markup():
    nasty = "[bold red]not markup[/] [link=x]"
    failure = changed(MASK, message=nasty, got=nasty, hint=nasty, where=nasty)
    failure = changed(failure, frames=(Frame(line=1, function=nasty, code=nasty),))
    report = terminal.check_report(
        changed(PASSED, message=nasty, steps=(failed(CORRECTNESS, failure),))
    )
    console = Console(width=200, force_terminal=True, color_system="truecolor")
    with console.capture() as captured:
        console.print(report, soft_wrap=True)
    assert captured.get().count(nasty) == 7


def test_a_long_message_is_cut_and_says_so():
    failure = Failure(kind="compile", message="\n".join(f"line {n}" for n in range(100)))
    report = terminal.check_report(changed(PASSED, steps=(failed(LOAD, failure),))).plain
    assert f"line {MOST_LINES - 1}\n" in report
    assert f"line {MOST_LINES}\n" not in report
    assert "… and 70 more lines; `--json` prints all of them" in report


def test_of_many_frames_the_innermost_are_shown():
    frames = tuple(Frame(line=n, function="f", code="f()") for n in range(1, 10))
    failure = Failure(kind="exception", message="too deep", frames=frames)
    report = terminal.check_report(changed(PASSED, steps=(failed(LOAD, failure),))).plain
    assert "kernel.py:5 " not in report
    assert all(f"kernel.py:{n} in f: f()" in report for n in range(6, 10))


def test_a_frame_names_the_file_that_was_graded():
    result = changed(CRASHED, kernel=Kernel(path="somewhere/mine.py", sha256="0" * 64))
    report = terminal.check_report(result).plain
    assert "mine.py:9: tritn" in report
    assert "next: make mine.py load" in report


def test_long_expectations_get_a_line_each():
    long = "0.125 " * 12
    failure = changed(MASK, expected=long.strip(), got=long.strip())
    report = terminal.check_report(changed(PASSED, steps=(failed(CORRECTNESS, failure),))).plain
    assert f"      expected  {long.strip()}\n" in report
    assert f"      got       {long.strip()}\n" in report


def test_several_results_end_in_a_line_and_the_next_step():
    lines = terminal.several([PASSED, CORRECTNESS_FAILS, ON_A_GPU]).plain
    assert lines == (
        "2 of 3 passed · 17/30 points\n"
        "next: `grader check 01_double` checks the first one that did not pass\n"
    )
    assert terminal.several([PASSED]).plain.endswith(
        "\nnext: `grader list` shows the other exercises\n"
    )


def test_the_time_is_the_one_that_somebody_waited():
    assert "points · 4.7 s · seed" in terminal.check_report(PASSED, waited_s=4.71).plain
    assert f"points · {PASSED.duration_s:.1f} s" in terminal.check_report(PASSED).plain


@pytest.mark.parametrize("result", [PASSED, ON_A_GPU, GREAT], ids=["skip", "pass", "great"])
def test_a_check_that_passed_names_the_next_exercise_and_its_command(result: Result):
    step = next_step(result, "05_swiglu")
    assert step.startswith("read the README.md of 05_swiglu; `grader show 05_swiglu` prints")


def test_one_case_that_passed_leads_back_to_all():
    assert "without --case" in next_step(changed(PASSED, message="only one"), "05_swiglu")


@pytest.mark.parametrize(
    ("share", "text"), [(0.56, "56 %"), (0.612, "61.2 %"), (0.425, "42.5 %"), (1.0, "100 %")]
)
def test_shares_are_percentages(share: float, text: str):
    assert percent(share) == text


def test_a_command_is_never_broken():
    command = "`grader check 01_double --case 1x2,float32`"
    assert wrap(f"one two three four {command} five", 30) == ["one two three four", command, "five"]


def test_lines_and_indents_of_a_text_survive():
    assert wrap("a\n    b\n\n\tc", 80) == ["a", "    b", "", "    c"]
    assert wrap("", 80) == [""]


def test_a_text_hangs_under_its_first_line():
    assert filled("aaaa bbbb cccc", 24, "    ", first="at  ") == "at  aaaa bbbb cccc\n"
    assert filled("aaaaaaaaa bbbbbbbbb ccc", 24, "    ", first="at  ") == (
        "at  aaaaaaaaa bbbbbbbbb\n    ccc\n"
    )


def test_plain_characters_are_as_wide_as_what_they_stand_for():
    text = "".join(map(chr, PLAIN))
    assert text.translate(PLAIN).isascii()
    assert len(text.translate(PLAIN)) == len(text)


def test_a_report_is_a_text_that_rich_prints_without_colour(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(width=100, force_terminal=True)
    report = terminal.check_report(PASSED)
    assert isinstance(report, Text)
    with console.capture() as captured:
        console.print(report, soft_wrap=True, end="")
    assert "\x1b[3" not in captured.get()


EXPLAINED = changed(
    MEASURED,
    limit=Limit.TRAFFIC,
    explanation=(
        "The kernel reads x 3 times where once is enough: only fewer reads help.",
        "More.",
    ),
    resources=(
        Resources(
            kernel="_softmax",
            registers=48,
            spills=0,
            shared_bytes=4096,
            threads=256,
            launches=1,
            occupancy=0.625,
        ),
        Resources(
            kernel="_rest",
            registers=255,
            spills=1024,
            shared_bytes=0,
            threads=32,
            launches=2,
            occupancy=0.125,
        ),
        Resources(
            kernel="partial",
            registers=20,
            spills=None,
            shared_bytes=1280,
            threads=64,
            launches=1,
            occupancy=None,
        ),
    ),
)


def explained(width: int) -> str:
    """A report's lines from the explanation to the end of its step."""
    step = changed(ON_A_GPU.steps[5], speed=EXPLAINED)
    report = terminal.check_report(changed(ON_A_GPU, steps=(*ON_A_GPU.steps[:5], step)), width)
    lines = report.plain.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.startswith("      limit"))
    last = next(i for i, line in enumerate(lines) if line.startswith("PASS"))
    return "".join(lines[first:last])


COUNTS = (
    Count(count="transactions", value=1152, most=256, best=256),
    Count(count="bank_conflicts", value=0, most=0, best=0),
)


def test_counts_stand_below_their_step_with_budget_and_best(snapshot: SnapshotAssertion):
    failure = Failure(
        kind="counts",
        message="1,152 transactions in all, where 256 are enough",
        case="32 × 32 in float32",
    )
    step = failed(
        TRAFFIC,
        failure,
        name="counts",
        summary="32 × 32 in float32: 1,152 transactions, 0 bank conflicts",
        counts=COUNTS,
    )
    steps = (LOAD, CORRECTNESS, PROPERTIES, TRAFFIC, step)
    report = terminal.check_report(changed(PASSED, steps=steps))
    assert report.plain == snapshot
    over = [report.plain[span.start : span.end] for span in report.spans if span.style == "red"]
    assert [line.split()[0] for line in over if "256" in line] == ["transactions"]


@pytest.mark.parametrize(("raised", "told"), [(1.0, False), (1.0049, False), (1.031, True)])
def test_what_the_judges_clock_adds_is_told(raised: float, told: bool):
    """So that nobody looks into the kernel for what a busy machine cost."""
    (speed,) = [step for step in ON_A_GPU.steps if step.speed is not None]
    slower = changed(speed, speed=changed(speed.speed, raised=raised))
    steps = tuple(slower if step is speed else step for step in ON_A_GPU.steps)
    report = terminal.check_report(changed(ON_A_GPU, steps=steps)).plain
    longer = percent(raised - 1)
    clock = f"clock     calls took {longer} longer by the judge's clock than by CUDA events"
    assert (clock in report) == told
    assert ("clock " in report) == told


def test_the_explanation_stands_below_the_speed(snapshot: SnapshotAssertion):
    assert explained(120) == snapshot


def test_the_explanation_keeps_to_a_narrow_terminal():
    lines = explained(80).splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()) == " ".join(explained(100).split())


RACES = changed(
    ON_A_GPU,
    status=Status.FAIL,
    sanitized=(
        Sanitized(
            tool="memcheck",
            outcome=Outcome.FAIL,
            case="1025,float32",
            summary="1,025 elements of float32: 2 errors",
            errors=(
                SanitizerError(
                    kind="out_of_bounds",
                    message="writes 4 bytes right after the end of out",
                    function="double_kernel",
                    frames=(Frame(line=17, function="double_kernel", code="    tl.store(out, y)"),),
                    thread="(5,0,0)",
                    block="(3,0,0)",
                    count=12,
                ),
                SanitizerError(
                    kind="misaligned",
                    message="reads 16 bytes at an address that is not a multiple of that size",
                    function="helper",
                ),
            ),
            replay="grader check 01_double --case '1025,float32' --sanitize",
        ),
        Sanitized(
            tool="racecheck",
            outcome=Outcome.FAIL,
            case="1025,float32",
            summary="1,025 elements of float32: 1 error",
            errors=(
                SanitizerError(
                    kind="race",
                    message="one thread writes what another reads in shared memory, and no barrier "
                    "between them says which comes first",
                    function="double_kernel",
                    frames=(
                        Frame(line=12, function="double_kernel", code="    s[t] = x"),
                        Frame(line=13, function="double_kernel", code="    y = s[t + 1]"),
                    ),
                ),
            ),
        ),
    ),
)


def test_what_a_sanitizer_found_stands_under_the_steps(snapshot: SnapshotAssertion):
    assert terminal.check_report(RACES, 100).plain == snapshot


def test_where_the_simulation_gave_up_the_next_step_is_to_load_blocks():
    failure = Failure(kind="too_many_operations", message="one call takes too many")
    step = failed(CORRECTNESS, failure, Outcome.CANNOT_GRADE)
    result = changed(PASSED, status=Status.CANNOT_GRADE, steps=(LOAD, step))
    assert next_step(result).startswith("load blocks of elements and check again")
    assert "not at fault" in next_step(changed(PASSED, status=Status.CANNOT_GRADE))
