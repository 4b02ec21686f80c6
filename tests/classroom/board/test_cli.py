"""`grader keys` and `grader leaderboard`: what they write, refuse, and never let out."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import shutil
import stat
from pathlib import Path

import pytest
from classes import (
    H200,
    KEY,
    SMALL,
    TIMED,
    attempt,
    line,
    signed,
    solved,
    timed,
    wrong,
)
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from grader import cli
from grader.classroom import signing
from grader.grading import check
from grader.machine import devices
from grader.model import attempts, results
from grader.model.errors import CannotGrade
from grader.model.results import Failure

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _in_the_small_course(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRADER_COURSE", str(SMALL))
    monkeypatch.setenv("USER", "teacher")


class Desk:
    """A teacher's folder with keys and results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"
        self.results.mkdir()
        self.public = folder / "public.pem"
        self.public.write_bytes(
            KEY.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
        self.key = folder / "course.key"
        self.key.write_text("ab" * 32)
        self.out = folder / "board"

    def put(self, name: str, text: str) -> Path:
        path = self.results / name
        path.write_text(text)
        return path

    def build(self, *more: str) -> int:
        return cli.main(
            [
                *("leaderboard", "build", str(self.results), "--out", str(self.out)),
                *("--trust", str(self.public), "--course-key", str(self.key), *more),
            ]
        )

    @property
    def board(self) -> dict:
        return json.loads((self.out / "board.json").read_text())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_keys_are_made_for_a_course_and_not_twice(tmp_path: Path, capsys):
    folder = tmp_path / "keys"
    assert cli.main(["keys", "new", "--out", str(folder)]) == 0
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert (modes["private.pem"], modes["course.key"]) == (0o600, 0o600)
    fingerprint = signing.fingerprint(signing.public_key(folder / "public.pem"))
    assert f"its fingerprint is {fingerprint}" in capsys.readouterr().out
    before = {path: path.read_bytes() for path in folder.iterdir()}
    (folder / "private.pem").unlink()
    assert cli.main(["keys", "new", "--out", str(folder)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert not (folder / "private.pem").exists(), "no half of a pair is made"
    assert all(path.read_bytes() == was for path, was in before.items() if path.exists())


def test_no_folder_is_made_above_the_one_that_is_named(desk: Desk, tmp_path: Path, capsys):
    """A mistyped path is told, and not made."""
    assert cli.main(["keys", "new", "--out", str(tmp_path / "typo" / "keys")]) == 2
    assert "typo/keys cannot be made: No such file" in capsys.readouterr().err
    desk.out = tmp_path / "typo" / "board"
    assert desk.build() == 2
    assert "typo/board: No such file" in capsys.readouterr().err
    assert not (tmp_path / "typo").exists()


def test_a_board_is_built_from_files_and_what_is_left_out_is_named(desk: Desk, capsys):
    desk.put("ada.jsonl", line(0.9, "ada") + "\n" + line(0.8, "ada"))
    desk.put("bob.json", line(0.7, "bob"))
    bad = desk.put("cut.json", line()[:-9])
    assert desk.build() == 0
    said = capsys.readouterr()
    assert said.out == f"{desk.out}: 3 boards, 2 students, 3 attempts; 1 left out\n"
    assert f"{bad}: it is no whole JSON" in said.err
    board = next(one for one in desk.board["boards"] if one["exercise"] == TIMED)
    assert [row["rank"] for row in board["rows"] if row["key"]] == [1, 2]
    assert (desk.out / "index.html").is_file()
    assert (desk.out / "exercises" / f"{TIMED}.html").is_file()
    assert {path.stem for path in (desk.out / "students").iterdir()} == {
        row["key"] for row in board["rows"] if row["key"]
    }
    assert stat.S_IMODE(desk.out.stat().st_mode) & 0o055 == 0o055, "a web server may read it"


def test_a_board_is_built_again_in_its_place_and_over_nothing_else(desk: Desk, capsys):
    assert desk.build() == 0
    desk.put("ada.json", line(0.9, "ada"))
    assert desk.build() == 0
    assert len(desk.board["students"]) == 1
    (desk.out / "notes.txt").write_text("mine")
    assert desk.build() == 2
    assert "holds 'notes.txt', which no earlier board wrote there" in capsys.readouterr().err
    assert (desk.out / "notes.txt").read_text() == "mine"


def test_a_board_is_not_replaced_by_an_empty_one(desk: Desk, capsys):
    """With another course's key the board of a class was gone, and the exit code 0."""
    assert desk.build() == 0, "at the start of a term nothing is there"
    desk.put("ada.json", line(0.9, "ada"))
    assert desk.build() == 0
    before = desk.board
    stranger = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()
    desk.public.write_bytes(
        stranger.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    capsys.readouterr()
    assert desk.build() == 2
    said = capsys.readouterr()
    assert "ada.json, line 1: it is signed with the key" in said.err
    assert f"No file can be used, for the reasons above; {desk.out}" in said.err
    assert "--trust" in said.err
    assert not said.out
    assert desk.board == before


def test_a_solved_puzzle_is_in_the_history(desk: Desk, monkeypatch):
    monkeypatch.setenv("GRADER_COURSE", str(Path(__file__).parents[3]))
    own = {"course": "memory-bound-kernels", "version": "0.1"}
    made = solved().model_copy(update={"exercise": "p01_map"})
    desk.put("ada.json", signed(attempt(made, **own)))
    assert desk.build() == 0
    (student,) = desk.board["students"]
    assert student["tried"][0]["state"] == "solved"
    assert desk.board["standings"][0]["solved"] == 1


def test_the_same_files_make_the_same_names(desk: Desk):
    desk.put("ada.json", line(0.9, "ada"))
    desk.build()
    before = desk.board["students"][0]["who"]
    desk.put("bob.json", line(0.5, "bob"))
    desk.build()
    assert before in [student["who"] for student in desk.board["students"]]


SECRETS = {
    "ada.lovelace": "a login",
    "grace@uni.example": "an address that is a login",
    "tokenlogin7": "the login of one who is hidden",
    "eve-unsigned": "a login in an unsigned file",
    "me@private.example": "an address in a nickname",
    "MARKER": "what a learner printed, wrote or named",
    "by-the-teacher": "who decided",
}


def test_nothing_that_is_private_is_in_what_is_published(desk: Desk, capsys):
    """Every secret stands in every place of the input that takes a text."""
    everything = " ".join(SECRETS)
    failure = Failure(
        kind="too_slow",
        message=everything,
        expected=everything,
        frames=(results.Frame(line=1, function=everything, code=everything),),
    )
    leaky = timed(0.6, kind="too_slow", gpu=H200)
    leaky = leaky.model_copy(
        update={
            "title": everything,
            "message": everything,
            "output": everything,
            "kernel": leaky.kernel.model_copy(update={"path": everything}),
            "steps": tuple(
                step.model_copy(
                    update={
                        "summary": everything,
                        "failure": failure if step.failure else None,
                        "speed": step.speed
                        and step.speed.model_copy(
                            update={"case": everything, "explanation": (everything,)}
                        ),
                    }
                )
                for step in leaky.steps
            ),
        }
    )
    texts = [
        signed(
            attempt(
                leaky,
                student=student,
                version=version,
                notes=(everything,),
                submitted_at=f"2026-11-2{day}T00:00:00Z",
            )
        )
        for student in ("ada.lovelace", "grace@uni.example", "tokenlogin7")
        for day, version in ((0, "0"), (1, everything))
    ]
    forged = timed(0.7, gpu=everything)
    texts.append(attempts.attempt_json(attempt(forged, student="eve-unsigned")))
    taken = attempt(timed(0.8), student="ada.lovelace")
    texts += [
        signed(taken),
        signed(attempt(solved(), student="ada.lovelace")),
        signed(attempt(wrong())),
    ]
    texts += [line(course=everything), line(student=everything * 9), "{" + everything]
    for number, text in enumerate(texts):
        desk.put(f"ada.lovelace MARKER {number}.json", text)
    people = desk.folder / "people.csv"
    people.write_text(
        "student,nickname,hidden\n"
        "ada.lovelace,Ada.Lovelace,\n"
        "grace@uni.example,me@private.example,\n"
        "eve-unsigned,I am eve-unsigned,\n"
        "tokenlogin7,token,yes\n"
    )
    decided = desk.folder / "decisions.json"
    reason = "Copied from Ada.Lovelace; me@private.example, grace and eve-unsigned know. Lately"
    assert invalidate(desk, taken.id, reason, "--by", "by-the-teacher") == 0
    who = desk.folder / "who.json"
    assert desk.build("--people", str(people), "--decisions", str(decided), "--who", str(who)) == 0
    written = {path: path.read_text("utf-8") for path in desk.out.rglob("*") if path.is_file()}
    assert len(written) > 7
    for path, text in written.items():
        for secret, what in SECRETS.items():
            assert secret.lower() not in text.lower(), f"{path.name} holds {what}"
            assert secret.lower() not in str(path.relative_to(desk.out)).lower()
    together = "".join(written.values())
    assert "Lately" in together, "the rest of the reason is there, as it was written"
    assert "ada.lovelace" in who.read_text()
    assert stat.S_IMODE(who.stat().st_mode) == 0o600
    assert capsys.readouterr().err.count("is not used") == 3


def invalidate(desk: Desk, attempt_id: str, reason: str, *more: str) -> int:
    return cli.main(
        [
            *("leaderboard", "invalidate", attempt_id, str(desk.results)),
            *("--trust", str(desk.public), "--reason", reason),
            *("--decisions", str(desk.folder / "decisions.json"), *more),
        ]
    )


def test_an_attempt_is_taken_back_with_a_reason(desk: Desk, capsys):
    best = attempt(timed(0.9))
    desk.put("ada.jsonl", signed(best) + "\n" + line(0.8))
    assert invalidate(desk, best.id[:12], "It keeps answers.") == 0
    told = capsys.readouterr().err
    assert f"again, each with --decisions {desk.folder / 'decisions.json'}" in told
    assert desk.build("--decisions", str(desk.folder / "decisions.json")) == 0
    tried = {one["share"]: one for one in desk.board["students"][0]["tried"]}
    assert tried[None]["state"] == "invalidated"
    assert tried[None]["note"] == "It keeps answers."
    decision = json.loads((desk.folder / "decisions.json").read_text())["invalidated"][0]
    assert (decision["by"], decision["attempt"]) == ("teacher", best.id)
    capsys.readouterr()
    assert invalidate(desk, best.id, "Again.") == 2
    assert "is invalidated already: It keeps answers." in capsys.readouterr().err
    assert invalidate(desk, "0" * 32, "Why.") == 2
    assert "No attempt in these results has the id" in capsys.readouterr().err


def test_whoever_decides_is_known_where_no_variable_says_it(desk: Desk, monkeypatch):
    """In a container the record said `unknown`."""
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    best = attempt(timed(0.9))
    desk.put("ada.json", signed(best))
    assert invalidate(desk, best.id, "Why.") == 0
    decision = json.loads((desk.folder / "decisions.json").read_text())["invalidated"][0]
    assert decision["by"] == pwd.getpwuid(os.getuid()).pw_name


def test_a_decision_on_an_unknown_attempt_is_reported(desk: Desk, capsys):
    best = attempt(timed(0.9))
    path = desk.put("ada.json", signed(best))
    invalidate(desk, best.id, "Why.")
    path.unlink()
    assert desk.build("--decisions", str(desk.folder / "decisions.json")) == 0
    assert f"decides on {best.id}, which is not among these" in capsys.readouterr().err


def test_who_is_who_is_never_published(desk: Desk, capsys):
    assert desk.build("--who", str(desk.out / "who.json")) == 2
    assert "which is published" in capsys.readouterr().err
    assert not desk.out.exists()


def test_what_is_missing_is_named(desk: Desk, capsys):
    desk.key.unlink()
    assert desk.build() == 2
    assert "The course key" in capsys.readouterr().err
    desk.key.write_text("ab" * 32)
    shutil.rmtree(desk.results)
    assert desk.build() == 2
    assert "There is no file or folder" in capsys.readouterr().err
    assert not desk.out.exists()


def verify(desk: Desk) -> int:
    return cli.main(
        [
            *("leaderboard", "verify", str(desk.results), "--trust", str(desk.public)),
            *("--sources", str(desk.folder), "--rounds", "1"),
        ]
    )


def test_leaders_are_run_again_where_there_is_a_gpu(desk: Desk, monkeypatch, capsys):
    code = b"# MARKER\n"
    (desk.folder / "kernel.py").write_bytes(code)
    kernel = timed().kernel.model_copy(update={"sha256": hashlib.sha256(code).hexdigest()})
    made = attempt(timed(0.9, kernel=kernel), student="ada")
    desk.put("ada.json", signed(made))
    monkeypatch.setattr(devices, "choose_device", lambda wanted: wanted)

    def measuring(share: float):
        def run(requests, progress, heard):
            found = [timed(share) for _ in requests]
            for result in found:
                heard(result)
            return found

        return run

    monkeypatch.setattr(check, "run", measuring(0.9))
    assert verify(desk) == 0
    assert "  confirmed  ada: measured 90 % (89 % to 91 %)" in (said := capsys.readouterr()).out
    assert "MARKER" not in said.out
    monkeypatch.setattr(check, "run", measuring(0.5))
    assert verify(desk) == 1
    assert "  lower      ada: measured 50 %" in capsys.readouterr().out
    (desk.folder / "decisions.json").unlink(missing_ok=True)
    shutil.rmtree(desk.results)
    desk.results.mkdir()
    assert verify(desk) == 2
    assert "No attempt ranks on any board" in capsys.readouterr().err


def test_without_a_gpu_leaders_cannot_be_run(desk: Desk, monkeypatch, capsys):
    def none(wanted: str) -> str:
        raise CannotGrade("There is no GPU.", "x")

    monkeypatch.setattr(devices, "choose_device", none)
    assert verify(desk) == 3
    assert "Run this on a machine with a CUDA GPU." in capsys.readouterr().err
