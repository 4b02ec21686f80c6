"""What other systems read of results: as they want it, and with no way in for a learner's text."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import class_runs
import jsonschema
import junit_schema
import pytest
import reported
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grader.classroom import signing
from grader.classroom.policy.final import final
from grader.classroom.policy.records import Manual
from grader.classroom.policy.settings import GradingSettings
from grader.cli.exported import Exported
from grader.model import results, texts
from grader.model.attempts import Attempt, Signed
from grader.model.errors import UsageError
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Frame
from grader.reports.formats import (
    autolab,
    blackboard,
    canvas,
    classroom50,
    facts,
    github,
    gitlab,
    gradescope,
    junit,
    moodle,
    prairielearn,
    records,
    tables,
)
from grader.reports.formats.apportion import apportion, scaled
from grader.reports.formats.registry import FORMATS, OF_A_CLASS, Report

SCHEMAS = Path(__file__).parents[1] / "schemas"
GOLDEN = reported.golden()
NOON = "2026-11-20T12:00:00+00:00"

# What learners have tried on graders, and what breaks writers of files.
NASTY = [
    "::error file=x::you passed",
    "\n::add-mask::***",
    "  ::set-output name=x::1",
    "##[error]no",
    "x ##[group]y",
    '=HYPERLINK("http://evil")',
    "@SUM(1)",
    "\t=1",
    "\r+1",
    "-2+3",
    "\uff1d1",
    "]]><pass/>",
    "</pre></details><script>alert(1)</script>",
    "| a | b |\n|---|---|",
    "\N{RIGHT-TO-LEFT OVERRIDE}gnp.exe",
    "\x00\x1b[31m",
    "\ufffe\uffff",
    "\u2028::warning::x",
    "a\r\nb",
    '","points":99,"',
    "é" * 5000,
]
hostile = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.lists(st.sampled_from(NASTY), min_size=1, max_size=3).map("".join),
)


@st.composite
def attempts(draw) -> Attempt:
    """A result of any end, with hostile texts wherever a text can stand."""
    kind = draw(st.sampled_from(["pass", "wrong", "timed", "noisy", "not_started", "bare"]))
    result = {
        "pass": lambda: reported.PASSED,
        "wrong": lambda: reported.wrong(draw(hostile)),
        "timed": reported.timed,
        "noisy": reported.noisy,
        "not_started": reported.not_started,
        "bare": lambda: reported.ended(draw(st.sampled_from(Status))),
    }[kind]()
    failure = Failure(
        kind=draw(hostile),
        message=draw(hostile),
        expected=draw(hostile),
        case=draw(hostile),
        replay=draw(hostile),
        frames=(Frame(line=draw(st.integers(-1, 9)), function=draw(hostile), code=draw(hostile)),),
    )
    steps = tuple(
        step.model_copy(
            update={"summary": draw(hostile)} | ({"failure": failure} if step.failure else {})
        )
        for step in result.steps
    )
    result = result.model_copy(
        update={
            "exercise": draw(hostile),
            "title": draw(hostile),
            "message": draw(hostile),
            "output": draw(hostile),
            "started_at": draw(st.one_of(st.just(result.started_at), hostile)),
            "kernel": result.kernel.model_copy(update={"path": draw(hostile)}),
            "steps": steps,
        }
    )
    return reported.attempt(
        result, draw(hostile), submitted_at=draw(hostile), notes=(draw(hostile),)
    )


classes = st.lists(attempts(), max_size=3)
few = settings(max_examples=40)  # an example has dozens of texts


# -- all formats


PRINTED = sorted(set(FORMATS) - {"github"})  # whose lines are commands on purpose


@pytest.mark.slow
@settings(max_examples=60)  # each is made in every format: to draw its texts takes longest
@given(classes)
def test_no_line_of_a_format_is_a_command(found: list[Attempt]):
    """All may be printed in a job, whose runner reads each line; a test case's text held one."""
    for name in PRINTED:
        for document in Report(name).make(found, reported.CONTEXT):
            assert not re.search(r"^\s*::|##\w*\[", document.text or "", re.MULTILINE), name


