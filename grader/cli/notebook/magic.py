"""`%load_ext grader` and the cell magic `%%kernel NAME`, for IPython."""

from __future__ import annotations

from typing import Any

from grader.cli import say
from grader.cli.notebook.checked import Checked
from grader.cli.notebook.judge import check
from grader.model import GraderError


def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic `%%kernel` to IPython, which calls this for `%load_ext grader`."""
    shell.register_magic_function(kernel, "cell")


def kernel(line: str, cell: str) -> Checked | None:
    """Grade the whole cell as the kernel file of an exercise: `%%kernel NAME [DEVICE]`.

    The cell runs only in the process that grades it: this notebook does not know its names.
    """
    name, device, *_ = [*line.split(), "", ""]
    try:
        return check(name, f"{cell}\n", device or "auto")
    except GraderError as error:
        say.message(f"error: {error.message}")
        if error.next_step:
            say.message(f"next: {error.next_step}")
        return None
