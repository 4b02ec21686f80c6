"""The parameters of launches that are made again, in memory as a kernel takes them."""

from __future__ import annotations

import struct

import pytest

from grader.model.recording import PARAMETERS
from grader.worker.repeated_launches import TYPES, packed

STARTS = {"arena": 0x7F00_0000_0000, "scratch": 0x1000}


def test_every_parameter_that_a_reply_may_hold_has_a_type():
    assert {*TYPES, *STARTS} == set(PARAMETERS)


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (("arena", 8), struct.pack("<Q", 0x7F00_0000_0008)),
        (("scratch", 0), struct.pack("<Q", 0x1000)),
        (("u64", 0), bytes(8)),
        (("i32", -2), struct.pack("<i", -2)),
        (("i32", 1 << 31), struct.pack("<I", 1 << 31)),  # Triton's launcher wraps, too
        (("i64", 1 << 40), struct.pack("<q", 1 << 40)),
        (("u1", 1), b"\1"),
        (("fp32", 0.1), struct.pack("<f", 0.1)),
        (("fp64", 0.1), struct.pack("<d", 0.1)),
    ],
)
def test_a_parameter_is_packed(parameter: tuple[str, int | float], expected: bytes):
    (value,) = packed([parameter], STARTS)
    assert bytes(value) == expected
