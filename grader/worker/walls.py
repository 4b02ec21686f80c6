"""What a kernel file can reach, tried from within: `grader doctor` has a worker import this file.

It prints its answers as one line of JSON, as a learner's kernel file prints.
"""

from __future__ import annotations

import json
import os
import pwd
import resource
import socket
import stat
import time
from pathlib import Path

CANARY = "GRADER_DOCTOR_CANARY"  # a variable of the process that asks
LARGE = 1 << 30


def look() -> None:
    """Say of each wall whether it held; `left` is a process that is left running."""
    home = Path(os.environ["HOME"])
    seen = {
        "session": os.getsid(0) == os.getpid(),
        "environment": CANARY not in os.environ,
        "home": home != _users_home() and not stat.S_IMODE(home.stat().st_mode) & 0o077,
        "file_size": not _can_write(home / "large"),
        "memory": resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY,
        "files": not _can_list(_users_home()),
        "network": not _can_connect(),
    }
    print(json.dumps(seen | {"left": _leave_a_process()}))


def _users_home() -> Path:
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a container's user may have no name
        return Path("/")


def _can_write(path: Path) -> bool:
    """Whether a file may grow to LARGE bytes, none of which take space."""
    try:
        with path.open("wb") as file:
            file.truncate(LARGE)
    except OSError:
        return False
    return True


def _can_list(folder: Path) -> bool:
    try:
        os.listdir(folder)
    except OSError:
        return False
    return True


def _can_connect() -> bool:
    """Whether this machine's own network answers, be it with a refusal."""
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=1).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return True


def _leave_a_process() -> int:
    child = os.fork()
    if child == 0:
        os.setsid()
        time.sleep(300)
        os._exit(0)
    return child
