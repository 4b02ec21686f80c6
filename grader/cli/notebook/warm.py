"""The judge of this process, which stays warm between the checks of a notebook."""

from __future__ import annotations

import atexit
import os
from pathlib import Path

from grader.grading import WarmJudge

# By process, for one that was forked must not use its parent's, and by course: at most one of ours.
_judges: dict[tuple[int, Path], WarmJudge] = {}


def warm_judge(root: Path) -> WarmJudge:
    """Return this process's judge for a course, and end the one of another course.

    It ends with the process at the latest.
    """
    own = (os.getpid(), root.resolve())
    if own not in _judges:
        close()
        _judges[own] = WarmJudge()
    return _judges[own]


@atexit.register
def close() -> None:
    """End the judge of this process, if it has one."""
    for process, root in list(_judges):
        if process == os.getpid():
            _judges.pop((process, root)).close()
