"""The Triton driver of a worker without a GPU: it compiles to TTIR and sends launches away.

Importing it raises CannotGrade when the installed Triton or torch does not fit.
"""

from __future__ import annotations

from grader.backends.triton import contract
from grader.worker import contract as of_torch
from grader.worker.requirements import require

require(of_torch.SIMULATED, contract.DRIVER, contract.DRIVER_OF_TORCH)
