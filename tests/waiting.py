"""Wait for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(happens: Callable[[], bool], limit_s: float = 20.0) -> None:
    deadline = time.monotonic() + limit_s
    while not happens():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
