"""What a board believes of the files that it is given: each is counted once, or named."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from classes import (
    A100,
    CONTEXT,
    KEY,
    OTHER,
    SIMULATED,
    TODAY,
    TRUSTED,
    attempt,
    line,
    read,
    signed,
    solved,
    timed,
    wrong,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from grader.classroom import documents, gradebook
from grader.classroom.board.collect import collect
from grader.classroom.board.records import State
from grader.model import attempts, results
from grader.model.errors import UsageError
from grader.model.outcomes import Outcome, Status


def only(folder: Path, text: str | bytes) -> str:
    """The one reason for which a text is left out."""
    collected = read(folder / "one", text)
    assert not collected.entries
    (problem,) = collected.problems
    assert problem.place.endswith("000.json") or problem.place.endswith("000.json, line 1")
    return problem.reason


def test_a_signed_attempt_of_a_hardened_run_ranks(tmp_path: Path):
    collected = read(tmp_path, line(0.9, student="bob"))
    (entry,) = collected.entries
    assert not collected.problems
    assert (entry.student, entry.state, entry.trusted, entry.when) == (
        "bob",
        State.RANKED,
        True,
        TODAY,
    )
    assert entry.figures is not None
    assert (entry.figures.share, entry.figures.gpu) == (0.9, "NVIDIA H200")


@pytest.mark.parametrize(
    ("result", "state", "note"),
    [
        (timed(), State.RANKED, ""),
        (timed(0.5, kind="too_slow"), State.RANKED, "below the 80 % that pass"),
        (timed(0.9, kind="noisy"), State.NOISY, "disturbed"),
        (timed(1.3, kind="impossible"), State.IMPOSSIBLE, "faster than this GPU's memory"),
        (timed(1.3), State.IMPOSSIBLE, "faster than this GPU's memory"),
        (timed(0.9, kind="no_kernel"), State.FAILED, ""),
        (timed(0.9, kind="mismatch"), State.FAILED, ""),
        (timed(hardened=False), State.UNVERIFIED, "no trusted run made it"),
        (SIMULATED, State.NOT_TIMED, "right, and not timed on a GPU"),
        (timed(environment=SIMULATED.environment), State.NOT_TIMED, "not timed on a GPU"),
        (timed(steps=SIMULATED.steps[:-1]), State.FAILED, ""),
        (timed(steps=timed().steps[-1:]), State.FAILED, ""),
        (timed(status=Status.INTERRUPTED), State.FAILED, ""),
        (timed(status=Status.UNFINISHED), State.FAILED, ""),
        (wrong(), State.FAILED, ""),
        (solved(), State.SOLVED, ""),
    ],
)
def test_what_a_signed_result_is_worth(tmp_path: Path, result, state: State, note: str):
    (entry,) = read(tmp_path, signed(attempt(result))).entries
    assert entry.state is state
    assert note in entry.note
    assert (entry.note == "") == (note == "")
    assert (entry.figures is not None) == (state in (State.RANKED, State.UNVERIFIED, State.NOISY))


@pytest.mark.parametrize("step", ["correctness", "properties", "memory"])
def test_a_share_of_what_is_not_right_is_none(tmp_path: Path, step: str):
    steps = tuple(
        one.model_copy(update={"outcome": Outcome.SKIP}) if one.name == step else one
        for one in timed().steps
    )
    (entry,) = read(tmp_path, signed(attempt(timed(steps=steps)))).entries
    assert entry.state is State.FAILED


def with_unknown(result: results.Result, outcome: Outcome) -> results.Result:
    """The result with a step behind `load` that this installation does not have."""
    load, *more = result.steps
    unknown = load.model_copy(update={"name": "sunrise", "outcome": outcome})
    return result.model_copy(update={"steps": (load, unknown, *more)})


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Outcome.PASS, State.RANKED),
        (Outcome.FAIL, State.FAILED),
        (Outcome.SKIP, State.FAILED),
        (Outcome.NOT_RUN, State.FAILED),
    ],
)
def test_a_step_that_nobody_knows_ranks_where_it_passed(
    tmp_path: Path, outcome: Outcome, state: State
):
    (entry,) = read(tmp_path, signed(attempt(with_unknown(timed(), outcome)))).entries
    assert entry.state is state


def test_an_exercise_without_a_kernel_is_solved(tmp_path: Path):
    answers = solved().steps[0].model_copy(update={"name": "answers", "outcome": Outcome.PASS})
    for steps, state in (((answers,), State.SOLVED), ((), State.FAILED)):
        result = solved().model_copy(update={"steps": steps})
        (entry,) = read(tmp_path, signed(attempt(result))).entries
        assert entry.state is state


def test_who_skipped_the_traffic_has_no_rank(tmp_path: Path):
    """A part that no simulator has, such as one line of assembly, is no way around the step."""
    steps = tuple(
        one.model_copy(update={"outcome": Outcome.SKIP}) if one.name == "traffic" else one
        for one in timed().steps
    )
    (entry,) = read(tmp_path, signed(attempt(timed(steps=steps)))).entries
    assert (entry.state, entry.figures) == (State.NOT_TIMED, None)
    assert "traffic was skipped" in entry.note


def test_an_error_that_a_sanitizer_found_fails(tmp_path: Path):
    sanitized = results.Sanitized(
        tool="memcheck", outcome=Outcome.FAIL, case="1 element of float32", summary="out of bounds"
    )
    (entry,) = read(tmp_path, signed(attempt(timed(sanitized=(sanitized,))))).entries
    assert entry.state is State.FAILED


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (timed(0.99), State.UNVERIFIED),
        (timed(0.5, kind="too_slow"), State.UNVERIFIED),
        (timed(1.3), State.IMPOSSIBLE),
        (solved(), State.SOLVED),
        (SIMULATED, State.NOT_TIMED),
    ],
)
def test_an_unsigned_attempt_is_shown_as_unverified(tmp_path: Path, result, state: State):
    (entry,) = read(tmp_path, attempts.attempt_json(attempt(result))).entries
    assert entry.state is state
    assert not entry.trusted
    assert "no trusted run made it" in entry.note or state is State.IMPOSSIBLE


def test_another_version_of_the_course_is_noted(tmp_path: Path):
    (entry,) = read(tmp_path, line(version="2025.4")).entries
    assert entry.state is State.RANKED
    assert entry.note == "graded with another version of the course"


def test_a_signature_of_another_text_is_named(tmp_path: Path):
    forged = line(student="eve").replace('\\"share\\":0.85', '\\"share\\":0.99')
    assert "0.99" in forged
    assert only(tmp_path, forged) == "its signature is not that of its content: it was changed"


def test_an_unknown_key_is_named(tmp_path: Path):
    other = Ed25519PrivateKey.generate()
    assert "which is not trusted" in only(tmp_path, signed(attempt(), other))


def test_a_borrowed_signature_is_named(tmp_path: Path):
    mine, other = json.loads(line(0.5)), json.loads(line(0.99, student="eve"))
    assert "was changed" in only(tmp_path, json.dumps(other | {"signature": mine["signature"]}))


NO_TIME = "which is no time"


UNUSABLE = pytest.mark.parametrize(
    ("text", "reason"),
    [
        (lambda: line()[:-40], "it is no whole JSON: it may have been cut off"),
        (lambda: "{", "it is no whole JSON: it may have been cut off"),
        (lambda: b"\xff\xfe{}", "it is no whole JSON: it may have been cut off"),
        (lambda: "[" * 100_000, "it is no whole JSON: it may have been cut off"),
        (lambda: "[]", "it is not a record of this grader: it has no schema"),
        (lambda: '{"schema": 7}', "it is not a record of this grader: it has no schema"),
        (lambda: results.result_json(timed()), "it is a bare result, which says nothing of whose"),
        (lambda: results.result_json(timed(), indent=2), "it is a bare result"),
        (
            lambda: attempts.attempt_json(attempt()).replace(
                "grader/attempt/v1", "grader/attempt/v9"
            ),
            "it is a grader/attempt/v9, and what is read here is grader/result, attempt and ",
        ),
        (lambda: '{"schema": "x\\n::error::y"}', r"it is a 'x\n::error::y', and"),
        (lambda: '{"schema": "grader/signed/v1", "key": 5}', "no whole grader/signed/v1: key: "),
        (lambda: '{"schema": "grader/attempt/v1"}', "no whole grader/attempt/v1: id: Field req"),
        (lambda: signed(attempt(id="../../etc")), "its id is ../../etc, and 32 hexadecimal digits"),
        (
            lambda: signed(attempt(timed(schema_="grader/result/v2"))),
            "it is no whole grader/attempt/v1: result.schema: ",
        ),
        (lambda: line(course="other"), "it is of another course: other"),
        (lambda: line(course="a\u202eb"), r"it is of another course: 'a\u202eb'"),
        (
            lambda: signed(attempt(timed(exercise="99_x"))),
            "the course has no exercise 99_x, which it is of",
        ),
        (lambda: line(student=""), "it names no student"),
        (lambda: line(student=" \n"), "it names no student"),
        (lambda: line(student="x" * 10_000), "its student's name has 10,000 characters, and 200"),
        (lambda: line(submitted_at="yesterday"), f"handed in at yesterday, {NO_TIME}"),
        (lambda: line(submitted_at=""), f"handed in at '', {NO_TIME}"),
        (lambda: line(submitted_at="2026-02-30T00:00:00Z"), NO_TIME),
        (lambda: line(submitted_at="0001-01-01T00:00:00+14:00"), NO_TIME),
        (lambda: line(submitted_at="2027-11-21T10:00:00Z"), "which is in the future: a clock"),
        (lambda: line(submitted_at="2026-11-21T12:06:00Z"), "which is in the future"),
        (
            lambda: signed(attempt(timed(points=11))),
            "contradict each other: 11 of 10 points",
        ),
        (
            lambda: signed(attempt(timed(points=-1))),
            "contradict each other: -1 of 10 points",
        ),
        (
            lambda: signed(attempt(timed(kernel=results.Kernel(path="kernel.py", sha256="?")))),
            "it names its kernel by no SHA-256",
        ),
        (lambda: signed(attempt(timed(0.5, low=0.6))), "the share lies outside its interval"),
        (
            lambda: signed(attempt(timed(-0.5))),
            "its figures are impossible: time_ms is -1.07",
        ),
        (
            lambda: attempts.attempt_json(attempt(timed(0.5, high=1e300))),
            "its figures are impossible: an interval that ends at 1e+300 times the ceiling",
        ),
        (lambda: signed(attempt(timed(0.9, high=10.1, kind="noisy"))), "impossible: an interval"),
        (
            lambda: attempts.attempt_json(attempt(timed(0.5, kind="too_slow"))).replace(
                '"passing":0.8', '"passing":1e300'
            ),
            "its figures are impossible: passing is 1e+300",
        ),
        (
            lambda: attempts.attempt_json(attempt()).replace('"share":0.85', '"share":"0.85"'),
            "result.steps.5.speed.share: Input should be a valid number",
        ),
        (
            lambda: attempts.attempt_json(attempt()).replace('"share":0.85', '"share":NaN'),
            "result.steps.5.speed.share: Input should be a finite number",
        ),
        (
            lambda: attempts.attempt_json(attempt()).replace('"hardened":true', '"hardened":"yes"'),
            "result.hardened: Input should be a valid boolean",
        ),
        (lambda: line().replace("0.85", "NaN"), "it was changed"),
        (lambda: "x" * (documents.LARGEST + 1), "it is longer than 8,388,608 bytes"),
        (lambda: "\n \n", "it is empty"),
    ],
)


@UNUSABLE
def test_what_cannot_be_used_is_named_with_its_reason(tmp_path: Path, text, reason: str):
    assert reason in only(tmp_path, text())


@UNUSABLE
def test_exports_leave_out_the_same_for_the_same_reason(tmp_path: Path, text, reason: str):
    if "bare result" in reason:
        return  # a board needs a student; an export takes the name of the file for one
    said = only(tmp_path, text())
    trusted = TRUSTED if "signed/v1" in str(text())[:40] else {}
    kept = gradebook.read([tmp_path], replace(CONTEXT, trusted=trusted))
    assert not kept.attempts
    assert [problem.partition(": ")[2] for problem in kept.problems] == [said]


def test_no_reason_repeats_more_than_a_line_of_what_it_is_about(tmp_path: Path):
    collected = read(tmp_path, *(line(course="\n" * n + "x" * 5000) for n in range(3)))
    for problem in collected.problems:
        assert str(problem).isprintable()
        assert len(problem.reason) < 300


def test_odd_names_are_names(tmp_path: Path):
    names = ["=HYPERLINK(1)", "<script>", "a\nb", "\u202eada", "Ω", "ada@x.org", "x" * 200]
    collected = read(tmp_path, *(line(student=name) for name in names))
    assert {entry.student for entry in collected.entries} == {name.casefold() for name in names}
    assert not collected.problems


def test_one_student_may_be_spelt_in_several_ways(tmp_path: Path):
    """They had a row and a pseudonym for each; exports count them as one."""
    collected = read(tmp_path, *(line(student=name) for name in ("ada", "ADA", " Ada\t")))
    assert [entry.student for entry in collected.entries] == ["ada"] * 3


def test_a_little_future_is_a_clock_that_differs(tmp_path: Path):
    (entry,) = read(tmp_path, line(submitted_at="2026-11-21T14:04:00+02:00")).entries
    assert entry.when == "2026-11-21T12:04:00Z"


def test_the_same_bytes_count_once(tmp_path: Path):
    collected = read(tmp_path, (same := line()), same)
    assert len(collected.entries) == 1
    (problem,) = collected.problems
    assert problem.place.endswith("001.json, line 1")
    assert "the same attempt as in" in problem.reason
    assert "000.json, line 1, and counted once" in problem.reason


def test_a_replay_with_another_content_counts_once(tmp_path: Path):
    made = attempt(timed(0.6))
    better = made.model_copy(update={"result": timed(0.99)})
    unsigned = attempts.attempt_json(better)
    collected = read(tmp_path, unsigned, signed(made))
    (entry,) = collected.entries
    assert entry.signed, "a copy that anybody can write pushes out no signed attempt"
    (problem,) = collected.problems
    assert problem.place.endswith("000.json, line 1")
    assert "a replay: it has the id of the attempt in" in problem.reason


def test_a_file_may_hold_many_lines_and_a_bad_one_stops_none(tmp_path: Path):
    lines = [line(0.5), "{broken", line(0.6), "", "x" * (documents.LARGEST + 9), line(0.7)]
    collected = read(tmp_path, "\n".join(lines))
    assert [e.figures.share for e in by_share(collected.entries)] == [0.5, 0.6, 0.7]
    assert [problem.place.rpartition(", ")[2] for problem in collected.problems] == [
        "line 2",
        "line 5",
    ]


def by_share(entries):
    return sorted(entries, key=lambda entry: entry.figures.share)


def test_a_file_of_rubbish_has_few_lines_of_problems(tmp_path: Path):
    collected = read(tmp_path, "{}\n" * 1000)
    assert len(collected.problems) == documents.MOST_REASONS + 1
    assert collected.problems[-1].reason == "900 more of its lines cannot be used"
    assert sum(problem.count for problem in collected.problems) == 1000


def test_one_attempt_may_stand_on_many_lines(tmp_path: Path):
    text = json.dumps(json.loads(line()), indent=2)
    assert len(read(tmp_path, text).entries) == 1


def test_folders_are_read_in_all_depths_and_files_by_any_name(tmp_path: Path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "one.json").write_text(line(0.5))
    (inner / "two.jsonl").write_text(line(0.6))
    (inner / "three.txt").write_text(line(0.7))
    assert len(collect([tmp_path], CONTEXT).entries) == 2
    both = collect([tmp_path, inner / "three.txt", inner / "one.json"], CONTEXT)
    assert len(both.entries) == 3
    assert not both.problems, "a file that is named twice is read once"


def test_links_and_pipes_are_named_and_not_read(tmp_path: Path):
    (tmp_path / "real.txt").write_text(line())
    (tmp_path / "link.json").symlink_to(tmp_path / "real.txt")
    os.mkfifo(tmp_path / "pipe.json")
    collected = collect([tmp_path], CONTEXT)
    assert not collected.entries
    assert sorted(problem.reason for problem in collected.problems) == [
        "it is a link, and links are not followed",
        "it is not a plain file",
    ]


def test_a_folder_that_is_a_link_is_named_and_not_read(tmp_path: Path):
    """It was passed over in silence."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.json").write_text(line())
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada").symlink_to(tmp_path / "elsewhere")
    collected = collect([tmp_path / "class"], CONTEXT)
    assert not collected.entries
    assert list(map(str, collected.problems)) == [
        f"{tmp_path / 'class' / 'ada'}: it is a link, and links are not followed"
    ]


