"""Whatever a worker sends to the simulated GPU, it answers, and touches no memory but a call's own.

The text of a kernel reaches the compiler as well, in a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import resource
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing import JSON, as_bytes, fuzz, mutated
from hypothesis import example, given
from hypothesis import strategies as st

from grader.backends.triton import compile_ttir
from grader.backends.triton.device import operations, process
from grader.backends.triton.device.process import Session
from grader.backends.triton.device.ttir.parse import parse
from grader.backends.triton.device.ttir.records import Type
from grader.grading import compiling
from grader.model.channel import LONGEST_LAUNCH, Channel, WireError
from grader.model.device_report import DeviceReport
from grader.model.specialisations import Specialisation
from grader.sandbox.device_line import DeviceLine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # pytest has threads
]

GOLDEN = Path(__file__).parents[1] / "backends" / "triton" / "device" / "ttir" / "golden"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(GOLDEN.glob("*.ttir"))}

ARENA, SCRATCH, OWN = 1 << 40, 1 << 41, 1 << 42  # addresses in the worker
SIZE = 1 << 17  # bytes of the arena, and of the scratch memory
ELEMENTS = 1 << 13
X, OUT = 4096, 65536  # offsets of the two arguments, which are float32
BEGIN = {
    "op": "begin",
    "seq": 1,
    "refs": [
        {"name": name, "offset": at, "shape": [8, 1024], "strides": [1024, 1], "dtype": "float32"}
        for name, at in (("x", X), ("out", OUT))
    ],
    "count": True,
    "withhold": False,
    "file": "kernel.py",
    "source": "",
}
ITS_TIME_S = 2.0  # a judge waits longer for a call, and then ends worker and device
ITS_MEMORY = 2 << 30  # bytes beyond what these tests hold; a device has more


def in_its_process(work: Callable[[], Any]) -> Any:
    """Return what work returns in a process limited as a device's is, or None if time runs out."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + ITS_MEMORY,) * 2)
            signal.setitimer(signal.ITIMER_REAL, ITS_TIME_S)
            found = json.dumps(work()).encode()
            signal.setitimer(signal.ITIMER_REAL, 0)
            with os.fdopen(theirs, "wb") as pipe:
                pipe.write(found)
            os._exit(0)
        finally:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        found = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == -signal.SIGALRM:
        return None
    assert status == 0, "the process died"
    return json.loads(found)


# -- texts of kernels: those that Triton printed, with a few words changed

WORD = re.compile(r'"[^"\n]*"|[%^@!#]?[\w.]+(?:<[^<>\n]*(?:<[^<>\n]*>)?[^<>\n]*>)?|\S')
OTHER_WORDS = (
    *("0", "-1", "1", "3", "1024", "2147483647", "-9223372036854775808", "0x7FC00000", "1.0e+300"),
    *("i1", "i8", "i64", "index", "f16", "bf16", "f64", "f8E5M2", "!tt.ptr<f64>", "!tt.ptr<i8>"),
    *(
        "tensor<1048576xf32>",
        "tensor<1x1x1xi64>",
        "tensor<8x!tt.ptr<f16>>",
        "tensor<2147483648xi1>",
    ),
    *(
        "dense<[1, 2]>",
        'dense<"0x00">',
        "true",
        "x",
        "slt",
        "acq_rel",
        "xchg",
        "none",
        "",
        "loc(#loc)",
    ),
    *("{", "}", "(", ")", "^bb1", "%0", "%arg0", "->", ":", "=", '"a"'),
    *("scf.yield", "tt.reduce.return", "tt.return", "cf.br ^bb1", "scf.condition"),
)


@cache
def alike(name: str) -> dict[str, tuple[str, ...]]:
    """The words that may stand for each other, by their sort: those of a text, and a few more."""
    words = (*WORD.findall(TEXTS[name]), *OTHER_WORDS, *sorted(operations.names()))
    sorts: dict[str, dict[str, None]] = {}
    for word in words:
        sorts.setdefault(sort_of(word), {})[word] = None
    return {sort: tuple(found) for sort, found in sorts.items()}


def sort_of(word: str) -> str:
    return "number" if re.fullmatch(r"-?\d.*", word) else "." if "." in word else word[:1]


