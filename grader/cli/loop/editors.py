"""The learner's editor."""

from __future__ import annotations

import os
import shlex
import shutil

KNOWN = ("nano", "vim", "vi")  # in this order, where neither VISUAL nor EDITOR names one


def editor() -> list[str]:
    """Return the command of the learner's editor, or of one that is installed; empty: none."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError:
        words = [named]
    return words or [name for name in KNOWN if shutil.which(name)][:1]
