"""Which files a worker needs: the system's, Python's, the GPU's, and its own home."""

from __future__ import annotations

import contextlib
import os
import pwd
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import grader

# Asked before any namespace is made: in one whose numbers may not be set, everybody is nobody.
USER = os.getuid()

SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/sys", "/proc"),
    *("/nix/store", "/run/opengl-driver"),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# Those that systemd gives to services without a user of their own: systemd.exec(5), DynamicUser.
UNUSED_USERS = range(61184, 65520)
PATHS = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH")


@dataclass(frozen=True)
class Place:
    """Where a worker runs: its private folder, `cpu` or `cuda`, and a user number nobody has."""

    home: Path
    device: str
    user: int


def existing(paths: Iterable[str | Path]) -> Iterator[Path]:
    # Path.exists raises for a folder that may not be entered: one such on PATH, and no wall stood.
    return (Path(path) for path in paths if os.path.exists(path))


def python() -> Iterator[str]:
    """Where Python and its packages lie. Of the folder that holds the grader, the grader alone:

    where it was installed from a copy of the course, that folder holds the course.
    """
    package = Path(grader.__file__).parent
    yield from (sys.prefix, sys.base_prefix, str(package))
    yield from (path for path in sys.path if path and Path(path) != package.parent)


def tools() -> Iterator[Path]:
    """What the environment names: CUDA, and where a compiler may be installed."""
    for name in PATHS:
        yield from (Path(path) for path in os.environ.get(name, "").split(":") if path)
    private = {Path("/"), *_users_folders()}
    for path in map(Path, os.environ.get("PATH", "").split(":")):
        if path.name == "bin" and path.parent not in private:
            yield path.parent


def _users_folders() -> Iterator[Path]:
    with contextlib.suppress(KeyError):  # a container's user may have no name
        home = Path(pwd.getpwuid(USER).pw_dir)
        yield from (home, home / ".local", *home.parents)


def of_gpus() -> Iterator[Path]:
    yield from Path("/dev").glob("nvidia*")
    yield from (Path("/dev/dri"), Path("/dev/dxg"), Path("/dev/shm"))


def readable() -> Iterator[Path]:
    """What a worker reads, and may not change."""
    yield from existing((*SYSTEM, *python(), *tools()))


def devices(place: Place) -> Iterator[Path]:
    """What a worker reads and writes besides its home."""
    yield from existing((*DEVICES, *(of_gpus() if place.device == "cuda" else ())))
