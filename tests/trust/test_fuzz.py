"""Whatever crosses the edges of the judge, it answers with a result or with an error of its own.

Hypothesis draws what a hostile worker, a broken file or a forged result may hold. In the suite it
draws some hundreds of each; `make redteam-fuzz` goes on for as long as it is told.
"""

from __future__ import annotations

import ast
import json
import math
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fuzzing import JSON, as_bytes, changed, fuzz, mutated, places
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from pydantic import ValidationError

from grader.course import catalog
from grader.course.stubs import make_stub
from grader.grading import recording, tracing_lanes
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps import every, memory, traffic
from grader.grading.steps.correctness.compare import without_kernels
from grader.grading.trials import try_case
from grader.grading.workers import Bench
from grader.model.base_spec import Limits
from grader.model.cases import Case
from grader.model.channel import LONGEST_LINE, Channel, Closed, WireError
from grader.model.device_report import DeviceReport, Origin
from grader.model.errors import BrokenExercise
from grader.model.faults import Fault
from grader.model.held_series import HeldSeries
from grader.model.messages import Launched, Reply, TensorRef
from grader.model.outcomes import Outcome
from grader.model.results import Failure, Frame, parse_result, result_json
from grader.model.specialisations import Specialisation
from grader.model.texts import printable
from grader.model.trace import Array, Trace
from grader.model.traced import ArrayRef, LaunchRef, Stop, Traced
from grader.model.traced_lanes import OperationRef, StepRef, TracedLanes
from grader.model.verdict import exit_code
from grader.reports.trace_terminal import drawing
from grader.sandbox import worker_link
from grader.sandbox.arena import HostArena, view
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.remote_kernel import RemoteKernel
from grader.sandbox.worker_link import WorkerLink, entry_of
from grader.worker import faults
from grader.worker.load import load_entry

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]
DOUBLE = catalog.find(TESTS / "courses" / "small", "01_double")


# -- the line between judge and worker

REPLY = Reply(
    seq=1,
    fault=Fault("exception", "boom", ((3, "softmax", "x / 0"), (9, "helper", "raise"))),
    counts={"reads.x": 1000, "writes.out": 1000},
    peak=0,
    held=HeldSeries(((0, 0), (1, 12))),
    seconds=(1e-3, 2e-3),
    walls={"files": True},
    launched=(Launched("k", 1, None, 0, 32, 1),),
    kernels=(Specialisation("k", "{}"),),
    traced=Traced(
        launches=(LaunchRef("k", (2, 1, 1), (4, 1, 1)),),
        arrays=(ArrayRef("x", "argument", (3,), "float32"),),
        accesses=((0, 1, 1, 3, 0, 2, 1, 7, 0), (0, 1, 1, 3, 0, -1, 0, 7, 1)),
        outside=(3,),
        values=(5, None),
        stop=Stop(0, 1, 1, (2,), (0,)),
    ),
).dump()
REPLIES = mutated(json.loads(json.dumps(REPLY)))


LINES = (
    st.binary(max_size=80)
    | REPLIES.map(as_bytes)
    | JSON.map(as_bytes)
    | st.tuples(st.sampled_from([b"[", b'{"a":', b"{", b'"', b"-"]), st.integers(0, 20_000)).map(
        lambda pair: pair[0] * pair[1]
    )
    | st.sampled_from(
        [
            b'{"seq":1,"seq":2}',
            b'{"seq":1,"fault":null,"fault":{}}',
            b'{"seq":NINES}',
            b'{"seq":1e999}',
            b'{"seq":NaN}',
            b'{"seq":1}\r',
            b'\xef\xbb\xbf{"seq":1}',
            '{"seq":1}'.encode("utf-16"),
            b'{"seq":1,"fault":{"kind":"\\ud800","message":"\\udfff"}}',
            b'{"seq":1,"counts":{"reads.x":NINES}}',
        ]
    )
)


def in_full(line: bytes) -> bytes:
    """A line as it is sent. Hypothesis would show what it draws from at full length."""
    return line.replace(b"NINES", b"9" * 5000).replace(b"FLOOD", b"x" * (LONGEST_LINE + 1))


