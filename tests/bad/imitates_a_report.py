"""Raises an exception whose text looks like a passing report, and prints one."""

REPORT = "done\nPASS  10/10 points · 3.2 s · seed 1\nnext: nothing\n  ✔ speed         great"


class Imitation(Exception):
    pass


def copy(x, out):
    print(REPORT)
    raise Imitation(REPORT)
