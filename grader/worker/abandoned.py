"""A process's home that its judge no longer removes, because something killed the judge."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from grader.machine import processes, remove_folder


def remove_if_abandoned(home: Path, given: str) -> None:
    """Continue in a child; this process waits for it, and removes an abandoned home.

    It is abandoned when the judge, this process's parent, ends before the child does, or when the
    child ends before the judge put the file `given` there. The child ends with this process. The
    folder around the home is removed if nothing is left in it but the mount point of the worker's
    file system.
    """
    signal.signal(signal.SIGTERM, _leave)
    processes.die_with_parent(signal.SIGTERM)
    child = 0
    try:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            processes.die_with_parent(signal.SIGKILL)
            os.setsid()  # the session that the judge made is this process's parent's
            return
        os.waitpid(child, 0)
        abandoned = not (home / given).exists()
    except SystemExit:
        abandoned = True
        if child:
            with suppress(ProcessLookupError):  # it may just have ended
                os.kill(child, signal.SIGKILL)
    if abandoned:
        _remove(home)
    os._exit(0)


def _remove(home: Path) -> None:
    with suppress(OSError):
        remove_folder(home)
    for empty in (home.with_name("root"), home.parent):
        with suppress(OSError):
            empty.rmdir()


def _leave(*_: object) -> None:
    raise SystemExit
