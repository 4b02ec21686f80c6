"""Turns its process into the program `true`, which ends with exit status 0."""
# attacks: 01_vector_add
# stopped: correctness exit

import os
import shutil


def vector_add(x, y, out):
    os.execv(shutil.which("true"), ["true"])