@st.composite
def hostile(draw: st.DrawFn, name: str) -> str:
    """A golden text with some words replaced, most by similar ones, and with some lines moved."""
    text, sorts = TEXTS[name], alike(name)
    every = tuple(word for words in sorts.values() for word in words)
    body = text.index("tt.func"), text.rindex("tt.return")
    for _ in range(draw(st.integers(0, 3))):
        found = list(WORD.finditer(text, *body))
        word = found[draw(st.integers(0, len(found) - 1))]
        similar = draw(st.integers(0, 7)) > 0
        others = sorts.get(sort_of(word[0]), every) if similar else every
        text = text[: word.start()] + draw(st.sampled_from(others)) + text[word.end() :]
    lines = text.split("\n")
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        line = lines.pop(draw(st.integers(0, len(lines) - 1)))
        for _ in range(draw(st.integers(0, 2))):
            lines.insert(draw(st.integers(0, len(lines))), line)
    return "\n".join(lines)


NAMES = st.sampled_from(sorted(TEXTS))
KERNELS = NAMES.flatmap(lambda name: st.tuples(st.just(name), hostile(name)))

# -- launches

ADDRESSES = st.sampled_from(
    [ARENA + X, ARENA + OUT, OWN, ARENA, ARENA + SIZE - 4, SCRATCH, 0, 2**63 - 4, -4]
)
POINTERS = st.sampled_from([ARENA + X, ARENA + OUT, OWN])
WHOLES = st.sampled_from([0, 1, 7, 8, 1000, 1024, ELEMENTS, 2**31 - 1, 2**31, 2**63 - 1, -1])
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["nan", "-inf"])


def descriptor(rank: int) -> st.SearchStrategy[dict[str, Any]]:
    extents = st.lists(WHOLES, min_size=rank, max_size=rank)
    return st.fixed_dictionaries(
        {"base": ADDRESSES, "shape": extents, "strides": extents}
        | {"padding": st.sampled_from(["zero", "nan", "else"])}
    )


def argument(type_: Type) -> st.SearchStrategy[dict[str, Any]]:
    """A value that a parameter of this type may have."""
    if type_.element == "tensordesc":
        rank = len((type_.pointee.shape if type_.pointee else None) or ())
        return st.fixed_dictionaries({"descriptor": descriptor(max(1, rank))})
    if type_.element == "ptr":
        return st.fixed_dictionaries({"pointer": POINTERS | POINTERS | ADDRESSES})
    if type_.element.startswith(("f", "bf")):
        return st.fixed_dictionaries({"float": FLOATS})
    return st.fixed_dictionaries({"integer": WHOLES})


@cache
def arguments(name: str) -> st.SearchStrategy[tuple[dict[str, Any], ...]]:
    return st.tuples(*(argument(type_) for _, type_ in parse(TEXTS[name]).entry.arguments))


