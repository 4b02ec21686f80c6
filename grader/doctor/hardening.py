"""Features of this machine's Linux kernel that walls are made of: each is tested."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable

from grader.doctor.records import Finding, Group, note, ok

# linux/sched.h, linux/prctl.h, linux/seccomp.h, linux/landlock.h; the number of the system call is
# the same on every processor.
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LANDLOCK_CREATE_RULESET, LANDLOCK_CREATE_RULESET_VERSION = 444, 1


def findings() -> list[Finding]:
    """Test each feature. Forks, so no other thread may run in this process."""
    tries: dict[str, Callable[[], str | None]] = {
        "user namespaces": user_namespaces,
        "Landlock": landlock,
        "seccomp": seccomp,
    }
    found = []
    for name, reason_missing in tries.items():
        missing = reason_missing()
        found.append(
            ok(Group.HARDENING, name, "there")
            if missing is None
            else note(Group.HARDENING, name, f"not there: {missing}")
        )
    return found


def user_namespaces() -> str | None:
    """Return why no user namespace with files and a network of its own can be made."""
    flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET
    child = os.fork()
    if child == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        os._exit(0 if libc.unshare(flags) == 0 else ctypes.get_errno())
    return _word(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def landlock() -> str | None:
    """Return why files cannot be locked away. Reading the version makes no rules."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION)
    return None if version > 0 else _word(ctypes.get_errno())


def seccomp() -> str | None:
    """Return why system calls cannot be filtered; None if they can.

    A filter at address 0 ends in EFAULT where filters exist: seccomp(2).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, None, 0, 0)
    number = ctypes.get_errno()
    return None if number == errno.EFAULT else _word(number)


def _word(number: int) -> str | None:
    return os.strerror(number).lower() if number else None
