"""A newer release comes to a student's repository, and not one kernel is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from released import libraries_read_once, order, small_course

from grader import cli
from grader.classroom.release import build, repository, update
from grader.classroom.release.update import Action
from grader.course import manifest
from grader.model.errors import UsageError

pytestmark = pytest.mark.slow

DOUBLE = "exercises/01_double"


@pytest.fixture(scope="module", autouse=True)
def _libraries_read_once() -> Iterator[None]:
    with libraries_read_once():
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course and its release, 1.0; and both of 2.0: `student` and `newer` say what differs."""
    folder = tmp_path_factory.mktemp("releases")
    course = small_course(folder / "course")
    build.build(order(course), folder / "student")
    shutil.copytree(course, folder / "course of 1.0", symlinks=True)
    set_version(course, "2.0")
    (course / DOUBLE / "README.md").write_text("# Double\n\nTwice a vector, explained.\n")
    (course / DOUBLE / "test_kernel.py").write_text("def test_new(kernel): ...\n")
    replace(course / "solutions/01_double/kernel.py", '"""Twice a vector."""', '"""Two vectors."""')
    for shelf in ("exercises", "solutions"):
        (course / shelf / "02_row_sum").rename(course / shelf / "03_row_sum")
    build.build(order(course), folder / "newer")
    return folder


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """The course, of which 1.0 was released."""
    return copied(made / "course of 1.0", tmp_path / "course")


@pytest.fixture
def student(made: Path, tmp_path: Path) -> Path:
    """A student's repository of version 1.0."""
    return copied(made / "student", tmp_path / "student")


@pytest.fixture
def newer(made: Path, root: Path, tmp_path: Path) -> Path:
    """Version 2.0: a lesson and a stub changed, one exercise gone and one new.

    The course is that of 2.0 from then on.
    """
    shutil.rmtree(root)
    copied(made / "course", root)
    return copied(made / "newer", tmp_path / "newer")


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to, symlinks=True))


def set_version(root: Path, version: str) -> None:
    (root / "course.toml").write_text(f'name = "small"\ntitle = "Small"\nversion = "{version}"\n')


