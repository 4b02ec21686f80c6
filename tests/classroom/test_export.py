"""`grader export`: all that was kept is used or named, and each form says the same."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
import reported
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from grader import cli
from grader.classroom import documents, gradebook, gradescope, signing
from grader.classroom.attempts import Context
from grader.classroom.gradebook import Keep
from grader.course import manifest
from grader.model import attempts as records
from grader.model import results
from grader.model.attempts import Attempt
from grader.model.errors import UsageError
from grader.model.outcomes import Status

pytestmark = pytest.mark.slow

DOUBLE = reported.of("01_double", "Double")
PUBLIC = reported.KEY.public_key()
TRUSTED = {signing.fingerprint(PUBLIC): PUBLIC}
EXERCISES = ("01_double", "02_row_sum", "p01_copy")
SMALL = Path(__file__).parents[1] / "courses" / "small"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADER_COURSE", str(SMALL))


def write(name: str, *lines: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def line(attempt: Attempt) -> str:
    return records.attempt_json(attempt)


def signed(attempt: Attempt, key: Ed25519PrivateKey = reported.KEY) -> str:
    return records.attempt_json(signing.sign([attempt], key))


ADA = reported.attempt(reported.timed(**DOUBLE), "ada", 1)
BOB = reported.attempt(reported.wrong("no", **DOUBLE), "bob", 2)


# -- what was kept


def read(*paths: str | Path, trusted: bool = False) -> gradebook.Gradebook:
    timed = dict.fromkeys(EXERCISES, True)
    context = Context("small", "0", timed, TRUSTED if trusted else {}, NOW)
    return gradebook.read([Path(path) for path in paths], context)


def test_attempts_and_results_are_read_from_lines_and_whole_files():
    write("a.jsonl", line(ADA), "", line(BOB))
    write(
        "whole.json", json.dumps(json.loads(line(reported.attempt(BOB.result, "eve", 3))), indent=1)
    )
    write("eve.json", results.result_json(ADA.result, indent=2))
    found = read("a.jsonl", "whole.json", "eve.json")
    assert found.problems == ()
    assert sorted(one.student for one in found.attempts) == ["ada", "bob", "eve", "eve"]
    (bare,) = [one for one in found.attempts if one.version == ""]
    assert bare.submitted_at == ADA.result.started_at


def test_a_bare_result_whose_file_has_a_name_in_latin_1_is_one_problem():
    file = Path(os.fsdecode(b"j\xf6rg.jsonl"))
    file.write_text(results.result_json(ADA.result))
    write("b.jsonl", line(BOB))
    found = read(file, "b.jsonl")
    assert [one.student for one in found.attempts] == ["bob"]
    assert found.problems == (
        "'j\\udcf6rg.jsonl', line 1: it is a bare result, whose student is the name of its file, "
        "and that is not in UTF-8: rename the file",
    )


def test_folders_are_read_in_all_depths_and_each_file_once():
    write("class/week 1/a.jsonl", line(ADA))
    write("class/b.json", line(BOB))
    write("class/notes.txt", "nothing")
    Path("class/link.json").symlink_to(Path("class/b.json").absolute())
    found = read("class", "class/b.json", Path("class/../class/b.json"))
    assert len(found.attempts) == 2
    assert found.problems == ("class/link.json: it is a link, and links are not followed",)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "it is empty"),
        (b" \n\n", "it is empty"),
        (line(ADA).encode()[:-20], "no whole JSON"),
        (b"\xff\xfe\x00", "no whole JSON"),
        (b"[" * 100_000, "no whole JSON"),
        (b"[1, 2]", "not a record of this grader"),
        (b"{}", "not a record of this grader"),
        (b'{"schema": "grader/result/v2"}', "it is a grader/result/v2, and what is read here"),
        (b'{"schema": 7}', "not a record of this grader"),
        (b'{"schema": "grader/result/v1"}', "no whole grader/result/v1: exercise"),
        (line(ADA).replace('"ada"', '" "').encode(), "it names no student"),
        (signed(ADA).encode(), "name the public key"),
        (b'{"x": "' + b"x" * documents.LARGEST + b'"}', "it is longer than 8,388,608 bytes"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_an_unusable_text_is_reported_and_does_not_stop_the_others(content: bytes, told: str):
    Path("bad.json").write_bytes(content)
    write("z.jsonl", line(BOB))
    found = read("bad.json", "z.jsonl")
    (problem,) = found.problems
    assert problem.startswith("bad.json")
    assert told in problem
    assert found.attempts == (BOB,)


def test_a_line_that_was_cut_off_costs_no_other_line():
    write("a.jsonl", line(BOB)[:100], line(ADA), line(BOB)[:100])
    found = read("a.jsonl")
    assert found.attempts == (ADA,)
    told = [problem.partition(": it is no whole JSON")[0] for problem in found.problems]
    assert told == ["a.jsonl, line 1", "a.jsonl, line 3"]


def test_what_is_no_file_is_named():
    os.mkfifo("pipe.json")
    assert read("pipe.json").problems == ("pipe.json: it is not a plain file",)
    with pytest.raises(UsageError, match=r"There is no file or folder nowhere\.json\."):
        read("nowhere.json")


def test_the_attempts_of_a_signed_run_are_read_one_by_one():
    nobody = ADA.model_copy(update={"id": "0" * 32, "student": " "})
    write("a.jsonl", records.attempt_json(signing.sign([ADA, nobody, BOB], reported.KEY)))
    found = read("a.jsonl", trusted=True)
    assert found.attempts == (ADA, BOB)
    assert found.problems == ("a.jsonl, line 1: attempt 2 of this run: it names no student",)


def signed_texts(*payload: str) -> str:
    """A run as a grader signed it that writes other attempts than this one."""
    made = signing.sign([], reported.KEY)
    text = "\n".join(payload)
    signature = base64.b64encode(reported.KEY.sign(signing.message(text))).decode()
    return records.attempt_json(made.model_copy(update={"signature": signature, "payload": text}))


def test_one_bad_attempt_costs_a_signed_run_no_other(capsys):
    """No row of the student stood in any table, while a board took the good attempts."""
    bad = line(ADA).replace('"status":"pass"', '"status":"splendid"')
    write("a.jsonl", signed_texts(line(ADA), bad, "{}", line(BOB)))
    found = read("a.jsonl", trusted=True)
    assert found.attempts == (ADA, BOB)
    first, second = found.problems
    assert first.startswith(
        "a.jsonl, line 1: attempt 2 of this run: it is no whole grader/attempt/v1: result.status"
    )
    assert second.startswith("a.jsonl, line 1: attempt 3 of this run: it is no whole grader/")
    signing_key = reported.KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    Path("public.pem").write_bytes(signing_key)
    text = exported(capsys, "csv-wide", "a.jsonl", "--trust", "public.pem", code=1)
    assert [row["student"] for row in csv.DictReader(io.StringIO(text))] == ["ada", "bob"]


def test_nothing_of_a_run_counts_whose_signature_is_not_that_of_the_whole():
    whole = json.loads(signed_texts(line(ADA), "{}", line(BOB)))
    for changed in (
        whole["payload"].replace("{}", "[]"),
        whole["payload"].replace("\n{}", ""),
        whole["payload"] + "\n" + line(ADA),
    ):
        write("a.jsonl", json.dumps(whole | {"payload": changed}))
        found = read("a.jsonl", trusted=True)
        assert found.attempts == ()
        assert found.problems == (
            "a.jsonl, line 1: its signature is not that of its content: it was changed",
        )


def test_one_attempt_counts_once():
    write("a.jsonl", line(ADA), line(ADA))
    write("b.jsonl", line(ADA))
    found = read("a.jsonl", "b.jsonl")
    assert found.attempts == (ADA,)
    assert found.problems == (
        "a.jsonl, line 2: it is the same attempt as in a.jsonl, line 1, and counted once",
        "b.jsonl, line 1: it is the same attempt as in a.jsonl, line 1, and counted once",
    )


def test_with_a_key_only_what_it_signed_counts():
    forged = json.loads(signed(ADA))
    forged["payload"] = forged["payload"].replace('"ada"', '"eve"')
    stranger = Ed25519PrivateKey.from_private_bytes(bytes(32))
    write("a.jsonl", signed(ADA), line(BOB), json.dumps(forged), signed(BOB, stranger))
    found = read("a.jsonl", trusted=True)
    assert found.attempts == (ADA,)
    told = [problem.partition(": ")[2] for problem in found.problems]
    assert "not signed" in told[0]
    assert "it was changed" in told[1]
    assert "not trusted" in told[2]


def test_another_course_and_the_future_stand_in_no_export():
    """Attempts of another course and of the future had points in exports and none on boards."""
    late = "2026-11-22T12:05:01Z"
    other, later = (
        reported.attempt(ADA.result, "eve", 3, course="other\n"),
        reported.attempt(ADA.result, "eve", 4, submitted_at=late),
    )
    on_time = reported.attempt(ADA.result, "eve", 5, submitted_at="2026-11-22T12:04:59Z")
    bare = results.result_json(ADA.result.model_copy(update={"started_at": late}))
    write("a.jsonl", records.attempt_json(signing.sign([other, later, on_time], reported.KEY)))
    write("b.jsonl", line(other), bare)
    in_the_future = f"it was handed in at {late}, which is in the future: a clock is wrong"
    found = read("a.jsonl", trusted=True)
    assert found.attempts == (on_time,)
    run = "a.jsonl, line 1: attempt"
    assert found.problems[0] == f"{run} 1 of this run: it is of another course: 'other\\n'"
    assert found.problems[1].startswith(f"{run} 2 of this run: {in_the_future}")
    unsigned = read("b.jsonl")
    assert unsigned.attempts == ()
    assert unsigned.problems[0] == "b.jsonl, line 1: it is of another course: 'other\\n'"
    assert unsigned.problems[1].startswith(f"b.jsonl, line 2: {in_the_future}")


@pytest.mark.parametrize(
    ("changes", "handed_in", "told"),
    [
        ({"exercise": "99_nope"}, None, "the course has no exercise 99_nope, which it is of"),
        ({"exercise": "a\nb"}, None, r"the course has no exercise 'a\nb', which it is of"),
        ({}, "soon", "it was handed in at soon, which is no time"),
        ({"started_at": ""}, "", "it was handed in at '', which is no time"),
        ({"points": 11}, None, "its figures contradict each other: 11 of 10 points"),
        ({"points": -1}, None, "its figures contradict each other: -1 of 10 points"),
        ({"max_points": 10**9}, None, "contradict each other: 10 of 1,000,000,000 points"),
    ],
)
def test_an_attempt_that_no_board_takes_is_in_no_export(
    changes: dict, handed_in: str | None, told: str
):
    """An exercise that is none became a column, and raised what everybody could have earned."""
    result = ADA.result.model_copy(update=changes)
    when = {} if handed_in is None else {"submitted_at": handed_in}
    odd = reported.attempt(result, "eve", 3, **when)
    write("a.jsonl", records.attempt_json(signing.sign([odd, BOB], reported.KEY)))
    found = read("a.jsonl", trusted=True)
    assert found.attempts == (BOB,)
    (problem,) = found.problems
    assert problem.startswith("a.jsonl, line 1: ")
    assert problem.endswith(told)


def test_a_signed_attempt_at_no_exercise_makes_no_column(capsys):
    odd = reported.attempt(ADA.result.model_copy(update={"exercise": "99_nope"}), "eve", 3)
    write("a.jsonl", line(ADA), line(odd))
    text = exported(capsys, "csv-wide", "a.jsonl", code=1)
    assert "99_nope" not in text


def test_logins_that_differ_in_case_are_one_student_s_in_every_format(capsys):
    """Canvas's students are found whatever the case, so other tables may not count them as two."""
    write("a.jsonl", line(ADA), line(reported.attempt(ADA.result, "ADA", 7)))
    text = exported(capsys, "csv-wide", "a.jsonl")
    assert [row["student"] for row in csv.DictReader(io.StringIO(text))] == ["ada"]
    assert {one.student for one in read("a.jsonl").attempts} == {"ada"}