@given(st.lists(hostile))
def test_what_is_made_harmless_reads_as_before(said: list[str]):
    text = json.dumps(said, ensure_ascii=False)
    assert json.loads(texts.json_without_commands(text)) == said
    root = ElementTree.Element("a", b=texts.lines("".join(said)))
    root.text = texts.lines("\n".join(said))
    read = ElementTree.fromstring(texts.xml_without_commands(ElementTree.tostring(root, "unicode")))
    assert (read.text or "", read.attrib) == (root.text, root.attrib)


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"autolab", "csv-wide"}))  # only points
def test_a_step_that_nobody_knows_is_reported_by_its_name(name: str):
    failed = reported.wrong("the sun is late")
    steps = tuple(
        one.model_copy(update={"name": "sunrise"}) if one.failure else one for one in failed.steps
    )
    made = [reported.attempt(failed.model_copy(update={"steps": steps}))]
    said = "".join(one.text or "" for one in Report(name).make(made, reported.CONTEXT))
    assert "sunrise" in said


# -- golden files


@pytest.mark.parametrize("name", GOLDEN)
def test_a_format_is_what_its_golden_file_says(name: str):
    written = (reported.GOLDEN / name).read_bytes()
    assert GOLDEN[name].encode() == written, "`python tests/reported.py` writes it anew"


def test_every_format_has_a_golden_file():
    there = {path.name for path in reported.GOLDEN.iterdir()}
    assert there == set(GOLDEN)
    for name in (*FORMATS, "canvas", "moodle", "blackboard"):
        assert any(re.match(rf"{name}[-.]", file) for file in there), name


# -- contracts


@functools.cache  # laws check hundreds of records
def validator(name: str) -> jsonschema.Draft202012Validator:
    text = (SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def checked(name: str, text: str) -> dict:
    record = json.loads(text)
    validator(name).validate(record)
    return record


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("classroom50", "classroom50.json"),
        ("gradescope", "gradescope.json"),
        ("prairielearn", "prairielearn.json"),
        ("prairielearn", "prairielearn-fault.json"),
    ],
)
def test_a_file_keeps_the_contract_of_its_system(name: str, file: str):
    jsonschema.Draft202012Validator.check_schema(validator(name).schema)
    checked(name, GOLDEN[file])


@pytest.mark.parametrize("spoil", [{"score": 1.5}, {"extra": 1}, {"datetime": "2026-11-20"}])
def test_the_schema_of_classroom_50_refuses_what_its_collector_would(spoil: dict):
    record = json.loads(GOLDEN["classroom50.json"]) | spoil
    with pytest.raises(jsonschema.ValidationError):
        checked("classroom50", json.dumps(record))


def test_results_and_attempts_are_read_again():
    there = reported.one_student()
    lines = GOLDEN["result.jsonl"].splitlines()
    assert [results.parse_result(line) for line in lines][: len(there)] == [a.result for a in there]
    lines = GOLDEN["attempt.jsonl"].splitlines()
    assert [Attempt.model_validate_json(line) for line in lines][: len(there)] == there
    public = reported.KEY.public_key()
    signed = Signed.model_validate_json(GOLDEN["signed.jsonl"])
    texts = signing.lines(signed, {signing.fingerprint(public): public})[: len(there)]
    assert [Attempt.model_validate_json(text) for text in texts] == there


# -- what is no pass is none anywhere

NO_PASS = [s for s in Status if s is not Status.PASS]


@pytest.mark.parametrize("status", NO_PASS)
def test_steps_that_all_passed_make_no_pass_of_another_status(status: Status):
    """A result may say unfinished, or interrupted, above steps that passed."""
    result = reported.PASSED.model_copy(update={"status": status})
    one = [reported.attempt(result)]
    suite = ElementTree.fromstring(junit.document(one)).find("testsuite")
    assert suite is not None
    told = ("skipped",) if status is Status.NOT_STARTED else ("failures", "errors")
    skips = 1 if status is Status.NOT_STARTED else 0  # speed is skipped on a CPU, too
    assert sum(int(suite.attrib[count]) for count in told) == 1 + skips
    assert "GRADER_STATUS=pass" not in gitlab.dotenv(one)
    assert "✅" not in github.summary(one, "x")
    (test,) = json.loads(gradescope.document(one))["tests"]
    assert test.get("status") != "passed"
    made = classroom50.document(one, reported.IDENTITY, "", "")
    assert made is None or json.loads(made)["tests"][0]["passed"] is False