def replace(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with what it holds; links as what they lead to."""
    return {
        path.relative_to(folder).as_posix(): (
            os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        )
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def actions(plan: update.Plan) -> dict[str, Action]:
    return {step.path: step.action for step in plan.steps}


# -- what happens to each file


def test_an_untouched_repository_becomes_the_newer_release(student: Path, newer: Path):
    plan = update.run(student, str(newer))
    gone = "exercises/02_row_sum/kernel.py"  # a kernel is never removed
    assert content(student) == content(newer) | {gone: content(student)[gone]}
    assert actions(plan) == {
        ".stubs/01_double/kernel.py": Action.REPLACE,
        ".stubs/02_row_sum/kernel.py": Action.REMOVE,
        ".stubs/03_row_sum/kernel.py": Action.ADD,
        "README.md": Action.REPLACE,
        "course.toml": Action.REPLACE,
        f"{DOUBLE}/README.md": Action.REPLACE,
        f"{DOUBLE}/kernel.py": Action.REPLACE,  # still the old stub
        f"{DOUBLE}/test_kernel.py": Action.ADD,
        "exercises/03_row_sum/kernel.py": Action.ADD,
        "exercises/03_row_sum/spec.py": Action.ADD,
        "exercises/02_row_sum/kernel.py": Action.LEAVE,
        "exercises/02_row_sum/spec.py": Action.REMOVE,
    }


def test_a_kernel_that_was_worked_on_is_never_touched(student: Path, newer: Path):
    work = {}
    for name in (f"{DOUBLE}/kernel.py", "puzzles/p01_copy/kernel.py"):
        (student / name).write_text("my work\n")
        work[name] = (student / name).stat()
    (student / "exercises/02_row_sum/kernel.py").write_text("my work\n")
    plan = update.run(student, str(newer))
    for name, before in work.items():
        assert (student / name).read_text() == "my work\n"
        assert (student / name).stat().st_mtime_ns == before.st_mtime_ns
        assert (student / name).stat().st_ino == before.st_ino
    assert (student / "exercises/02_row_sum/kernel.py").read_text() == "my work\n"
    assert actions(plan)[f"{DOUBLE}/kernel.py"] == Action.KEEP
    assert "puzzles/p01_copy/kernel.py" not in actions(plan)  # its stub is the same


def test_a_kernel_that_is_gone_is_put_back(student: Path, newer: Path):
    (student / DOUBLE / "kernel.py").unlink()
    plan = update.run(student, str(newer))
    assert actions(plan)[f"{DOUBLE}/kernel.py"] == Action.ADD
    assert content(student)[f"{DOUBLE}/kernel.py"] == content(newer)[f"{DOUBLE}/kernel.py"]


def test_a_kernel_that_is_a_link_stays_one(student: Path, newer: Path):
    (student / "mine.py").write_text("my work\n")
    (student / DOUBLE / "kernel.py").unlink()
    (student / DOUBLE / "kernel.py").symlink_to("../../mine.py")
    update.run(student, str(newer))
    assert os.readlink(student / DOUBLE / "kernel.py") == "../../mine.py"
    assert (student / "mine.py").read_text() == "my work\n"


def test_a_student_s_kernel_of_the_name_of_a_new_exercise_stays(student: Path, newer: Path):
    (student / "exercises/03_row_sum").mkdir()
    (student / "exercises/03_row_sum/kernel.py").write_text("my work\n")
    plan = update.run(student, str(newer))
    assert (student / "exercises/03_row_sum/kernel.py").read_text() == "my work\n"
    assert actions(plan)["exercises/03_row_sum/kernel.py"] == Action.KEEP


def test_other_files_that_were_changed_are_set_aside(student: Path, newer: Path):
    (student / DOUBLE / "spec.py").write_text("easier\n")  # the same in both releases
    (student / DOUBLE / "README.md").write_text("notes\n")  # another in each
    (student / DOUBLE / "test_kernel.py").write_text("my test\n")  # new in the release
    (student / "README.md").unlink()
    (student / "README.md").symlink_to("NOTES.md")
    plan = update.run(student, str(newer))
    now = content(student)
    for name, mine in {
        f"{DOUBLE}/spec.py": b"easier\n",
        f"{DOUBLE}/README.md": b"notes\n",
        f"{DOUBLE}/test_kernel.py": b"my test\n",
        "README.md": b"NOTES.md",
    }.items():
        assert now[f"{name}.yours-1.0"] == mine
        assert now[name] == content(newer)[name]
        assert actions(plan)[name] == Action.SET_ASIDE
    assert not (student / "README.md").is_symlink()


def test_nothing_that_was_set_aside_before_is_lost(student: Path, newer: Path):
    (student / DOUBLE / "spec.py").write_text("third\n")
    (student / DOUBLE / "spec.py.yours-1.0").write_text("first\n")
    (student / DOUBLE / "spec.py.yours-1.0-2").symlink_to("nowhere")
    update.run(student, str(newer))
    assert (student / DOUBLE / "spec.py.yours-1.0").read_text() == "first\n"
    assert (student / DOUBLE / "spec.py.yours-1.0-3").read_text() == "third\n"


def test_a_student_s_own_files_are_never_touched(student: Path, newer: Path):
    mine = ("notes.txt", f"{DOUBLE}/attempt.py", "exercises/02_row_sum/data.csv", ".github/my.yml")
    for name in mine:
        (student / name).parent.mkdir(exist_ok=True)
        (student / name).write_text("mine\n")
    update.run(student, str(newer))
    assert all((student / name).read_text() == "mine\n" for name in mine)


def test_a_file_that_the_course_dropped_is_removed_unless_it_was_changed(
    student: Path, newer: Path
):
    (student / "exercises/02_row_sum/kernel.py").unlink()
    update.run(student, str(newer))
    assert not (student / "exercises/02_row_sum").exists()


def test_what_the_course_has_no_more_stays_if_it_was_changed(student: Path, newer: Path):
    (student / "exercises/02_row_sum/spec.py").write_text("mine\n")
    plan = update.run(student, str(newer))
    assert (student / "exercises/02_row_sum/spec.py").read_text() == "mine\n"
    assert actions(plan)["exercises/02_row_sum/spec.py"] == Action.LEAVE


# -- again, and after an interruption


def test_a_second_update_finds_nothing_to_do(student: Path, newer: Path):
    (student / DOUBLE / "spec.py").write_text("easier\n")
    update.run(student, str(newer))
    before = content(student)
    assert update.run(student, str(newer)).steps == ()
    assert content(student) == before


def test_an_update_that_was_cut_off_anywhere_is_completed_by_the_next(
    student: Path, newer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (student / DOUBLE / "spec.py").write_text("easier\n")
    (student / DOUBLE / "kernel.py").write_text("my work\n")
    whole = shutil.copytree(student, tmp_path / "whole")
    changes = count_changes(monkeypatch, None)
    update.run(whole, str(newer))
    monkeypatch.undo()
    assert len(changes) > 8
    for number in range(len(changes)):
        cut = shutil.copytree(student, tmp_path / f"cut_{number}")
        count_changes(monkeypatch, number)
        with pytest.raises(KeyboardInterrupt):
            update.run(cut, str(newer))
        monkeypatch.undo()
        assert (cut / DOUBLE / "kernel.py").read_text() == "my work\n"
        assert manifest.read(cut).version == "1.0"
        update.run(cut, str(newer))
        assert content(cut) == content(whole)


def count_changes(monkeypatch: pytest.MonkeyPatch, last: int | None) -> list[str]:
    """Each change of a file's place, written down; the one of this number is interrupted."""
    seen: list[str] = []
    for name in ("rename", "replace", "unlink"):
        original = getattr(Path, name)

        def changing(path: Path, *args, _original=original, **options):
            if len(seen) == last:
                raise KeyboardInterrupt
            seen.append(str(path))
            return _original(path, *args, **options)

        monkeypatch.setattr(Path, name, changing)
    return seen


def test_a_full_disk_changes_nothing(student: Path, newer: Path, monkeypatch: pytest.MonkeyPatch):
    def full(path: Path, data: bytes) -> int:
        if path.name == "3":
            raise OSError(28, "No space left on device", str(path))
        return original(path, data)

    original = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", full)
    before = content(student)
    with pytest.raises(UsageError, match="No space left on device") as raised:
        update.run(student, str(newer))
    assert "run the same command again" in raised.value.next_step
    assert content(student) == before


# -- what is refused


def refused(student: Path, source: object) -> str:
    """What an update says that changes nothing."""
    before = content(student)
    with pytest.raises(UsageError) as raised:
        update.run(student, str(source))
    assert content(student) == before
    return raised.value.message


def test_an_older_release_is_refused(student: Path, newer: Path, root: Path, tmp_path: Path):
    for version in ("0.9", "1.0rc1"):
        set_version(root, version)
        build.build(order(root), tmp_path / version)
        told = refused(student, tmp_path / version)
        assert f"the release is version {version}, and this repository has the newer 1.0" in told


def test_versions_are_compared_as_numbers(student: Path, root: Path, tmp_path: Path):
    set_version(root, "10.0")
    build.build(order(root), tmp_path / "ten")
    update.run(student, str(tmp_path / "ten"))
    assert manifest.read(student).version == "10.0"


def test_another_release_of_the_same_version_is_refused(student: Path, root: Path, tmp_path: Path):
    (root / DOUBLE / "README.md").write_text("# Other\n")
    build.build(order(root), tmp_path / "other")
    assert "both releases are version 1.0, but they differ" in refused(student, tmp_path / "other")


def test_a_release_of_another_course_is_refused(student: Path, root: Path, tmp_path: Path):
    (root / "course.toml").write_text('name = "large"\nversion = "2.0"\n')
    build.build(order(root), tmp_path / "other")
    told = refused(student, tmp_path / "other")
    assert "of the course 'large', and this repository of 'small'" in told


def test_a_folder_that_is_no_release_is_refused(student: Path, root: Path, tmp_path: Path):
    assert "is not a release of a course: it has no release.json" in refused(student, root)
    assert "nor a repository that git clones" in refused(student, tmp_path / "nowhere")
    assert "nor a repository that git clones" in refused(student, "--upload-pack=touch hacked")
    assert not Path("hacked").exists()


def test_what_git_said_comes_after_what_to_do(student: Path, tmp_path: Path):
    with pytest.raises(UsageError) as raised:
        update.run(student, str(tmp_path / "nowhere"))
    assert raised.value.message.startswith("Nothing was updated: ")
    assert "fatal:" not in raised.value.message
    advice, _, said = raised.value.next_step.partition("\ngit said: ")
    assert advice == "Name one of these, and make sure that you may read it."
    assert said.startswith("fatal:")


def test_a_repository_that_no_release_made_is_refused(student: Path, newer: Path):
    (student / "release.json").unlink()
    assert f"{student} is not a release of a course" in refused(student, newer)


@pytest.mark.parametrize("place", [f"{DOUBLE}/spec.py", f"{DOUBLE}/kernel.py", "README.md"])
def test_a_release_in_which_somebody_works_is_refused(student: Path, newer: Path, place: str):
    (newer / place).write_text("changed\n")
    assert f"{place} in {newer} was changed after the release" in refused(student, newer)


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        (f"{DOUBLE}/spec.py", "folder"),
        (f"{DOUBLE}/kernel.py", "folder"),
        ("exercises", "link"),
        ("exercises/03_row_sum", "file"),
        ("exercises/03_row_sum", "dead link"),
    ],
)
def test_what_lies_in_the_way_is_named(
    student: Path, newer: Path, tmp_path: Path, place: str, kind: str
):
    path = student / place
    if path.exists():
        path.rename(tmp_path / "elsewhere")
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("mine\n")
    else:
        path.symlink_to(tmp_path / ("elsewhere" if kind == "link" else "nowhere"))
    assert "a folder or a link lies where the release has" in refused(student, newer)


