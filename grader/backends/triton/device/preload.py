"""A small kernel's launch in the fork server, before devices are forked from it.

A device's first launch makes the parser, imports all operations, and has torch and numpy load what
they load late: 80 ms, and a check starts three devices.
"""

from __future__ import annotations

import hashlib

import numpy as np

from grader.backends.triton.device.calls import Call
from grader.backends.triton.device.launches import Device
from grader.backends.triton.device.provenance import Provenance
from grader.backends.triton.device.requests import Requested
from grader.backends.triton.device.traffic import Traffic
from grader.model import BuildOptions
from grader.worker.bounds import Span

_ADDRESS = 1 << 20
_ELEMENTS = 100
_KERNEL = """
module {
  tt.func public @sums(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
    %size = arith.constant 64 : i32
    %program = tt.get_program_id x : i32
    %first = arith.muli %program, %size : i32
    %lanes = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %firsts = tt.splat %first : i32 -> tensor<64xi32>
    %offsets = arith.addi %firsts, %lanes : tensor<64xi32>
    %ends = tt.splat %n : i32 -> tensor<64xi32>
    %inside = arith.cmpi slt, %offsets, %ends : tensor<64xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %sources = tt.addptr %xs, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %values = tt.load %sources, %inside : tensor<64x!tt.ptr<f32>>
    %outs = tt.splat %out : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %targets = tt.addptr %outs, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %sum = "tt.reduce"(%values) <{axis = 0 : i32}> ({
    ^bb0(%one: f32, %other: f32):
      %both = arith.addf %one, %other : f32
      tt.reduce.return %both : f32
    }) : (tensor<64xf32>) -> f32
    %sums = tt.splat %sum : f32 -> tensor<64xf32>
    tt.store %targets, %sums, %inside : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""


def preload() -> str | None:
    """Launch the kernel. Returns the reason if that failed: the device then reports it itself."""
    call = _call()
    try:
        _launch(call)
    except Exception as error:
        return f"The simulated GPU is not preloaded: {type(error).__name__}: {error}"
    answer = call.answer()
    return f"The simulated GPU is not preloaded: {answer['message']}" if answer else None


def _call() -> Call:
    size = 4 * _ELEMENTS
    starts = {"x": _ADDRESS, "out": _ADDRESS + size}
    spans = tuple(Span(start, start + size, name) for name, start in starts.items())
    traffic = Traffic((span, 4) for span in spans)
    return Call(spans=spans, traffic=traffic, provenance=Provenance(spans))


def _launch(call: Call) -> None:
    memory = np.zeros(8 * _ELEMENTS, np.uint8)
    device = Device(memory, memory[:0])
    device.map(_ADDRESS)
    request = Requested(
        kernel="sums",
        digest=hashlib.sha256(_KERNEL.encode()).hexdigest(),
        text=_KERNEL,
        grid=(2, 1, 1),
        options=BuildOptions(),
        arguments=(call.spans[0].start, call.spans[1].start, _ELEMENTS),
        storages=(),
        trial=False,
    )
    device.receive(request)
    call.attempt(lambda: device.launch(request, call))
