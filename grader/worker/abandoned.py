"""A private folder that its judge no longer removes, because something killed the judge."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from grader.machine import processes, remove_folder


def remove_if_abandoned(folder: Path, given: Path) -> None:
    """Continue in a child; this process waits for it, and removes an abandoned folder.

    The folder is abandoned when the judge, this process's parent, ends before the child does, or
    when the child ends before the judge gave it the file `given`. The child ends with this process.
    """
    signal.signal(signal.SIGTERM, _leave)
    processes.die_with_parent(signal.SIGTERM)
    child = 0
    try:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            processes.die_with_parent(signal.SIGKILL)
            return
        os.waitpid(child, 0)
        abandoned = not given.exists()
    except SystemExit:
        abandoned = True
        if child:
            os.kill(child, signal.SIGKILL)
    if abandoned:
        with suppress(OSError):
            remove_folder(folder)
    os._exit(0)


def _leave(*_: object) -> None:
    raise SystemExit
