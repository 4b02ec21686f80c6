"""The small commands of a learner: next, status, hint, diff, reset, and the list of commands."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from reported import PASSED, SPEED, ended, step

from grader import cli
from grader.cli import menu
from grader.course import catalog, progress
from grader.course.exercise import Exercise
from grader.model.base_spec import BaseSpec
from grader.model.outcomes import Outcome, Status

COURSES = Path(__file__).parents[1] / "courses"
FAILED = ended(Status.FAIL, step("load", Outcome.PASS), step("correctness", Outcome.FAIL))
FAST = PASSED.model_copy(
    update={"steps": (*PASSED.steps[:-1], step("speed", Outcome.PASS, speed=SPEED))}
)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(shutil.copytree(COURSES / "small", tmp_path / "course"))
    monkeypatch.setenv("GRADER_COURSE", str(folder))
    monkeypatch.setenv("COLUMNS", "80")
    return folder


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]):
    """Run a command that succeeds, and return its output as one line."""

    def run(*words: str) -> str:
        capsys.readouterr()
        assert cli.main(words) == 0
        return " ".join(capsys.readouterr().out.split())

    return run


@pytest.fixture
def in_tokyo() -> Iterator[None]:
    """The year 10,000 begins there while Python's last one goes on in UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


# -- next and status


