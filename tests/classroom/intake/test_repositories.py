"""Repositories from anybody: the commit counts, and nothing of theirs is run or borrowed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from odd_class import fill, git, repository

from grader.classroom.intake import contents, git_refs, repositories
from grader.classroom.intake.contents import Contents
from grader.classroom.intake.selection import needs_of
from grader.classroom.intake.writing import LARGEST_FILE
from grader.course import catalog
from grader.model.errors import CannotGrade

pytestmark = pytest.mark.slow

SMALL = Path(__file__).parents[2] / "courses" / "small"
NEEDS = needs_of(catalog.exercises(SMALL))
KERNEL, OTHER = "exercises/01_double/kernel.py", "exercises/02_row_sum/kernel.py"
GOOD = {KERNEL: b"x = 1\n"}


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A repository with one commit of a good kernel, in the branch main."""
    repository(tmp_path / "theirs", GOOD)
    return tmp_path / "theirs"


def read(place: Path) -> Contents:
    return contents.read(place, NEEDS, place.parent / "work")


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def bare(theirs: Path, *options: str) -> Path:
    place = theirs.with_name("bare.git")
    git(theirs.parent, "clone", "--quiet", "--bare", *options, str(theirs), str(place))
    return place


def test_the_files_of_the_commit_are_taken(theirs: Path):
    (theirs / KERNEL).write_bytes(b"x = 2\n")
    found = read(theirs)
    assert files(found.folder) == GOOD
    assert "was changed after the commit" in found.notes[-1]


def test_line_ends_that_git_changed_are_no_change(theirs: Path):
    (theirs / KERNEL).write_bytes(b"x = 1\r\n")
    assert len(read(theirs).notes) == 1


@pytest.mark.parametrize("packed", [False, True])
def test_a_bare_repository_is_read(packed: bool, theirs: Path):
    place = bare(theirs)
    if packed:
        git(place, "gc", "--quiet")
    assert files(read(place).folder) == GOOD


def test_a_repository_with_sha_256_is_read(tmp_path: Path):
    fill(tmp_path / "new", GOOD)
    git(tmp_path / "new", "init", "--quiet", "--object-format=sha256")
    git(tmp_path / "new", "add", "--all")
    git(tmp_path / "new", "commit", "--quiet", "--message", "Kernels")
    assert files(read(tmp_path / "new").folder) == GOOD


def test_a_commit_that_is_checked_out_without_a_branch_counts(theirs: Path):
    (theirs / KERNEL).write_bytes(b"x = 2\n")
    git(theirs, "commit", "--quiet", "--all", "--message", "After the deadline")
    git(theirs, "checkout", "--quiet", "HEAD~1")
    assert files(read(theirs).folder) == GOOD


def test_no_attribute_of_the_repository_changes_or_hides_a_file(tmp_path: Path):
    kernel = b"# $Format:%H$ $Id$\nx = 1\n"
    attributes = b"exercises export-ignore\n*.py export-subst ident eol=crlf\n"
    repository(tmp_path / "theirs", {KERNEL: kernel, ".gitattributes": attributes})
    assert files(read(tmp_path / "theirs").folder) == {KERNEL: kernel}


def test_links_and_other_repositories_in_a_commit_are_not_taken(theirs: Path):
    (theirs / OTHER).parent.mkdir()
    (theirs / OTHER).symlink_to("/etc/passwd")
    repository(theirs / "exercises" / "02_row_sum" / "module", GOOD)
    git(theirs, "add", "--all")
    git(theirs, "commit", "--quiet", "--message", "Links")
    found = read(bare(theirs))
    assert files(found.folder) == GOOD
    assert "is a link" in found.notes[-1]


def test_what_is_not_committed_counts_where_there_is_no_commit(tmp_path: Path):
    fill(tmp_path / "theirs", GOOD)
    git(tmp_path / "theirs", "init", "--quiet")
    found = read(tmp_path / "theirs")
    assert found.folder == tmp_path / "theirs"
    assert "no commits" in found.notes[0]


def test_the_only_branch_counts_where_head_names_another(theirs: Path):
    """A server makes HEAD name `master`, and everybody pushes to `main`."""
    place = bare(theirs)
    (place / "HEAD").write_text("ref: refs/heads/master\n")
    found = read(place)
    assert files(found.folder) == GOOD
    assert any("main counts" in note for note in found.notes)
    git(place, "branch", "other", "main")
    assert "several branches" in read(place).fault


def test_a_git_file_that_leads_elsewhere_is_not_followed(theirs: Path, tmp_path: Path):
    """So the repository of another student, or the instructor's, would be graded as one's own."""
    own = {KERNEL: b"own\n"}
    for name in ("file", "link"):
        fill(tmp_path / name, own)
    (tmp_path / "file" / ".git").write_text(f"gitdir: {theirs}/.git\n")
    (tmp_path / "link" / ".git").symlink_to(theirs / ".git")
    for name in ("file", "link"):
        assert (read(tmp_path / name).folder / KERNEL).read_bytes() == b"own\n"


