"""What kernels print and assert."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from grader.backends.triton.device.faults import AssertFailed
from grader.backends.triton.device.printed import MOST_LINES, Printed

from .launched import Gpu, simulated_gpu


@pytest.fixture
def gpu(tmp_path: Path) -> Iterator[Gpu]:
    with simulated_gpu(tmp_path) as gpu:
        yield gpu


@triton.jit
def talkative(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.device_print("x", x)
    if tl.program_id(1) == 1:
        tl.device_print("both", i, x)
        tl.device_print("here")
        tl.device_print("bits", (i - 1).to(tl.uint8), hex=True)
        tl.device_print("unsigned", (tl.program_id(1) - 2).to(tl.uint8))


def test_a_kernel_prints_each_element(gpu: Gpu) -> None:
    text = gpu.launch(talkative, (1, 2), torch.tensor([0.5, 2.0]), BLOCK=2)
    assert text.splitlines() == [
        "pid (0, 0, 0) idx (0) x: 0.5",
        "pid (0, 0, 0) idx (1) x: 2.0",
        "pid (0, 1, 0) idx (0) x: 0.5",
        "pid (0, 1, 0) idx (1) x: 2.0",
        "pid (0, 1, 0) idx (0) both: (operand 0) 0",
        "pid (0, 1, 0) idx (1) both: (operand 0) 1",
        "pid (0, 1, 0) idx (0) both: (operand 1) 0.5",
        "pid (0, 1, 0) idx (1) both: (operand 1) 2.0",
        "pid (0, 1, 0) here",
        "pid (0, 1, 0) idx (0) bits: 0xff",
        "pid (0, 1, 0) idx (1) bits: 0x00",
        "pid (0, 1, 0) idx () unsigned: 255",
    ]


@triton.jit
def matrix(BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.device_print("m", i[:, None] * BLOCK + i[None, :])


def test_a_kernel_prints_no_more_than_a_limit(gpu: Gpu) -> None:
    lines = gpu.launch(matrix, (3,), BLOCK=32).splitlines()
    assert len(lines) == MOST_LINES + 1
    assert lines[33] == "pid (0, 0, 0) idx (1, 1) m: 33"
    assert lines[-1] == f"({3 * 1024 - MOST_LINES} more lines of tl.device_print are left out)"


def test_what_was_taken_is_printed_once() -> None:
    printed = Printed()
    printed.add("a")
    assert printed.take() == "a\n"
    assert printed.take() == ""


@triton.jit
def asserts(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + i)
    tl.device_assert(x > 0, "x must be positive")


def test_a_failed_assertion_names_program_and_element(gpu: Gpu) -> None:
    x = torch.ones(12)
    gpu.launch(asserts, (3,), x, BLOCK=4, debug=True)
    x[6] = -1
    with pytest.raises(AssertFailed) as failed:
        gpu.launch(asserts, (3,), x, BLOCK=4, debug=True)
    assert failed.value.message == (
        "tl.device_assert failed in program (1, 0, 0), element (2): x must be positive"
    )
    assert failed.value.site is not None
    assert failed.value.site.file == __file__


def test_without_debug_nothing_is_asserted(gpu: Gpu) -> None:
    gpu.launch(asserts, (3,), -torch.ones(12), BLOCK=4)


@triton.jit
def named(x_ptr, BLOCK: tl.constexpr):
    größe = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.device_assert(größe > 0, "Größe fehlt")


def test_names_and_messages_may_have_letters_of_any_language(gpu: Gpu) -> None:
    with pytest.raises(AssertFailed, match="Größe fehlt"):
        gpu.launch(named, (1,), torch.tensor([1.0, 0.0]), BLOCK=2, debug=True)