def test_what_is_not_started_is_counted_and_no_failure_by_default():
    made = [reported.attempt(reported.not_started()), reported.attempt(reported.PASSED)]
    assert "<failure" not in junit.document(made)
    assert junit.document(made, require_started=True).count("<failure") == 1
    assert "GRADER_STATUS=pass" in gitlab.dotenv(made)
    assert "GRADER_NOT_STARTED=1" in gitlab.dotenv(made)
    assert "GRADER_STATUS=fail" in gitlab.dotenv(made, require_started=True)
    assert "GRADER_STATUS=not_started" in gitlab.dotenv(made[:1])
    assert github.commands(made) == "::notice title=grader::7 of 20 points, 1 not started\n"
    assert "::error" in github.commands(made, require_started=True)
    wrong = reported.attempt(reported.wrong("x"))
    assert "GRADER_STATUS=fail" in gitlab.dotenv([*made, wrong])


@pytest.mark.parametrize("status", facts.FAULTS)
def test_a_fault_that_is_not_the_learners_is_no_zero(status: Status):
    one = [reported.attempt(reported.ended(status), number=1)]
    assert "<failure" not in junit.document(one)
    assert "<error" in junit.document(one)
    (test,) = json.loads(gradescope.document(one))["tests"]
    assert not {"score", "max_score", "status"} & set(test)
    assert "not your kernel's fault" in test["output"]
    assert json.loads(prairielearn.document(one))["gradable"] is False
    assert json.loads(autolab.line(one)) == {"scores": {}}
    assert classroom50.document([*reported.one_student(), *one], reported.IDENTITY, "", "") is None
    assert "::error" not in github.commands(one)
    assert "::warning" in github.commands(one)
    (row,) = csv.DictReader(io.StringIO(tables.wide(one)))
    assert (row["01_double"], row["total"]) == ("", "")
    (row,) = csv.DictReader(io.StringIO(tables.long(one)))
    assert (row["points"], row["max_points"]) == ("", "")


def test_no_results_are_no_pass():
    assert "GRADER_STATUS=not_graded" in gitlab.dotenv([])
    assert json.loads(prairielearn.document([]))["gradable"] is False
    assert classroom50.document([], reported.IDENTITY, "", "") is None


def test_a_class_that_was_graded_later_counts():
    first = reported.attempt(reported.noisy())
    second = reported.attempt(reported.timed())
    for both in ([first, second], [second, first]):
        (row,) = csv.DictReader(io.StringIO(tables.wide(both)))
        assert (row["01_double"], row["total"]) == ("10", "10")


# -- no text gets out of its place


def test_junit_names_a_function_only_where_one_is_known():
    result = reported.wrong("out[3] is 1", exercise="02_row_sum")
    assert result.steps[1].failure is not None
    failure = result.steps[1].failure.model_copy(
        update={"frames": (Frame(line=3, function="", code="import nothing"),)}
    )
    steps = (result.steps[0], result.steps[1].model_copy(update={"failure": failure}))
    made = reported.attempt(result.model_copy(update={"steps": steps}))
    assert "line 3: import nothing" in junit.document([made])


@few
@given(classes)
def test_junit_is_well_formed_and_counts_what_it_holds(made: list[Attempt]):
    root = ElementTree.fromstring(junit.document(made))
    assert root.tag == "testsuites"
    assert not junit_schema.faults(root)
    assert [suite.tag for suite in root] == ["testsuite"] * len(made)
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    for element in [root, *root]:
        assert int(element.attrib["tests"]) == len(list(element.iter("testcase")))
        for total, tag in kinds.items():
            if element is not root or tag != "skipped":
                assert int(element.attrib[total]) == len(list(element.iter(tag)))
        float(element.attrib["time"])
    for suite, one in zip(root, made, strict=True):
        assert suite[0].tag == "properties"
        assert {child.tag for child in suite[1:]} <= {"testcase", "system-out"}
        for case in suite.iter("testcase"):
            assert set(case.attrib) == {"classname", "name", "time"}
            assert [child.tag for child in case] in ([], *([tag] for tag in kinds.values()))
        passed = not (suite.findall("testcase/failure") or suite.findall("testcase/error"))
        assert passed == (one.result.status in (Status.PASS, Status.NOT_STARTED))
        if one.result.status is Status.NOT_STARTED:
            assert suite.findall("testcase/skipped")


