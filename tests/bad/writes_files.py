"""Copies, and writes into the working directory and the temporary directory."""

import tempfile
from pathlib import Path


def copy(x, out):
    out.copy_(x)
    Path("left-behind.txt").write_text("here")
    Path(tempfile.gettempdir(), "left-behind.txt").write_text("there")