@pytest.mark.parametrize("columns", ["80", "60", "44", "30"])
def test_status_leaves_out_columns_and_wraps_none(
    root: Path, columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    progress.record(root, PASSED.model_copy(update={"exercise": "p01_copy"}))
    monkeypatch.setenv("COLUMNS", columns)
    assert cli.main(["status"]) == 0
    table = capsys.readouterr().out.splitlines()[:4]
    assert max(map(len, table)) <= int(columns)
    assert "POINTS" in table[0]
    assert ("LAST PASS" in table[0]) == (columns in ("80", "60"))


def test_next_names_the_exercise_to_go_on_with_and_the_file(root: Path, said):
    text = said("next")
    assert text.startswith("○ p01_copy Copy · numba · 10 points")
    assert "edit puzzles/p01_copy/kernel.py" in text
    assert text.endswith("and type `grader check p01_copy`")
    progress.record(root, PASSED.model_copy(update={"exercise": "p01_copy"}))
    assert said("next").startswith("○ 01_double")
    progress.record(root, FAILED)
    text = said("next")
    assert text.startswith("● 01_double")
    assert f"so far {FAILED.points}/10 points" in text


def test_whoever_skips_exercises_is_led_on_from_where_they_are(root: Path, said):
    progress.record(root, PASSED)
    assert said("next").startswith("○ 02_row_sum"), "not back to p01_copy"
    assert "next: 02_row_sum;" in said("status")


def test_next_names_what_should_come_before(root: Path, said):
    spec = root / "puzzles" / "p01_copy" / "spec.py"
    spec.write_text(spec.read_text().replace("    title=", '    needs=("01_double",), title='))
    assert "before 01_double: not done yet" in said("next")
    for name in ("01_double", "02_row_sum"):
        progress.record(root, PASSED.model_copy(update={"exercise": name}))
    text = said("next")
    assert text.startswith("○ p01_copy")
    assert "before" not in text


def test_when_all_is_done_next_says_so(root: Path, said):
    for exercise in catalog.exercises(root):
        progress.record(root, PASSED.model_copy(update={"exercise": exercise.name}))
    assert said("next").startswith("All 3 exercises are done: 21/30 points.")
    assert "3 of 3 done · 21/30 points" in said("status")


def test_status_shows_points_share_and_time(root: Path, said):
    progress.record(root, FAST)
    rows = said("status")
    time = progress.read(root).standings["01_double"].passed_at
    assert time is not None
    assert "✔ 01_double 7/10 91.4 % 20" in rows
    assert "○ p01_copy 0/10 – –" in rows
    assert "1 of 3 done · 7/30 points 9 of the points are for speed" in rows
    assert rows.endswith("next: 02_row_sum; `grader next` says how to begin")


def test_the_list_has_marks(root: Path, said):
    progress.record(root, PASSED)
    progress.record(root, FAILED.model_copy(update={"exercise": "p01_copy"}))
    text = said("list")
    assert all(row in text for row in ("✔ 01_double", "● p01_copy", "○ 02_row_sum"))


def test_one_broken_spec_hides_nothing_else(root: Path, said):
    (root / "exercises" / "02_row_sum" / "spec.py").write_text("1 / 0")
    assert "○ 02_row_sum 0/? – –" in said("status")


@pytest.mark.parametrize("written", ["yesterday", "9999-12-31T23:59:59Z"])
def test_a_time_that_somebody_wrote_is_no_reason_to_fail(
    written: str, root: Path, said, in_tokyo: None
):
    progress.record(root, PASSED)
    path = root / ".grader" / "progress.json"
    passed_at = progress.read(root).standings["01_double"].passed_at
    path.write_text(path.read_text().replace(str(passed_at), written))
    assert "✔ 01_double 7/10 – –" in said("status")


def test_an_unreadable_file_of_progress_is_named_once(root: Path, capsys):
    progress.record(root, PASSED)
    (root / ".grader" / "progress.json").write_text("{")
    for times in (1, 0):
        assert cli.main(["status"]) == 0
        assert capsys.readouterr().err.count("progress-unreadable-1.json") == times


# -- hint


def test_hints_come_one_at_a_time_and_then_all_again(root: Path, said):
    hints = catalog.find(root, "02").any_spec.hints
    for number in range(1, len(hints) + 1):
        text = said("hint", "02")
        assert f"{number}. " in text
        others = [other for other in range(1, len(hints) + 1) if other != number]
        assert not any(f"{other}. " in text for other in others)
        assert progress.read(root).standings["02_row_sum"].hints == number
        assert ("shows the last one" in text) == (number == len(hints) - 1)
    text = said("hint", "02")
    assert all(f"{number}. " in text for number in range(1, len(hints) + 1))
    assert progress.read(root).standings["02_row_sum"].hints == len(hints)


def test_all_hints_at_once_count_as_shown(root: Path, said):
    said("hint", "02", "--all")
    hints = catalog.find(root, "02").any_spec.hints
    assert progress.read(root).standings["02_row_sum"].hints == len(hints)


def test_an_exercise_without_hints_says_so(monkeypatch: pytest.MonkeyPatch, capsys):
    """Those of the kind `kernel` have three or more; another kind need not have any."""
    bare = BaseSpec(title="Bare", summary="", kind="bare")
    monkeypatch.setattr(Exercise, "any_spec", bare)
    assert cli.main(["hint", "p01"]) == 2
    assert "p01_copy has no hints." in capsys.readouterr().err


# -- diff and reset


def test_diff_shows_what_changed_since_the_stub(root: Path, said):
    assert "exercises/01_double/kernel.py is the untouched stub." in said("diff", "01")
    kernel = root / "exercises" / "01_double" / "kernel.py"
    kernel.write_text(kernel.read_text() + "# mine \x1b[2J\n")
    text = said("diff", "01")
    assert "+# mine" in text
    assert "\x1b" not in text, "a file cannot control the terminal"
    kernel.unlink()
    assert cli.main(["diff", "01"]) == 2


@pytest.mark.parametrize(
    "command", [["diff"], ["stub"], ["stub", "--check"], ["reset"]], ids=" ".join
)
def test_a_kernel_file_without_permission_is_named(
    command: list[str], root: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    """Root may read it all the same."""
    kernel = root / "exercises" / "01_double" / "kernel.py"

    def refuses(read: Callable[..., object]) -> Callable[..., object]:
        def refusing(path: Path, *options: object, **more: object) -> object:
            if path == kernel:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return read(path, *options, **more)

        return refusing

    monkeypatch.setattr(Path, "read_text", refuses(Path.read_text))
    monkeypatch.setattr(Path, "read_bytes", refuses(Path.read_bytes))
    assert cli.main([*command, "01"]) == 2
    error, following = capsys.readouterr().err.splitlines()
    assert error.startswith("error: ")
    assert error.endswith("Permission denied.")
    assert str(kernel) in error
    assert following.startswith("next: ")
    assert "ermissions" in following


def test_reset_keeps_a_backup_and_forgets_the_pass(root: Path, said):
    progress.hint_shown(root, "01_double")
    progress.record(root, PASSED)
    kernel = root / "exercises" / "01_double" / "kernel.py"
    stub = kernel.read_text()
    kernel.write_text("mine")
    text = said("reset", "01")
    assert "your version is in .grader/backups/01_double/kernel-" in text
    assert "01_double begins anew in `grader status`, without the pass and 7 points" in text
    assert kernel.read_text() == stub
    assert progress.read(root).standings["01_double"] == progress.Standing(hints=1)
    progress.record(root, PASSED)
    text = said("reset", "01")
    assert "unchanged" in text
    assert "without" not in text
    assert progress.read(root).standings["01_double"].passed, "nothing was reset"


def test_reset_takes_the_files_of_all_languages_or_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said
):
    root = Path(shutil.copytree(COURSES / "levels", tmp_path / "levels"))
    monkeypatch.setenv("GRADER_COURSE", str(root))
    (exercise, *_) = (e for e in catalog.exercises(root) if len(e.in_all_backends) > 1)
    first, second = exercise.in_all_backends
    for one in (first, second):
        one.kernel.write_text("mine")
    assert second.file in said("reset", exercise.name, "--backend", second.backend)
    assert first.kernel.read_text() == "mine"
    second.kernel.write_text("mine")
    assert first.file not in said("reset", str(second.kernel)), "a path names one file"
    assert first.kernel.read_text() == "mine"
    assert first.file in said("reset", exercise.name)
    assert first.kernel.read_text() != "mine"


def test_a_reset_that_stops_at_the_second_file_forgets_the_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    root = Path(shutil.copytree(COURSES / "levels", tmp_path / "levels"))
    monkeypatch.setenv("GRADER_COURSE", str(root))
    first, second = catalog.find(root, "01").in_all_backends
    first.kernel.write_text("mine")
    second.kernel.unlink()
    second.kernel.mkdir()
    progress.record(root, PASSED)
    assert cli.main(["reset", "01"]) == 2
    out, err = capsys.readouterr()
    assert "begins anew in `grader status`, without the pass" in out
    assert f"{second.kernel} is not a file." in err
    assert not progress.read(root).standings["01_double"].passed


# -- the list of commands


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("run", "`grader check NAME`"),
        ("test", "`grader check NAME`"),
        ("statsu", "Did you mean `grader status`?"),
        ("zzz", "`grader --help` lists them all."),
    ],
)
def test_an_unknown_command_says_what_to_type(name: str, instead: str, capsys):
    """`grader watch` once suggested `grader bench`."""
    assert cli.main([name, "01"]) == 2
    error, following = capsys.readouterr().err.splitlines()
    assert error == f"error: There is no command {name!r}."
    assert instead in following


