"""Choices of `grader verify --changed-since` and `--sample`: real commits in small repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from grader import cli
from grader.authoring import choice, verify
from grader.authoring.verify import Verified
from grader.course.exercise import Exercise
from grader.model.results import parse_result

pytestmark = pytest.mark.slow

COURSES = Path(__file__).parents[1] / "courses"
PASSED = parse_result((COURSES / "result.json").read_bytes())
NAMES = [f"{n:02}_exercise" for n in range(1, 12)]


def git(root: Path, *words: str) -> str:
    """Run git as nobody in particular, whatever this machine's settings say."""
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    # A hook of git's own that runs these tests names its repository.
    variables = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", *who, *words], cwd=root, env=variables, capture_output=True, text=True, check=True
    ).stdout


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "a change")


def touch(root: Path, name: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("changed\n")


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A repository whose branch `base` lies one commit back; `02_exercise` changed since."""
    root = tmp_path / "course"
    for name in NAMES:
        touch(root, f"exercises/{name}/spec.py")
        touch(root, f"solutions/{name}/kernel.py")
    touch(root, "README.md")
    git(root, "init", "--quiet")
    commit(root)
    git(root, "branch", "base")
    (root / "solutions/02_exercise/kernel.py").write_text("otherwise\n")
    commit(root)
    return root


def exercises(root: Path) -> list[Exercise]:
    return [Exercise(root / "exercises" / name) for name in NAMES]


def chosen(root: Path, since: str | None, most: int, day: int) -> list[str]:
    return [one.name for one in choice.choose(exercises(root), since, most, day).exercises]


# -- what changed


def test_a_committed_change_counts(course: Path):
    assert choice.changed(course, "base") == {"02_exercise"}
    assert choice.changed(course, "HEAD~1") == {"02_exercise"}
    assert choice.changed(course, "HEAD") == set()


@pytest.mark.parametrize(
    "path", ["solutions/03_exercise/wrong_x.py", "exercises/03_exercise/hints.toml"]
)
def test_a_new_file_counts_before_it_is_committed(course: Path, path: str):
    touch(course, path)
    assert choice.changed(course, "HEAD") == {"03_exercise"}


def test_a_file_that_was_changed_or_removed_counts_before_that_is_committed(course: Path):
    (course / "exercises/04_exercise/spec.py").write_text("otherwise\n")
    (course / "exercises/05_exercise/spec.py").unlink()
    git(course, "add", "exercises/05_exercise")
    assert choice.changed(course, "HEAD") == {"04_exercise", "05_exercise"}


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "grader/x.py",
        "exercises/README.md",
        "docs/a/b.md",
        "exercises/03_exercise/README.md",
        "solutions/03_exercise/picture.svg",
    ],
)
def test_what_decides_no_verdict_changes_no_exercise(course: Path, path: str):
    touch(course, path)
    assert choice.changed(course, "HEAD") == set()


def test_what_others_changed_meanwhile_does_not_count(course: Path):
    """A branch is compared with the commit that it began from, as in a pull request."""
    git(course, "checkout", "--quiet", "-b", "others", "base")
    touch(course, "exercises/07_exercise/spec.py")
    (course / "exercises/07_exercise/spec.py").write_text("theirs\n")
    commit(course)
    git(course, "checkout", "--quiet", "-")
    assert choice.changed(course, "others") == {"02_exercise"}


def test_a_course_may_be_a_folder_of_a_repository(course: Path, tmp_path: Path):
    (tmp_path / "whole").mkdir()
    inner = shutil.copytree(course, tmp_path / "whole" / "exercises" / "course")
    shutil.rmtree(inner / ".git")
    git(tmp_path / "whole", "init", "--quiet")
    commit(tmp_path / "whole")
    (inner / "exercises/09_exercise/spec.py").write_text("otherwise\n")
    touch(inner, "exercises/06_exercise/notes.toml")
    touch(tmp_path / "whole", "exercises/08_exercise/notes.toml")
    assert choice.changed(inner, "HEAD") == {"06_exercise", "09_exercise"}


def test_a_name_that_is_no_ascii_is_found(course: Path):
    touch(course, "exercises/12_größe/spec.py")
    assert choice.changed(course, "HEAD") == {"12_größe"}


# -- where git cannot compare


@pytest.mark.parametrize("since", ["nothing", "-x", "--help", "", "base:README.md"])
def test_a_commit_that_is_not_there_cannot_be_compared_with(course: Path, since: str):
    assert choice.changed(course, since) is None


def test_a_clone_without_history_has_no_base(course: Path, tmp_path: Path):
    """CI systems fetch one commit: the branch is there, and the way to it is not."""
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{course}", "shallow")
    shallow = tmp_path / "shallow"
    assert choice.changed(shallow, "HEAD~1") is None
    git(shallow, "fetch", "--quiet", "--depth=1", "origin", "base:base")
    assert choice.changed(shallow, "base") is None


def test_without_git_nothing_can_be_compared(course: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert choice.changed(course, "base") is None


def test_a_folder_that_is_no_repository_cannot_be_compared(course: Path):
    shutil.rmtree(course / ".git")
    assert choice.changed(course, "base") is None


# -- the sample


@pytest.mark.parametrize("most", [1, 2, 3, 6, 10, 11, 12, 100])
def test_in_a_period_each_exercise_has_its_turn(course: Path, most: int):
    days = [chosen(course, None, most, day) for day in range(738_000, 738_000 + -(-11 // most))]
    assert all(1 <= len(day) <= most for day in days)
    assert sorted(name for day in days for name in day) == NAMES


def test_a_sample_is_spread_over_the_course(course: Path):
    assert chosen(course, None, 3, 4) == ["01_exercise", "05_exercise", "09_exercise"]


def test_what_changed_is_taken_besides_the_sample(course: Path):
    assert chosen(course, "base", 3, 4) == [
        "01_exercise",
        "02_exercise",
        "05_exercise",
        "09_exercise",
    ]
    assert chosen(course, "base", 3, 5) == ["02_exercise", "06_exercise", "10_exercise"]


@pytest.mark.parametrize(
    ("since", "sentence"),
    [
        (None, "chosen: 2 of 11 as today's sample (01_exercise, 07_exercise)"),
        (
            "base",
            "chosen: 1 changed since base (02_exercise), and 2 of 10 as today's sample "
            "(01_exercise, 07_exercise)",
        ),
        (
            "HEAD",
            "chosen: none changed since HEAD, and 2 of 11 as today's sample "
            "(01_exercise, 07_exercise)",
        ),
        (
            "lost",
            "chosen: 2 of 11 as today's sample (01_exercise, 07_exercise), because git cannot "
            "compare with lost here",
        ),
    ],
)
def test_one_sentence_says_what_is_chosen(course: Path, since: str | None, sentence: str):
    assert choice.choose(exercises(course), since, 2, 0).sentence == sentence


def test_a_sample_of_which_all_has_changed_has_no_names(course: Path):
    only = [Exercise(course / "exercises" / "02_exercise")]
    sentence = choice.choose(only, "base", 1, 0).sentence
    assert sentence.endswith("1 changed since base (02_exercise), and 0 of 0 as today's sample")


# -- the command


@pytest.fixture
def verified(
    course: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> list[tuple[str, ...]]:
    """The names with which exercises are verified, in a real course under git."""
    root = Path(shutil.copytree(COURSES / "small", tmp_path / "small"))
    git(root, "init", "--quiet")
    commit(root)
    monkeypatch.chdir(root)
    taken: list[tuple[str, ...]] = []

    def run(some: list[Exercise], *more: object) -> list[Verified]:
        taken.append(tuple(one.name for one in some))
        passed = ("solution", "solution", "pass", "pass", True, "", PASSED)
        return [Verified(one.name, *passed) for one in some]

    monkeypatch.setattr(verify, "run", run)
    return taken


def test_the_command_verifies_the_choice_and_says_so(
    verified: list[tuple[str, ...]], capsys: pytest.CaptureFixture[str]
):
    touch(Path(), "solutions/01_double/wrong_x.py")
    assert cli.main(["verify", "--changed-since", "HEAD", "--sample", "1"]) == 0
    (names,) = verified
    assert "01_double" in names
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "chosen: " in line]
    assert line.startswith("chosen: 1 changed since HEAD (01_double), and ")


def test_the_command_never_verifies_nothing(verified: list[tuple[str, ...]]):
    assert cli.main(["verify", "--changed-since", "HEAD"]) == 0
    assert cli.main(["verify", "--all", "--sample", "1"]) == 0
    assert cli.main(["verify", "01_double", "--sample", "1"]) == 0
    assert all(verified)
    assert verified[-1] == ("01_double",)


@pytest.mark.parametrize("wrong", [["--sample", "0"], ["--calibrate", "--sample", "1"]])
def test_a_choice_of_nothing_is_refused(
    verified: list[tuple[str, ...]], wrong: list[str], capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["verify", "--all", *wrong]) == 2
    assert "--sample" in capsys.readouterr().err
    assert not verified
