"""The folder of results: whole or not at all, of one course, and no login leads out of it."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from messages import text_of

from grader.classroom.batch import store as stores
from grader.classroom.batch.store import Store, file_name
from grader.classroom.batch.units import Unit
from grader.course import catalog
from grader.model import CannotGrade, ClassRun, Result, Status, UsageError

COURSE = Path(__file__).parents[2] / "courses/small"
RUN = ClassRun(
    course="small",
    version="1",
    exercises=(),
    made_at="2026-11-26T15:00:00+00:00",
    complete=True,
    hardened=True,
    graders=(),
    rows=(),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    one = Store(tmp_path / "out")
    with one.open():
        yield one


@pytest.fixture
def unit() -> Unit:
    return Unit(catalog.find(COURSE, "p01_copy"), b"a = 1\n", "rules", (), hardened=True)


def result(points: int = 5, started_at: str = "2026-11-26T15:00:00+00:00") -> Result:
    return Result(
        schema="grader/result/v1",
        exercise="p01_copy",
        title="Copy",
        status=Status.PASS,
        points=points,
        max_points=5,
        kernel={"path": "kernel.py", "sha256": "0" * 64},
        environment={"grader": "1", "python": "3.11", "device": "cpu", "simulated": True},
        seed=1,
        started_at=started_at,
        duration_s=1.0,
        steps=(),
    )


def test_a_result_comes_back_for_the_gpu_model_that_graded_it(store: Store, unit: Unit):
    key = store.keep(unit, "NVIDIA H200", result())
    assert store.find(unit, ["NVIDIA H100", "NVIDIA H200"]) == (key, result())
    assert store.find(unit, ["cpu"]) is None


@pytest.mark.parametrize("newer", ["NVIDIA H100", "NVIDIA H200"])
def test_of_two_gpu_models_results_the_newest_counts(store: Store, unit: Unit, newer: str):
    """A regrade by the other model was undone by the next --resume."""
    models = ["NVIDIA H100", "NVIDIA H200"]
    for model in models:
        day = "27" if model == newer else "26"
        store.keep(unit, model, result(started_at=f"2026-11-{day}T15:00:00+00:00"))
    found = store.find(unit, models)
    assert found is not None
    assert found[0] == unit.key(newer)


@pytest.mark.parametrize("damage", ["", "{", "{}", '{"parts": {}, "result": {}}'])
def test_a_result_that_is_damaged_counts_as_missing(store: Store, unit: Unit, damage: str):
    key = store.keep(unit, "cpu", result())
    (store.folder / "results" / f"{key}.json").write_text(damage, encoding="utf-8")
    assert store.find(unit, ["cpu"]) is None


def test_a_result_under_another_ones_name_counts_as_missing(store: Store, unit: Unit):
    # A folder that somebody put together by hand must not give one kernel the points of another.
    key = store.keep(unit, "cpu", result())
    path = store.folder / "results" / f"{key}.json"
    whole = json.loads(path.read_text())
    whole["parts"]["kernel"] = "0" * 64
    path.write_text(json.dumps(whole), encoding="utf-8")
    assert store.find(unit, ["cpu"]) is None


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path, snapshot):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError) as raised:
        Store(tmp_path).require_fitting("small", resume=True)
    assert text_of(raised.value, tmp_path) == snapshot


@pytest.mark.parametrize("course", ["small", "other"])
def test_results_of_an_earlier_run_or_another_course_are_refused(
    store: Store, course: str, snapshot
):
    store.write_class(RUN)
    with pytest.raises(UsageError) as raised:
        store.require_fitting(course, resume=course != "small")
    assert text_of(raised.value, store.folder) == snapshot


def test_a_new_folder_and_a_run_to_resume_fit(store: Store, tmp_path: Path):
    Store(tmp_path / "new").require_fitting("small", resume=False)
    store.write_class(RUN)
    store.require_fitting("small", resume=True)


def test_what_a_killed_run_left_half_written_is_removed(tmp_path: Path):
    """Also where it was killed before it had written its first record."""
    folder = tmp_path / "out"
    halves = [folder / name / ".grader-3e711a4d" for name in ("", "results", "attempts", "logs")]
    for half in halves:
        half.parent.mkdir(parents=True, exist_ok=True)
        half.write_text('{"parts')
    one = Store(folder)
    one.require_fitting("small", resume=True)
    with one.open():
        assert not any(half.exists() for half in halves)


def test_two_runs_at_once_are_refused(store: Store, snapshot):
    code = (
        "import sys; from pathlib import Path; from grader.classroom.batch.store import Store\n"
        "from grader.model import UsageError\n"
        "try:\n    Store(Path(sys.argv[1])).open().__enter__()\n"
        "except UsageError as error: print(error.message, error.next_step, sep='\\n')"
    )
    command = [sys.executable, "-c", code, str(store.folder)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.replace(str(store.folder), "FOLDER") == snapshot


def test_a_disk_without_locks_is_no_other_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot
):
    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(stores.fcntl, "flock", refused)
    with pytest.raises(UsageError) as raised, Store(tmp_path).open():
        pass
    assert text_of(raised.value, tmp_path) == snapshot


def test_a_full_disk_ends_the_run_and_leaves_what_was_there(
    store: Store, unit: Unit, monkeypatch: pytest.MonkeyPatch, snapshot
):
    key = store.keep(unit, "cpu", result(points=4))

    def full(path: Path, content: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(stores, "write_file", full)
        with pytest.raises(CannotGrade) as raised:
            store.keep(unit, "cpu", result(points=5))
    assert text_of(raised.value, store.folder) == snapshot
    assert store.find(unit, ["cpu"]) == (key, result(points=4))


@pytest.mark.parametrize(
    "login",
    ["../../etc/passwd", "a/b", "", ".", "..", "nul\0", "x" * 300, "ada\nbob", "é", "\ud800"],
)
def test_no_login_leads_out_of_the_folder(store: Store, login: str):
    name = file_name(login)
    assert name not in ("", ".", "..")
    assert "/" not in name
    store.log([login], "graded")
    (log,) = (store.folder / "logs").iterdir()
    assert log.name == f"{name}.log"


def test_logins_that_look_alike_have_files_of_their_own():
    assert len({file_name(login) for login in ("a b", "a-b", "a/b", "é", "è")}) == 5
    assert file_name("ada.lovelace-1") == "ada.lovelace-1"


def test_a_kernel_cannot_write_a_line_of_the_log(store: Store):
    store.log(["ada"], "graded\n2026-11-26T15:00:00Z pass, 10 of 10 points\x1b[2J")
    text = (store.folder / "logs/ada.log").read_text(encoding="utf-8")
    assert "\n| 2026" in text
    assert "\x1b" not in text