@few
@given(classes)
def test_github_reads_our_commands_and_no_others(made: list[Attempt]):
    told = github.commands(made)
    assert told.endswith("\n")
    kinds: dict[str, int] = {}
    for line in told[:-1].split("\n"):
        assert len(line.splitlines()) == 1
        command = re.fullmatch(r"::(error|warning|notice) ([^:]*)::([^\r\n]*)", line)
        assert command, line
        names = [pair.partition("=")[0] for pair in command[2].split(",")]
        assert set(names) <= {"file", "line", "title"}
        kinds[command[1]] = kinds.get(command[1], 0) + 1
    assert max(kinds.values()) <= github.MOST_COMMANDS


@given(hostile)
def test_no_line_of_harmless_text_is_a_command(text: str):
    for line in texts.without_commands(texts.lines(text)).split("\n"):
        assert not line.lstrip().startswith("::")
        assert not re.search(r"##\w*\[", line)
    for line in texts.without_commands(f"\x1b[1m  {texts.lines(text)}").split("\n"):
        assert not re.sub(r"\x1b\[[\d;]*m", "", line).lstrip().startswith("::")


@few
@given(classes)
def test_a_summary_holds_no_markup_but_ours(made: list[Attempt]):
    text = github.summary(made, "=<b>title|")
    assert len(re.findall("</?pre>", text)) == 2 * text.count("<details>")
    text = re.sub("<pre>.*?</pre>", "<pre></pre>", text, flags=re.DOTALL)
    tags = set(re.findall(r"</?(\w+)", text))
    assert tags <= {"details", "summary", "pre"}
    head, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == len(made) + 1
    assert {row.count("|") for row in (head, *rows)} == {6}


@pytest.mark.parametrize("room", [0, 50, 200, 2_000, 20_000])
def test_a_summary_fits_and_says_what_is_left_out(room: int):
    made = [reported.attempt(reported.wrong("é" * 200), number=n) for n in range(60)]
    text = github.summary(made, "Course", room)
    assert len(text.encode()) <= room
    assert ("are left out" in text) == (room >= 200)
    assert text.count("<details>") == text.count("</details>")


def test_what_github_would_decode_is_encoded():
    made = [reported.attempt(reported.wrong("100 %0A::error::50 %, a:b"))]
    (line,) = [one for one in github.commands(made).splitlines() if one.startswith("::error")]
    assert line.endswith("::correctness: 7 elements of float16: 100 %250A::error::50 %25, a:b")


def test_more_annotations_than_github_keeps_are_counted():
    made = [reported.attempt(reported.wrong("no"), number=n) for n in range(25)]
    errors = [line for line in github.commands(made).splitlines() if line.startswith("::error")]
    assert len(errors) == 10
    assert errors[-1].endswith("16 more: see the summary of this run")


@few
@given(classes)
def test_tables_are_read_back_and_no_cell_is_a_formula(made: list[Attempt]):
    for text in (tables.long(made), tables.wide(made)):
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert {len(row) for row in rows} == {len(rows[0])}
        assert text.count("\r\n") == text.count("\n") == len(rows)
        for cell in (cell for row in rows for cell in row):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d"))
    steps = sum(max(len(one.result.steps), 1) for one in made)
    assert tables.long(made).count("\n") == steps + 1


