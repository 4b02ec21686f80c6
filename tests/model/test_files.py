"""Files and folders are replaced whole or not at all, by one writer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.model import files
from grader.model.errors import UsageError
from grader.model.files import fill_folder, replacing_folder, staged_files, write_file


@pytest.fixture(autouse=True)
def umask():
    old = os.umask(0o022)
    yield
    os.umask(old)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_file_is_made_and_replaced(tmp_path: Path):
    path = tmp_path / ("x" * 250)  # no longer name fits a file system
    write_file(path, "é\r\n")
    assert path.read_bytes() == b"\xc3\xa9\r\n"
    assert mode(path) == 0o644
    write_file(path, b"\x00")
    assert path.read_bytes() == b"\x00"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_stay_unless_others_are_given(tmp_path: Path):
    path = tmp_path / "x"
    write_file(path, "1", 0o600)
    assert mode(path) == 0o600
    path.chmod(0o640)
    write_file(path, "2")
    assert mode(path) == 0o640
    write_file(path, "3", 0o600)
    assert mode(path) == 0o600


def test_a_link_is_replaced_and_not_followed(tmp_path: Path):
    precious, folder, link = tmp_path / "precious", tmp_path / "folder", tmp_path / "link"
    precious.write_text("mine")
    folder.mkdir()
    for target in (precious, folder):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write_file(link, "new")
        assert not link.is_symlink()
        assert link.read_text() == "new"
    assert precious.read_text() == "mine"


def test_a_pipe_is_written_to(tmp_path: Path):
    """And so is a device such as /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
):
    path = tmp_path / "x"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for broken in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(files.os, broken, full)
            with pytest.raises(UsageError) as caught:
                files.save_file(path, "new")
            assert text_of(caught.value, tmp_path) == snapshot
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_there_is_never_made_anew(tmp_path: Path):
    path = tmp_path / "key"
    files.create_file(path, b"1", 0o600)
    assert mode(path) == 0o600
    with pytest.raises(FileExistsError):
        files.create_file(path, b"2")
    assert path.read_bytes() == b"1"


@pytest.fixture(params=["exchanged", "renamed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the system's exchange of two folders, and on a file system that has none."""
    if request.param == "renamed":
        monkeypatch.setattr(files, "_exchanged", lambda *_: False)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_a_folder_is_made_and_replaced(tmp_path: Path):
    out = tmp_path / "out"
    for name in ("old", "new"):
        with replacing_folder(out) as new:
            fill_folder(new, {f"{name}/a.txt": "é\n", "b": b"\x00"})
            assert not (out / name).exists()
        assert sorted(path.name for path in out.iterdir()) == ["b", name]
    assert (out / "new" / "a.txt").read_bytes() == b"\xc3\xa9\n"
    assert mode(out) == 0o755
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.usefixtures("way")
def test_a_folder_keeps_its_permissions_and_the_links_to_it(tmp_path: Path):
    out, link = tmp_path / "out", tmp_path / "link"
    out.mkdir(mode=0o750)
    link.symlink_to(out)
    with replacing_folder(link) as new:
        fill_folder(new, {"a": "1"})
    assert link.is_symlink()
    assert mode(out) == 0o750
    assert (out / "a").read_text() == "1"


@pytest.mark.usefixtures("way")
def test_an_exception_leaves_the_folder_as_it_was(tmp_path: Path):
    out = tmp_path / "out"
    fill_folder(out, {"a": "1"})
    with pytest.raises(ValueError, match="leads out"), replacing_folder(out) as new:
        fill_folder(new, {"a": "2", "../b": ""})
    assert (out / "a").read_text() == "1"
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_that_cannot_be_moved_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    out, rename = tmp_path / "out", Path.rename
    fill_folder(out, {"a": "1"})

    def full(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(files, "_exchanged", lambda *_: False)
    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="No space"), replacing_folder(out) as new:
        fill_folder(new, {"a": "2"})
    assert (out / "a").read_text() == "1"
    assert list(tmp_path.iterdir()) == [out]


def test_two_folders_are_exchanged_in_one_step(tmp_path: Path):
    """As every file system that is common on Linux can."""
    fill_folder(tmp_path, {"a/x": "1", "b/x": "2"})
    assert files._exchanged(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a" / "x").read_text() == "2"
    assert not files._exchanged(tmp_path / "a", tmp_path / "missing")


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x"])
def test_no_file_is_written_outside_of_its_folder(tmp_path: Path, name: str):
    with pytest.raises(ValueError, match="leads out of the folder"):
        fill_folder(tmp_path / "in", {name: ""})
    assert not list(tmp_path.iterdir())


def test_staged_files_appear_at_the_end_or_not_at_all(tmp_path: Path):
    fill_folder(tmp_path, {"a": "old"})
    with pytest.raises(KeyboardInterrupt), staged_files(tmp_path, {"a": b"new"}):
        raise KeyboardInterrupt
    assert (tmp_path / "a").read_text() == "old"
    with staged_files(tmp_path, {"a": b"new", "b/c": b"more"}):
        assert (tmp_path / "a").read_text() == "old"
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "b" / "c").read_text() == "more"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
