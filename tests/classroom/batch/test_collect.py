"""Every student has a row and every exercise a cell, whatever was handed in."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from grader.classroom import signing
from grader.classroom.batch import collect
from grader.classroom.batch import order as orders
from grader.classroom.batch.collect import Found, Plan
from grader.classroom.batch.order import ClassOrder, write
from grader.classroom.batch.store import Store
from grader.classroom.intake.records import HandedIn, Intake, Student
from grader.course import Settings, catalog
from grader.grading import LARGEST_FILE
from grader.model import Attempt, Cell, Signed

COURSE = Path(__file__).parents[2] / "courses/small"
EXERCISES = [catalog.find(COURSE, name) for name in ("p01_copy", "01_double")]
PLACE = "puzzles/p01_copy"
Handed = dict[str, bytes | None]  # a path of a submission, None for a link out of it


def plan(one: HandedIn) -> Plan:
    return collect.plan(
        Intake((one,), (), ()),
        EXERCISES,
        Settings(name="small", title="Small"),
        {exercise.name: "rules" for exercise in EXERCISES},
        (),
        hardened=True,
    )


def cells(one: HandedIn) -> tuple[Cell, ...]:
    run = collect.record(plan(one), Found(), "2026-11-26T15:00:00+00:00", False)
    (row,) = run.rows
    assert [cell.exercise for cell in row.cells] == ["p01_copy", "01_double"]
    assert all(cell.max_points for cell in row.cells)
    return row.cells


def test_the_attempts_of_one_who_left_the_roster_do_not_count(tmp_path: Path):
    store = Store(tmp_path / "out")
    with store.open():
        for login in ("ada", "bob"):
            (store.folder / "attempts" / f"{login}.jsonl").touch()
        store.forget_others(["ada"])
    assert [path.name for path in (store.folder / "attempts").iterdir()] == ["ada.jsonl"]


def test_signed_attempts_are_those_of_the_key(tmp_path: Path):
    private = Ed25519PrivateKey.generate()
    one = handed_in(tmp_path / "ada", {f"{PLACE}/README": b""})
    made = plan(one)
    order = ClassOrder(tmp_path, tmp_path, tmp_path / "out", tuple(EXERCISES), key=private)
    with order.store.open():
        write(made, Found(), order, complete=True)
    (line,) = (tmp_path / "out/attempts/ada.jsonl").read_text(encoding="utf-8").splitlines()
    signed = Signed.model_validate_json(line)
    trusted = {signing.fingerprint(private.public_key()): private.public_key()}
    attempts = list(map(Attempt.model_validate_json, signing.lines(signed, trusted)))
    assert [one.result.exercise for one in attempts] == ["p01_copy", "01_double"]
    assert {one.student for one in attempts} == {"ada"}


@pytest.mark.parametrize(
    ("students", "names", "chosen"),
    [
        ((), ["p01_copy", "01_double"], 2),
        ((" ADA",), ["p01_copy"], 1),
        (("ada",), ["01_double"], 1),
        (("bob",), ["p01_copy", "01_double"], 0),
    ],
)
def test_chosen_students_and_exercises_are_graded_now(
    tmp_path: Path, students: tuple[str, ...], names: list[str], chosen: int
):
    files: Handed = {f"{PLACE}/kernel.py": b"a\n", "exercises/01_double/kernel.py": b"a\n"}
    made = plan(handed_in(tmp_path / "ada", files))
    exercises = tuple(one for one in EXERCISES if one.name in names)
    order = ClassOrder(tmp_path, tmp_path, tmp_path / "out", exercises, students)
    found = {made.units[one].exercise.name for one in orders._chosen(order, made)}
    assert len(found) == chosen
    assert found <= set(names)


def test_the_gpu_models_of_an_interrupted_run_are_remembered(tmp_path: Path, monkeypatch):
    """The record that --resume writes first hid what they had graded."""

    class Interrupted:
        def __init__(self, remember, **_: object) -> None:
            self.remember = remember

        def run(self) -> None:
            self.remember(("NVIDIA H200",))
            raise KeyboardInterrupt

    (tmp_path / "submissions/ada").mkdir(parents=True)
    (tmp_path / "roster.csv").write_text("login\nada\n", encoding="utf-8")
    order = ClassOrder(
        tmp_path / "submissions", tmp_path / "roster.csv", tmp_path / "out", tuple(EXERCISES[:1])
    )
    monkeypatch.setattr(orders, "_workers", lambda order: nullcontext())
    monkeypatch.setattr(orders, "_models", lambda out: ["NVIDIA H100"])
    monkeypatch.setattr(orders, "Batch", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        orders.grade_class(order, lambda text: None, lambda state: None)
    monkeypatch.undo()
    assert orders._models(order.out) == ["NVIDIA H100", "NVIDIA H200"]


def handed_in(folder: Path, files: Handed) -> HandedIn:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.symlink_to("/etc/hostname")
        else:
            path.write_bytes(content)
    return HandedIn(Student("ada"), folder, "ada", "")


def test_nothing_handed_in_is_missing(tmp_path: Path):
    one = HandedIn(Student("ada"), None, "", "", missing=True)
    assert {(cell.standing, cell.points) for cell in cells(one)} == {("missing", None)}


def test_what_cannot_be_read_says_why_and_is_no_zero(tmp_path: Path):
    one = HandedIn(Student("ada"), None, "ada.zip", "", fault="it is damaged")
    found = {(cell.standing, cell.points, cell.why) for cell in cells(one)}
    assert found == {("unreadable", None, "it is damaged")}


@pytest.mark.parametrize(
    ("files", "standing", "points", "why"),
    [
        ({"README": b"", f"{PLACE}/README": b""}, "not_started", 0, "There is no"),
        ({f"{PLACE}/kernel.py": None}, "graded", 0, "a link that leads out"),
        ({f"{PLACE}/kernel.py": b"#" * (LARGEST_FILE + 1)}, "graded", 0, "1,048,577 bytes"),
        ({f"{PLACE}/kernel.py/x": b""}, "graded", 0, "is a folder"),
        ({f"{PLACE}/kernel.py": b"a = 1\n"}, "not_graded", None, "not graded yet"),
    ],
    ids=["no file", "link", "large", "folder", "to grade"],
)
def test_a_file_that_no_judge_need_see_is_settled_as_ci_settles_it(
    tmp_path: Path, files: Handed, standing: str, points: int | None, why: str
):
    first, second = cells(handed_in(tmp_path / "ada", files))
    assert (first.standing, first.points) == (standing, points)
    assert why in first.why
    assert str(tmp_path) not in first.why
    assert (second.standing, second.points) == ("not_started", 0)


def refuse(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, below: Path) -> None:
    """Have a function refuse paths, as modes do, but for those of root."""
    real: Callable = getattr(owner, name)

    def guarded(path, *arguments, **options):
        if isinstance(path, str | Path) and Path(path).is_relative_to(below):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(owner, name, guarded)


@pytest.mark.parametrize(
    ("owner", "names", "below"),
    [
        (os, ("lstat", "stat"), ""),
        (Path, ("open",), "kernel.py"),
        (Path, ("read_bytes",), "kernel.py"),
        (os, ("stat",), "kernel.py"),
    ],
    ids=["a folder", "a file", "a file that fails later", "what a link leads to"],
)
def test_what_the_grading_account_may_not_read_is_no_zero(
    tmp_path: Path, monkeypatch, owner: object, names: tuple[str, ...], below: str
):
    files: Handed = {f"{PLACE}/kernel.py": b"a\n", "exercises/01_double/kernel.py": b"a\n"}
    one = handed_in(tmp_path / "ada", files)
    with monkeypatch.context() as patch:
        for name in names:
            refuse(patch, owner, name, tmp_path / "ada" / PLACE / below)
        first, second = cells(one)
    assert (first.standing, first.points) == ("not_graded", None)
    assert first.why.startswith(f"{PLACE}/kernel.py cannot be read on this machine: Permission")
    assert second.why == "It was not graded yet."


@pytest.mark.parametrize(
    ("link", "to"), [(f"{PLACE}/kernel.py", "kept/kernel.py"), (PLACE, "kept")]
)
def test_a_link_that_stays_in_the_folder_is_graded(tmp_path: Path, link: str, to: str):
    """A hardened run failed it: a judge refuses links, and gets a copy of the bytes here."""
    one = handed_in(tmp_path / "ada", {"kept/kernel.py": b"a = 1\n"})
    (tmp_path / "ada" / link).parent.mkdir(parents=True)
    (tmp_path / "ada" / link).symlink_to(tmp_path / "ada" / to)
    (unit,) = plan(one).units.values()
    assert unit.content == b"a = 1\n"