def test_a_manifest_that_leads_out_of_the_repository_is_refused(student: Path, newer: Path):
    replace(newer / "release.json", '"README.md"', '"../README.md"')
    assert "'../README.md' is not the path of a released file" in refused(student, newer)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_named(student: Path, newer: Path):
    (student / DOUBLE / "spec.py").chmod(0)
    with pytest.raises(UsageError, match=r"spec\.py cannot be read"):
        update.run(student, str(newer))


# -- from git, and the command


def test_a_release_comes_from_a_repository_with_or_without_files(
    student: Path, newer: Path, tmp_path: Path
):
    repository.commit_all(newer, "2.0")
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(newer), str(bare)], check=True)
    first, second = (shutil.copytree(student, tmp_path / name) for name in ("one", "two"))
    update.run(first, str(bare))
    update.run(second, newer.as_uri())
    update.run(student, str(newer))
    assert content(first) == content(second) == content(student)


def test_the_command_prints_each_change(student: Path, newer: Path, monkeypatch, capsys):
    monkeypatch.delenv("GRADER_COURSE", raising=False)
    monkeypatch.chdir(student / DOUBLE)
    Path("kernel.py").write_text("my work\n")
    Path("spec.py").write_text("easier\n")
    assert cli.main(["update", str(newer)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "README.md: brought up to date",
        "course.toml: brought up to date",
        f"{DOUBLE}/README.md: brought up to date",
        f"{DOUBLE}/kernel.py: kept, because you have worked on it; the course has a new stub",
        f"{DOUBLE}/spec.py: brought up to date; your version is in {DOUBLE}/spec.py.yours-1.0",
        f"{DOUBLE}/test_kernel.py: new",
        "exercises/03_row_sum/kernel.py: new",
        "exercises/03_row_sum/spec.py: new",
        "exercises/02_row_sum/kernel.py: left in place, though the course no longer has it",
        "exercises/02_row_sum/spec.py: removed, because the course no longer has it",
        "This is small, version 2.0, now.",
    ]
    assert cli.main(["update", str(newer)]) == 0
    assert capsys.readouterr().out.splitlines() == ["This is small, version 2.0, already."]
    assert cli.main(["update", "nowhere"]) == 2


def test_an_update_of_what_is_installed_says_so(
    student: Path, root: Path, tmp_path: Path, monkeypatch, capsys
):
    monkeypatch.setenv("GRADER_COURSE", str(student))
    set_version(root, "2.0")
    build.build(order(root), tmp_path / "same")
    assert cli.main(["update", str(tmp_path / "same")]) == 0
    assert "install" not in capsys.readouterr().err
    set_version(root, "3.0")
    (root / "constraints.txt").write_text("numpy==2.1.0\n")
    build.build(order(root), tmp_path / "other")
    assert cli.main(["update", str(tmp_path / "other")]) == 0
    assert (
        "the required packages have changed; install them again, as README.md says"
        in capsys.readouterr().err
    )
