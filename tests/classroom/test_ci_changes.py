"""`grader ci --changed`: the exercises that a push changed are graded, or else everything."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import reported
from plain_shell import on_a_plain_shell

from grader import cli
from grader.classroom import ci_changes
from grader.classroom.ci_changes import Base
from grader.classroom.ci_systems import System
from grader.course import catalog
from grader.grading import check
from grader.model import texts
from grader.model.outcomes import Status

pytestmark = pytest.mark.slow

SMALL = Path(__file__).parents[1] / "courses" / "small"
NAMES = [exercise.name for exercise in catalog.exercises(SMALL)]
WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
ZEROS = "0" * 40
Git = Callable[..., str]


@pytest.fixture(autouse=True)
def _on_a_plain_shell(monkeypatch: pytest.MonkeyPatch):
    on_a_plain_shell(monkeypatch)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A student's repository with one commit on the branch main, which is the working directory."""
    copied = Path(shutil.copytree(SMALL, tmp_path / "course"))
    shutil.rmtree(copied / "solutions")
    monkeypatch.chdir(copied)
    return copied


@pytest.fixture
def git(root: Path) -> Git:
    def run(*words: str) -> str:
        done = subprocess.run(
            ["git", *WHO, *words], cwd=root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    run("add", "-A")
    run("commit", "-qm", "Released")
    return run


def commit(root: Path, git: Git, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with (root / path).open("a") as file:
            file.write("# changed\n")
    git("add", "-A")
    git("commit", "-qm", "Changed")


def chosen(root: Path, base: Base | None) -> tuple[list[str], str]:
    scope = ci_changes.scope(catalog.exercises(root), base)
    return [one.name for one in scope.exercises], scope.sentence


# -- what to compare with


def github(tmp_path: Path, name: str, event: object) -> dict[str, str]:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(event))
    return {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path)}


@pytest.mark.parametrize(
    ("name", "event", "base"),
    [
        ("push", {"before": "a" * 40}, Base("a" * 40)),
        (
            "push",
            {"before": ZEROS, "repository": {"default_branch": "main"}},
            Base("origin/main", branch=True),
        ),
        ("push", {"before": ZEROS}, None),
        ("push", [], None),
        ("push", {"before": 7}, None),
        ("pull_request", {"pull_request": {"base": {"sha": "b" * 40}}}, Base("b" * 40, True)),
        ("pull_request", {"pull_request": None}, None),
        ("workflow_dispatch", {"before": "a" * 40}, None),
        ("schedule", {}, None),
    ],
)
def test_github_names_what_to_compare_with(tmp_path: Path, name: str, event, base: Base | None):
    assert ci_changes.base(System.GITHUB, github(tmp_path, name, event)) == base


def test_a_github_without_its_event_has_nothing_to_compare_with(tmp_path: Path):
    assert ci_changes.base(System.GITHUB, {"GITHUB_EVENT_NAME": "push"}) is None
    (tmp_path / "event.json").write_text("{")
    where = {"GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": str(tmp_path / "event.json")}
    assert ci_changes.base(System.GITHUB, where) is None


@pytest.mark.parametrize(
    ("environ", "base"),
    [
        ({"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BEFORE_SHA": "a" * 40}, Base("a" * 40)),
        (
            {
                "CI_PIPELINE_SOURCE": "push",
                "CI_COMMIT_BEFORE_SHA": ZEROS,
                "CI_DEFAULT_BRANCH": "main",
            },
            Base("origin/main", branch=True),
        ),
        ({"CI_PIPELINE_SOURCE": "push"}, None),
        (
            {
                "CI_PIPELINE_SOURCE": "merge_request_event",
                "CI_MERGE_REQUEST_DIFF_BASE_SHA": "b" * 40,
                "CI_COMMIT_BEFORE_SHA": ZEROS,
            },
            Base("b" * 40, branch=True),
        ),
        ({"CI_PIPELINE_SOURCE": "web", "CI_COMMIT_BEFORE_SHA": "a" * 40}, None),
        ({"CI_PIPELINE_SOURCE": "schedule"}, None),
    ],
)
def test_gitlab_names_what_to_compare_with(environ: Mapping[str, str], base: Base | None):
    assert ci_changes.base(System.GITLAB, environ) == base


