"""A worker's line to the simulated device beside it, and the memory that the two share."""

from __future__ import annotations

import fcntl
import os
import socket
from dataclasses import dataclass

from grader.model import LONGEST_LAUNCH, Channel

SCRATCH = 2 << 30  # bytes for what a kernel file allocates; pages that nobody touches do not exist


@dataclass(frozen=True)
class DeviceLink:
    """One end of the link between a worker and its simulated device.

    `scratch` is the descriptor of a file of SCRATCH bytes that both ends map.
    """

    channel: Channel
    scratch: int


def linked(sock: socket.socket, scratch: int) -> DeviceLink:
    return DeviceLink(Channel(sock, LONGEST_LAUNCH), scratch)


def scratch_memory() -> int:
    """Make an anonymous file, sealed so that a worker cannot shrink it under the device."""
    fd = os.memfd_create("grader-scratch", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, SCRATCH)
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd
