"""Says that it was called, by a file, and never returns."""

import time
from pathlib import Path


def copy(x, out):
    Path("called").touch()
    time.sleep(600)
