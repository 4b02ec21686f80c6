"""Writes a file of a gigabyte: right answers if it could, else zeros."""
# attacks: 03_three_pass_softmax
# stopped: correctness value

import contextlib
import os
from pathlib import Path

wrote = False
path = Path.home() / "large"
with contextlib.suppress(OSError), path.open("wb") as file:
    os.posix_fallocate(file.fileno(), 0, 1 << 30)
    wrote = True
path.unlink(missing_ok=True)


def softmax(x, out):
    if wrote:
        out.copy_(x.float().softmax(-1))
    else:
        out.zero_()