def test_a_folder_that_cannot_be_read_is_named_and_stops_no_other(tmp_path: Path, monkeypatch):
    """A student's results were lost in silence. Root reads everything, so this one is pretended."""
    for name in ("ada", "bob"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.json").write_text(line(student=name))
    closed, scandir = tmp_path / "ada", os.scandir

    def refuse(path):
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    collected = collect([tmp_path], CONTEXT)
    assert [entry.student for entry in collected.entries] == ["bob"]
    assert list(map(str, collected.problems)) == [f"{closed}: it cannot be read: Permission denied"]


def test_a_path_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match=r"There is no file or folder .*missing"):
        collect([tmp_path / "missing"], CONTEXT)


def test_file_names_cannot_forge_a_line_of_output(tmp_path: Path):
    (tmp_path / "x\n::error::forged.json").write_text("{}")
    (problem,) = collect([tmp_path], CONTEXT).problems
    assert str(problem).isprintable()
    assert r"x\n::error::forged" in problem.place


def test_the_order_of_the_files_changes_nothing(tmp_path: Path):
    made = attempt(timed(0.6))
    same_id = made.model_copy(update={"result": timed(0.7)})
    lines = [line(0.5), signed(made), signed(same_id), line(0.8, student="bob"), line(0.9)]
    forward = read(tmp_path / "f", *lines)
    backward = read(tmp_path / "b", *reversed(lines))
    assert forward.entries == backward.entries
    assert len(forward.entries) == 4