@pytest.mark.slow
@few
@given(classes)
def test_json_formats_are_json_and_keep_their_contracts(made: list[Attempt]):
    checked("gradescope", gradescope.document(made))
    checked("prairielearn", prairielearn.document(made))
    line = autolab.line(made)
    assert line.endswith("\n")
    assert len(line.splitlines()) == 1
    assert set(json.loads(line)) == {"scores"}
    result = classroom50.document(
        made, reported.IDENTITY, "2026-11-20T10:00:00", "2026-11-20T10:00:00"
    )
    if result is not None:
        record = checked("classroom50", result)
        assert record["score"] == sum(test["score"] for test in record["tests"])
        assert record["max-score"] == sum(test["max-score"] for test in record["tests"])
    for text in (records.result_lines(made), records.attempt_lines(made)):
        assert len([json.loads(one) for one in text.split("\n")[:-1]]) == len(made)
    for pair in gitlab.dotenv(made).splitlines():
        assert re.fullmatch(r"GRADER_[A-Z_]+=(\d+|pass|fail|not_graded|not_started)", pair)


@pytest.mark.slow
def test_prairielearn_stays_under_its_limit():
    made = [reported.attempt(reported.wrong("é" * 20_000), number=n) for n in range(60)]
    text = prairielearn.document(made)
    assert len(text.encode()) <= prairielearn.MOST_BYTES
    assert len(json.loads(text)["tests"]) == 60


# -- whole numbers


points = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted), max_size=12)


@given(points, st.integers(1, 1000))
def test_scaled_points_add_up_and_none_exceeds_its_most(pairs: list, out_of: int):
    earned, most = [low for low, _ in pairs], [high for _, high in pairs]
    assume(sum(most))
    new, new_most = scaled(earned, most, out_of)
    assert sum(new_most) == out_of
    assert sum(new) == sum(earned) * out_of // sum(most)
    assert all(0 <= part <= whole for part, whole in zip(new, new_most, strict=True))
    assert (sum(new) == out_of) == (earned == most)


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(0, 200))
def test_no_part_is_a_whole_number_away_from_its_quota(shares: list[int], total: int):
    assume(sum(shares))
    parts = apportion(shares, total)
    assert sum(parts) == total
    for share, part in zip(shares, parts, strict=True):
        assert abs(part - Fraction(share * total, sum(shares))) < 1


@pytest.mark.parametrize(("shares", "caps"), [([0, 0], None), ([1, 1], [1, 1])])
def test_what_cannot_be_divided_is_refused(shares: list[int], caps: list[int] | None):
    with pytest.raises(ValueError, match=r"nothing to divide|too small together"):
        apportion(shares, 3, caps)


def test_classroom_50_scales_to_the_sum_that_is_asked_for():
    made = reported.one_student()
    text = classroom50.document(
        made, reported.IDENTITY, "2026-11-20T10:00:00", "2026-11-20T10:00:00", 7
    )
    record = checked("classroom50", text or "")
    assert (record["score"], record["max-score"]) == (2, 7)  # 17 of 50
    assert sum(test["score"] for test in record["tests"]) == 2


# -- Canvas


BOOK = reported.GRADEBOOK.read_text(encoding="utf-8")


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_canvas_is_filled_and_nothing_else_is_touched():
    made = reported.a_class()
    filled = canvas.fill(BOOK, made)
    before, after = cells(BOOK), cells(filled.text)
    changed = [
        (row, column)
        for row, line in enumerate(before)
        for column, value in enumerate(line)
        if after[row][column] != value
    ]
    assert changed == [(3, 5), (3, 6)]
    assert after[3][5:7] == ["10", "0"]
    assert filled.unknown_students == ("=cmd|' /c calc'!a0",)
    assert filled.unknown_exercises == ()


@pytest.mark.parametrize(("heading", "filled"), [("Seat", 0), ("Student number", 1)])
def test_canvas_finds_students_by_columns_that_name_them_alone(heading: str, filled: int):
    """Zoe, who is not of the class, has Ada's seat as her number in Canvas."""
    ada = class_runs.row("ada", class_runs.cell("01_double", 9), ids={heading: "17"})
    rows = final(class_runs.run(ada, exercises=("01_double",)), GradingSettings())
    book = "Student,ID,SIS User ID,SIS Login ID,01_double (1)\nZoe (auditor),17,u9,zoe,\n"
    assert canvas.fill(book, rows).cells == filled


