"""A folder goes whatever a kernel file did in it, and nothing outside of it changes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from grader.machine.folders import empty_folder, remove_folder


def nest(folder: Path, name: str, depth: int) -> None:
    """Nest folders, the innermost with a file."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("file", os.O_CREAT, dir_fd=here))
    os.close(here)


# Python allows 1,000 calls in each other, and no path has more than 4,096 bytes.
@pytest.mark.parametrize(("name", "depth"), [("d", 1100), ("d" * 250, 30)], ids=["deep", "long"])
def test_deep_folders_go(tmp_path: Path, name: str, depth: int):
    folder = tmp_path / "home"
    folder.mkdir()
    nest(folder, name, depth)
    remove_folder(folder)
    assert list(tmp_path.iterdir()) == []


def test_what_stays_is_an_empty_folder(tmp_path: Path):
    for path in ("a/b", "a/c", "d"):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "file").touch()
    (tmp_path / "file").touch()
    empty_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_vanishes_meanwhile_is_gone_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A process that ends takes its temporary files along, between the listing and the removal."""
    for path in ("a/b", "c"):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "file").touch()
    (tmp_path / "file").touch()
    unlink, rmdir = os.unlink, os.rmdir

    def unlink_twice(name: str, *, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd)
        unlink(name, dir_fd=dir_fd)

    def rmdir_twice(name: str, *, dir_fd: int) -> None:
        rmdir(name, dir_fd=dir_fd)
        rmdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", unlink_twice)
    monkeypatch.setattr(os, "rmdir", rmdir_twice)
    empty_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_links_go_and_what_they_lead_to_stays(tmp_path: Path):
    folder, outside = tmp_path / "home", tmp_path / "outside"
    for each in (folder / "in", outside):
        each.mkdir(parents=True)
    (outside / "kept").touch()
    outside.chmod(0o500)
    for link in (folder / "link", folder / "in" / "link"):
        link.symlink_to(outside)
    remove_folder(folder)
    assert [path.name for path in outside.iterdir()] == ["kept"]
    assert outside.stat().st_mode & 0o777 == 0o500


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").touch()
    (tmp_path / "home").symlink_to(tmp_path / "outside")
    with pytest.raises(NotADirectoryError):
        empty_folder(tmp_path / "home")
    assert (tmp_path / "outside" / "kept").exists()


LOCKED = """
import os, sys
from pathlib import Path
from grader.machine import remove_folder
if os.getuid() == 0:
    os.setuid(65534)  # the permissions of root's folders mean nothing to it
folder = Path(sys.argv[1], "home")
(folder / "a" / "b").mkdir(parents=True)
(folder / "a" / "b" / "file").touch()
for mode, locked in ((0o000, "a/b"), (0o500, "a"), (0o000, "")):
    (folder / locked).chmod(mode)
remove_folder(folder)
"""


def test_folders_that_their_owner_locked_go():
    """In a folder that each user may enter, which pytest's are not."""
    with tempfile.TemporaryDirectory() as open_to_all:
        Path(open_to_all).chmod(0o777)
        subprocess.run([sys.executable, "-c", LOCKED, open_to_all], check=True)
        assert os.listdir(open_to_all) == []
