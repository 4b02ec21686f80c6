"""The page of a class run while it runs, and the same state in a line of words."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from jinja2 import Environment

from grader.classroom import RunState
from grader.model import texts
from grader.reports.webpage import Own, file, minute, page_templates

EVERY_S = 2  # between two looks of a browser


def words(state: RunState) -> str:
    """Return such as `graded 12 of 40 kernels, 3 in work, about 4 min left`."""
    parts = [f"graded {state.before + state.done:,} of {state.total:,} kernels"]
    if state.running:
        parts.append(f"{len(state.running)} in work")
    if state.given_up:
        parts.append(f"{state.given_up:,} could not be graded")
    if state.left_s is not None and state.running:
        parts.append(f"about {_duration(state.left_s)} left")
    return ", ".join(parts)


def page(state: RunState, title: str, now: datetime, over: str = "") -> str:
    """Render the page; `over` says how the run ended, and is empty while it runs."""
    rate = 60 * state.done / state.elapsed_s if state.done else 0.0
    templates = _templates()
    return templates.get_template("class_progress.html").render(
        own=Own(file(templates, "board.css") + file(templates, "class_progress.css")),
        state=state,
        total=max(1, state.total),
        title=texts.one_line(title),
        heading=over or "Grading",
        over=bool(over),
        words=words(state).capitalize(),
        rate=f"{rate:.1f}" if state.done else "–",
        every_s=EVERY_S,
        made_at=now.isoformat(timespec="seconds"),
    )


@cache
def _templates() -> Environment:
    return page_templates({"shown": texts.one_line, "minute": minute})


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