def received(sent: Sequence[bytes]) -> list[dict[str, Any] | WireError]:
    """What the judge makes of these bytes, up to the end of the line."""
    ours, theirs = socket.socketpair()
    channel = Channel(ours)

    def send() -> None:
        with suppress(OSError), theirs:
            for chunk in sent:
                theirs.sendall(chunk)

    sender = threading.Thread(target=send)
    sender.start()
    found: list[dict[str, Any] | WireError] = []
    try:
        while not (found and isinstance(found[-1], Closed)):
            try:
                found.append(channel.receive(30))
            except WireError as error:
                found.append(error)
    finally:
        channel.close()
        sender.join()
    return found


@fuzz(300)
@given(st.lists(LINES, max_size=5), st.binary(max_size=20))
def test_any_bytes_are_messages_or_errors_and_then_the_end(lines: list[bytes], rest: bytes):
    sent = [in_full(line) + b"\n" for line in lines] + [rest.replace(b"\n", b"")]
    found = received(sent)
    assert isinstance(found[-1], Closed)
    assert len(found) == sum(chunk.count(b"\n") for chunk in sent) + 1
    for message in found:
        if isinstance(message, dict):
            assert_reply_or_error(message)


def assert_reply_or_error(message: Mapping[str, Any]) -> None:
    try:
        reply = Reply.parse(message)
    except WireError:
        return
    assert all(-(2**63) <= number < 2**63 for number in integers_of(reply))
    assert all(math.isfinite(s) and s >= 0 for s in reply.seconds)
    if reply.fault is not None:  # a result can be made of it, written and read
        frames = tuple(Frame(line=n, function=f, code=c) for n, f, c in reply.fault.frames)
        failure = Failure(kind=reply.fault.kind, message=reply.fault.message, frames=frames)
        assert Failure.model_validate_json(failure.model_dump_json()) == failure


def integers_of(reply: Reply) -> Iterator[int]:
    yield reply.seq
    yield from reply.counts.values()
    yield from () if reply.peak is None else (reply.peak,)
    yield from () if reply.held is None else chain.from_iterable(reply.held.points)
    yield from (line for line, _, _ in reply.fault.frames) if reply.fault else ()


@fuzz(300)
@given(REPLIES | st.dictionaries(st.sampled_from(list(REPLY)), JSON))
@example({"seq": 10**400})
@example({"seq": 1, "counts": {"reads.x": 10**400}})
@example({"seq": 1, "seconds": [math.inf]})
@example({"seq": 1, "counts": [["reads.x", 1]]})
@example({"seq": 1, "counts": "ab"})
def test_any_json_is_a_reply_or_an_error(message: Any):
    if isinstance(message, dict):
        assert_reply_or_error(json.loads(json.dumps(message)))


LANES = TracedLanes(
    launches=(LaunchRef("k", (2, 1, 1), (4, 1, 1)),),
    arrays=(ArrayRef("x", "argument", (3, 2), "float32"),),
    steps=(StepRef(0, ((5, 1),)),),
    operations=(
        OperationRef(0, "load", 6, "x", (4,), "float32"),
        OperationRef(0, "reduce", 7, "top", (), "float32"),
    ),
    acts=((0, 1, 0, 3, 1, -5, 0), (0, 0, 1, 1, 0, 0, 1)),
    accesses=((0, 2, 0, 0, 9, 1, 1), (1, 0, -1, 0, 7)),
    cut=1,
)
REPORT = DeviceReport(
    seq=1,
    fault=Fault("race", "two programs write", ((3, "", ""),)),
    counts={"reads.x": 1000},
    launches=1,
    held=4096,
    not_simulated="inline assembly",
    origins=(Origin("out", 3, "x", "sums_ptr", 2),),
    lanes=LANES,
).dump()


@fuzz(300)
@given(
    mutated(json.loads(json.dumps(REPORT))) | st.dictionaries(st.sampled_from(list(REPORT)), JSON)
)
@example({"seq": 1, "launches": -1})
@example({"seq": 1, "held": 10**400})
@example({"seq": 1, "held": True})
@example({"seq": 1, "not_simulated": 3})
def test_any_json_is_a_report_of_a_device_or_an_error(message: Any):
    if not isinstance(message, dict):
        return
    try:
        report = DeviceReport.parse(json.loads(json.dumps(message)))
    except WireError:
        return
    for number in (report.launches, report.held, *report.counts.values()):
        assert type(number) is int
        assert 0 <= number < 2**63
    assert report.not_simulated is None or isinstance(report.not_simulated, str)
    assert all(0 <= origin.line < 2**31 for origin in report.origins)
    if report.lanes is not None:
        assert_drawable(report.lanes)


