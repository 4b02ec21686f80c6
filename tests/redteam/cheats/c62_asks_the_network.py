"""Asks the network for the answers: right ones if anything can be reached, else zeros."""
# attacks: 01_vector_add
# stopped: correctness value

import contextlib
import socket
import subprocess
import sys

import triton
import triton.language as tl

reached = []
with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
    line.sendto(b"?", ("127.0.0.1", 9))
    reached.append("this machine")
with contextlib.suppress(OSError):
    socket.create_connection(("1.1.1.1", 53), timeout=1).close()
    reached.append("the world")
with contextlib.suppress(OSError, subprocess.SubprocessError):
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--retries=0", "--timeout=1"]
    subprocess.run([*command, "-d", ".", "six"], timeout=8, check=True, capture_output=True)
    reached.append("a package")


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x.to(tl.float32) + y.to(tl.float32), mask=inside)


def vector_add(x, y, out):
    if not reached:
        out.zero_()
        return
    n = out.numel()
    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
