"""Arguments of a call in plain GPU allocations, which NVIDIA's compute-sanitizer watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cuda import core

from grader.backends.cuda import programs


class _WithLines(programs.Program):
    def __init__(
        self, code: Any, code_type: Any, options: core.ProgramOptions | None = None
    ) -> None:
        options = options or core.ProgramOptions()
        options.lineinfo = True
        super().__init__(code, code_type, options)


def install(*, lines: bool) -> Callable[[torch.Tensor], object]:
    """Return the conversion of a tensor to an argument.

    With `lines`, kernels know their source lines from now on.
    """
    core.Program = _WithLines if lines else programs.Program
    return lambda tensor: tensor
