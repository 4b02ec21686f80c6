"""Messages as the text that golden files hold."""

from __future__ import annotations

from grader.model.errors import GraderError
from grader.model.results import Failure


def text_of(problem: Failure | GraderError | None) -> str:
    """Return the message, and the hint or next step on a line below it."""
    assert problem is not None
    advice = problem.hint if isinstance(problem, Failure) else problem.next_step
    return f"{problem.message}\nnext: {advice}" if advice else problem.message
