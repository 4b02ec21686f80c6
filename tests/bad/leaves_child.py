"""Copies, and leaves a child of another program running, with no trace of where it comes from."""

import subprocess
import sys


def copy(x, out):
    out.copy_(x)
    if x.numel() == 1:
        code = "import time; time.sleep(600)"
        subprocess.Popen([sys.executable, "-I", "-c", code, "left-behind"], env={}, cwd="/")
