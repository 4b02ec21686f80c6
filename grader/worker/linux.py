"""Linux calls for the walls: functions of the C library that Python has no name for."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)

# linux/sched.h
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x00020000, 0x02000000, 0x04000000
CLONE_NEWIPC, CLONE_NEWUSER = 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
# linux/prctl.h
PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
# linux/mount.h, linux/fcntl.h; the number of mount_setattr is the same on every processor
MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x02, 0x04, 0x08
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18
MOUNT_SETATTR, MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 442, 0x01, 0x02
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MNT_DETACH = 2


def must(result: int) -> int:
    """Return the result of a C library call. Raises OSError when it is -1."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def own_user_namespace(others: int = 0) -> None:
    """Enter a user namespace where this process keeps its user number and all others are nobody.

    `others` are flags of further namespaces to make; they belong to the user namespace.
    """
    uid, gid = os.geteuid(), os.getegid()
    must(LIBC.unshare(CLONE_NEWUSER | others))
    for file, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        Path("/proc/self", file).write_text(line)


def own_mounts(others: int = 0) -> None:
    """Enter a mount namespace with changes of its own.

    Without an administrator's rights, enters a user namespace, too.
    """
    if LIBC.unshare(CLONE_NEWNS | others):
        own_user_namespace(CLONE_NEWNS | others)
    must(LIBC.mount(None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None))


def mount(
    source: str | Path, target: str | Path, kind: str = "", flags: int = 0, data: str = ""
) -> None:
    must(
        LIBC.mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() or None,
            ctypes.c_ulong(flags),
            data.encode() or None,
        )
    )


def make_read_only(path: str | Path, below: bool = True) -> None:
    """Forbid writing and set-user-ID through this mount; with `below`, through all mounts in it."""
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0, 0, 0)
    flags = AT_RECURSIVE if below else 0
    must(
        LIBC.syscall(
            MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, attributes, ctypes.c_size_t(32)
        )
    )