def test_a_class_signed_with_another_key_has_one_reason_and_each_file_is_named():
    """A wrong `--trust` had the same sentence for each student; then only one file had a name."""
    stranger = Ed25519PrivateKey.from_private_bytes(bytes(32))
    for number in range(5):
        write(f"class/{number}.jsonl", signed(ADA, stranger))
    write("class/5.jsonl", line(BOB))
    wrong_key, *others, unsigned = read("class", trusted=True).problems
    assert wrong_key.startswith("class/0.jsonl, line 1 and 4 more: ")
    assert wrong_key.endswith("which is not trusted")
    assert others == [f"    and class/{number}.jsonl, line 1" for number in range(1, 5)]
    assert unsigned.startswith("class/5.jsonl, line 1: ")


# -- which one counts


def tries(*ends: tuple[str, int]) -> list[Attempt]:
    """Attempts of one student in order of time, each with an end and points."""
    made = []
    for number, (end, points) in enumerate(ends):
        result = reported.ended(Status(end), points=points, **DOUBLE)
        made.append(reported.attempt(result, "ada", number))
    return made


@pytest.mark.parametrize(
    ("ends", "best", "last"),
    [
        ([("fail", 3), ("pass", 7), ("fail", 5)], 1, 2),
        ([("fail", 3), ("fail", 3)], 0, 1),
        ([("cannot_grade", 7), ("fail", 3)], 1, 1),
        ([("fail", 3), ("error", 7)], 0, 0),
        ([("unfinished", 7), ("interrupted", 7)], 0, 1),
    ],
)
def test_of_several_attempts_one_counts(ends: Sequence, best: int, last: int):
    made = tries(*ends)
    assert gradebook.chosen(made, Keep.BEST) == [made[best]]
    assert gradebook.chosen(made, Keep.LAST) == [made[last]]


