"""The learner's editor."""

from __future__ import annotations

import os
import shlex
from pathlib import Path


def editor() -> list[str]:
    """Return the command of the editor that the learner has set, or an empty list.

    No editor is guessed: a learner who does not know `vi` cannot leave it.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        return shlex.split(named)
    except ValueError:
        return [named]


def none_set(path: Path) -> str:
    """Say how to set an editor, and how to do without."""
    return (
        "No editor is set: type `export EDITOR=nano` before `grader`, or open "
        f"{os.path.relpath(path)} in an editor of your own. Each save is checked."
    )
