"""The files that a worker needs: the system's, Python's, the GPU's, and its own home."""

from __future__ import annotations

import contextlib
import os
import pwd
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import grader
from grader.worker.gpu_nodes import gpu_nodes

# Read before any namespace is made: in one without user numbers, everybody is nobody.
USER = os.getuid()

SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/sys", "/proc"),
    *("/nix/store", "/run/opengl-driver"),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# systemd gives these to services without a user of their own: systemd.exec(5), DynamicUser.
UNUSED_USERS = range(61184, 65520)
PATHS = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH")


@dataclass(frozen=True)
class Place:
    """A worker's private folder, its device (`cpu` or `cuda`), and a user number without a user."""

    home: Path
    device: str
    user: int


def existing(paths: Iterable[str | Path]) -> Iterator[Path]:
    # Path.exists raises for a folder that may not be entered: one on PATH would cost all walls.
    return (Path(path) for path in paths if os.path.exists(path))


def python() -> Iterator[str]:
    """Yield the folders of Python and its packages, and the grader's package.

    Of the folder around the grader's package it yields that package alone: after an installation
    from a copy of the course, the folder holds the course.
    """
    package = Path(grader.__file__).parent
    yield from (sys.prefix, sys.base_prefix, str(package))
    yield from (path for path in sys.path if path and Path(path) != package.parent)


def tools() -> Iterator[Path]:
    """Yield the folders that the environment names: CUDA, and places of a compiler."""
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


def gpu_devices() -> Iterator[Path]:
    yield from gpu_nodes()
    yield from (Path("/dev/dxg"), Path("/dev/shm"))


def readable() -> Iterator[Path]:
    yield from existing((*SYSTEM, *python(), *tools()))


def devices(place: Place) -> Iterator[Path]:
    yield from existing((*DEVICES, *(gpu_devices() if place.device == "cuda" else ())))
