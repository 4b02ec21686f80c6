"""One measurement at a time on a GPU: a lock for all judges, and the other programs there.

The judge takes two locks together, because each reaches processes that the other does not:

- flock(2) on the GPU's device node, for example /dev/nvidia0. Every user of the GPU may open it:
  any user, any Slurm job whatever its temporary directory, and every container with a bind mount
  of the host's node. Linux keeps the lock with the inode: a container whose runtime made a node of
  its own has another lock.
- An abstract Unix socket, bound to the GPU's UUID. It needs no file, and reaches every process in
  the same network namespace: also where the node is not known, and containers on the host's
  network.

A lock file would need a folder that all of them share and may write to. A temporary directory may
belong to one job. In a sticky folder another user's file may be a link, or the system may refuse to
open it (fs.protected_regular). Nobody can plant either lock here, and the kernel drops both when a
process ends. A UUID names one instance of a GPU that is split (MIG): an instance has no node of its
own, and only the socket locks it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.machine import nvml, processes
from grader.model import CannotGrade

WAIT_FOR_GPU_S = 60.0
RETRY_S = 0.2  # between two attempts while another check holds the GPU
DEVICES, MOUNTS = Path("/dev"), Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class LockableGpu:
    """A GPU by its UUID, and by its device node if that is known."""

    uuid: str
    node: Path | None


def uuid() -> str:
    import torch

    return f"GPU-{torch.cuda.get_device_properties(0).uuid}"


def this_gpu() -> LockableGpu:
    name = uuid()
    minor = nvml.minor_number(name)
    return LockableGpu(name, None if minor is None else DEVICES / f"nvidia{minor}")


@contextmanager
def exclusive_gpu(gpu: LockableGpu | None = None) -> Iterator[None]:
    """Hold the locks that all judges share for a GPU: this process's GPU unless another is given.

    Raises CannotGrade when another check holds a lock for longer than WAIT_FOR_GPU_S, and when the
    system grants neither lock.
    """
    gpu = gpu or this_gpu()
    deadline = time.monotonic() + WAIT_FOR_GPU_S
    while (held := _locks(gpu)) is None:
        if time.monotonic() > deadline:
            raise CannotGrade(
                f"Another check has been measuring on this GPU for {WAIT_FOR_GPU_S:.0f} s.",
                "Wait until it is done, and check again.",
            )
        time.sleep(RETRY_S)
    with held:
        yield


def _locks(gpu: LockableGpu) -> ExitStack | None:
    """Take every lock that the system grants; None while another process holds one of them."""
    refused = []
    with ExitStack() as taken:
        for lock in (_node_lock(gpu.node), _socket_lock(gpu.uuid)):
            try:
                taken.enter_context(lock)
            except BlockingIOError:
                return None
            except OSError as error:
                refused.append(str(error))
        if len(refused) == 2:
            raise CannotGrade(
                f"The GPU cannot be locked against other checks: {'; '.join(refused)}.",
                "Permit this user to open the GPU's device node or to make Unix sockets, or "
                "grade without the GPU: --device cpu.",
            )
        return taken.pop_all()


@contextmanager
def _node_lock(node: Path | None) -> Iterator[None]:
    """Hold the lock on the device node.

    Raises BlockingIOError while another process holds it, OSError when the node cannot be locked.
    """
    if node is None:
        raise OSError("the driver does not name the GPU's device node")
    descriptor = os.open(node, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _socket_lock(name: str) -> Iterator[None]:
    """Hold the lock by the socket's name.

    Raises BlockingIOError while another process holds it, OSError when no socket can be made.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        try:
            held.bind(f"\0kernel-grader/{name}")
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise BlockingIOError(*error.args) from None
        yield


def reach(gpu: LockableGpu | None = None) -> tuple[bool, str]:
    """Report whether the locks reach all users of this machine, and describe their reach."""
    node = (gpu or this_gpu()).node
    if node is None or not os.access(node, os.R_OK):
        return False, "every process on this network, but no container with a network of its own"
    if not _is_of_the_host(node):
        return False, (
            f"this container and those on its network: {node} was made for this container, and "
            "others may have their own"
        )
    return True, f"all users, jobs and containers with this machine's {node} or its network"


def _is_of_the_host(node: Path, mounts: Path = MOUNTS) -> bool:
    """Report whether a device node lies in devtmpfs: there is one for the whole machine."""
    at = os.stat(node).st_dev
    device = f"{os.major(at)}:{os.minor(at)}"
    # proc_pid_mountinfo(5): the third field is the device; after a dash comes the file system.
    for line in mounts.read_text().splitlines():
        mounted, _, system = line.partition(" - ")
        if mounted.split()[2] == device:
            return system.split()[0] == "devtmpfs"
    return False


def describe_others(others: Sequence[nvml.Process]) -> str | None:
    if not others:
        return None
    names = ", ".join(f"{one.name} (process {one.pid})" for one in others)
    return f"another program uses the GPU: {names}"


def others() -> Sequence[nvml.Process]:
    return nvml.others(uuid(), {os.getpid(), *processes.descendants()})
