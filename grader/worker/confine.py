"""Build the walls around a worker, in the worker itself, before anything of the learner's is read.

Each wall is tried; what the kernel of this machine refuses is left out without a word, for
`grader.worker.walls` tries afterwards what holds. The order counts: each needs rights that a later
one takes away. Linux only; the calls that Python has no name for are made through ctypes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import resource
import struct
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import grader

LIBC = ctypes.CDLL(None, use_errno=True)
# Asked before any namespace is made: in one whose numbers may not be set, everybody is nobody.
USER = os.getuid()


@dataclass(frozen=True)
class Place:
    """Where a worker runs: its private folder, and `cpu` or `cuda`."""

    home: Path
    device: str


def build(place: Place, without: Collection[str] = ()) -> tuple[str, ...]:
    """Build all of WALLS that this machine allows, but those named; returns which were built."""
    return tuple(
        name for name, wall in WALLS.items() if name not in without and _built(wall, place)
    )


def _built(wall: Callable[[Place], None], place: Place) -> bool:
    try:
        wall(place)
    except OSError:
        return False
    return True


def _must(result: int) -> int:
    """What a call of the C library returned. Raises OSError when that is -1."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _exists(paths: Iterable[str | Path]) -> Iterator[Path]:
    # Path.exists raises for a folder that may not be entered: one such on PATH, and no wall stood.
    return (Path(path) for path in paths if os.path.exists(path))


# -- namespaces: another user to the judge's process, no network, no System V shared memory

# linux/sched.h
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x00020000, 0x02000000, 0x04000000
CLONE_NEWIPC, CLONE_NEWUSER = 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MOST_PROCESSES = 4096  # threads count too, and numba's simulator makes one for each of a block's


def namespaces(place: Place) -> None:
    """A user namespace where this process keeps its own number and every other one is nobody.

    A process in it can neither read the memory of one outside nor trace it, even of the same user.
    Its network has no devices. The number of its processes is limited, which only counts in it.
    """
    _must_not_need_rights()
    uid, gid = os.geteuid(), os.getegid()
    _must(LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC))
    for file, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        Path("/proc/self", file).write_text(line)
    limit = _at_most(resource.RLIMIT_NPROC, MOST_PROCESSES)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _at_most(kind: int, wanted: int) -> int:
    """The limit that is wanted, or the one that stands, if that is lower."""
    hard = resource.getrlimit(kind)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


# -- rights: those of an administrator are given up, and no program gives new ones

# linux/prctl.h, linux/capability.h
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
CAPABILITY_VERSION_3 = 0x20080522


def rights(place: Place) -> None:
    """Give up all capabilities; a set-user-ID program gives none back."""
    _must(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _must_not_need_rights()
    LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _must(LIBC.capset(_CAPABILITIES_OF_THIS, bytes(24)))


_CAPABILITIES_OF_THIS = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)


def _must_not_need_rights() -> None:
    """Raises OSError where Python can be read only by the rights of an administrator.

    As in a container, whose administrator finds there the folders of somebody else.
    """
    held = ctypes.create_string_buffer(24)  # twice effective, permitted, inheritable: 32 bits each
    _must(LIBC.capget(_CAPABILITIES_OF_THIS, held))
    none = b"".join(bytes(4) + held.raw[at + 4 : at + 12] for at in (0, 12))
    _must(LIBC.capset(_CAPABILITIES_OF_THIS, none))
    try:
        for path in _exists(_python()):
            if not os.access(path, os.R_OK, effective_ids=True):
                raise OSError(f"{path} cannot be read")
    finally:
        _must(LIBC.capset(_CAPABILITIES_OF_THIS, held))


# -- Landlock: which files exist for this process, no TCP, no signals to processes outside

# linux/landlock.h; the numbers of the system calls are the same on every processor.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_CREATE_RULESET_VERSION, LANDLOCK_RULE_PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, TRUNCATE = 1 << 6, 1 << 11, 1 << 14
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE  # the others are rights on folders
READ = EXECUTE | READ_FILE | READ_DIR
TCP = 0b11  # bind, connect
SCOPES = 0b11  # abstract sockets, signals
FIRST_USABLE = 2  # the first version cannot allow moving a file to another folder, as Triton does

SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/sys", "/proc"),
    *("/nix/store", "/run/opengl-driver"),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
PATHS = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH")


def files(place: Place) -> None:
    """Reads the system, Python and its packages, writes its home; nothing else can be opened.

    On a GPU machine NVIDIA's devices besides, and the driver's shared memory.
    """
    version = LIBC.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_CREATE_RULESET_VERSION)
    if version < FIRST_USABLE:
        raise OSError("Landlock is missing or too old")
    handled = (TRUNCATE << 1) - 1 if version >= 3 else TRUNCATE - 1
    ruleset = _must(
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
        for path in _exists((*SYSTEM, *_python(), *_tools())):
            _allow(ruleset, path, READ)
        for path in _exists((*DEVICES, *(_of_gpus() if place.device == "cuda" else ()))):
            _allow(ruleset, path, everything if path.is_dir() else device)
        # The driver names its threads there; the rule is for this process's own folder alone.
        _allow(ruleset, Path("/proc/self"), READ | device)
        _allow(ruleset, place.home, everything)
        _must(LIBC.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, access: int) -> None:
    """These rights on a file, or on a folder and all below it."""
    if not path.is_dir():
        access &= OF_FILES
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", access, descriptor)
        _must(LIBC.syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0))
    finally:
        os.close(descriptor)


def _python() -> Iterator[str]:
    """Where Python and its packages lie. Of the folder that holds the grader, the grader alone:

    where it was installed from a copy of the course, that folder holds the course.
    """
    package = Path(grader.__file__).parent
    yield from (sys.prefix, sys.base_prefix, str(package))
    yield from (path for path in sys.path if path and Path(path) != package.parent)


def _tools() -> Iterator[Path]:
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


def _of_gpus() -> Iterator[Path]:
    yield from Path("/dev").glob("nvidia*")
    yield from (Path("/dev/dri"), Path("/dev/dxg"), Path("/dev/shm"))


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
    """The numbers of system calls: in `denied` those that fail, by name."""

    audit: int
    clone: int
    socket: int
    ioctl: int
    denied: dict[str, int]


# The same on all processors: whatever came after the numbers were made one.
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
    """Tracing, mounting, new namespaces, kernel modules and sockets to anywhere fail with EPERM."""
    processor = PROCESSORS.get(os.uname().machine)
    if processor is None:
        raise OSError("the numbers of this processor's system calls are not known here")
    code = program(processor)
    held = ctypes.create_string_buffer(code, len(code))
    # struct sock_fprog: the number of instructions, and where they lie.
    head = struct.pack("@HP", len(code) // 8, ctypes.addressof(held))
    _must(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))  # without it only root may set a filter
    _must(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0))


def program(processor: Processor) -> bytes:
    """The filter: 8 bytes an instruction, each an operation, two distances to jump, and a value."""
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
    # Its flags lie in memory, where a filter cannot look; the C library then uses clone.
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
    "namespaces": namespaces,
    "rights": rights,
    "files": files,
    "calls": calls,
}
# Those that do not go together with a device are named here, and never built for it.
IMPOSSIBLE: dict[str, frozenset[str]] = {"cpu": frozenset(), "cuda": frozenset()}
