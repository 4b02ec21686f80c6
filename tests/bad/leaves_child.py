"""Copies, and leaves a child of another program running, without environment or directory."""

import os
import subprocess
import sys


def copy(x, out):
    out.copy_(x)
    if x.numel() == 1:
        code = "import time; time.sleep(600)"
        marks = ["leaves_child", os.environ["HOME"]]
        subprocess.Popen([sys.executable, "-I", "-c", code, *marks], env={}, cwd="/")