def test_an_exercise_in_place_of_a_command_says_what_to_type(root: Path, capsys):
    assert cli.main(["p01"]) == 2
    error, following = capsys.readouterr().err.splitlines()
    assert error == "error: 'p01' is an exercise, not a command."
    assert "`grader check p01_copy`" in following
    assert "`grader watch p01_copy`" in following


@pytest.mark.parametrize("command", ["hint", "show", "diff", "reset", "solution", "watch"])
def test_a_command_without_its_exercise_ends_with_a_next_step(command: str, capsys):
    assert cli.main([command]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"error: `grader {command}` needs NAME.",
        f"next: `grader {command} --help` says more; `grader list` names the exercises.",
    ]


def test_no_command_is_listed_as_one_that_does_not_exist():
    from typer.main import get_command

    from grader.cli.commands import app

    assert not menu.INSTEAD.keys() & get_command(app).commands.keys()


def test_help_has_a_panel_for_each_reader(said, capsys):
    capsys.readouterr()
    cli.main(["--help"])
    text = capsys.readouterr().out
    learners, authors, instructors = (
        text.index(f"{panel}:") for panel in (menu.LEARNERS, menu.AUTHORS, menu.INSTRUCTORS)
    )
    assert learners < text.index("  next ") < text.index("  reset ") < authors
    assert authors < text.index("  verify ") < instructors < text.index("  leaderboard ")
    assert "..." not in text.partition("Options:")[2], "no sentence is cut"


# -- completion


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("words", "names"),
    [("check 0", {"01_double", "02_row_sum"}), ("hint p", {"p01_copy"}), ("reset zz", set())],
)
def test_a_shell_completes_the_names_of_exercises(
    shell: str, words: str, names: set[str], root: Path
):
    environment = os.environ | {
        "_GRADER_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": f"grader {words}",
        "COMP_CWORD": "2",
        "_TYPER_COMPLETE_ARGS": f"grader {words}",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    grader = Path(sys.executable).with_name("grader")
    done = subprocess.run([grader], env=environment, capture_output=True, text=True)
    found = {name for name in ("01_double", "02_row_sum", "p01_copy") if name in done.stdout}
    assert found == names
    assert done.stderr == ""


def test_outside_of_a_course_nothing_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from grader.cli import options

    monkeypatch.delenv("GRADER_COURSE")
    monkeypatch.chdir(tmp_path.parent)
    assert options.completed("0") == []