@pytest.mark.parametrize(
    ("ends", "taken_back", "best", "last"),
    [
        ([("pass", 7), ("fail", 3)], [0], 1, 1),
        ([("fail", 3), ("pass", 7)], [1], 0, 0),
        ([("pass", 7), ("cannot_grade", 0)], [0], 0, 0),
        ([("pass", 7), ("pass", 7)], [0, 1], 0, 1),
    ],
)
def test_what_was_taken_back_counts_where_nothing_else_was_graded(
    ends: Sequence, taken_back: Sequence[int], best: int, last: int
):
    """It is not missing then: points of an earlier export would stand in a gradebook for ever."""
    made = tries(*ends)
    reasons = {made[number].id: "Copied." for number in taken_back}
    made = gradebook.decided(made, reasons)
    assert all(made[number].result.points == 0 for number in taken_back)
    assert gradebook.chosen(made, Keep.BEST, reasons) == [made[best]]
    assert gradebook.chosen(made, Keep.LAST, reasons) == [made[last]]


def test_the_order_is_that_of_time_whatever_the_zone():
    times = ["2026-11-20T10:00:00+02:00", "2026-11-20T09:00:00Z", "2026-11-20T09:30:00"]
    made = [reported.attempt(ADA.result, "ada", n, submitted_at=t) for n, t in enumerate(times)]
    write("a.jsonl", *map(line, made))
    assert [int(one.id, 16) for one in read("a.jsonl").attempts] == [0, 1, 2]