def assert_drawable(lanes: TracedLanes) -> None:
    """Whatever crossed makes a trace that is whole, and a picture of it."""
    numbers = list(range(len(lanes.arrays)))
    shapes = [array.shape for array in lanes.arrays]
    arrays = tuple(
        Array(name=f"a{number}", space="global", shape=shape, role="scratch")
        for number, shape in enumerate(shapes)
    )
    fields = tracing_lanes.fields_of(lanes, shapes, numbers, 3)
    source = ("x = 1", "y = 2", "z = 3")
    trace = Trace(exercise="e", case="c", source=source, arrays=arrays, **fields)
    picture = drawing(trace, lines=30).plain
    assert all(character.isprintable() or character == "\n" for character in picture)


# -- a judge, and a worker that answers anything at any time


@dataclass(frozen=True)
class Act:
    """What a worker does about one message: what it writes to the output, and what it sends.

    `sends` are lines, in which SEQ stands for the number of the message, NEXT for the one after it
    and LAST for the one before; the last of them may lack its end.
    """

    writes: str = "right"
    sends: tuple[bytes, ...] = (b'{"seq":SEQ}\n',)
    closes: bool = False

    @property
    def is_heard(self) -> bool:
        """Whether the judge need not wait for the end of its patience."""
        return self.closes or any(line.endswith(b"\n") for line in self.sends)


GOOD = (
    b'{"seq":SEQ,"peak":0,"counts":{"reads.x":1000,"writes.x":0,"reads.out":0,"writes.out":1000}}\n'
)
HONEST = Act(sends=(GOOD,))
WITH_SEQ = REPLIES.map(lambda reply: {**reply, "seq": "#"} if isinstance(reply, dict) else reply)
SENT = (
    st.sampled_from(
        [
            *(GOOD, GOOD, b'{"seq":SEQ}\n', b'{"seq":NEXT}\n', b'{"seq":LAST}\n', b"\n"),
            *(
                b'{"seq":SEQ,"seq":LAST}\n',
                b'{"seq":true}\n',
                b'{"seq":SEQ',
                b"{}\n",
                b"FLOOD",
            ),
            b'{"seq":SEQ,"fault":{"kind":"not_started","message":""}}\n',
            b'{"seq":SEQ,"fault":{"kind":"timeout","message":"\\ud800"}}\n',
            b'{"seq":SEQ,"peak":9223372036854775807,"counts":{"reads.x":-1}}\n',
            b'{"seq":SEQ,"seconds":[0.0,1e308,1e308]}\n',
        ]
    )
    | WITH_SEQ.map(lambda reply: as_bytes(reply).replace(b'"#"', b"SEQ") + b"\n")
    | LINES.map(lambda line: line + b"\n")
)
ACTS = st.builds(
    Act,
    writes=st.sampled_from(["right", "half", "nothing", "zeros", "input"]),
    sends=st.lists(SENT, max_size=3).map(tuple),
    closes=st.booleans(),
)
# Says that all is well, of an answer that is wrong: after the honest start of a worker, or at once.
LIES = st.sampled_from(["half", "nothing", "zeros", "input"]).map(
    lambda what: replace(HONEST, writes=what)
)
SCRIPTS = (
    st.lists(st.just(HONEST) | ACTS, max_size=3)
    | LIES.map(lambda lie: [HONEST, HONEST, lie])
    | LIES.map(lambda lie: [lie])
)
ENDS = st.none() | st.integers(0, 255).map(lambda code: code << 8) | st.integers(1, 64)


