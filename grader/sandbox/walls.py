"""The walls around a worker on this machine, each tried before the worker reads a kernel file."""

from __future__ import annotations

import ctypes
import hashlib
import os
import pwd
import secrets
import socket
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grader
from grader.course import Exercise
from grader.model import CannotGrade, Reply, TimedOut, Wall, WireError
from grader.sandbox.commands import CANARY
from grader.sandbox.fork_server import ForkServer

TRIAL_S = 20.0  # a trial takes hundredths of a second
SECRET_BYTES = 32
SOME = 20  # names: enough to distinguish a folder from an empty one mounted over it

# The meaning of each trial of worker/walls.py for a kernel file, where the wall holds.
MEANING = {
    "own_session": "it runs in a process and a session of its own",
    "environment": "it sees a few of your variables, and no others",
    "home": "it gets a new home folder, closed to other users",
    "file_size": "it cannot write a file of 1 GiB",
    "memory": "no process of it can take all memory there is",
    "processes": "it cannot start processes without end",
    "limits": "it cannot open files or compute without end, and leaves no core file",
    "judge_memory": "it can neither read the judge's memory nor trace the judge",
    "judge_process": "it cannot send a signal to the judge",
    "other_processes": "it sees none of this machine's other processes",
    "course": "it can read neither the exercise nor its solution",
    "files": "it can read neither your home folder nor the judge's files",
    "shared_memory": "it cannot read the shared memory of other programs",
    "installation": "it cannot change the grader or Python's packages",
    "network": "it reaches no network, be it this machine's own",
    "sockets": "it reaches no program of this machine by the name or the file of a socket",
    "privileges": "it has no administrator's rights, and gets none",
    "leftovers": "what it leaves running is ended",
}
LANDLOCK = "Linux 5.19 or newer with Landlock (`lsm=` of the kernel's start names it)"
NAMESPACES = "Linux that lets users make user namespaces"
FILES = f"{LANDLOCK}, or {NAMESPACES}"
REMEDIES = {
    "processes": NAMESPACES,
    "judge_memory": FILES,
    "judge_process": f"{NAMESPACES}, or Linux 6.12 or newer with Landlock",
    "other_processes": NAMESPACES,
    "course": FILES,
    "files": FILES,
    "shared_memory": FILES,
    "installation": FILES,
    "network": "Linux with seccomp filters on x86_64 or aarch64",
    "sockets": NAMESPACES,
    "privileges": "Linux with seccomp filters on x86_64 or aarch64",
}
# Without one of these a kernel file could forge its grade or steal files. Without another one a
# worker could only overload the machine, or end the judge and get no grade.
REQUIRED = frozenset(
    {
        *("own_session", "environment", "home", "file_size", "limits", "judge_memory", "course"),
        *("files", "installation", "network", "privileges", "leftovers"),
    }
)


def try_all(fork_server: ForkServer, exercise: Exercise | None = None) -> tuple[Wall, ...]:
    """Have a new worker of this fork server try all walls. Ends the server's current worker.

    Raises CannotGrade when the worker does not answer.
    """
    with _targets(exercise) as targets:
        worker = fork_server.fork(None)
        try:
            worker.channel.send({"op": "walls", "seq": 0, "targets": targets})
            reply = Reply.parse(worker.channel.receive(TRIAL_S))
        except (WireError, TimedOut) as error:
            raise CannotGrade(
                f"The walls around the worker could not be tried ({error or 'it hung'}).",
                "`grader doctor` examines the installation.",
            ) from None
        finally:
            fork_server.kill()
            worker.close()
        if reply.fault is not None:
            raise CannotGrade(
                f"The walls around the worker could not be tried: {reply.fault.message}.",
                "`grader doctor` examines the installation.",
            )
    answers = {**reply.walls, "leftovers": not _process_runs(str(targets["left"]))}
    return tuple(Wall(name=name, held=answers.get(name, False)) for name in MEANING)


def require(walls: Sequence[Wall]) -> None:
    """Raise CannotGrade, with the missing walls and their remedy, unless required walls hold."""
    held = {wall.name for wall in walls if wall.held}
    missing = [name for name in MEANING if name in REQUIRED - held]
    if not missing:
        return
    lines = "".join(f"\n       {name}: that {MEANING[name]}" for name in missing)
    remedies = dict.fromkeys(REMEDIES[name] for name in missing if name in REMEDIES)
    raise CannotGrade(
        f"--hardened: these walls do not hold on this machine:{lines}",
        f"They need {'; '.join(remedies)}. " * bool(remedies)
        + "`grader check` without --hardened grades here, for yourself.",
    )


@contextmanager
def _targets(exercise: Exercise | None) -> Iterator[Mapping[str, Any]]:
    """Provide the targets that the trials try to reach; all of them exist while this lasts."""
    secret = secrets.token_bytes(SECRET_BYTES)
    held = ctypes.create_string_buffer(secret, SECRET_BYTES)
    name = f"grader-{secrets.token_hex(8)}"
    home = _users_home()
    with (
        tempfile.NamedTemporaryFile(prefix="grader-judge-") as judges_file,
        tempfile.NamedTemporaryFile(prefix="grader-judge-", dir=_shared_memory()) as shared,
        tempfile.TemporaryDirectory(prefix="grader-judge-") as folder,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as local,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as filed,
    ):
        judges_file.write(b"?")
        judges_file.flush()
        udp.bind(("127.0.0.1", 0))
        local.bind("\0" + name)
        local.listen()
        filed.bind(f"{folder}/socket")
        filed.listen()
        yield {
            "variable": CANARY,
            "home": str(home),
            "judge": os.getpid(),
            "processes": os.readlink("/proc/self/ns/pid"),
            "address": ctypes.addressof(held),
            "size": SECRET_BYTES,
            "digest": hashlib.sha256(secret).hexdigest(),
            "course": [] if exercise is None else _course_files(exercise),
            "files": [judges_file.name],
            "folders": {
                str(folder): names
                for folder in (home, home / ".ssh")
                if (names := _some_in(folder))
            },
            "installation": [
                str(Path(grader.__file__).parent),
                *(sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")),
            ],
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "socket": name,
            "socket_file": filed.getsockname(),
            "shared": shared.name,
            "command": Path("/proc/self/cmdline").read_bytes().decode(errors="replace"),
            "left": name[-15:],  # the longest name of a process
        }


def _some_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:SOME]
    except OSError:
        return []


def _course_files(exercise: Exercise) -> list[str]:
    files = [file for folder in (exercise.folder, exercise.answers) for file in folder.glob("*")]
    folders = (exercise.root, exercise.folder, exercise.answers)
    return [str(path) for path in (*folders, *files) if path.exists()]


def _users_home() -> Path:
    with suppress(KeyError):  # a container's user may have no name
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    return Path("/")


def _shared_memory() -> Path | None:
    """Return the folder for files of shared memory; None, the usual folder, where it is missing."""
    path = Path("/dev/shm")
    return path if os.access(path, os.W_OK) else None


def _process_runs(name: str) -> bool:
    for file in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            if file.read_text().strip() == name:
                return True
    return False