def test_bare_results_in_files_of_one_name_are_reported_once():
    """What the ready workflows kept was `results.jsonl` of everybody: a class of one student."""
    for number, student in enumerate(("ada", "bob", "eve")):
        result = ADA.result.model_copy(update={"seed": number})
        write(
            f"{student}/results.jsonl", results.result_json(result), results.result_json(BOB.result)
        )
        write(f"{student}/attempts.jsonl", line(ADA))
        write(f"{student}.jsonl", results.result_json(result))
    write("old/Ada.json", results.result_json(ADA.result))
    write(
        "new/eve.json", results.result_json(ADA.result.model_copy(update={"exercise": "99_none"}))
    )
    found = read(*(path for path in Path().iterdir() if path.suffix != ".json"))
    told = [problem for problem in found.problems if problem.startswith("the students of")]
    assert told == [
        "the students of 2 files such as ada.jsonl: the files name none, and all their results "
        "count for ada; name each file after its student, or have `grader ci` report attempts, "
        "which name the student",
        "the students of 3 files such as ada/results.jsonl: the files name none, and all their "
        "results count for results; name each file after its student, or have `grader ci` report "
        "attempts, which name the student",
    ]
    students = [one.student for one in found.attempts]
    assert (students.count("results"), students.count("bob")) == (4, 1)