def test_of_one_commit_graded_again_the_later_grading_comes_last(tmp_path: Path):
    """The random ids decided which of them stands for a student none of whose attempts ranks."""
    graded = ["2026-11-21T12:00:00+02:00", "2026-11-21T11:00:00Z", "never"]
    lines = [
        signed(attempt(timed(started_at=time), id=f"{9 - number:032x}"))
        for number, time in enumerate(graded)
    ]
    collected = read(tmp_path, *lines)
    assert [int(entry.id, 16) for entry in collected.entries] == [7, 9, 8]
    assert not collected.problems


def test_documents_of_a_file(tmp_path: Path):
    def found(name: str, text: str):
        (tmp_path / name).write_text(text)
        return list(documents.texts(tmp_path / name))

    assert found("a.json", "{}") == [(1, b"{}")]
    assert found("a.json", "{}\n{}") == [(1, b"{}\n"), (2, b"{}")]
    assert found("a.json", "{\n}") == [(None, b"{\n}")]
    assert found("a.jsonl", "{\n}") == [(1, b"{\n"), (2, b"}")]


def test_keys_that_are_not_trusted_do_not_make_ranks(tmp_path: Path):
    nobody = replace(CONTEXT, trusted={})
    assert not read(tmp_path, line(), context=nobody).entries


def test_other_exercises_and_gpus_are_kept_apart(tmp_path: Path):
    collected = read(tmp_path, signed(attempt(timed(0.7, gpu=A100, exercise=OTHER)), KEY))
    (entry,) = collected.entries
    assert (entry.exercise, entry.figures.gpu) == (OTHER, A100)
