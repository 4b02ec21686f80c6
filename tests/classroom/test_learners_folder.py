"""`grader init` makes a folder to learn in, without a line of a solution."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from released import NAMES, small_course
from reported import PASSED

from grader import cli
from grader.classroom.release import handout, learners_folder, proof
from grader.cli.loop import pages, session
from grader.cli.loop.state import View
from grader.course import catalog, installed, manifest, progress
from grader.model.errors import UsageError

REPOSITORY = Path(__file__).parents[2]
DOUBLE = "exercises/01_double/kernel.py"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The course that the installation carries."""
    root = small_course(tmp_path / "installed")
    with (root / "course.toml").open("a") as file:
        file.write('solutions = "on-pass"\n')
    monkeypatch.setattr(installed, "INSTALLED_COURSE", root)
    monkeypatch.delenv("GRADER_COURSE", raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    return root


@pytest.fixture
def folder(course: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's folder, and the working directory."""
    assert cli.main(["init"]) == 0
    monkeypatch.chdir("small")
    return Path.cwd()


def files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


# -- init


def test_the_folder_holds_what_a_learner_needs_and_no_solution(folder: Path, course: Path):
    listed = {one.path for one in manifest.read(folder).files}
    assert files(folder) == listed | {manifest.FILE}
    assert {".vscode/settings.json", ".editorconfig", "README.md", DOUBLE} <= listed
    assert not any("solution" in path or "wrong_" in path for path in listed)
    secret = proof.secrets(course, catalog.exercises(course))
    everything = [(path, (folder / path).read_bytes()) for path in files(folder)]
    assert secret.solutions == 3
    assert proof.leaks(everything, secret) == []


@pytest.mark.slow
def test_this_course_s_folder_holds_no_line_of_a_solution(tmp_path: Path):
    made = learners_folder.make(REPOSITORY, tmp_path / "out")
    assert {one.name for one in made.exercises} == {
        one.name for one in catalog.exercises(REPOSITORY)
    }
    secret = proof.secrets(REPOSITORY, catalog.exercises(REPOSITORY))
    out = tmp_path / "out"
    assert proof.leaks([(path, (out / path).read_bytes()) for path in files(out)], secret) == []


def test_the_command_says_what_to_type(course: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["init", "mine"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "mine: Small, version 1.0: 1 puzzle, 2 exercises",
        "next: `cd mine`, then `grader`, which checks each save",
    ]


def test_what_to_type_holds_for_a_folder_of_any_name(course: Path, capsys):
    assert cli.main(["init", "my course"]) == 0
    assert "next: `cd 'my course'`, then `grader`" in capsys.readouterr().out


def test_git_begins_unless_the_folder_is_in_a_repository(course: Path, capsys):
    cli.main(["init", "alone"])
    assert Path("alone/.git").is_dir()
    status = ["git", "-C", "alone", "status", "--porcelain", "--ignored"]
    progress.hint_shown(Path("alone"), "01_double")
    said = subprocess.run(status, check=True, capture_output=True, text=True).stdout
    assert "!! .grader/" in said, "git ignores what commands remember"
    subprocess.run(["git", "init", "-q", "."], check=True)
    cli.main(["init", "inside"])
    assert not Path("inside/.git").exists()
    assert "no git here" not in capsys.readouterr().err


def test_without_git_there_is_a_note(course: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setenv("PATH", "")
    assert cli.main(["init"]) == 0
    assert "there is no git here" in capsys.readouterr().err


def test_a_folder_with_an_environment_will_do(course: Path):
    """`python -m venv .venv` often comes first."""
    Path(".venv").mkdir()
    assert cli.main(["init", "."]) == 0
    assert Path(DOUBLE).is_file()


def test_an_interrupted_run_is_completed(course: Path):
    cli.main(["init", "mine"])
    whole = files(Path("mine"))
    Path("mine", manifest.FILE).unlink()  # it comes last
    Path("mine", DOUBLE).unlink()
    assert cli.main(["init", "mine"]) == 0
    assert files(Path("mine")) == whole


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda: Path("mine").write_text(""), "is not a folder"),
        (lambda: Path("mine").symlink_to("."), "is not a folder"),
        (lambda: cli.main(["init", "mine"]), "holds a course already"),
        (lambda: Path("exercises").mkdir(), "would lie in the course"),
        (lambda: make("mine/notes.txt"), "has something in it already: notes.txt"),
        (lambda: make(f"mine/{DOUBLE}"), f"has something in it already: {DOUBLE}"),
        (lambda: make("mine/README.md"), "has something in it already: README.md"),
    ],
)
def test_nothing_of_somebody_s_is_overwritten(spoil, fault: str, course: Path, capsys):
    spoil()
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    capsys.readouterr()
    assert cli.main(["init", "mine"]) == 2
    assert fault in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def make(path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("mine")


def test_an_installation_without_a_course_says_so(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    """As that of a class's release: its wheel must not carry the solutions."""
    monkeypatch.setattr(installed, "installed_course", lambda: None)
    assert cli.main(["init"]) == 2
    assert "This installation of the grader carries no course." in capsys.readouterr().err


def test_the_readme_names_commands_that_exist():
    from typer.main import get_command

    from grader.cli.commands import app

    known = get_command(app).commands
    words = {
        line.split("grader ", 1)[1].split()[0].strip("`")
        for line in handout.LEARNERS_README.splitlines()
        if "grader " in line
    }
    assert {word for word in words if not word.startswith("-")} <= known.keys()


def test_settings_of_the_editor_are_json(folder: Path):
    settings = json.loads((folder / ".vscode" / "settings.json").read_text())
    assert settings["files.readonlyInclude"]["**/spec.py"] is True


# -- work in it


def test_the_small_commands_work_there(folder: Path, capsys: pytest.CaptureFixture[str]):
    stub = (folder / DOUBLE).read_text()
    (folder / DOUBLE).write_text("mine\n")
    for command in (["next"], ["list"], ["status"], ["diff", "01"], ["hint", "01"]):
        assert cli.main(command) == 0, command
    assert "+mine" in capsys.readouterr().out
    assert cli.main(["reset", "01"]) == 0
    assert (folder / DOUBLE).read_text() == stub


def test_the_installation_shows_a_solution_once_the_kernel_passed(
    folder: Path, course: Path, capsys: pytest.CaptureFixture[str]
):
    source = (course / "solutions" / "01_double" / "kernel.py").read_text()
    progress.record(folder, PASSED)
    assert cli.main(["solution", "01"]) == 0
    assert capsys.readouterr().out.endswith(source)


def test_the_folder_s_own_policy_counts(folder: Path, capsys):
    """A class may show its solutions later than the installation does."""
    text = (folder / "course.toml").read_text()
    (folder / "course.toml").write_text(text.replace("on-pass", "after:2999-01-01"))
    assert cli.main(["solution", "01"]) == 2
    assert "shown from 2999-01-01 on" in capsys.readouterr().err


def test_another_course_gets_no_solution_of_this_one(folder: Path, capsys):
    text = (folder / "course.toml").read_text()
    (folder / "course.toml").write_text(text.replace('"small"', '"other"'))
    assert cli.main(["solution", "01"]) == 2
    assert "This course holds no solution" in capsys.readouterr().err


# -- update


def test_update_brings_what_the_installation_has_and_leaves_kernels(
    folder: Path, course: Path, capsys: pytest.CaptureFixture[str]
):
    (folder / DOUBLE).write_text("mine\n")
    (course / "exercises" / "01_double" / "README.md").write_text("# Better\n")
    shutil.copytree(course / "exercises/02_row_sum", course / "exercises/03_row_sum")
    shutil.copytree(course / "solutions/02_row_sum", course / "solutions/03_row_sum")
    capsys.readouterr()
    assert cli.main(["update"]) == 0
    told = capsys.readouterr().out
    assert "exercises/03_row_sum/kernel.py: new" in told
    assert ".stubs/" not in told
    assert (folder / DOUBLE).read_text() == "mine\n"
    assert (folder / "exercises/01_double/README.md").read_text() == "# Better\n"
    assert [one.name for one in catalog.exercises(folder)] == [*NAMES, "03_row_sum"]
    assert cli.main(["reset", "03"]) == 0
    assert cli.main(["update"]) == 0
    assert "already" in capsys.readouterr().out


def test_a_class_s_release_is_not_updated_from_the_installation(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    words = ["--grader", "kernel-grader==0.1.0", "--no-git"]
    monkeypatch.setenv("GRADER_COURSE", str(course))
    assert cli.main(["release", "--out", str(tmp_path / "class"), *words]) == 0
    monkeypatch.delenv("GRADER_COURSE")
    monkeypatch.chdir(tmp_path / "class")
    assert cli.main(["reset", "01"]) == 0, "a released course can be reset"
    capsys.readouterr()
    assert cli.main(["update"]) == 2
    assert "newer ones come from your instructor" in capsys.readouterr().err


def test_an_older_installation_takes_nothing_back(folder: Path, course: Path, capsys):
    text = (course / "course.toml").read_text()
    (course / "course.toml").write_text(text.replace("1.0", "0.9"))
    assert cli.main(["update"]) == 2
    assert "has the newer 1.0" in capsys.readouterr().err


def test_the_folder_of_an_error_is_named(course: Path):
    with pytest.raises(UsageError, match="There is no folder"):
        learners_folder.make(course, Path("a/b"))


def test_a_disk_that_is_full_is_named_with_the_folder(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A failed write names no file: "None cannot be written" was all that it said."""

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(learners_folder, "staged_files", fails)
    with pytest.raises(
        UsageError, match=r"out cannot be written: No space left on device"
    ) as error:
        learners_folder.make(course, tmp_path / "out")
    assert "a disk with free space" in error.value.next_step


def test_the_loop_shows_the_installed_solution_to_who_passed(folder: Path):
    """The folder holds none: the loop once said that the course shows no solutions."""
    loop = session.first_loop(folder, "01_double")
    with pytest.raises(UsageError, match="once your kernel passes"):
        pages.make(loop, View.SOLUTION, 80)
    known = progress.record(folder, PASSED.model_copy(update={"exercise": "01_double"}))
    page = pages.make(replace(loop, progress=known), View.SOLUTION, 80)
    assert "the model solution" in page.content.plain


def test_the_first_page_names_the_loop(folder: Path):
    assert "\n    grader\n" in (folder / "README.md").read_text(encoding="utf-8")