def test_of_one_commit_graded_again_the_later_grading_is_the_last():
    """The random ids decided: after an appeal the older result could count."""
    graded = ["2026-11-21T12:00:00+02:00", "2026-11-21T11:00:00Z", "never", "9" * 5_000]
    made = [
        reported.attempt(ADA.result.model_copy(update={"started_at": time}), "ada", 9 - number)
        for number, time in enumerate(graded)
    ]
    write("a.jsonl", *map(line, made))
    found = read("a.jsonl").attempts
    assert [one.id for one in found] == [made[n].id for n in (3, 2, 0, 1)]
    assert gradebook.chosen(found, Keep.LAST) == [made[1]]


# -- the command


def exported(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.main(["export", *arguments]) == code, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.fixture
def of_a_class() -> Path:
    return write("class.jsonl", *map(line, reported.a_class()))


@pytest.mark.parametrize("form", ["csv-long", "csv-wide"])
def test_a_class_becomes_a_table(of_a_class: Path, form: str):
    assert cli.main(["export", form, "class.jsonl", "--out", "table.csv"]) == 0
    assert Path("table.csv").read_bytes() == (reported.GOLDEN / f"{form}.csv").read_bytes()


def test_a_class_becomes_a_junit_file_with_its_names(of_a_class: Path, capsys):
    text = exported(capsys, "junit", "class.jsonl")
    assert 'name="ada: 01_double"' in text
    assert text.count("<testsuite ") == 4


def test_results_and_attempts_are_given_back(of_a_class: Path, capsys):
    assert exported(capsys, "attempt", "class.jsonl") == of_a_class.read_text()
    lines = exported(capsys, "result", "class.jsonl").splitlines()
    assert [results.parse_result(one) for one in lines] == [a.result for a in reported.a_class()]


def test_best_and_last_make_a_difference(capsys):
    better, worse = reported.timed(**DOUBLE), reported.wrong("no", **DOUBLE)
    write("a.jsonl", *(line(reported.attempt(r, "ada", n)) for n, r in enumerate([better, worse])))
    for keep, points in (("best", "10"), ("last", "0")):
        text = exported(capsys, "csv-wide", "a.jsonl", "--keep", keep)
        (row,) = csv.DictReader(io.StringIO(text))
        assert row["01_double"] == points
    assert exported(capsys, "csv-long", "a.jsonl").count("\n") == 13


def test_canvas_is_filled_and_what_it_lacks_is_two_lines(of_a_class: Path, capsys):
    """The command failed, with a line for each student and exercise that Canvas lacks."""
    book = ["--gradebook", str(reported.GRADEBOOK), "--total", "All kernels"]
    assert cli.main(["export", "canvas", "class.jsonl", *book, "--out", "new.csv"]) == 0
    assert Path("new.csv").read_bytes() == (reported.GOLDEN / "canvas.csv").read_bytes()
    assert capsys.readouterr().err.splitlines() == [
        "left out: 1 student without a row, such as =cmd|' /c calc'!a0",
        "next: --verbose lists all of them; a column is found by the name of its exercise",
    ]
    assert (
        cli.main(["export", "canvas", "class.jsonl", *book, "--verbose", "--out", "new.csv"]) == 0
    )
    assert "it has no row for the student =cmd" in capsys.readouterr().err


def test_a_result_that_cannot_be_used_still_fails_an_export(of_a_class: Path, capsys):
    """Its points are missing in the gradebook, and nobody would look."""
    write("broken.jsonl", "{")
    book = ["--gradebook", str(reported.GRADEBOOK)]
    assert cli.main(["export", "canvas", "class.jsonl", "broken.jsonl", *book]) == 1
    err = capsys.readouterr().err
    assert "left out: 1 text that cannot be used; 1 student without a row" in err


def test_a_gradebook_of_another_class_is_refused(of_a_class: Path, capsys):
    Path("book.csv").write_text("Student,ID,Essay (3)\nAda,1,5\n")
    assert cli.main(["export", "canvas", "class.jsonl", "--gradebook", "book.csv"]) == 2
    err = capsys.readouterr().err
    assert "book.csv has no place for any of these results" in err
    assert "such as 01_double" in err.partition("next: ")[2]


def test_blackboard_is_filled_also_from_utf_16(of_a_class: Path, capsys):
    book = reported.OF_BLACKBOARD.read_text(encoding="utf-8-sig")
    Path("book.xls").write_text(book, encoding="utf-16")
    words = ["--gradebook", "book.xls", "--total", "All kernels", "--out", "new.csv"]
    assert cli.main(["export", "blackboard", "class.jsonl", *words]) == 0
    assert Path("new.csv").read_bytes() == (reported.GOLDEN / "blackboard.csv").read_bytes()
    err = capsys.readouterr().err
    assert "1 exercise without a column, such as 02_row_sum" in err


def test_moodle_needs_no_gradebook(of_a_class: Path, capsys):
    assert cli.main(["export", "moodle", "class.jsonl", "--total", "All kernels"]) == 0
    printed = capsys.readouterr().out.encode()
    assert printed == (reported.GOLDEN / "moodle.csv").read_bytes()
    assert cli.main(["export", "moodle", "class.jsonl", "--by", "idnumber"]) == 0
    assert capsys.readouterr().out.startswith("ID number,01_double,02_row_sum\r\n")


def test_gradescope_gets_a_folder_for_each_student(capsys):
    names = ["ada", "../../eve", "bob@example.com", ".hidden", "a/b", "a_b", "x" * 200]
    write("a.jsonl", *(line(reported.attempt(ADA.result, who, n)) for n, who in enumerate(names)))
    assert cli.main(["export", "gradescope", "a.jsonl"]) == 2
    assert "Give --out DIR" in capsys.readouterr().err
    assert cli.main(["export", "gradescope", "a.jsonl", "--out", "out"]) == 0
    made = sorted(path.relative_to("out") for path in Path("out").rglob("results.json"))
    assert len(made) == len(names)
    assert {len(path.parts) for path in made} == {2}
    assert {"ada", "bob@example.com", "a_b"} < {path.parts[0] for path in made}
    assert not Path("../../eve").exists()


def test_one_student_needs_no_folder(capsys):
    write("a.jsonl", line(ADA))
    assert json.loads(exported(capsys, "gradescope", "a.jsonl"))["tests"][0]["score"] == 10
    exported(capsys, "gradescope", "a.jsonl", "--out", "results.json")
    assert json.loads(Path("results.json").read_text())["tests"][0]["score"] == 10


def test_one_student_is_written_to_an_existing_folder(capsys):
    """Of the next class, in which one had handed in, it was said that it is a directory."""
    write("a.jsonl", line(ADA), line(BOB))
    write("b.jsonl", line(reported.attempt(BOB.result, "ada", 3)))
    for _ in range(2):
        exported(capsys, "gradescope", "a.jsonl", "--out", "out")
    exported(capsys, "gradescope", "b.jsonl", "--out", "out")
    made = {path.parent.name: json.loads(path.read_text()) for path in Path("out").glob("*/*")}
    assert {student: of["tests"][0]["score"] for student, of in made.items()} == {
        "ada": 0,
        "bob": 0,
    }
    Path("new").mkdir()
    exported(capsys, "gradescope", "b.jsonl", "--out", "new")
    assert [path.as_posix() for path in Path("new").rglob("*.json")] == ["new/ada/results.json"]


def test_a_file_is_no_folder_for_several_students(capsys):
    """It was written for one student, and of the next export only `File exists` was said."""
    write("a.jsonl", line(ADA))
    write("b.jsonl", line(BOB))
    exported(capsys, "gradescope", "a.jsonl", "--out", "out")
    before = Path("out").read_bytes()
    assert cli.main(["export", "gradescope", "a.jsonl", "b.jsonl", "--out", "out"]) == 2
    err = capsys.readouterr().err
    assert "There are 2 students, and Gradescope reads one file for each, but out is a file" in err
    assert "next: Give --out DIR, a folder or a new name" in err
    assert Path("out").read_bytes() == before


def test_each_omission_has_one_line_and_changes_the_exit_code(capsys):
    write("a\n::error::x.jsonl", "{")
    write("b.jsonl", line(ADA))
    assert cli.main(["export", "csv-wide", ".", "--out", "t.csv"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("left out: 'a\\n::error::x.jsonl', line 1: it is no whole JSON")
    assert len(err.splitlines()) == 1
    assert Path("t.csv").read_text().count("\n") == 2


DECIDED = {"reason": "Copied from Bob.", "by": "teacher", "at": "2026-11-21T10:00:00Z"}


@pytest.fixture
def decisions() -> Path:
    """ada's attempt is taken back, and one that is not there."""
    taken_back = [{"attempt": one, **DECIDED} for one in (ADA.id, "f" * 32)]
    return write(
        "decisions.json",
        json.dumps({"schema": "grader/decisions/v1", "invalidated": taken_back}),
    )


@pytest.mark.parametrize("form", ["csv-long", "csv-wide", "junit", "attempt", "result"])
def test_an_attempt_that_was_taken_back_has_no_points(decisions: Path, capsys, form: str):
    """`leaderboard invalidate` took it off the board, and its points stayed in every export."""
    write("a.jsonl", line(ADA), line(BOB))
    assert cli.main(["export", form, "a.jsonl", "--decisions", str(decisions)]) == 0
    out, err = capsys.readouterr()
    reason = "This attempt was taken back: Copied from …."
    assert err.splitlines() == [
        f"note: ada, 01_double: {ADA.id} counts 0 points. {reason}",
        f"note: decisions.json decides on {'f' * 32}, which is not among these results",
    ]
    if form == "csv-wide":
        assert [row["01_double"] for row in csv.DictReader(io.StringIO(out))] == ["0", "0"]
    else:
        assert reason in out
        assert "91.4 % of the ceiling" not in out


def test_a_gradebook_loses_points_that_were_taken_back(decisions: Path):
    """Canvas exports what was imported before: a cell that is left as it is would keep them."""
    write("a.jsonl", line(ADA))
    book = ["--gradebook", "book.csv", "--out", "new.csv"]
    Path("book.csv").write_text("Student,ID,SIS Login ID,01_double (7)\nAda,1,ada,10\n")
    assert cli.main(["export", "canvas", "a.jsonl", "--decisions", str(decisions), *book]) == 0
    assert Path("new.csv").read_text().splitlines()[1] == "Ada,1,ada,0"


def test_signed_attempts_without_a_key_get_a_note_on_how_they_count(capsys):
    write("a.jsonl", signed(ADA))
    assert cli.main(["export", "csv-wide", "a.jsonl"]) == 2
    assert "for signed ones give --trust PUBLIC.pem, too" in capsys.readouterr().err


def test_an_export_is_of_one_course(tmp_path: Path, monkeypatch, capsys):
    write("a.jsonl", line(ADA))
    monkeypatch.delenv("GRADER_COURSE")
    assert cli.main(["export", "csv-wide", "a.jsonl"]) == 2
    assert "There is no course here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["csv-wide", "class.jsonl", "--out", "typo/x.csv"],
            "typo/x.csv cannot be written: No such",
        ),
        (
            ["csv-wide", "class.jsonl", "--out", "release"],
            "release cannot be written: Is a directory",
        ),
        (
            ["gradescope", "class.jsonl", "--out", "typo/x"],
            "The folder typo/x cannot be made: No such",
        ),
        (["gradescope", "class.jsonl", "--out", "pipe"], "The folder pipe cannot be made: File"),
        (
            ["gradescope-zip", "release", "--out", "typo/x.zip"],
            "typo/x.zip cannot be written: No such",
        ),
    ],
)
def test_no_folder_is_made_of_a_mistyped_path(
    of_a_class: Path, release: Path, capsys, arguments: list[str], told: str
):
    """It was, and nobody found the file; of a folder in its place the grader took the blame."""
    os.mkfifo("pipe")
    assert cli.main(["export", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert not Path("typo").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["csv-wide", "nowhere"], "There is no file or folder nowhere"),
        (["canvas", "class.jsonl"], "canvas needs the gradebook that it fills"),
        (["blackboard", "class.jsonl"], "blackboard needs the gradebook that it fills"),
        (
            ["csv-wide", "class.jsonl", "--by", "email"],
            "--by belongs to the format moodle, not to csv-wide",
        ),
        (
            ["csv-wide", "class.jsonl", "--gradebook", "x.csv"],
            "--gradebook belongs to the format canvas or blackboard, not to csv-wide",
        ),
        (
            ["csv-wide", "class.jsonl", "--total", "Sum"],
            "--total belongs to the format canvas or blackboard or moodle, not to csv-wide",
        ),
        (["canvas", "class.jsonl", "--gradebook", "x.csv"], "x.csv cannot be read"),
        (["csv-wide", "class.jsonl", "--trust", "x.pem"], "x.pem cannot be read"),
        (["gradescope-zip", "class.jsonl"], "packs one released course"),
        (["gradescope-zip", ".", "--out", "x.zip"], ". is not a release of a course: it has no"),
        (["xml", "class.jsonl"], "csv-long"),
    ],
)
def test_what_cannot_be_exported_says_so(of_a_class: Path, capsys, arguments, told: str):
    assert cli.main(["export", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_gradebook_saved_by_another_program_gets_advice(of_a_class: Path, capsys):
    Path("book.csv").write_bytes("Student,ID\nZoë,1\n".encode("latin-1"))
    assert cli.main(["export", "canvas", str(of_a_class), "--gradebook", "book.csv"]) == 2
    err = capsys.readouterr().err
    assert "book.csv cannot be read: it is not UTF-8" in err
    assert "CSV in UTF-8" in err.partition("next: ")[2]


def test_a_gradebook_that_is_no_csv_is_named(of_a_class: Path, capsys):
    """A cell that is longer than Python's csv reads ended the command as a fault of the grader."""
    Path("book.csv").write_text(f"Student,ID\nAda,{'1' * 131_073}\n")
    assert cli.main(["export", "canvas", str(of_a_class), "--gradebook", "book.csv"]) == 2
    err = capsys.readouterr().err
    assert "book.csv cannot be read as CSV: field larger than field limit" in err
    assert "Export it from Canvas again" in err.partition("next: ")[2]


# -- Gradescope's autograder


RELEASED = {
    ".gitignore": b"__pycache__/\n",
    "exercises/01_double/kernel.py": b"# stub\n",
    "exercises/01_double/spec.py": b"SPEC = 1\n",
    "requirements.txt": b"./kernel_grader.whl\n",
}


@pytest.fixture
def release() -> Path:
    """A release, with what nobody released beside it."""
    folder = Path("release")
    for path, content in RELEASED.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    files = [(path, content, path.endswith("kernel.py")) for path, content in RELEASED.items()]
    write("release/release.json", manifest.to_json(manifest.build("small", "1", "0.1.0", files)))
    write("release/.git/config", "secret")
    write("release/exercises/__pycache__/x.pyc", "x")
    return folder


def test_the_zip_holds_the_release_and_what_runs_it(release: Path):
    """A student's worked repository was packed, with the notes and backups that lay in it."""
    write("release/notes.txt", "mine")
    write("release/exercises/01_double/spec.py.yours-0.1", "SPEC = 0")
    write("release/solutions/01_double/kernel.py", "# solved")
    assert cli.main(["export", "gradescope-zip", "release", "--out", "autograder.zip"]) == 0
    with zipfile.ZipFile("autograder.zip") as archive:
        assert archive.namelist() == [
            "course/.gitignore",
            "course/exercises/01_double/kernel.py",
            "course/exercises/01_double/spec.py",
            "course/release.json",
            "course/requirements.txt",
            "run_autograder",
            "setup.sh",
        ]
        modes = {m.filename: m.external_attr >> 16 for m in archive.infolist()}
    assert modes["run_autograder"] == modes["setup.sh"] == 0o755
    assert modes["course/requirements.txt"] == 0o644
    assert gradescope.autograder_zip(release) == Path("autograder.zip").read_bytes()


@pytest.mark.parametrize("path", RELEASED)
@pytest.mark.parametrize("how", ["solved", "missing", "link"])
def test_a_repository_that_somebody_works_in_is_no_autograder(
    release: Path, capsys, path: str, how: str
):
    """With a spec of the student's, or none, all of the class would have been graded."""
    file = release / path
    content = file.read_bytes()
    file.unlink()
    if how == "solved":
        file.write_text("mine")
    elif how == "link":
        Path("elsewhere").write_bytes(content)
        file.symlink_to(Path("elsewhere").absolute())
    assert cli.main(["export", "gradescope-zip", "release", "--out", "autograder.zip"]) == 2
    err = capsys.readouterr().err
    assert f"error: {path} in release was changed after the release." in err
    assert "next: Name the release itself" in err
    assert not Path("autograder.zip").exists()


def test_a_zip_that_gradescope_does_not_take_is_not_made(release: Path, monkeypatch):
    monkeypatch.setattr(gradescope, "LARGEST", 10)
    with pytest.raises(UsageError, match="does not take"):
        gradescope.autograder_zip(release)
