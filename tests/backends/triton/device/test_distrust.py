"""Messages that only a hostile worker sends end the call as the file's fault."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from grader.backends.triton.device.process import Session

ARENA, SCRATCH = 1 << 20, 1 << 30  # addresses in the worker
SIZE = 4096  # bytes of each
TTIR = """module {
  tt.func public @nothing() attributes {noinline = false} {
    tt.return
  }
}
"""
LAUNCH = {
    "op": "launch",
    "seq": 1,
    "kernel": "nothing",
    "digest": hashlib.sha256(TTIR.encode()).hexdigest(),
    "ttir": TTIR,
    "grid": [1, 1, 1],
    "warps": 4,
    "arguments": [],
    "storages": [],
}


@pytest.fixture
def session() -> Session:
    session = Session(np.zeros(SIZE, np.uint8), np.zeros(SIZE, np.uint8))
    assert session.answer_worker({"op": "map", "arena": ARENA, "scratch": SCRATCH}) is None
    session.answer_judge(
        {
            "op": "begin",
            "seq": 1,
            "refs": [],
            "count": True,
            "withhold": False,
            "file": "kernel.py",
            "source": "",
        }
    )
    return session


def kind_after(session: Session, message: dict[str, Any]) -> str | None:
    session.answer_worker(message)
    fault = session.answer_judge({"op": "end", "seq": 2}).fault
    return None if fault is None else fault.kind


def test_an_honest_launch_is_none_of_them(session: Session):
    own = [1 << 25, 64, 0, "scratch"]
    assert kind_after(session, LAUNCH | {"storages": [own]}) is None


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"op": "map", "arena": ARENA + 64, "scratch": SCRATCH}, id="maps again"),
        pytest.param({"op": "nonsense"}, id="no such operation"),
        pytest.param(LAUNCH | {"ttir": None}, id="a text that was never sent"),
        pytest.param(LAUNCH | {"ttir": TTIR + " "}, id="a text of another digest"),
        pytest.param(LAUNCH | {"storages": [[1 << 25, 64, SIZE, "s"]]}, id="beyond scratch"),
        pytest.param(LAUNCH | {"storages": [[ARENA - 32, 64, 0, "s"]]}, id="before the arena"),
        pytest.param(LAUNCH | {"storages": [[ARENA + 64, 64, 0, "s"]]}, id="in the arena"),
    ],
)
def test_what_our_driver_never_sends_is_the_files_fault(session: Session, message: dict[str, Any]):
    assert kind_after(session, message) == "protocol"