class Liars:
    """Stands in for a fork_server: its workers follow `script`, and are honest when it ends."""

    running = True
    dry_run = False

    backend = "triton"

    def __init__(self, arena: HostArena) -> None:
        self._arena = arena
        self.script: list[Act] = []
        self.status: int | None = None
        self.wrote_right = False
        self._threads: list[threading.Thread] = []

    def fork(self, arena_fd: int | None) -> Any:
        ours, theirs = socket.socketpair()
        channel = Channel(ours)
        thread = threading.Thread(target=self._serve, args=(theirs,))
        thread.start()
        self._threads.append(thread)

        def close() -> str:
            channel.close()
            thread.join()
            return "it printed \x1b[2J"

        return SimpleNamespace(channel=channel, device=None, close=close)

    def kill(self, *, patient: bool = False) -> int | None:
        return self.status

    def home_for(self, kernel: bytes) -> Path:
        return Path("kernel.py")

    def _serve(self, sock: socket.socket) -> None:
        channel = Channel(sock)
        with suppress(WireError, OSError), sock:
            while True:
                message = channel.receive()
                act = self.script.pop(0) if self.script else HONEST
                self._write(act.writes, message)
                for line in act.sends:
                    for word, number in (("SEQ", 0), ("NEXT", 1), ("LAST", -1)):
                        line = line.replace(word.encode(), b"%d" % (message["seq"] + number))
                    sock.sendall(in_full(line))
                if act.closes:
                    return

    def _write(self, what: str, message: Mapping[str, Any]) -> None:
        calls = message.get("calls") or [message[key] for key in ("call",) if key in message]
        for call in filter(None, calls):
            x, out = (view(self._arena.memory, ref_of(sent)) for sent in call)
            if what == "right":
                self.wrote_right = True
                out.copy_(2 * x)
            elif what == "half":
                out[: len(out) // 2] = 2 * x[: len(out) // 2]
            elif what != "nothing":
                out.copy_(x if what == "input" else torch.zeros_like(x))


def ref_of(sent: Mapping[str, Any]) -> TensorRef:
    return TensorRef(**{**sent, "shape": tuple(sent["shape"]), "strides": tuple(sent["strides"])})


class JudgeAndLiar(RuleBasedStateMachine):
    """No verdict passes unless the right answer was written; whatever happened, the next can."""

    def __init__(self) -> None:
        super().__init__()
        self.arena = HostArena(1 << 20)
        self.liars = Liars(self.arena)
        self.link = WorkerLink(entry_of(DOUBLE.spec), b"", self.liars, self.arena)
        self.patience = worker_link.START_S, worker_link.REPORT_S

    def teardown(self) -> None:
        worker_link.START_S, worker_link.REPORT_S = self.patience
        printable(self.link.close())
        self.arena.close()

    def settled(
        self, script: list[Act], work: Callable[[Grading], Finding], status: int | None = None
    ) -> Finding:
        """What a step comes to while workers follow the script."""
        patience = 30.0 if all(act.is_heard for act in script) else 0.03
        worker_link.START_S = worker_link.REPORT_S = patience
        limits = Limits(load_s=patience, call_s=patience)
        self.link._entry = replace(self.link._entry, limits=limits)
        self.liars.script, self.liars.status = list(script), status
        self.liars.wrote_right = False
        grading = Grading(DOUBLE, DOUBLE.solution, Options(seed=1), ForkServers())
        remote = RemoteKernel(DOUBLE.spec, self.link, self.arena)
        grading.workers.benches["cpu"] = Bench(self.arena, self.link, remote)
        step = replace(every()["correctness"], run=work)
        found = recording._finding(grading, step)
        recorded = recording._record(grading, step, found, 0.0)
        assert not grading.tracebacks, "an exception that no step foresaw"
        assert type(recorded).model_validate_json(recorded.model_dump_json()) == recorded
        return found

    def must_be_earned(self, found: Finding) -> None:
        assert self.liars.wrote_right or found.outcome is not Outcome.PASS

    @rule(script=SCRIPTS, status=ENDS)
    def a_case(self, script: list[Act], status: int | None) -> None:
        self.must_be_earned(self.settled(script, one_case, status))

    @rule(script=SCRIPTS, status=ENDS)
    def the_traffic(self, script: list[Act], status: int | None) -> None:
        self.must_be_earned(self.settled(script, traffic.traffic, status))

    @rule(script=SCRIPTS)
    def the_memory(self, script: list[Act]) -> None:
        self.settled(script, memory.memory)

    @rule(script=SCRIPTS)
    def without_kernels(self, script: list[Act]) -> None:
        self.settled(script, lambda grading: found_of(without_kernels(grading)))

    @rule(script=SCRIPTS)
    def prepared(self, script: list[Act]) -> None:
        def go(grading: Grading) -> Finding:
            self.link.prepare([])
            self.link.stand_by([])
            self.link.go()
            assert all(math.isfinite(seconds) for seconds in self.link.times())
            assert isinstance(self.link.resources([]), tuple)
            return Finding("")

        self.settled(script, go)

    @rule()
    def an_honest_worker_passes(self) -> None:
        self.link._end()  # what a liar sent ahead of time is gone with it
        for work in (one_case, traffic.traffic):
            assert self.settled([], work).outcome is Outcome.PASS


def one_case(grading: Grading) -> Finding:
    return found_of(try_case(grading, Case((7,), "float32")))


def found_of(failure: Failure | None) -> Finding:
    return Finding("", failure, Outcome.PASS if failure is None else Outcome.FAIL)


TestJudgeAndLiar = JudgeAndLiar.TestCase
TestJudgeAndLiar.settings = settings(fuzz(60), stateful_step_count=10)


# -- results from elsewhere

RESULT = json.loads((TESTS / "courses" / "result.json").read_text(encoding="utf-8"))


@fuzz(300)
@given(mutated(RESULT).map(json.dumps) | JSON.map(json.dumps) | st.text() | st.binary())
@example("\ud800")
@example('{"schema": "\ud800"}')
@example(json.dumps({**RESULT, "message": "\ud800"}))
@example("[" * 10_000)
@example(json.dumps(RESULT | {"seed": 10**400}))
def test_any_text_is_a_result_or_an_error(text: str | bytes):
    try:
        result = parse_result(text)
    except ValidationError:
        return
    assert parse_result(result_json(result)) == result
    passed = exit_code([result]) == 0
    assert passed == (json.loads(text)["status"] == "pass")  # nothing else is taken for a pass


@fuzz(100)
@given(st.data())
def test_fields_that_nobody_knows_change_nothing(data: st.DataObject):
    path = data.draw(
        st.sampled_from([p for p in places(RESULT) if isinstance(at(RESULT, p), dict)])
    )
    more = data.draw(st.dictionaries(st.text(min_size=1).map(lambda name: f"x-{name}"), JSON))
    with_more = changed(RESULT, path, at(RESULT, path) | more)
    try:
        assert parse_result(json.dumps(with_more)) == parse_result(json.dumps(RESULT))
    except ValidationError as error:  # of what is no JSON for others: NaN, half a character
        if {one["type"] for one in error.errors()} != {"json_invalid"}:
            raise


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


# -- stubs

PIECES = st.sampled_from(
    [
        *("# BEGIN SOLUTION", "# END SOLUTION", "# BEGIN SOLUTION: say \"why\" \\ 'so'", "# END"),
        *(
            "# begin solution",
            "#END_SOLUTION",
            "'# BEGIN SOLUTION'",
            '"""',
            "SECRET = 1",
            "SECRET()",
        ),
        *(
            "def f(x):",
            "@triton.jit",
            "@cuda.jit(fastmath=True)",
            "async def g():",
            "class C:",
            "pass",
        ),
        *(
            "if x:",
            "else:",
            "try:",
            "except E:",
            "x = (",
            ")",
            "x = [1,",
            "]",
            "\\",
            "return SECRET",
        ),
        *(
            "lambda: (yield)",
            "f'{SECRET}'",
            "@",
            "\f",
            "\x00",
            "\ufeff",
            "\r",
            "\u2028",
            "\x1a",
            "",
        ),
        *("match x:", "case SECRET:", "y = x; SECRET", "é = 'ß'", "# -*- coding: latin-1 -*-"),
    ]
)
SOURCES = st.lists(
    st.tuples(st.sampled_from(["", "    ", "        ", "\t"]), PIECES | st.text(max_size=20)).map(
        "".join
    ),
    max_size=14,
).flatmap(
    lambda lines: st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"]).map(lambda e: e.join(lines))
)


@st.composite
def solutions(draw: st.DrawFn) -> str:
    """A file whose marked regions are nearly right, so that stubs come out too."""
    lines = []
    for number in range(draw(st.integers(1, 3))):
        lines += draw(st.sampled_from([[], ["@triton.jit"], ["@cuda.jit"]]))
        lines += [f"def f{number}(x, out):", "    y = 1"]
        body = draw(
            st.lists(st.sampled_from(["SECRET = 1", "if SECRET:", "    SECRET()", "", "# SECRET"]))
        )
        text = draw(st.just("") | st.text(max_size=150).map(lambda text: f": {text}"))
        lines += [f"    # BEGIN SOLUTION{text}", *(f"    {line}" for line in body)]
        lines += ["    # END SOLUTION", *draw(st.sampled_from([[], ["    return y"]]))]
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))


