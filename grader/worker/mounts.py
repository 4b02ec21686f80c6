"""A file system of the worker's own that holds only the files it needs.

It has the folders that the worker reads, read-only; its home, writable; a few devices; an empty
`/tmp` and shared memory of its own. Other files of the machine have no name in it.
"""

from __future__ import annotations

import os
from pathlib import Path

from grader.worker.linux import (
    LIBC,
    MNT_DETACH,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_REC,
    make_read_only,
    mount,
    must,
    own_mounts,
)
from grader.worker.worker_home import Place, devices, readable

SHARED_MEMORY = 1 << 30  # bytes of /dev/shm; the driver of a GPU takes a few


def mounts(place: Place) -> None:
    """Make such a file system, and enter it. Raises OSError where the machine forbids that."""
    own_mounts()
    root = place.home.parent / "root"  # no kernel file can put anything in the way here
    root.mkdir(exist_ok=True)
    mount("none", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m")
    shown = {path for each in readable() for path in (each, each.resolve())}
    for path in sorted(shown):  # a folder comes before those in it, which may be mounts
        _show(path, root)
        make_read_only(_inside(root, path))
    # Of /proc this process's own folder stays writable: the driver names its threads there.
    mount("/proc/self", root / "proc" / str(os.getpid()), flags=MS_BIND)
    for path in devices(place):
        if path != Path("/dev/shm"):
            _show(path, root)
    shared = root / "dev" / "shm"
    shared.mkdir(parents=True)
    options = f"mode=1777,size={SHARED_MEMORY}"
    mount("none", shared, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options)
    (root / "tmp").mkdir(exist_ok=True)
    _inside(root, place.home).mkdir(parents=True, exist_ok=True)
    mount(place.home, _inside(root, place.home), flags=MS_BIND)
    _enter(root)
    make_read_only("/", below=False)
    os.chdir(place.home)


def _inside(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _show(path: Path, root: Path) -> None:
    """Mount a file, or a folder with all mounts in it, into the new file system."""
    target = _inside(root, path)
    if path.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    mount(path, target, flags=MS_BIND | MS_REC)


def _enter(root: Path) -> None:
    """Make `root` the root, and detach the old one: the last example in pivot_root(2)."""
    os.chdir(root)
    must(LIBC.pivot_root(b".", b"."))
    must(LIBC.umount2(b".", MNT_DETACH))
