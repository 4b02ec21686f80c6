"""Messages that only a hostile worker sends end the call as the file's fault."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.process import Session
from grader.backends.triton.device.ttir.parse import parse
from grader.model.specialisations import MOST_SPECIALISATIONS

ARENA = 1 << 20  # its address in the worker
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

BEGIN = {
    "op": "begin",
    "seq": 1,
    "refs": [],
    "count": True,
    "withhold": False,
    "file": "kernel.py",
    "source": "",
}
OWN = [1 << 25, 64, 0, "scratch"]


def launch(body: str, *lines: str) -> dict[str, Any]:
    """The launch of a kernel without arguments."""
    text = TTIR.replace("    tt.return", f"    {body}\n    tt.return") + "".join(lines)
    return LAUNCH | {"ttir": text, "digest": hashlib.sha256(text.encode()).hexdigest()}


@pytest.fixture
def session() -> Session:
    session = Session(np.zeros(SIZE, np.uint8), np.zeros(SIZE, np.uint8))
    assert session.answer_worker({"op": "map", "arena": ARENA}) is None
    session.answer_judge(BEGIN)
    return session


def kind_after(session: Session, message: dict[str, Any]) -> str | None:
    session.answer_worker(message)
    fault = session.answer_judge({"op": "end", "seq": 2}).fault
    return None if fault is None else fault.kind


def test_an_honest_launch_is_none_of_them(session: Session):
    beside = [1 << 26, 64, 64, "scratch"]
    assert kind_after(session, LAUNCH | {"storages": [OWN, beside]}) is None


def test_the_arena_has_an_address() -> None:
    memory = np.zeros(64, np.uint8)
    answer = Session(memory, memory[:0]).answer_worker({"op": "map", "arena": 0})
    assert answer is not None
    assert answer["fault"]["kind"] == "protocol"


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"op": "map", "arena": ARENA + 64}, id="maps again"),
        pytest.param({"op": "nonsense"}, id="no such operation"),
        pytest.param(LAUNCH | {"ttir": None}, id="a text that was never sent"),
        pytest.param(LAUNCH | {"ttir": TTIR + " "}, id="a text of another digest"),
        pytest.param(LAUNCH | {"storages": [[1 << 25, 64, SIZE, "s"]]}, id="beyond scratch"),
        pytest.param(LAUNCH | {"storages": [OWN, [1 << 26, 64, 32, "s"]]}, id="twice in scratch"),
        pytest.param(LAUNCH | {"arguments": [{"float": 10**400}]}, id="no float"),
        pytest.param(LAUNCH | {"storages": [[ARENA - 32, 64, 0, "s"]]}, id="before the arena"),
        pytest.param(LAUNCH | {"storages": [[ARENA + 64, 64, 0, "s"]]}, id="in the arena"),
    ],
)
def test_what_our_driver_never_sends_is_the_files_fault(session: Session, message: dict[str, Any]):
    assert kind_after(session, message) == "protocol"


@pytest.mark.parametrize(
    "body",
    [
        "arith.constant 1 : i32",
        "%a = arith.constant dense<1> : tensor<8xf32>",
        "%a, %b = arith.constant 1 : i32",
        '"cf.br"() [^nowhere] : () -> ()',
        "%a = tt.get_program_id x : i32\n    cf.br ^bb1(%a : i32)\n  ^bb1:",
        '%a = "tt.make_range"() <{start = 0 : i32}> : () -> tensor<8xi32>',
        "%a = tt.load : tensor<8xf32>",
        "scf.yield",
        "tt.call @nothing() : () -> ()",
    ],
)
def test_no_text_ends_the_device(session: Session, body: str):
    answer = session.answer_worker(launch(body))
    report = session.answer_judge({"op": "end", "seq": 2})
    assert answer is not None
    assert (answer["fault"] is None) == (report.fault is None and report.not_simulated is None)


def test_an_error_of_the_devices_own_ends_the_call_and_no_process(
    session: Session, monkeypatch: pytest.MonkeyPatch
):
    def fails(self: object, *_: object) -> None:
        raise LookupError("x" * 10**6)

    monkeypatch.setattr("grader.backends.triton.device.launches.Device.launch", fails)
    session.answer_worker(LAUNCH)
    lacks = session.answer_judge({"op": "end", "seq": 2}).not_simulated
    assert lacks is not None
    assert lacks.startswith("the simulated GPU failed (LookupError: xxx")
    assert len(lacks) < 5000


def test_the_number_of_a_message_is_all_that_its_answer_repeats(session: Session):
    nested: list[Any] = []
    for _ in range(900):
        nested = [nested]
    assert session.answer_worker(LAUNCH | {"seq": nested})["seq"] is None


def test_long_lines_of_prints_are_cut(session: Session):
    answer = session.answer_worker(launch('tt.print "' + 100_000 * "x" + '" : ()'))
    assert 500 < len(answer["printed"]) < 2000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TTIR + "#loc1 = loc(unknown) module { }\n", id="behind a location"),
        pytest.param(TTIR + '#loc1 = loc("a"(unknown)) tt.func @b() { } loc(unknown)\n', id="two"),
        pytest.param(TTIR + "#map = affine_map<() -> ()> module { }\n", id="behind a name"),
        pytest.param(TTIR.replace("return", "return // \r tt.return"), id="behind a line's end"),
        pytest.param(TTIR.replace("return", "return // \xe9"), id="beyond ASCII"),
    ],
)
def test_no_text_hides_operations_that_only_a_compiler_sees(text: str):
    parse(TTIR + '#loc1 = loc("a (b\\22)"(callsite("c":1:2 at fused["d":3:4])))\n')
    with pytest.raises(Malformed):
        parse(text)


def test_a_report_lists_launched_kernels_first_and_counts_the_others(session: Session):
    def numbered(number: int, **also: object) -> dict[str, Any]:
        kernel = launch(f"%a = arith.constant {number} : i32")
        return kernel | {"kernel": f"k{number}", **also}

    session.answer_judge(BEGIN | {"count": False})  # a counted call takes no part in trials
    session.answer_worker(numbered(0, trial=True))
    for number in range(1, MOST_SPECIALISATIONS + 1):
        session.answer_worker(numbered(number))
    session.answer_judge({"op": "end", "seq": 2})
    report = session.answer_judge({"op": "kernels", "seq": 3})
    assert [each.kernel for each in report.kernels] == [f"k{i}" for i in range(1, 65)]
    assert report.unlisted == 1