def test_objects_of_another_repository_are_not_borrowed(theirs: Path):
    commit = git_refs.commit(theirs / ".git")[0]
    shared = bare(theirs, "--shared")
    assert "borrows" in read(shared).fault
    linked = theirs.with_name("linked.git")
    linked.mkdir()
    (linked / "HEAD").write_text(commit)
    (linked / "objects").symlink_to(theirs / ".git" / "objects")
    assert "borrows" in read(linked).fault
    within = bare_without_objects(theirs, commit)
    (within / "objects" / commit[:2]).symlink_to(theirs / ".git" / "objects" / commit[:2])
    assert "links" in read(within).fault


def bare_without_objects(theirs: Path, commit: str) -> Path:
    place = theirs.with_name("within.git")
    (place / "objects").mkdir(parents=True)
    (place / "HEAD").write_text(commit)
    return place


def test_a_ref_that_leads_out_of_the_repository_is_not_read(theirs: Path):
    place = bare(theirs)
    (theirs.parent / "secret").write_text("0" * 40)
    (place / "HEAD").write_text("ref: refs/heads/../../../secret\n")
    assert git_refs.commit(place)[0] != "0" * 40


def test_an_object_that_is_missing_is_not_fetched(tmp_path: Path):
    """A partial clone has git fetch it from an address that can be a command."""
    trace = tmp_path / "trace"
    repository(tmp_path / "theirs", GOOD)
    place = bare(tmp_path / "theirs")
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::touch {trace}",
        "protocol.ext.allow": "always",
    }.items():
        git(place, "config", key, value)
    blob = subprocess.run(
        ["git", "rev-parse", f"main:{KERNEL}"],
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (place / "objects" / blob[:2] / blob[2:]).unlink()
    assert read(place).fault
    assert not trace.exists()
    # The trap works: git run in the repository falls into it.
    subprocess.run(["git", "cat-file", "-p", blob], cwd=place, capture_output=True, check=False)
    assert trace.exists()


def test_a_damaged_repository_is_a_fault(theirs: Path):
    place = bare(theirs)
    for path in (place / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            path.write_bytes(b"damaged")
    assert "damaged" in read(place).fault


def test_a_tree_without_end_is_refused(tmp_path: Path):
    """A few trees that hold each other ten times make a commit with 10**10 files."""
    folder = tmp_path / "bomb.git"
    git(tmp_path, "init", "--quiet", "--bare", str(folder))

    def made(kind: str, content: bytes) -> str:
        command = ["git", "hash-object", "-w", "-t", kind, "--stdin"]
        done = subprocess.run(command, cwd=folder, input=content, capture_output=True, check=True)
        return done.stdout.decode().strip()

    last, mode = made("blob", b""), b"100644"
    for _ in range(10):
        entry = bytes.fromhex(last)
        last = made("tree", b"".join(mode + b" %d\0" % n + entry for n in range(10)))
        mode = b"40000"
    who = b"A <a@b> 0 +0000"
    commit = made("commit", b"tree %s\nauthor %s\ncommitter %s\n\n" % (last.encode(), who, who))
    (folder / "HEAD").write_text(commit)
    assert "too large" in read(folder).fault


def test_a_large_file_is_refused(theirs: Path):
    fill(theirs, {OTHER: bytes(LARGEST_FILE + 1)})
    git(theirs, "add", "--all")
    git(theirs, "commit", "--quiet", "--message", "Large")
    assert OTHER in read(bare(theirs)).fault


def test_large_files_are_refused_together_before_git_prints_them(
    theirs: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(repositories, "MOST_BYTES", len(GOOD[KERNEL]))
    assert read(bare(theirs)).folder
    monkeypatch.setattr(repositories, "MOST_BYTES", len(GOOD[KERNEL]) - 1)
    assert "its files" in read(theirs.with_name("bare.git")).fault


def test_git_that_is_not_installed_is_no_fault_of_the_student(
    theirs: Path, monkeypatch: pytest.MonkeyPatch
):
    place = bare(theirs)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CannotGrade):
        read(place)


def test_the_settings_of_whoever_runs_the_grader_do_not_matter(
    theirs: Path, monkeypatch: pytest.MonkeyPatch
):
    """Under a hook of git, GIT_DIR names the repository of the course."""
    place = bare(theirs)
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, "/nowhere")
    assert files(read(place).folder) == GOOD


def test_a_pipe_among_the_objects_is_not_waited_for(theirs: Path):
    place = bare(theirs)
    os.mkfifo(place / "objects" / "pack" / "pack-1.idx")
    assert "links" in read(place).fault
    assert repositories.folder_of(place) == place