# -- what changed


def test_the_kernels_that_changed_are_graded(root: Path, git: Git):
    before = git("rev-parse", "HEAD")
    commit(
        root, git, "exercises/01_double/kernel.py", "exercises/02_row_sum/lesson.md", "README.md"
    )
    names, sentence = chosen(root, Base(before))
    assert names == ["01_double"]
    assert sentence == (f"1 of 3 exercises changed since {before[:10]}. {ci_changes.OTHERS}")
    (root / "puzzles/p01_copy/kernel.py").write_text("# not committed\n")
    assert chosen(root, Base(before))[0] == ["p01_copy", "01_double"]
    (root / "exercises/02_row_sum/kernel.py").unlink()
    assert chosen(root, Base(before))[0] == NAMES, "one that was deleted changed, too"


def test_nothing_changed(root: Path, git: Git):
    head = git("rev-parse", "HEAD")
    names, sentence = chosen(root, Base(head))
    assert names == []
    assert sentence.startswith("No exercise changed since")
    commit(root, git, "notes/thoughts.md", "picture.PNG", ".gitignore")
    assert chosen(root, Base(head))[0] == []


@pytest.mark.parametrize(
    "path",
    [
        "exercises/01_double/spec.py",
        "exercises/01_double/test_kernel.py",
        "course.toml",
        "requirements.txt",
        "constraints.txt",
        "release.json",
        "kernel_grader-0.1.0-py3-none-any.whl",
        ".github/workflows/check.yml",
        "exercises/01_double/helper.py",
    ],
)
def test_what_may_decide_a_verdict_has_everything_graded(root: Path, git: Git, path: str):
    before = git("rev-parse", "HEAD")
    commit(root, git, path, "exercises/02_row_sum/kernel.py")
    names, sentence = chosen(root, Base(before))
    assert names == NAMES
    assert sentence == f"Everything is graded: {path} changed since {before[:10]}."


def test_a_branch_is_compared_with_where_it_left_the_other(root: Path, git: Git):
    git("checkout", "-qb", "feature")
    commit(root, git, "exercises/01_double/kernel.py")
    commit(root, git, "exercises/02_row_sum/kernel.py")
    git("checkout", "-q", "main")
    commit(root, git, "puzzles/p01_copy/kernel.py")
    git("checkout", "-q", "feature")
    assert chosen(root, Base("main", branch=True))[0] == ["01_double", "02_row_sum"]
    assert chosen(root, Base("main"))[0] == NAMES, "both sides differ from the commit itself"


@pytest.mark.parametrize("base", [None, Base("a" * 40), Base("gone", True), Base("--output=x")])
def test_everything_is_graded_where_nothing_can_be_compared(
    root: Path, git: Git, base: Base | None
):
    names, sentence = chosen(root, base)
    assert names == NAMES
    assert sentence.startswith("Everything is graded: ")
    assert not (root / "x").exists()


def test_a_folder_without_git_and_a_shallow_clone_have_everything_graded(
    root: Path, git: Git, tmp_path: Path
):
    before = git("rev-parse", "HEAD")
    commit(root, git, "exercises/01_double/kernel.py")
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth=1", root.as_uri(), shallow], check=True)
    assert chosen(shallow, Base(before))[0] == NAMES
    shutil.rmtree(root / ".git")
    assert chosen(root, Base(before))[0] == NAMES


def test_the_first_push_of_a_default_branch_has_everything_graded(root: Path, git: Git):
    """Compared with itself, nothing of it would ever have been graded."""
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert chosen(root, Base("origin/main", branch=True))[0] == NAMES


def test_a_course_may_lie_in_a_folder_of_a_repository(tmp_path: Path):
    course = tmp_path / "top" / "course"
    shutil.copytree(SMALL, course, ignore=shutil.ignore_patterns("solutions"))

    def git(*words: str) -> str:
        where = tmp_path / "top"
        done = subprocess.run(
            ["git", *WHO, *words], cwd=where, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "Released")
    before = git("rev-parse", "HEAD")
    (course / "exercises/01_double/kernel.py").write_text("# mine\n")
    assert chosen(course, Base(before))[0] == ["01_double"]
    (tmp_path / "top" / ".gitlab-ci.yml").write_text("check: {}\n")
    names, sentence = chosen(course, Base(before))
    assert names == NAMES
    assert "../.gitlab-ci.yml changed" in sentence


