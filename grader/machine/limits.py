"""The limits that a shell sets on its programs (`ulimit`), of which a check needs some."""

from __future__ import annotations

import resource

from grader.model import CannotGrade

# Measured for a check on the CPU: it fails with 20 open files and passes with 32; it fails with
# 8 GiB of addresses, of which the libraries reserve far more than they use, and passes with 12.
FILES = 64
ADDRESSES = 16 << 30  # bytes


def require_limits() -> None:
    """Raise CannotGrade if the shell's limits are too low: the judge would fail obscurely."""
    files, addresses = _soft(resource.RLIMIT_NOFILE), _soft(resource.RLIMIT_AS)
    if files is not None and files < FILES:
        raise CannotGrade(
            f"This shell lets a program open {files} files (`ulimit -n`), and a check needs "
            f"{FILES}.",
            f"Check in a new shell, or raise the limit first: `ulimit -n {FILES}`.",
        )
    if addresses is not None and addresses < ADDRESSES:
        raise CannotGrade(
            f"This shell limits a program to {addresses / 2**30:.1f} GiB of addresses "
            f"(`ulimit -v`), and a check needs {ADDRESSES >> 30} GiB: libraries reserve far more "
            "than they use.",
            "Check in a new shell, or raise the limit first: `ulimit -v unlimited`.",
        )


def _soft(kind: int) -> int | None:
    soft, _ = resource.getrlimit(kind)
    return None if soft == resource.RLIM_INFINITY else soft
