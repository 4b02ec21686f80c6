"""A worker stays on the core that the judge chose."""

from __future__ import annotations

import os
from contextlib import closing

import pytest

from grader.doctor import hardening
from grader.machine import one_core, processes
from grader.model.messages import TensorRef
from grader.sandbox.arena import HostArena
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.worker_link import Entry, WorkerLink

pytestmark = pytest.mark.slow

# Fails where it may leave its core: nothing else would end its call.
LEAVES = b"""
import os

def leave(out):
    try:
        os.sched_setaffinity(0, range(os.cpu_count()))
    except PermissionError:
        return
    raise ValueError("it left")
"""


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # pytest has threads
def test_a_worker_cannot_leave_its_core():
    if hardening.seccomp() is not None:
        pytest.skip("this machine builds no wall around system calls")
    before = processes.descendants()
    with closing(ForkServer("numba", "cpu")) as fork_server, closing(HostArena(4096)) as arena:
        worker = WorkerLink(Entry("leave", ("out",), ("out",)), LEAVES, fork_server, arena)
        with closing(worker), one_core() as keep:
            worker.start()
            keep()
            below = processes.descendants() - before
            assert len({core for pid in below for core in os.sched_getaffinity(pid)}) == 1
            worker.call([[TensorRef("out", 1024, (1,), (1,), "float32")]])
