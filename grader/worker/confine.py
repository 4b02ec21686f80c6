"""Build the walls around a worker, in the worker itself, before it reads a learner's file.

The worker tries to build each wall and silently leaves out what this machine's kernel refuses:
`grader.worker.walls` tries afterwards which walls hold. The order matters, because each wall needs
rights that a later one takes away. Linux only; system calls without a Python function go through
ctypes.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
from collections.abc import Callable, Collection
from pathlib import Path

from grader.machine import processes
from grader.worker.linux import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    LIBC,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    must,
    own_user_namespace,
)
from grader.worker.mounts import mounts
from grader.worker.system_calls import calls
from grader.worker.worker_home import Place, devices, existing, gpu_devices, python, readable


def build(place: Place, without: Collection[str] = ()) -> tuple[str, ...]:
    """Build all WALLS that this machine allows, except `without`; return the built ones' names."""
    return tuple(
        name for name, wall in WALLS.items() if name not in without and _try_to_build(wall, place)
    )


def _try_to_build(wall: Callable[[Place], None], place: Place) -> bool:
    try:
        wall(place)
    except OSError:
        return False
    return True


# -- user: where the judge is root, a worker is not


def user(place: Place) -> None:
    """Become a user that owns nothing but the worker's home. Only root can.

    Raises OSError where such a user could not read Python, or not use the GPU.
    """
    if os.geteuid() != 0:
        raise OSError("only root can become another user")
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(place.user)
    os.seteuid(place.user)
    try:
        _require_access(place)
    except OSError:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)
        raise
    os.seteuid(0)
    os.chown(place.home, place.user, place.user, follow_symlinks=False)
    os.setresgid(place.user, place.user, place.user)
    os.setresuid(place.user, place.user, place.user)
    # Linux takes both away from a process that becomes another user.
    must(LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
    processes.die_with_parent(signal.SIGKILL)
    _limit_processes()


def _require_access(place: Place) -> None:
    for path in existing(python()):
        if not os.access(path, os.R_OK, effective_ids=True):
            raise OSError(f"{path} cannot be read")
    cards = gpu_devices() if place.device == "cuda" else ()
    for path in map(Path, cards):
        if path.is_char_device() and not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
            raise OSError(f"{path} cannot be used")


# -- namespaces: another user to the judge's process, no network, no System V shared memory

MAX_PROCESSES = 4096  # threads count, too, and a simulator may make one for each of a block's


def namespaces(place: Place) -> None:
    """Enter a user namespace where this process keeps its user number and all others are nobody.

    A process in it can neither read the memory of one outside nor trace it, even of the same user.
    Its network has no devices. The number of its processes is limited; the count is the namespace's
    own.
    """
    _require_python_without_rights()
    own_user_namespace(CLONE_NEWNET | CLONE_NEWIPC)
    _limit_processes()


def _limit_processes() -> None:
    # Linux counts them for each user of each user namespace; it never limits those of root.
    limit = _at_most(resource.RLIMIT_NPROC, MAX_PROCESSES)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _at_most(kind: int, limit: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return limit if hard == resource.RLIM_INFINITY else min(limit, hard)


# -- rights: give up an administrator's rights; no program gives new ones

# linux/prctl.h, linux/capability.h
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522


def rights(place: Place) -> None:
    must(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))  # nor does a set-user-ID program give any
    _require_python_without_rights()
    LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    must(LIBC.capset(_CAPABILITIES_OF_THIS, bytes(24)))


_CAPABILITIES_OF_THIS = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)


def _require_python_without_rights() -> None:
    """Raise OSError where Python can be read only with the rights of an administrator.

    In a container, for example, the administrator finds folders of another user there.
    """
    held = ctypes.create_string_buffer(24)  # twice effective, permitted, inheritable: 32 bits each
    must(LIBC.capget(_CAPABILITIES_OF_THIS, held))
    none = b"".join(bytes(4) + held.raw[at + 4 : at + 12] for at in (0, 12))
    must(LIBC.capset(_CAPABILITIES_OF_THIS, none))
    try:
        for path in existing(python()):
            if not os.access(path, os.R_OK, effective_ids=True):
                raise OSError(f"{path} cannot be read")
    finally:
        must(LIBC.capset(_CAPABILITIES_OF_THIS, held))


# -- Landlock: few files, no TCP, no signals to processes outside

# linux/landlock.h; the numbers of the system calls are the same on every processor.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_CREATE_RULESET_VERSION, LANDLOCK_RULE_PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, TRUNCATE = 1 << 6, 1 << 11, 1 << 14
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE  # the others are rights on folders
READ = EXECUTE | READ_FILE | READ_DIR
TCP = 0b11  # bind, connect
SCOPES = 0b11  # abstract sockets, signals
FIRST_USABLE = 2  # the first version cannot allow moving a file to another folder, as caches do


def files(place: Place) -> None:
    """Permit reading the system, Python and its packages, and writing the home; nothing else.

    On a GPU machine NVIDIA's devices and the driver's shared memory are permitted, too.
    """
    version = LIBC.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION)
    if version < FIRST_USABLE:
        raise OSError("Landlock is missing or too old")
    handled = (TRUNCATE << 1) - 1 if version >= 3 else TRUNCATE - 1
    ruleset = must(
        LIBC.syscall(
            LANDLOCK_CREATE_RULESET,
            struct.pack("=QQQ", handled, TCP if version >= 4 else 0, SCOPES if version >= 6 else 0),
            ctypes.c_size_t(24),
            0,
        )
    )
    everything = handled & ~(MAKE_CHAR | MAKE_BLOCK)
    device = (READ_FILE | WRITE_FILE | TRUNCATE) & handled
    try:
        for path in readable():
            _allow(ruleset, path, READ)
        for path in devices(place):
            _allow(ruleset, path, everything if path.is_dir() else device)
        # The driver names its threads there; the rule is for this process's own folder alone.
        _allow(ruleset, Path("/proc/self"), READ | device)
        _allow(ruleset, place.home, everything)
        must(LIBC.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, access: int) -> None:
    if not path.is_dir():
        access &= OF_FILES
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", access, descriptor)
        must(LIBC.syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0))
    finally:
        os.close(descriptor)


# In the order in which they are built.
WALLS: dict[str, Callable[[Place], None]] = {
    "mounts": mounts,
    "user": user,
    "namespaces": namespaces,
    "rights": rights,
    "files": files,
    "calls": calls,
}
# All walls that can be left out; pids.py builds the first once, for the fork server.
NAMES = ("pids", *WALLS)
# Walls that break a device; they are never built for it.
IMPOSSIBLE: dict[str, frozenset[str]] = {"cpu": frozenset(), "cuda": frozenset()}
