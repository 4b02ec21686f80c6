"""Trials of the walls, from within a worker that has read nothing of a learner's yet.

Each trial does what a hostile kernel file would do, and returns True when the wall stopped it.
`grader.sandbox.walls` provides the targets, runs the trials and stores the results.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import resource
import signal
import socket
import stat
import struct
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from resource import RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU, RLIMIT_DATA
from typing import Any

LARGE = 1 << 30
MAX_PROCESSES = 1 << 16
MANY_FILES, LONG_S = 1 << 14, 3600
PATIENCE_S = 1.0  # for the network; this machine's own replies at once
# linux/sched.h, linux/prctl.h, linux/ptrace.h
CLONE_NEWUSER, PR_SET_NAME = 0x10000000, 15
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WAIT_FOR_ALL = 17, 0x4206, 0x4207, 0x40000000

LIBC = ctypes.CDLL(None, use_errno=True)


def try_all(targets: Mapping[str, Any]) -> dict[str, bool]:
    """Return for each wall of TRIALS whether it holds. `grader.sandbox.walls` makes the targets.

    One process keeps running under the name `targets["left"]`, for the judge to look for.
    """
    held = {name: trial(targets) for name, trial in TRIALS.items()}
    _leave_a_process(targets["left"])
    return held


def own_session(targets: Mapping[str, Any]) -> bool:
    return os.getsid(0) == os.getpid()


def environment(targets: Mapping[str, Any]) -> bool:
    return targets["variable"] not in os.environ


def home(targets: Mapping[str, Any]) -> bool:
    own = Path(os.environ["HOME"])
    return own != Path(targets["home"]) and not stat.S_IMODE(own.stat().st_mode) & 0o077


def file_size(targets: Mapping[str, Any]) -> bool:
    path = Path(os.environ["HOME"], "large")
    try:
        with path.open("wb") as file:
            file.truncate(LARGE)
    except OSError:
        return True
    finally:
        with suppress(OSError):
            path.unlink()
    return False


def memory(targets: Mapping[str, Any]) -> bool:
    """Try to exceed the limit of address space or of private memory."""
    limits = [resource.getrlimit(kind)[0] for kind in (RLIMIT_AS, RLIMIT_DATA)]
    known = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    if not known:
        return False
    try:
        mmap.mmap(-1, min(known), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        return True
    return False


def processes(targets: Mapping[str, Any]) -> bool:
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if not 0 <= soft <= MAX_PROCESSES:
        return False
    resource.setrlimit(resource.RLIMIT_NPROC, (1, hard))
    try:
        child = os.fork()
    except OSError:
        return True
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return False


def limits(targets: Mapping[str, Any]) -> bool:
    """Try to open files without end; check the limits of computing time and core files."""
    seconds, size = (resource.getrlimit(kind)[1] for kind in (RLIMIT_CPU, RLIMIT_CORE))
    return _runs_out_of_files() and 0 <= seconds <= LONG_S and size == 0


def _runs_out_of_files() -> bool:
    opened: list[int] = []
    try:
        while len(opened) < MANY_FILES:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return True
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return False


def other_processes(targets: Mapping[str, Any]) -> bool:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if file.read_bytes().decode(errors="replace") == targets["command"]:
                return False
    return True


def judge_memory(targets: Mapping[str, Any]) -> bool:
    judge, address, size = targets["judge"], targets["address"], targets["size"]
    taken = (_read_file(judge, address, size), _read_call(judge, address, size))
    read = any(hashlib.sha256(secret).hexdigest() == targets["digest"] for secret in taken)
    return not read and not (_same_processes(targets) and _traces(judge))


def _read_file(pid: int, address: int, size: int) -> bytes:
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
            file.seek(address)
            return file.read(size)
    except (OSError, OverflowError):
        return b""


def _read_call(pid: int, address: int, size: int) -> bytes:
    buffer = ctypes.create_string_buffer(size)
    here = struct.pack("@PN", ctypes.addressof(buffer), size)
    there = struct.pack("@PN", address, size)
    read: int = LIBC.process_vm_readv(pid, here, ctypes.c_ulong(1), there, ctypes.c_ulong(1), 0)
    return buffer.raw if read == size else b""


def _traces(pid: int) -> bool:
    """Try to trace a process; if that works, release it at once."""
    if LIBC.ptrace(PTRACE_SEIZE, pid, None, None):
        return False
    LIBC.ptrace(PTRACE_INTERRUPT, pid, None, None)
    LIBC.waitpid(pid, None, WAIT_FOR_ALL)
    LIBC.ptrace(PTRACE_DETACH, pid, None, None)
    return True


def judge_process(targets: Mapping[str, Any]) -> bool:
    """Try whether a signal could be sent to the judge, with signal 0."""
    if not _same_processes(targets):
        return True
    try:
        os.kill(targets["judge"], 0)
    except OSError:
        return True
    return False


def _same_processes(targets: Mapping[str, Any]) -> bool:
    try:
        return bool(os.readlink("/proc/self/ns/pid") == targets["processes"])
    except OSError:
        return True


def course(targets: Mapping[str, Any]) -> bool:
    return not any(map(_readable, targets["course"]))


def files(targets: Mapping[str, Any]) -> bool:
    """Try to read files, and the names in folders: an empty folder mounted over one has none."""
    return not any(map(_readable, targets["files"])) and not any(
        set(names) <= _names_in(folder) for folder, names in targets["folders"].items()
    )


def _names_in(folder: str) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _readable(path: str) -> bool:
    try:
        if os.path.isdir(path):
            os.listdir(path)
        else:
            with open(path, "rb") as file:
                file.read(1)
    except OSError:
        return False
    return True


def shared_memory(targets: Mapping[str, Any]) -> bool:
    return not _readable(targets["shared"])


def installation(targets: Mapping[str, Any]) -> bool:
    return not any(map(_writable, targets["installation"]))


def _writable(folder: str) -> bool:
    path = Path(folder, f"grader-trial-{os.getpid()}")
    try:
        path.touch(exist_ok=False)
    except OSError:
        return False
    path.unlink()
    return True


def network(targets: Mapping[str, Any]) -> bool:
    here = "127.0.0.1"
    return not (
        _reaches(socket.AF_INET, socket.SOCK_STREAM, (here, targets["tcp"]))
        or _reaches(socket.AF_INET, socket.SOCK_DGRAM, (here, targets["udp"]))
    )


def sockets(targets: Mapping[str, Any]) -> bool:
    return not (
        _reaches(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + targets["socket"])
        or _reaches(socket.AF_UNIX, socket.SOCK_STREAM, targets["socket_file"])
    )


def _reaches(family: int, kind: int, address: Any) -> bool:
    try:
        with socket.socket(family, kind) as line:
            line.settimeout(PATIENCE_S)
            line.connect(address)
            line.send(b"?")
    except OSError:
        return False
    return True


def privileges(targets: Mapping[str, Any]) -> bool:
    """Try to gain an administrator's rights in a namespace; check that there are none before."""
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    if fields["NoNewPrivs"] != "1" or int(fields["CapPrm"], 16):
        return False
    refused: int = LIBC.unshare(CLONE_NEWUSER)  # if it works: this process ends soon
    return bool(refused)


def _leave_a_process(name: str) -> None:
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        LIBC.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)
        time.sleep(300)
        os._exit(0)


TRIALS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    trial.__name__: trial
    for trial in (
        *(own_session, environment, home, file_size, memory, processes, limits),
        *(judge_memory, judge_process, other_processes),
        *(course, files, shared_memory, installation),
        *(network, sockets, privileges),
    )
}
