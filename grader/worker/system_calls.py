"""A seccomp filter against system calls that no kernel file needs."""

from __future__ import annotations

import ctypes
import os
import struct
from dataclasses import dataclass

from grader.worker.linux import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    LIBC,
    PR_SET_NO_NEW_PRIVS,
    must,
)
from grader.worker.worker_home import Place

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
