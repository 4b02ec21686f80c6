"""What a worker finds in its folder, and what is left of it: one kernel file, and nothing."""

from __future__ import annotations

import io
import os
import select
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.machine import processes
from grader.sandbox import commands
from grader.sandbox.arena import HostArena
from grader.sandbox.executor import KernelFailure
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.worker_link import Entry, WorkerLink

pytestmark = pytest.mark.slow

COPY = Exercise(Path(__file__).parents[1] / "courses" / "bad" / "exercises" / "02_copy_numba")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for all temporary files, empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def fork_server(temporary: Path) -> Iterator[ForkServer]:
    processes.adopt_orphans()
    with closing(ForkServer("numba", "cpu")) as fork_server:
        fork_server.start()
        yield fork_server


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_worker_gets_one_file_and_no_other(fork_server: ForkServer, temporary: Path):
    first = fork_server.home_for(b"one")
    second = fork_server.home_for(b"one")
    assert first != second
    assert first.read_bytes() == b"one"
    assert files_in(temporary) == ["kernel.py", "kernel.py"]


def test_what_a_kernel_file_left_is_there_for_its_next_worker_and_for_no_other_file(
    fork_server: ForkServer, temporary: Path
):
    home = fork_server.home_for(b"one").parents[1]
    given = commands.environment(home)
    caches = [Path(path) for name, path in given.items() if name.endswith("_CACHE_DIR")]
    for folder in caches:
        (folder / "key").mkdir(parents=True)
        (folder / "key" / "launcher.so").write_bytes(b"\x7fELF")
    (home / "outside").symlink_to(temporary)
    fork_server.home_for(b"one")
    # Of Triton, numba and torch's compiler.
    assert files_in(home).count("launcher.so") == 3
    kept = temporary / "kept"
    kept.touch()
    fork_server.home_for(b"two")
    assert files_in(home) == ["kernel.py"]
    assert kept.exists()


def test_a_worker_knows_its_temporary_folder_and_need_not_try_one():
    """A right kernel failed: its home was cleared while Python tried to write there."""
    kernel = b"import tempfile\nraise ValueError(tempfile.tempdir)\n"
    with closing(HostArena(1 << 20)) as arena, closing(ForkServer("numba", "cpu")) as fork_server:
        link = WorkerLink(Entry("f", ("x",)), kernel, fork_server, arena)
        with closing(link), pytest.raises(KernelFailure) as caught:
            link.load()
        assert str(fork_server._home) in caught.value.failure.message


def test_nothing_is_left_when_the_fork_server_is_closed(fork_server: ForkServer, temporary: Path):
    fork_server.home_for(b"one")
    fork_server.close()
    assert list(temporary.iterdir()) == []


LOOKS = """
import os
import subprocess
import sys
from pathlib import Path
home = Path(os.environ["HOME"])
print("found", sorted(str(p.relative_to(home)) for p in home.rglob("*") if p.is_file()))
Path(os.environ["NUMBA_CACHE_DIR"]).mkdir(exist_ok=True)
Path(os.environ["NUMBA_CACHE_DIR"], "planted.nbc").write_text("{name}")
def copy(x, out):
    raise NotImplementedError
"""


def test_one_kernel_file_finds_nothing_that_another_left(temporary: Path):
    """In one judge, whose workers share a parent."""
    kernels = [temporary / f"{name}.py" for name in ("a", "b")]
    for kernel in kernels:
        kernel.write_text(LOOKS.replace("{name}", kernel.stem))
    before = sorted(os.listdir(temporary))
    results = check.run([Request(COPY, kernel, Options(device="cpu")) for kernel in kernels], print)
    for result in results:
        first, *_ = result.output.splitlines()
        assert first.startswith("found ['kernel-")
        assert first.endswith("/kernel.py']")
        assert first.count(",") == 0
    assert sorted(os.listdir(temporary)) == before


@pytest.mark.parametrize("instead", ["link", "file", "nothing"])
def test_a_home_that_a_kernel_file_replaced_is_made_again(
    fork_server: ForkServer, temporary: Path, instead: str
):
    """Where no wall keeps it from that. What its link leads to is not the judge's to clear."""
    home = fork_server.home_for(b"one").parents[1]
    fork_server.clear_home()
    home.rmdir()
    outside = temporary / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    if instead == "link":
        home.symlink_to(outside)
    if instead == "file":
        home.touch()
    second = fork_server.home_for(b"two")
    assert files_in(home) == ["kernel.py"]
    assert second.is_file()
    assert [path.name for path in outside.iterdir()] == ["kept"]


class Births:
    """The lock around a process's start; notices a thread that has to wait for it."""

    def __init__(self) -> None:
        self.waited_for = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.waited_for.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def named_pipe(path: Path) -> io.FileIO:
    """Make a named pipe, and open it so that no other side has to be there."""
    os.mkfifo(path)
    return open(path, "r+b", buffering=0)


def test_a_command_on_a_thread_and_a_fork_server_leave_each_other_alone(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
):
    """A command ends while a fork server begins, and a fork server while a command runs."""
    processes.adopt_orphans()
    started, threads = subprocess.Popen, []
    printed: list[str] = []
    births = Births()

    def popen(argv: list[str], **options: object) -> subprocess.Popen[bytes]:
        process = started(argv, **options)
        if "grader.worker" in argv:
            begin("echo first")
            assert births.waited_for.wait(60), "the command neither ends nor waits"
        return process

    def begin(script: str) -> None:
        threads.append(threading.Thread(target=run, args=(script,)))
        threads[-1].start()

    def run(script: str) -> None:
        # A command that another thread killed has no status that shows it.
        printed.append(commands.run_once(["sh", "-c", script], temporary, 60).output)
        births.waited_for.set()

    monkeypatch.setattr(commands, "_births", births)
    monkeypatch.setattr(commands.subprocess, "Popen", popen)
    with named_pipe(temporary / "began") as began, named_pipe(temporary / "goes_on") as goes_on:
        with closing(ForkServer("numba", "cpu")) as fork_server:
            fork_server.start()
            assert fork_server._process.poll() is None
            begin("echo > began; read line < goes_on; echo second")
            assert select.select([began], [], [], 60)[0]
        goes_on.write(b"\n")
        for thread in threads:
            thread.join()
    assert sorted(printed) == ["first\n", "second\n"]  # either thread may come last
