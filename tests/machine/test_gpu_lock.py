"""The lock on a GPU: between real processes and users, without a GPU.

A regular file stands for the device node, but where it matters that the node is a device.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.machine import gpu_lock
from grader.machine.gpu_lock import LockableGpu, exclusive_gpu
from grader.model import CannotGrade

NOBODY = 65534
NULL = Path("/dev/null")  # a character device that every user may open, as a GPU's node is
TOO_LONG = "x" * 200  # for the name of a socket: 108 bytes at most

HOLD = """
import os, sys
from pathlib import Path
from grader.machine.gpu_lock import LockableGpu, exclusive_gpu
name, node, user = sys.argv[1:]
if user:
    os.setuid(int(user))
with exclusive_gpu(LockableGpu(name, Path(node) if node else None)):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(
    gpu: LockableGpu, temporary: Path, user: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Another process, by another user if asked, that holds the lock until it is ended."""
    node = "" if gpu.node is None else str(gpu.node)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, gpu.uuid, node, str(user or "")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
        cwd=Path(__file__).parents[2],
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_lock, "WAIT_FOR_GPU_S", 0.0)
    monkeypatch.setattr(gpu_lock, "RETRY_S", 0.01)


def fresh(node: Path | None) -> LockableGpu:
    return LockableGpu(f"GPU-{uuid.uuid4()}", node)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    node = tmp_path / "nvidia0"
    node.touch()
    return node


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("shared", ["node", "socket"])
def test_another_user_with_another_temporary_directory_is_waited_for(
    impatient: None, tmp_path: Path, shared: str, snapshot: SnapshotAssertion
):
    theirs = fresh(NULL if shared == "node" else None)
    ours = fresh(NULL) if shared == "node" else LockableGpu(theirs.uuid, None)
    with (
        held_elsewhere(theirs, tmp_path, NOBODY),
        pytest.raises(CannotGrade) as caught,
        exclusive_gpu(ours),
    ):
        pass
    assert text_of(caught.value, tmp_path) == snapshot
    with exclusive_gpu(ours):  # which that user's end has freed
        pass


def test_a_check_waits_until_the_other_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, node: Path
):
    gpu, waited = fresh(node), []
    with held_elsewhere(gpu, tmp_path) as other:

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            other.kill()
            other.wait()

        monkeypatch.setattr(gpu_lock.time, "sleep", sleep)
        with exclusive_gpu(gpu):
            assert waited == [gpu_lock.RETRY_S]


def test_the_lock_is_one_gpus(impatient: None, tmp_path: Path, node: Path):
    other = tmp_path / "nvidia1"
    other.touch()
    with exclusive_gpu(fresh(node)), exclusive_gpu(fresh(other)):
        pass


def test_what_can_be_taken_is_taken(
    impatient: None, tmp_path: Path, node: Path, snapshot: SnapshotAssertion
):
    """Without the node the socket locks, and without a socket the node."""
    gone = LockableGpu(fresh(None).uuid, tmp_path / "gone")
    for gpu in (gone, LockableGpu(TOO_LONG, node)):
        with exclusive_gpu(gpu), pytest.raises(CannotGrade) as caught, exclusive_gpu(gpu):
            pass
        assert text_of(caught.value, tmp_path) == snapshot


def test_a_lock_that_was_taken_is_given_back_when_the_other_is_busy(
    impatient: None, tmp_path: Path, node: Path
):
    held = fresh(None)
    with (
        held_elsewhere(held, tmp_path),
        pytest.raises(CannotGrade),
        exclusive_gpu(LockableGpu(held.uuid, node)),
    ):
        pass
    with exclusive_gpu(LockableGpu(TOO_LONG, node)):
        pass


def test_no_lock_at_all_names_causes_and_the_next_step(tmp_path: Path, snapshot: SnapshotAssertion):
    """Nor is a link followed, wherever somebody may have pointed it."""
    link = tmp_path / "nvidia0"
    link.symlink_to(NULL)
    with pytest.raises(CannotGrade) as caught, exclusive_gpu(LockableGpu(TOO_LONG, link)):
        pass
    assert text_of(caught.value, tmp_path) == snapshot


def test_the_node_is_that_of_this_gpus_uuid(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gpu_lock, "uuid", lambda: "GPU-1")
    monkeypatch.setattr(gpu_lock.nvml, "minor_number", {"GPU-1": 3}.get)
    assert gpu_lock.this_gpu() == LockableGpu("GPU-1", Path("/dev/nvidia3"))
    monkeypatch.setattr(gpu_lock, "uuid", lambda: "GPU-of-MIG")
    assert gpu_lock.this_gpu() == LockableGpu("GPU-of-MIG", None)


@pytest.mark.parametrize("system", ["devtmpfs", "tmpfs"])
def test_a_node_is_the_hosts_where_it_lies_in_devtmpfs(node: Path, tmp_path: Path, system: str):
    at = node.stat().st_dev
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 27 0:9999 / /proc rw,relatime - proc proc rw\n"
        f"24 27 {os.major(at)}:{os.minor(at)} /nvidia0 /dev/nvidia0 rw shared:2 - {system} x rw\n"
    )
    assert gpu_lock._is_of_the_host(node, mounts) == (system == "devtmpfs")
    mounts.write_text("22 27 0:9999 / /proc rw,relatime - proc proc rw\n")
    assert not gpu_lock._is_of_the_host(node, mounts)


def test_the_reach_is_named(monkeypatch: pytest.MonkeyPatch, node: Path):
    assert gpu_lock.reach(fresh(None)) == (
        *(False, "every process on this network, but no container with a network of its own"),
    )
    monkeypatch.setattr(gpu_lock, "_is_of_the_host", lambda node: False)
    whole, reached = gpu_lock.reach(fresh(node))
    assert not whole
    assert reached.startswith("this container and those on its network")
    monkeypatch.setattr(gpu_lock, "_is_of_the_host", lambda node: True)
    whole, reached = gpu_lock.reach(fresh(node))
    assert whole
    assert str(node) in reached