# -- the command


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what the judge was asked to grade; all of it passes."""
    asked: list[str] = []

    def run(requests, progress, heard=lambda result: None):
        results = []
        for request in requests:
            asked.append(request.exercise.name)
            update = {"exercise": request.exercise.name, "status": Status.PASS}
            results.append(reported.PASSED.model_copy(update=update))
            heard(results[-1])
        return results

    monkeypatch.setattr(check, "run", run)
    return asked


def pushed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, before: str) -> None:
    environ = github(tmp_path, "push", {"before": before})
    summary = str(tmp_path / "summary.md")
    for name, value in (
        environ | {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary}
    ).items():
        monkeypatch.setenv(name, value)


def test_a_push_to_github_grades_what_it_changed(
    root: Path, git: Git, judged: list[str], monkeypatch, tmp_path: Path, capsys
):
    before = git("rev-parse", "HEAD")
    commit(root, git, "exercises/01_double/kernel.py")
    pushed(monkeypatch, tmp_path, before)
    assert cli.main(["ci", "--changed"]) == 0
    assert judged == ["01_double"]
    out = capsys.readouterr().out
    said = f"1 of 3 exercises changed since {before[:10]}. {ci_changes.OTHERS}"
    assert f"::notice title=grader::7 of 10 points. {said}" in out
    assert texts.entities(said) in (tmp_path / "summary.md").read_text()


def test_a_build_says_that_it_does_not_speak_for_what_an_earlier_push_broke(
    root: Path, git: Git, monkeypatch, tmp_path: Path, capsys
):
    def run(requests, progress, heard=lambda result: None):
        broken = any(request.exercise.name == "01_double" for request in requests)
        status = Status.FAIL if broken else Status.PASS
        results = [reported.PASSED.model_copy(update={"status": status}) for _ in requests]
        for result in results:
            heard(result)
        return results

    monkeypatch.setattr(check, "run", run)
    codes = []
    for name in ("01_double", "02_row_sum"):
        before = git("rev-parse", "HEAD")
        commit(root, git, f"exercises/{name}/kernel.py")
        pushed(monkeypatch, tmp_path, before)
        codes.append(cli.main(["ci", "--changed"]))
    assert codes == [1, 0]
    assert ci_changes.OTHERS in capsys.readouterr().out
    assert "does not say whether the others pass" in (tmp_path / "summary.md").read_text()


def test_a_push_that_changed_no_exercise_is_no_failure(
    root: Path, git: Git, judged: list[str], monkeypatch, tmp_path: Path, capsys
):
    pushed(monkeypatch, tmp_path, git("rev-parse", "HEAD"))
    assert cli.main(["ci", "--changed", "--report", "gitlab=.", "--report", "github"]) == 0
    assert judged == []
    assert "::notice title=grader::No exercise changed since" in capsys.readouterr().out
    assert "GRADER_STATUS=unchanged\n" in (root / "grader.env").read_text()


def test_named_exercises_that_have_not_changed_are_not_graded(
    root: Path, git: Git, judged: list[str], monkeypatch, tmp_path: Path
):
    before = git("rev-parse", "HEAD")
    commit(root, git, "exercises/01_double/kernel.py", "puzzles/p01_copy/kernel.py")
    pushed(monkeypatch, tmp_path, before)
    assert cli.main(["ci", "--changed", "01", "02"]) == 0
    assert judged == ["01_double"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--submission", "."], "--changed does not go with --submission"),
        (["--report", "gradescope=x.json"], "--changed does not go with --report gradescope"),
        (["--report", "autolab"], "--changed does not go with --report autolab"),
    ],
)
def test_a_score_of_a_part_never_passes_for_that_of_all(
    root: Path, git: Git, judged: list[str], capsys, arguments: list[str], told: str
):
    assert cli.main(["ci", "--changed", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert judged == []