GRIDS = st.sampled_from(
    [[1, 1, 1], [8, 1, 1], [2, 2, 2], [1000, 1, 1], [1, 65535, 1], [2**31 - 2, 1, 1]]
)
MINE = st.just([[OWN, SIZE // 2, 0, "own"], [OWN + SIZE, SIZE // 2, SIZE // 2, "other"]])
STORAGES = (
    MINE
    | MINE
    | st.lists(
        st.tuples(
            ADDRESSES,
            st.sampled_from([0, 1, 4096, SIZE]),
            st.sampled_from([0, 64, SIZE]),
            st.just("s"),
        ).map(list),
        max_size=3,
    )
)


@st.composite
def launches(draw: st.DrawFn) -> dict[str, Any]:
    """A launch whose form is right, of a kernel that need not be."""
    name, text = draw(KERNELS)
    return {
        "op": "launch",
        "seq": 1,
        "kernel": name,
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "ttir": text,
        "grid": draw(GRIDS),
        "warps": 4,
        "arguments": list(draw(arguments(name))),
        "storages": draw(STORAGES),
        "trial": draw(st.booleans()),
    }


MESSAGES = launches().flatmap(mutated)


class World:
    """A device's session, and its memory, most of which is nobody's."""

    def __init__(self) -> None:
        numbers = np.random.default_rng(1)
        self.arena = np.frombuffer(mmap.mmap(-1, SIZE), np.uint8)
        self.arena[:] = numbers.integers(0, 256, SIZE, np.uint8)
        self.scratch = np.frombuffer(mmap.mmap(-1, SIZE), np.uint8)
        self._before = self.arena.copy()
        self.session = Session(self.arena, self.scratch)
        self.session.answer_worker({"op": "map", "arena": ARENA})
        self.session.answer_judge(BEGIN)

    def untouched(self) -> bool:
        same = self.arena == self._before
        for start in (X, OUT):
            same[start : start + 4 * ELEMENTS] = True
        return bool(same.all())


@fuzz(40)
@given(st.lists(launches() | MESSAGES, min_size=1, max_size=3))
def test_any_launch_is_answered_and_stays_within_the_arguments(messages: list[Any]):
    world = World()

    def served() -> list[dict[str, Any]]:
        for message in messages:
            if isinstance(message, dict):
                answer = world.session.answer_worker(json.loads(json.dumps(message)))
                assert answer is None or json.dumps(answer)
        asked = ({"op": "end", "seq": 2}, {"op": "kernels", "seq": 3})
        return [world.session.answer_judge(message).dump() for message in asked]

    reports = in_its_process(served)
    assert world.untouched()
    for number, report in enumerate(reports or (), 2):
        assert DeviceReport.parse(report).seq == number


def checked(text: str) -> str:
    try:
        compile_ttir.check(text)
    except compile_ttir.Refused as error:
        return str(error)
    return ""


@fuzz(40)
@given(KERNELS)
def test_any_text_is_refused_or_let_through_to_the_compiler(kernel: tuple[str, str]):
    assert isinstance(in_its_process(lambda: checked(kernel[1])), str | None)


@fuzz(1)
@given(st.lists(KERNELS, min_size=6, max_size=6))
def test_each_text_compiles_or_is_refused(kernels: list[tuple[str, str]]):
    made = [Specialisation(name, text) for name, text in kernels]
    jobs = [compiling.Job("float32", kernel, 90, required=True) for kernel in made]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "REQUIRED_S", 20.0)
        built = compiling.build("triton", jobs)
    assert len(built) == len(jobs)
    assert not any(isinstance(one, compiling.Missing) for one in built)


BUILT = st.sampled_from(
    [
        {"registers": 32, "spills": 0, "shared": 0, "tensor": 0, "threads": 128}
        | {"loads": {"128": 1}, "stores": {}, "arithmetic": 3},
        {"error": "no float8 here", "line": 3},
        {"timed_out": 120.0},
        {"missing": "ptxas"},
    ]
).flatmap(mutated)


@fuzz(150)
@given(st.lists(BUILT.map(as_bytes) | st.binary(max_size=40), max_size=3))
@example([b'{"timed_out": 1' + 400 * b"0" + b"}"])  # no float is that large
def test_any_lines_of_the_compiler_are_results_or_none(lines: list[bytes]):
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\n".join(lines))
        file.flush()
        built = compiling._results(Path(file.name))
        assert all(isinstance(one, compiling.Built) for one in built)
        assert not any(isinstance(one, compiling.Untried) for one in built)


# -- the lines of a device: from any worker, and to the judge

LINES = st.binary(max_size=60) | MESSAGES.map(as_bytes) | JSON.map(as_bytes)


def memory(size: int) -> int:
    fd = os.memfd_create("fuzz")
    os.ftruncate(fd, size)
    return fd


@contextmanager
def served() -> Iterator[tuple[Channel, socket.socket]]:
    """A device on a thread; yields the judge's line to it, and the worker's."""
    judge, judges = socket.socketpair()
    worker, workers = socket.socketpair()
    memories = memory(SIZE), memory(SIZE)
    ends = Channel(judges, LONGEST_LAUNCH), Channel(workers, LONGEST_LAUNCH)
    thread = threading.Thread(target=process.serve, args=(*ends, *memories))
    thread.start()
    try:
        yield Channel(judge, LONGEST_LAUNCH), worker
    finally:
        judge.close()
        worker.close()
        thread.join(60)
        for end in (judges, workers):
            end.close()
        for fd in memories:
            os.close(fd)
    assert not thread.is_alive()


@fuzz(12)
@given(st.lists(LINES, max_size=4), st.binary(max_size=20))
@example([b'{"op":"launch","seq":' + b"[" * 500 + b"]" * 500 + b"}"], b"")
def test_the_judge_gets_its_report_whatever_the_worker_sends(lines: list[bytes], rest: bytes):
    with served() as (judge, worker):
        line = DeviceLine(judge, {}, "kernel.py", "")
        line.begin((), 60, count=True, withhold=True)
        with suppress(OSError):
            worker.sendall(b"".join(each.replace(b"\n", b"") + b"\n" for each in lines) + rest)
        line.end(60)
        line.begin((), 60, count=False, withhold=False)
        assert line.end(60).launches == 0


REPORTS = mutated(
    json.loads(
        json.dumps(
            DeviceReport(
                seq=1, counts={"reads.x": 1}, kernels=(Specialisation("k", "module {}"),)
            ).dump()
        )
    )
)


@fuzz(100)
@given(REPORTS.map(as_bytes) | LINES)
def test_what_a_device_says_is_a_report_or_an_error_of_the_line(said: bytes):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(said.replace(b"\n", b"") + b"\n")
        theirs.shutdown(socket.SHUT_WR)
        with suppress(WireError):
            report = DeviceLine(Channel(ours), {}, "", "").kernels(10)
            assert report.seq == 1
            assert all(isinstance(each.text, str) for each in report.kernels)
            assert report.unlisted >= 0
