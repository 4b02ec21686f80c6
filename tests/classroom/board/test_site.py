"""From the files of a class to what is published of it, and to what is not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import jsonschema
import pytest
from classes import (
    A100,
    H200,
    NOW,
    OTHER,
    PUZZLE,
    SIMULATED,
    SMALL,
    TIMED,
    attempt,
    line,
    read,
    signed,
    solved,
    timed,
    wrong,
)
from hypothesis import given
from hypothesis import strategies as st

from grader.classroom.board import baselines, decisions, people, publish, site
from grader.classroom.board.decisions import Invalidated
from grader.classroom.board.forbidden import Forbidden
from grader.classroom.board.records import Site, State
from grader.classroom.board.wishes import Wish
from grader.course import catalog, settings
from grader.model import attempts
from grader.model.errors import UsageError
from grader.model.outcomes import Status
from grader.model.results import EntryResult

PUBLISHED = Path(__file__).parents[3] / "docs" / "board.schema.json"
# The small course's puzzle is timed; those of a class are not.
TASKS = tuple(
    replace(task, gates=None) if task.name == PUZZLE else task
    for task in site.tasks(catalog.exercises(SMALL))
)
SECRET = bytes(range(32))
SETTINGS = settings.read(SMALL)


def made(folder: Path, *texts: str, wanted=None, reasons=None, known=()) -> Site:
    """The site of these files."""
    entries = read(folder, *texts).entries
    logins = {entry.student for entry in entries}
    named, _ = people.named(logins, SECRET, wanted or {})
    settled = site.decided(entries, reasons or {}, Forbidden(logins))
    return site.assemble(SETTINGS, site.Class(TASKS, settled, named), known, NOW)


def name(login: str) -> str:
    return people.named([login], SECRET, {})[0][login].who


def rows(board) -> list[tuple[str, int | None]]:
    return [(row.who, row.rank) for row in board.rows if row.key]


def test_boards_are_the_timed_exercises_of_the_course(tmp_path: Path):
    empty = made(tmp_path)
    assert [board.exercise for board in empty.boards] == [TIMED, OTHER]
    assert (empty.boards[0].passing, empty.boards[0].great) == (0.8, 0.9)
    assert (empty.course, empty.exercises, empty.standings) == ("small", 3, ())


def test_a_table_has_ranked_rows_then_others_then_baselines(tmp_path: Path):
    told = made(
        tmp_path,
        line(0.80, "ada"),
        line(0.90, "bob"),
        line(0.91, "cy"),
        attempts.attempt_json(attempt(timed(0.99), student="dan")),
        signed(attempt(SIMULATED, student="eve")),
        signed(attempt(wrong(), student="fay")),
        signed(attempt(timed(1.2, kind="impossible"), student="gus")),
        signed(attempt(timed(0.9, kind="noisy"), student="hal")),
    )
    board = told.boards[0]
    assert rows(board) == [
        (name("cy"), 1),
        (name("bob"), 2),
        (name("ada"), 3),
        (name("dan"), None),
        (name("hal"), None),
        (name("eve"), None),
        (name("gus"), None),
        (name("fay"), None),
    ]
    assert [row.close for row in board.rows[:3]] == [False, True, False]
    limit = board.rows[-1]
    assert (limit.who, limit.key, limit.share, limit.gpu) == (baselines.LIMIT, None, 1.0, H200)
    assert limit.ceiling_gbps == limit.bandwidth_gbps == 4000.0
    assert {row.share for row in board.rows if row.state is State.IMPOSSIBLE} == {None}


def test_a_row_is_the_best_attempt_and_counts_all(tmp_path: Path):
    board = made(
        tmp_path,
        line(0.7, submitted_at="2026-11-01T00:00:00Z"),
        line(0.9, submitted_at="2026-11-02T00:00:00Z"),
        line(0.8, submitted_at="2026-11-03T00:00:00Z"),
        attempts.attempt_json(attempt(timed(0.99))),
    ).boards[0]
    row = board.rows[0]
    assert (row.share, row.attempts, row.when) == (0.9, 4, "2026-11-02T00:00:00Z")
    assert (row.share_low, row.share_high) == pytest.approx((0.89, 0.91))


def test_too_slow_to_pass_ranks_and_says_so(tmp_path: Path):
    text = signed(attempt(timed(0.5, kind="too_slow")))
    row = made(tmp_path, text).boards[0].rows[0]
    assert (row.rank, row.note) == (1, "below the 80 % that pass")


def test_an_invalidated_attempt_shows_its_reason_and_the_next_best_ranks(tmp_path: Path):
    best, second = attempt(timed(0.95)), attempt(timed(0.85))
    reason = "Ada copied it, says ada@x.org\u202e"
    told = made(tmp_path, signed(best), signed(second), reasons={best.id: reason})
    assert told.boards[0].rows[0].share == 0.85
    (student,) = told.students
    assert {(one.state, one.note, one.share) for one in student.tried} == {
        (State.INVALIDATED, "… copied it, says …", None),
        (State.RANKED, "", 0.85),
    }
    alone = made(tmp_path / "alone", signed(best), reasons={best.id: "Why"})
    row = alone.boards[0].rows[0]
    assert (row.state, row.rank, row.note) == (State.INVALIDATED, None, "Why")
    assert alone.standings[0].solved == 0


def test_the_overall_board_takes_the_mean_with_nothing_for_what_is_missing(tmp_path: Path):
    told = made(
        tmp_path,
        line(0.8, "ada"),
        signed(attempt(timed(0.6, exercise=OTHER, gpu=A100), student="ada")),
        signed(attempt(solved(), student="ada")),
        line(0.9, "bob"),
        attempts.attempt_json(attempt(timed(0.9, exercise=OTHER), student="bob")),
        attempts.attempt_json(attempt(solved(), student="bob")),
        signed(attempt(solved(), student="cy")),
    )
    ada, bob, cy = told.standings
    assert (ada.who, ada.rank, ada.shares, ada.solved) == (name("ada"), 1, (0.8, 0.6), 3)
    assert (ada.mean, ada.gpus) == (pytest.approx(0.7), (A100, H200))
    assert ada.mean_high - ada.mean == pytest.approx(0.01 * 2**0.5 / 2)
    assert (bob.rank, bob.shares, bob.mean, bob.solved) == (2, (0.9, None), 0.45, 1)
    assert (cy.rank, cy.mean, cy.solved) == (None, 0.0, 1)


def test_a_history_is_in_order_and_has_puzzles(tmp_path: Path):
    told = made(
        tmp_path,
        line(0.9, submitted_at="2026-11-03T00:00:00Z"),
        signed(attempt(solved(), submitted_at="2026-11-01T01:00:00+01:00")),
    )
    (student,) = told.students
    assert [(one.exercise, one.when, one.state) for one in student.tried] == [
        (PUZZLE, "2026-11-01T00:00:00Z", State.SOLVED),
        (TIMED, "2026-11-03T00:00:00Z", State.RANKED),
    ]


def test_a_stub_that_was_graded_is_no_attempt(tmp_path: Path):
    """Each exercise that nobody had begun counted as an attempt that failed."""
    stub = SIMULATED.model_copy(update={"status": Status.NOT_STARTED, "points": 0, "steps": ()})
    told = made(
        tmp_path,
        line(0.9, "ada"),
        signed(attempt(stub, student="ada")),
        signed(attempt(stub, student="bob")),
    )
    assert [len(student.tried) for student in told.students] == [1]
    assert (told.boards[0].rows[0].attempts, len(told.standings)) == (1, 1)


def test_a_file_of_which_one_entry_was_begun_is_an_attempt(tmp_path: Path):
    parts = [("a", Status.PASS, 3), ("b", Status.NOT_STARTED, 0)]
    entries = tuple(
        EntryResult(entry=name, status=status, points=points, max_points=5, steps=())
        for name, status, points in parts
    )
    update = {"status": Status.NOT_STARTED, "points": 3, "entries": entries}
    told = made(tmp_path, signed(attempt(SIMULATED.model_copy(update=update))))
    assert [len(student.tried) for student in told.students] == [1]


def test_points_and_solved_of_trusted_runs_are_counted_for_each_exercise(tmp_path: Path):
    """A class without a GPU has nothing else."""
    right = SIMULATED.model_copy(update={"hardened": True})
    told = made(
        tmp_path,
        signed(attempt(right, student="ada")),
        signed(attempt(solved(), student="ada")),
        signed(attempt(wrong(), student="bob")),
        attempts.attempt_json(attempt(solved(), student="bob")),
    )
    assert [(one.who, one.rank, one.solved) for one in told.standings] == [
        (name("ada"), None, 2),
        (name("bob"), None, 0),
    ]
    assert [one.points for one in told.standings] == [right.points + solved().points, 0]
    counted = {one.exercise: (one.tried, one.solved) for one in told.tallies}
    assert counted == {PUZZLE: (2, 1), TIMED: (2, 1), OTHER: (0, 0)}
    assert all(one.max_points > 0 for one in told.tallies)


def test_who_is_hidden_is_nowhere_and_moves_nobody_down(tmp_path: Path):
    wanted = {"bob": Wish(hidden=True)}
    told = made(tmp_path, line(0.8, "ada"), line(0.9, "bob"), wanted=wanted)
    assert rows(told.boards[0]) == [(name("ada"), 1)]
    assert len(told.students) == len(told.standings) == 1
    assert name("bob") not in publish.to_json(told)


def test_a_gpu_that_only_an_untrusted_file_names_has_no_name(tmp_path: Path):
    texts = [
        attempts.attempt_json(attempt(timed(0.7, gpu="<MARKER>"), student="ada")),
        attempts.attempt_json(attempt(timed(0.8, gpu=H200), student="bob")),
        line(0.9, "cy"),
    ]
    assert {row.who: row.gpu for row in made(tmp_path, *texts).boards[0].rows if row.key} == {
        name("ada"): "",
        name("bob"): H200,
        name("cy"): H200,
    }


@pytest.mark.slow
@given(st.data())
def test_unverified_attempts_and_orders_change_no_rank(tmp_path_factory, data):
    shares = data.draw(st.lists(st.integers(50, 99).map(lambda n: n / 100), max_size=6))
    forged = data.draw(st.lists(st.integers(50, 104).map(lambda n: n / 100), max_size=3))
    honest = [line(share, f"s{number}") for number, share in enumerate(shares)]
    fakes = [
        attempts.attempt_json(attempt(timed(share), student=f"s{number}"))
        for number, share in enumerate(forged)
    ]
    one = made(tmp_path_factory.mktemp("a"), *honest)
    mixed = data.draw(st.permutations(honest + fakes))
    two = made(tmp_path_factory.mktemp("b"), *mixed)

    def ranked(told: Site):
        boards = [[row for row in rows(board) if row[1]] for board in told.boards]
        return boards, [(row.who, row.rank, row.mean) for row in told.standings if row.rank]

    assert ranked(one) == ranked(two)


# -- baselines


BENCH = {
    "schema": "grader/bench/v1",
    "exercise": TIMED,
    "environment": {"device": H200},
    "ceiling": 4e12,
    "points": [
        {"contender": "your kernel", "bytes": 2**30, "seconds": 0.1, "bandwidth": 3.9e12},
        {"contender": "torch eager", "bytes": 2**20, "seconds": 0.1, "bandwidth": 3.9e12},
        {"contender": "torch eager", "bytes": 2**30, "seconds": 0.001, "bandwidth": 1e12},
        {"contender": "torch.compile", "bytes": 2**30, "problem": "wrong"},
        {"contender": "solution", "bytes": 2**30, "seconds": 0.0005, "bandwidth": 3e12},
    ],
}


def bench(path: Path, **changes) -> Path:
    path.write_text(json.dumps(BENCH | changes) + "\n")
    return path


def test_baselines_are_torch_and_the_solution_at_the_largest_size(tmp_path: Path):
    known = baselines.read([bench(tmp_path / "b.json")])
    board = made(tmp_path / "r", line(0.8), known=known).boards[0]
    others = [row for row in board.rows if row.key is None]
    assert [(row.who, row.share) for row in others] == [
        (baselines.LIMIT, 1.0),
        ("model solution", 0.75),
        ("torch eager", 0.25),
    ]
    assert {row.state for row in others} == {State.BASELINE}
    assert {(row.gpu, row.rank) for row in others} == {(H200, None)}
    assert (others[2].bandwidth_gbps, others[2].time_ms) == (1000.0, 1.0)
    assert board.rows[0].rank == 1, "a baseline takes no rank"


def test_a_baseline_has_one_row_whatever_gpus_measured_it(tmp_path: Path):
    paths = [
        bench(tmp_path / "b.json"),
        bench(tmp_path / "c.json", environment={"device": A100}, ceiling=5e12),
        bench(tmp_path / "d.json", exercise=OTHER),
    ]
    board = made(tmp_path / "r", known=baselines.read(paths)).boards[0]
    assert [
        (row.who, row.share, row.share_low, row.share_high, row.gpu, row.bandwidth_gbps)
        for row in board.rows
    ] == [
        (baselines.LIMIT, 1.0, 1.0, 1.0, "", None),
        ("model solution", pytest.approx(0.675), 0.6, 0.75, "", None),
        ("torch eager", pytest.approx(0.225), 0.2, 0.25, "", None),
    ]
    with pytest.raises(UsageError, match=f"a second benchmark of {TIMED} on {H200}"):
        baselines.read([paths[0], paths[0]])


@pytest.mark.parametrize("text", ["", "{}", "[", json.dumps(BENCH | {"ceiling": 0})])
def test_what_is_no_benchmark_is_refused(tmp_path: Path, text: str):
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(UsageError, match="holds no grader/bench/v1"):
        baselines.read([tmp_path / "b.json"])
    with pytest.raises(UsageError, match=r"missing\.json cannot be read: No such file"):
        baselines.read([tmp_path / "missing.json"])


# -- decisions


def one(attempt_id: str = "a" * 32, reason: str = "It keeps answers.") -> Invalidated:
    return Invalidated(attempt=attempt_id, reason=reason, by="T", at="2026-11-21T12:00:00Z")


def test_decisions_add_up_in_a_file(tmp_path: Path):
    path = tmp_path / "d.json"
    decisions.invalidate(path, one())
    decisions.invalidate(path, one("b" * 32, "Late."))
    assert decisions.read(path).reasons == {"a" * 32: "It keeps answers.", "b" * 32: "Late."}
    assert decisions.read(path).invalidated[0].by == "T"
    assert [file.name for file in tmp_path.iterdir()] == ["d.json"]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (one(), "is invalidated already: Why"),
        (one("b" * 32, " "), "The reason is empty"),
        (one("b" * 32, "a\nb"), "not one line of at most 200"),
        (one("b" * 32, "x" * 201), "not one line of at most 200"),
    ],
)
def test_a_decision_that_cannot_be_is_refused(tmp_path: Path, decision, message: str):
    path = tmp_path / "d.json"
    decisions.invalidate(path, one(reason="Why"))
    before = path.read_bytes()
    with pytest.raises(UsageError, match=message):
        decisions.invalidate(path, decision)
    assert path.read_bytes() == before


def test_the_first_digits_of_an_id_are_enough():
    known = ["a" * 32, "abc0" + "0" * 28, "abc1" + "0" * 28]
    assert decisions.whole_id("a" * 32, known) == "a" * 32
    assert decisions.whole_id("aaaa", known) == "a" * 32
    assert decisions.whole_id("abc10", known) == known[2]
    with pytest.raises(UsageError, match="2 attempts in these results have an id that begins"):
        decisions.whole_id("aaaa", [*known, "aaaa" + "0" * 28])
    for unknown in ("aaa", "", "c" * 32, "a" * 33):
        with pytest.raises(UsageError, match=f"No attempt in these results has the id '{unknown}'"):
            decisions.whole_id(unknown, known)


def test_a_file_that_holds_no_decisions_is_not_overwritten(tmp_path: Path):
    path = tmp_path / "d.json"
    path.write_text("{}{")
    with pytest.raises(UsageError, match=r"is no grader/decisions/v1"):
        decisions.invalidate(path, one())
    assert path.read_text() == "{}{"
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        decisions.read(tmp_path / "missing.json")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{}", "schema: Field required"),
        ('{"invalidated": []}', "schema: Field required"),
        ('{"schema": "grader/result/v1", "invalidated": []}', "schema: "),
        ('{"schema": "grader/decisions/v1"}', "invalidated: Field required"),
        ('{"schema": "grader/decisions/v1", "invalid": []}', "invalidated: Field required"),
    ],
)
def test_another_object_is_no_file_without_decisions(tmp_path: Path, content: str, fault: str):
    """It was: what had been taken back ranked again, and nothing was said."""
    path = tmp_path / "d.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=rf"d\.json is no grader/decisions/v1: {fault}"):
        decisions.reasons(path)


# -- files


def test_the_document_fits_its_published_schema(tmp_path: Path):
    schema = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    told = made(tmp_path, line(), signed(attempt(SIMULATED, student="bob")))
    document = json.loads(publish.to_json(told))
    jsonschema.validate(document, schema)
    assert document.pop("schema") == "grader/board/v1"
    assert document == json.loads(json.dumps(asdict(told)))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_the_published_schema_is_what_the_code_makes():
    printed = subprocess.run(
        [sys.executable, "-m", "grader.classroom.board.publish"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert printed.stdout == PUBLISHED.read_text(encoding="utf-8"), (
        "run `python -m grader.classroom.board.publish > docs/board.schema.json`"
    )


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_board_takes_the_place_of_an_earlier_one_as_a_whole(tmp_path: Path):
    out = tmp_path / "a" / "board"
    out.parent.mkdir()
    publish.write(out, {"board.json": "{}", "students/old.html": "x"})
    assert names(out) == [".grader-board", "board.json", "students", "students/old.html"]
    publish.write(out, {"board.json": "{1}", "new.html": "é"})
    assert names(out) == [".grader-board", "board.json", "new.html"]
    assert (out / "new.html").read_bytes() == "é".encode()
    assert names(tmp_path / "a") == ["board", *(f"board/{name}" for name in names(out))]


def test_an_empty_folder_may_be_filled(tmp_path: Path):
    publish.write(tmp_path, {"board.json": "{}"})
    assert names(tmp_path) == [".grader-board", "board.json"]


@pytest.mark.parametrize("other", ["notes.txt", ".git", "students/mine.html"])
def test_a_folder_with_anything_else_is_refused(tmp_path: Path, other: str):
    out = tmp_path / "board"
    publish.write(out, {"board.json": "{}", "students/a.html": "x"})
    (out / other).write_text("mine")
    before = names(out)
    with pytest.raises(UsageError, match=f"holds '{other}', which no earlier board wrote there"):
        publish.write(out, {"board.json": "{}"})
    assert names(out) == before


def test_what_only_looks_like_a_board_is_refused(tmp_path: Path):
    (tmp_path / "board.json").write_text("{}")
    with pytest.raises(UsageError, match=r"holds 'board\.json', which no earlier board"):
        publish.write(tmp_path, {"board.json": "{}"})
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(UsageError, match="is not a folder"):
            publish.require_replaceable(tmp_path / name)


def test_no_file_is_written_outside(tmp_path: Path):
    with pytest.raises(ValueError, match="leads out of the folder"):
        publish.write(tmp_path / "board", {"../x.html": ""})
    with pytest.raises(ValueError, match="leads out of the folder"):
        publish.write(tmp_path / "board", {"/elsewhere/x.html": ""})
    assert not (tmp_path / "board").exists()
    shutil.rmtree(tmp_path)


def test_the_whole_class_is_known_to_the_teacher_alone(tmp_path: Path):
    """Those who are hidden, too, and each attempt: what `invalidate` wants stood nowhere else."""
    best = attempt(timed(0.9), student="ada")
    hidden = attempt(timed(0.7), student="bob")
    later = attempt(timed(0.4), student="ada", submitted_at="2026-11-21T10:00:01Z")
    entries = read(tmp_path, *map(signed, (best, hidden, later))).entries
    named, _ = people.named(["ada", "bob"], SECRET, {"bob": Wish(hidden=True)})
    told = site.who_is_who(site.Class(TASKS, entries, named))

    def tried(made: attempts.Attempt, counts: bool) -> dict[str, object]:
        when = made.submitted_at
        of = {"exercise": TIMED, "when": when, "state": "ranked", "points": made.result.points}
        return {"id": made.id, **of, "counts": counts}

    assert told == [
        {
            "who": "",
            "student": "bob",
            "page": "",
            "hidden": True,
            "attempts": [tried(hidden, counts=False)],
        },
        {
            "who": name("ada"),
            "student": "ada",
            "page": named["ada"].key,
            "hidden": False,
            "attempts": [tried(best, counts=True), tried(later, counts=False)],
        },
    ]