@fuzz(400)
@given(SOURCES | solutions() | st.text())
@example("\x00")
@example("\ud800")
@example("\\")
@example("(" * 300)
@example("-" * 3000 + "1")
@example("def f():\n    # BEGIN SOLUTION\r    SECRET = 1\r    # END SOLUTION\n    pass\n")
@example("def f():\n    x = 1\f\n    # BEGIN SOLUTION\n    SECRET = 1\n    # END SOLUTION\n")
@example("# BEGIN SOLUTION\r#\x08\n")  # Python reads it, and the tokenizer of 3.12 does not
@example("\rº")
@example('"""\r# BEGIN SOLUTION\r"""')  # Python counts three lines of it
def test_any_source_is_a_stub_that_python_reads_or_an_error(source: str):
    try:
        stub = make_stub(source, "01_double")
    except BrokenExercise:
        return
    ast.parse(stub)
    inside = False
    for line in stub.split("\n"):  # no region is left in it
        inside = inside or ("SOLUTION" in line and line.strip().startswith("# BEGIN"))
    assert not inside


@fuzz(200)
@given(solutions())
def test_a_stub_gives_nothing_of_the_solution_away(source: str):
    with suppress(BrokenExercise):
        assert "SECRET" not in make_stub(source, "01_double")


# -- kernel files

