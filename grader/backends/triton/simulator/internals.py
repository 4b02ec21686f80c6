"""The one module that imports Triton's interpreter, and hands it to the others.

Importing this module raises CannotGrade when the installed Triton does not fit.
"""

from __future__ import annotations

from triton.runtime import autotuner, errors, interpreter

from grader.backends.triton import contract
from grader.worker import contract as of_torch
from grader.worker.requirements import require

__all__ = ["Handle", "autotuner", "errors", "interpreter"]

require(of_torch.SIMULATED, contract.SIMULATED)

Handle = interpreter.TensorHandle
