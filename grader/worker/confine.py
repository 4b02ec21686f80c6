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
from dataclasses import dataclass
from pathlib import Path

from grader.machine import processes
from grader.worker.linux import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    LIBC,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    must,
    own_user_namespace,
)
from grader.worker.mounts import mounts
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


# -- seccomp: system calls that no kernel file needs

# linux/seccomp.h, linux/filter.h, linux/audit.h
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
KILL_PROCESS, ERRNO, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24  # offsets; little-endian
EPERM, ENOSYS = 1, 38
AF_UNIX, TIOCSTI = 1, 0x5412
X32 = 0x40000000  # x86_64's second set of numbers for the same calls
NAMESPACES = (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER) | (
    CLONE_NEWPID | CLONE_NEWNET
)


@dataclass(frozen=True)
class Processor:
    """The numbers of a processor's system calls; `denied` maps those that fail by name."""

    audit: int
    clone: int
    socket: int
    ioctl: int
    denied: dict[str, int]


# The same on all processors, because Linux numbers newer calls alike everywhere.
CLONE3 = 435
NEWER = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
}
# asm/unistd_64.h; include/uapi/asm-generic/unistd.h
OLDER = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "open_by_handle_at": (304, 265),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sched_setaffinity": (203, 122),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
PROCESSORS = {
    "x86_64": Processor(
        0xC000003E, 56, 41, 16, NEWER | {name: first for name, (first, _) in OLDER.items()}
    ),
    "aarch64": Processor(
        0xC00000B7, 220, 198, 29, NEWER | {name: second for name, (_, second) in OLDER.items()}
    ),
}


def calls(place: Place) -> None:
    """Make tracing, mounting, namespaces, kernel modules and network sockets fail with EPERM."""
    processor = PROCESSORS.get(os.uname().machine)
    if processor is None:
        raise OSError("the grader lacks the numbers of this processor's system calls")
    code = program(processor)
    held = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: the number of instructions, and where they lie.
    head = struct.pack("@HP", len(code) // 8, ctypes.addressof(held))
    must(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))  # without it only root may set a filter
    must(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0))


def program(processor: Processor) -> bytes:
    """Return the filter: 8 bytes an instruction (operation, two jump distances, value)."""
    lines = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, processor.audit),
        (RETURN, 0, 0, KILL_PROCESS),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, ERRNO | EPERM),
    ]
    for number in processor.denied.values():
        lines += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | EPERM)]
    # Its flags lie in memory, which a filter cannot read; the C library then uses clone.
    lines += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, ERRNO | ENOSYS)]
    for number, argument, test in (
        (processor.clone, FIRST_ARGUMENT, (ANY_BIT, 0, 1, NAMESPACES)),
        (processor.socket, FIRST_ARGUMENT, (EQUAL, 1, 0, AF_UNIX)),
        (processor.ioctl, SECOND_ARGUMENT, (EQUAL, 0, 1, TIOCSTI)),
    ):
        lines += [
            (EQUAL, 0, 4, number),
            (LOAD, 0, 0, argument),
            test,
            (RETURN, 0, 0, ERRNO | EPERM),
            (RETURN, 0, 0, ALLOW),
        ]
    lines.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


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
