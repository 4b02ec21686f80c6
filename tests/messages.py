"""Messages as the text that golden files hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def text_of(problem: Any, folder: Path | None = None) -> str:
    """Return the message of a failure or error, and its hint or next step on a line below it.

    A temporary folder, which has another path in each run, is written as FOLDER.
    """
    advice = getattr(problem, "hint", None) or getattr(problem, "next_step", None)
    text = f"{problem.message}\nnext: {advice}" if advice else problem.message
    return text if folder is None else text.replace(str(folder), "FOLDER")