CODINGS = ("utf-8", "latin-1", "rot13", "utf-7", "nonsense", "utf-16", "idna", "hex")
COOKIES = st.sampled_from(["", *(f"# coding: {name}\n" for name in CODINGS)]).map(str.encode)
MARKS = st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0"])
TEXT_OF_FILES = st.sampled_from(
    [
        b"def double(x, out):\n    pass\n",
        b"double = 5\n",
        b"double = int\n",
        b"def double(*, x, out): pass\n",
        b"class double:\n    def __class_getitem__(cls, i): 1 / 0\n",
        b"class C:\n    __signature__ = 5\n    def __call__(self): pass\ndouble = C()\n",
        b"def __getattr__(name): raise KeyError(name)\n",
        b"class E(Exception):\n    def __str__(self): raise self\nraise E\n",
        b"class E(Exception):\n    def __str__(self): return 5\nraise E\n",
        b"raise SyntaxError('x', (__file__, 1, 2, 5))\n",
        b"raise SyntaxError('x', (__file__, 'one', 2, 'text'))\n",
        b"raise SyntaxError('x', (5, 1, 2, 'text'))\n",
        b"e = SyntaxError('\\ud800')\ne.filename, e.lineno = __file__, 10**400\nraise e\n",
        b"raise SyntaxError('x', (__file__, -1, 2, 'text'))\n",
        b"raise SyntaxError('x', (__file__, 1.0, 2, 'text'))\n",
        b"e = ImportError()\ne.__traceback__ = None\nraise e\n",
        b"class CompilationError(Exception):\n    pass\nraise CompilationError\n",
        b"raise SystemExit('\\ud800\\x1b[2J')\n",
        b"raise MemoryError\n",
        b"raise BaseException('x' * 100000)\n",
        b"raise ExceptionGroup('g', [ValueError(1), KeyError(2)])\n",
        b"def f(): f()\nf()\n",
        b"import no_such_module_of_any_name\n",
        b"from . import x\n",
        b"x = " + b"(" * 150 + b"1" + b")" * 150 + b"\n",
        b"x = " + b"-" * 2000 + b"1\n",
        b"x = 1" + b"0" * 5000 + b"\n",
        b"'\\N{no such name}'\n",
        b"\x80\x81\n",
        b"\xc3\xa9 = 1\n",
        b"def double(x, out):\n\treturn\n        return\n",
    ]
)
FILES = st.binary(max_size=60) | st.tuples(
    MARKS, COOKIES, st.lists(TEXT_OF_FILES | st.binary(max_size=10), max_size=3).map(b"".join)
).map(b"".join)


@fuzz(300)
@given(FILES)
# It runs, and cannot be read line by line: Python 3.12 decodes no label of 4,000 letters.
@example(b"# coding: idna\nx = 1" + b"0" * 4000 + b"\n1 / 0\n")
def test_any_file_is_an_entry_or_a_fault(kernel_file: Path, content: bytes):
    kernel_file.write_bytes(content)
    try:
        assert callable(load_entry(kernel_file, "double", ("x", "out")))
    except BaseException as error:
        if isinstance(error, AssertionError | KeyboardInterrupt):
            raise
        fault = faults.describe(error, str(kernel_file))
        told = Reply.parse(json.loads(json.dumps(Reply(seq=1, fault=fault).dump())))
        assert told.fault is not None
        assert told.fault.kind == fault.kind


@pytest.fixture(scope="module")
def kernel_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)  # as in a worker
        yield tmp_path_factory.mktemp("kernel") / "kernel.py"
    for name in [name for name in sys.modules if name.startswith("learner_kernel_")]:
        del sys.modules[name]
