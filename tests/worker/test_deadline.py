"""A call that takes too long is stopped wherever it is."""

from __future__ import annotations

from contextlib import suppress

import pytest

from grader.worker import deadline
from grader.worker.deadline import OutOfTime, stopped_after


def for_ever() -> None:
    with suppress(OutOfTime):  # as Python does it in `__del__`
        while True:
            pass
    while True:
        pass


def test_what_a_finaliser_swallows_is_raised_again(monkeypatch: pytest.MonkeyPatch):
    """Once such a call was killed, and its file blamed for one that never ends."""
    monkeypatch.setattr(deadline, "AGAIN_S", 0.05)
    with pytest.raises(OutOfTime), stopped_after(0.05):
        for_ever()