@pytest.mark.parametrize(("points", "written"), [("4.625", "4.63"), ("1.005", "1.01")])
def test_half_a_hundredth_is_rounded_up_in_every_gradebook(points: str, written: str):
    run = class_runs.run(class_runs.row("ada", class_runs.cell()), exercises=("01_double",))
    rows = final(run, GradingSettings(), [Manual("ada", "01_double", Fraction(points))])
    of_canvas = canvas.fill("Student,SIS Login ID,01_double (1)\nAda,ada,\n", rows).text
    of_blackboard = blackboard.fill('"Username","01_double |1"\n"ada",""\n', rows).text
    for text in (tables.final_wide(rows), of_canvas, of_blackboard, moodle.document(rows)):
        (ada,) = csv.DictReader(io.StringIO(text))
        assert [cell for heading, cell in ada.items() if "01_double" in heading] == [written]


def test_canvas_counts_in_its_own_points():
    step = reported.step("correctness", Outcome.PASS)
    load = reported.step("load", Outcome.PASS)
    partly = reported.ended(Status.FAIL, load, step, **reported.of("02_row_sum", "Row sum"))
    filled = canvas.fill(BOOK, [reported.attempt(partly, "S1")], total="All kernels")
    assert cells(filled.text)[3][6] == "1.5"  # 3 of 10, where Canvas has 5
    assert cells(filled.text)[3][8] == "30"


def test_canvas_gets_no_zero_for_a_fault_of_ours():
    made = [reported.attempt(reported.noisy(**reported.of("02_row_sum", "Row sum")), "grace")]
    after = cells(canvas.fill(BOOK, made, total="All kernels").text)
    assert after == cells(BOOK)


def test_canvas_names_what_has_no_place():
    made = [reported.attempt(reported.timed(**reported.of("99_other", "Other")), "ada")]
    assert canvas.fill(BOOK, made).unknown_exercises == ("99_other",)
    with pytest.raises(UsageError, match="no column 'Sum'"):
        canvas.fill(BOOK, made, total="Sum")


def book(*titles: str) -> str:
    return f"Student,ID,SIS Login ID,{','.join(titles)}\nAda,1,ada{',' * len(titles)}\n"


def test_canvas_takes_the_total_as_its_header_has_it():
    """What was copied from the file was no column of it."""
    made = [reported.attempt(reported.timed(**reported.of("01_double", "Double")), "ada")]
    named = book("01_double (1)", "Final (2)", "Final (126)", "Essay (3)", "Essay (4)")
    filled = canvas.fill(named, made, total="Final (126)")
    assert cells(filled.text)[1][3:] == ["10", "", "10", "", ""]
    assert filled.unknown_exercises == ()
    with pytest.raises(UsageError) as caught:
        canvas.fill(named, made, total="Sum")
    assert caught.value.next_step == f"It has {', '.join(cells(named)[0][3:])}."


@pytest.mark.parametrize(
    ("titles", "total", "told", "mend"),
    [
        (
            ["01_double (1)", "01_double (7)"],
            "",
            "2 columns named '01_double': '01_double (1)' and '01_double (7)'",
            "In Canvas rename all but one",
        ),
        (
            ["01_double (1)", "Sum (2)", "Sum (3)"],
            "Sum",
            "2 columns named 'Sum': 'Sum (2)' and 'Sum (3)'",
            "Give --total one of them with its number",
        ),
        (
            ["01_double (1)"],
            "01_double",
            "column '01_double (1)' belongs to an exercise",
            "Name another column in --total",
        ),
        (
            ["01_double (1)"],
            "01_double (1)",
            "column '01_double (1)' belongs to an exercise",
            "Name another column in --total",
        ),
    ],
)
def test_canvas_does_not_choose_among_columns(titles: list[str], total: str, told: str, mend: str):
    """Of two columns with one name the last was filled, and nobody heard of the other."""
    made = [reported.attempt(reported.timed(**reported.of("01_double", "Double")), "ada")]
    with pytest.raises(UsageError, match=re.escape(told)) as caught:
        canvas.fill(book(*titles), made, total=total)
    assert mend in caught.value.next_step


@pytest.mark.parametrize("book", ["", "a,b\n1,2\n", "Student,Section\nx,y\n"])
def test_what_is_no_gradebook_is_refused(book: str):
    with pytest.raises(UsageError, match="not a file that Canvas exported"):
        canvas.fill(book, reported.a_class())


# -- Blackboard and Moodle

