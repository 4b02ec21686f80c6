"""The filter of system calls, carried out here for processors that are not at hand."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from grader.worker import system_calls
from grader.worker.linux import CLONE_NEWUSER


def carried_out(code: bytes, audit: int, number: int, *arguments: int) -> int:
    """Carry the filter out, by the few operations of linux/filter.h that it uses."""
    data = struct.pack("<iIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    lines = list(struct.iter_unpack("<HBBI", code))
    at = held = 0
    while True:
        operation, if_true, if_false, value = lines[at]
        at += 1
        if operation == system_calls.LOAD:
            (held,) = struct.unpack_from("<I", data, value)
        elif operation == system_calls.RETURN:
            return value
        else:
            true = {
                system_calls.EQUAL: held == value,
                system_calls.AT_LEAST: held >= value,
                system_calls.ANY_BIT: bool(held & value),
            }[operation]
            at += if_true if true else if_false


REFUSED = system_calls.ERRNO | system_calls.EPERM


@pytest.mark.parametrize("name", system_calls.PROCESSORS)
def test_the_filter_refuses_what_it_should_and_nothing_else(name: str):
    processor = system_calls.PROCESSORS[name]
    code = system_calls.program(processor)

    def answer(number: int, *arguments: int, audit: int = processor.audit) -> int:
        return carried_out(code, audit, number, *arguments)

    denied = set(processor.denied.values())
    assert len(denied) == len(processor.denied)
    special = {processor.clone, processor.socket, processor.ioctl, system_calls.CLONE3}
    assert not denied & special
    for number in range(500):
        if number not in special:
            assert answer(number) == (REFUSED if number in denied else system_calls.ALLOW)
    assert answer(system_calls.CLONE3) == system_calls.ERRNO | system_calls.ENOSYS
    assert answer(processor.socket, system_calls.AF_UNIX) == system_calls.ALLOW
    assert {answer(processor.socket, family) for family in (2, 10, 16, 17)} == {REFUSED}
    assert answer(processor.clone, 0x3D0F00) == system_calls.ALLOW  # as the C library makes threads
    assert answer(processor.clone, CLONE_NEWUSER | 17) == REFUSED
    assert answer(processor.ioctl, 0, system_calls.TIOCSTI) == REFUSED
    assert answer(processor.ioctl, 0, 0x5401) == system_calls.ALLOW
    assert answer(0, audit=0x40000003) == system_calls.KILL_PROCESS
    assert answer(system_calls.X32) == REFUSED


def test_this_processors_numbers_are_those_of_its_headers():
    """They are compared where headers are at hand."""
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists() or os.uname().machine != "x86_64":
        pytest.skip("no headers of Linux here")
    words = [line.split() for line in header.read_text().splitlines()]
    numbers = {w[1].removeprefix("__NR_"): int(w[2]) for w in words if len(w) == 3}
    x86 = system_calls.PROCESSORS["x86_64"]
    ours = x86.denied | {"clone": x86.clone, "socket": x86.socket, "ioctl": x86.ioctl}
    assert {name: numbers.get(name, number) for name, number in ours.items()} == ours
