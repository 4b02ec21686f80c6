"""Sends the simulated GPU a text that Triton would not print, to end it with a wrong output."""
# attacks: 01_vector_add
# stopped: correctness not_simulated

import hashlib

import triton
import triton.language as tl
from triton.runtime import driver

LINE = getattr(driver.active.launcher_cls, "args", [None])[0]  # to the simulated GPU
TEXT = "module {\n  tt.func public @k() {\n    arith.constant 1 : i32\n    tt.return\n  }\n}\n"


@triton.jit
def _copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    here = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + here, tl.load(x_ptr + here, mask=here < n), mask=here < n)


def vector_add(x, y, out):
    _copy[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    if LINE is not None:
        LINE._channel.send(
            {"op": "launch", "seq": 0, "kernel": "k", "ttir": TEXT, "grid": [1, 1, 1], "warps": 4}
            | {"digest": hashlib.sha256(TEXT.encode()).hexdigest(), "arguments": [], "storages": []}
        )
        LINE._channel.receive()
