"""The record of a call's launches, and what of it crosses the wall to the judge."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch

from grader.model.channel import WireError
from grader.model.messages import MOST_KERNELS, Launched, Reply
from grader.model.wire import LARGEST_COUNT
from grader.worker.launches import Launches, Withheld, graphs_withheld, replaced
from grader.worker.loop import Worker


class Kernel:
    registers = 8

    def __init__(self, name: str) -> None:
        self.name = name


def figures(kernel: Kernel, threads: int, shared: int, launches: int) -> Launched:
    return Launched(kernel.name, kernel.registers, None, shared, threads, launches)


def test_the_most_launched_kernel_comes_first():
    launches = Launches(_read=figures)
    once, twice = Kernel("once"), Kernel("twice")
    for kernel in (once, twice, twice):
        launches.note(kernel, 32)
    assert [one.kernel for one in launches.most_launched()] == ["twice", "once"]


def test_a_worker_calls_the_entry_once_and_reports_its_launches():
    class Backend:
        def before_call(self, refs):
            pass

        def argument(self, ref):
            return ref["name"]

        def observing(self):
            return nullcontext(launches)

        def synchronize(self):
            launches.note(Kernel("k"), 32, 16)

    launches = Launches(_read=figures)
    worker = Worker(Backend(), None)
    called: list[tuple[object, ...]] = []
    worker._entry = lambda *arguments: called.append(arguments)
    reply = worker.do({"op": "resources", "call": [{"name": "x"}, 2.0]})
    assert reply == {"launched": (Launched("k", 8, None, 16, 32, 1),)}
    assert called == [("x", 2.0)]


def test_no_graph_is_replayed_while_launches_are_withheld(monkeypatch: pytest.MonkeyPatch):
    class Graph:
        def replay(self) -> None:
            replayed.append(self)

    replayed: list[Graph] = []
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    withheld = Withheld()
    with graphs_withheld(withheld):
        Graph().replay()
    assert (replayed, withheld.launches) == ([], 1)
    Graph().replay()
    assert len(replayed) == 1


@pytest.mark.parametrize("inherits", [False, True])
def test_an_attribute_is_put_back_where_it_was(inherits: bool):
    class Base:
        def launch(self) -> str:
            return "own"

    class Kernel(Base):
        pass

    owner = Kernel if inherits else Base
    before = dict(vars(owner))
    with replaced(owner, "launch", lambda self: "another"):
        assert Kernel().launch() == "another"
    assert Kernel().launch() == "own"
    assert dict(vars(owner)) == before


def test_a_failure_of_the_graders_own_part_is_recorded_even_where_a_file_catches_it():
    withheld = Withheld()
    with pytest.raises(KeyError), withheld.own_part():
        raise KeyError("first")
    with pytest.raises(ValueError, match="second"), withheld.own_part():
        raise ValueError("second")
    assert withheld.broken == "KeyError: 'first'"


GOOD = {
    "kernel": "k",
    "registers": 1,
    "spills": None,
    "shared_bytes": 0,
    "threads": 32,
    "launches": 1,
}


def test_what_was_launched_crosses_the_wall():
    reply = Reply(seq=1, launched=(Launched("k", 1, None, 0, 32, 1),))
    assert Reply.parse(reply.dump()) == reply


def test_only_so_many_kernels_and_printable_names_are_taken():
    many = [{**GOOD, "kernel": "\x1b[2J"}] * (MOST_KERNELS + 1)
    found = Reply.parse({"seq": 1, "launched": many}).launched
    assert len(found) == MOST_KERNELS
    assert found[0].kernel == "\ufffd[2J"


@pytest.mark.parametrize(
    "forged",
    [
        {"registers": -1},
        {"threads": LARGEST_COUNT + 1},
        {"threads": True},
        {"shared_bytes": 0.5},
        {"spills": "0"},
        {"launches": None},
        {"kernel": 7},
    ],
)
def test_forged_figures_of_another_form_are_refused(forged: dict[str, object]):
    with pytest.raises(WireError):
        Reply.parse({"seq": 1, "launched": [{**GOOD, **forged}]})