BLACKBOARD = reported.OF_BLACKBOARD.read_text(encoding="utf-8")


def test_blackboard_gets_the_students_and_columns_that_it_has_and_no_others():
    made = [reported.attempt(reported.timed(), "GRACE"), reported.attempt(reported.timed(), "eve")]
    filled = blackboard.fill(BLACKBOARD, made)
    (row,) = csv.DictReader(io.StringIO(filled.text))
    assert row == {"Username": "grace", "01_double [Total Pts: 20 Score] |480002": "20"}
    assert (filled.cells, filled.unknown_students, filled.unknown_exercises) == (1, ("eve",), ())


def test_a_file_with_tabs_stays_one():
    """As Blackboard recommends it, with the ending .xls."""
    tabs = BLACKBOARD.replace('","', '"\t"')
    text = blackboard.fill(tabs, [reported.attempt(reported.timed(), "ada")]).text
    assert text == '"Username"\t"01_double [Total Pts: 20 Score] |480002"\r\n"Ada"\t"20"\r\n'


def test_blackboard_gets_no_zero_for_a_fault_of_ours():
    made = [
        reported.attempt(reported.timed(), "ada", 1),
        reported.attempt(reported.noisy(exercise="03_copy"), "ada", 2),
    ]
    rows = list(csv.reader(io.StringIO(blackboard.fill(BLACKBOARD, made, "All kernels").text)))
    assert rows[1] == ["Ada", "20", "", ""]


@pytest.mark.parametrize("book", ["", "a,b\n1,2\n", "Last Name,User\nx,y\n"])
def test_what_blackboard_did_not_download_is_refused(book: str):
    with pytest.raises(UsageError, match="not a file that Blackboard downloaded"):
        blackboard.fill(book, reported.a_class())


def test_blackboard_does_not_choose_among_columns():
    twice = '"Username","01_double [Total Pts: 5 Score] |1","01_double [Total Pts: 9 Score] |2"\n'
    with pytest.raises(UsageError, match="2 columns named '01_double'"):
        blackboard.fill(twice, reported.a_class())
    with pytest.raises(UsageError, match="has no column 'Sum'"):
        blackboard.fill(BLACKBOARD, reported.a_class(), "Sum")
    with pytest.raises(UsageError, match="belongs to an exercise"):
        blackboard.fill(BLACKBOARD, reported.a_class(), "01_double")


@pytest.mark.parametrize(
    ("logins", "by", "title"),
    [
        (("ada@x.org", "bob@x.org"), None, "Email address"),
        (("ada@x.org", "bob"), None, "Username"),
        (("1001", "1002"), moodle.Identity.IDNUMBER, "ID number"),
    ],
)
def test_moodle_finds_students_by_the_field_that_logins_are(logins, by, title: str):
    made = [reported.attempt(reported.timed(), login) for login in logins]
    rows = list(csv.reader(io.StringIO(moodle.document(made, by))))
    assert rows == [[title, "01_double"], *([login, "10"] for login in logins)]


@few
@given(classes)
def test_no_cell_of_a_gradebook_is_a_formula(made: list[Attempt]):
    for row in csv.reader(io.StringIO(moodle.document(made, total="Sum"))):
        assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in row)


# -- asking for formats


def test_a_report_is_a_format_and_a_path():
    assert Report.parse("junit=out/a=b.xml") == Report("junit", Path("out/a=b.xml"))
    assert Report.parse("github").prints
    assert Report.parse("github=summary.md").prints
    assert Report.parse("autolab").prints
    assert not Report.parse("junit=x").prints
    assert not Report.parse("gitlab").prints
    with pytest.raises(UsageError, match=r"no format of reports named 'xml'"):
        Report.parse("xml=x")
    with pytest.raises(UsageError, match="names no file"):
        Report.parse("junit=")


def test_what_only_export_makes_is_said_to_be_its():
    """`grader ci --report canvas` heard that there is no such format, which is not so."""
    assert set(Exported) - set(FORMATS) == set(OF_A_CLASS)
    with pytest.raises(UsageError) as caught:
        Report.parse("canvas")
    assert "makes canvas, moodle, blackboard and gradescope-zip" in caught.value.next_step
