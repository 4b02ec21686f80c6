"""The device that a check runs on, and the signs of a GPU that is missing or lost."""

from __future__ import annotations

import errno
import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grader.model import CannotGrade

if TYPE_CHECKING:
    from grader.model import Failure

OLDEST = (7, 5)  # compute capability: the oldest that torch's CUDA 13 builds run on


def choose_device(requested: str) -> str:
    """Return `cpu` or `cuda` for a request of auto, cpu or cuda.

    Raises CannotGrade when cuda is requested and kernels cannot run on a GPU here.
    """
    if requested == "cpu":
        return "cpu"
    lack = _why_no_gpu()
    if lack is None:
        return "cuda"
    if requested == "cuda":
        raise CannotGrade(lack, "Grade in simulation instead: --device cpu.")
    return "cpu"


def capability() -> int:
    """Return this GPU's compute capability, such as 90. Only where there is a GPU."""
    import torch

    major, minor = torch.cuda.get_device_capability()
    return 10 * major + minor


def release_cached_memory() -> None:
    """Give back the GPU memory that torch keeps for later, if this process has used a GPU.

    A judge that stays warm then finds as much free memory as a new one. Sizes follow from it, and
    so does the part that is reserved from a kernel.
    """
    torch = sys.modules.get("torch")  # nothing is cached where it was not imported
    if torch is not None and torch.cuda.is_initialized():
        gc.collect()
        torch.cuda.empty_cache()


def has_driver() -> bool:
    """Guess, without torch, that this machine has a GPU: NVIDIA's driver is loaded."""
    return Path("/dev/nvidiactl").exists()


def _why_no_gpu() -> str | None:
    import torch

    if torch.version.cuda is None:
        return "There is no GPU to grade on: this torch was built without CUDA."
    if not torch.cuda.is_available():
        return "There is no GPU to grade on: torch sees none (does `nvidia-smi` show one?)."
    capability = torch.cuda.get_device_capability()
    if capability < OLDEST:
        have, need = (".".join(map(str, c)) for c in (capability, OLDEST))
        return f"The GPU is too old: its compute capability is {have}; kernels need {need}."
    try:
        import cuda.bindings  # noqa: F401  for the GPU memory that judge and worker share
    except ImportError:
        return "The package cuda-bindings is missing: pip install 'kernel-grader[gpu]'."
    return None


def gpu_is_lost(error: BaseException) -> bool:
    """Recognize torch's error for a lost GPU, in a process that runs no learner's kernel.

    An error for too little GPU memory counts, too.
    """
    return isinstance(error, RuntimeError) and "CUDA" in str(error)


def is_out_of_memory(error: BaseException) -> bool:
    """Recognize that this process got no memory. On the CPU only torch's text tells."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def is_full_disk(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def lost_gpu(error: BaseException) -> Failure:
    from grader.model import Failure  # imports pydantic, which takes a worker's start 0.1 s

    said = str(error).splitlines()[0]
    if "out of memory" in said:
        return Failure(
            kind="cannot_grade",
            message=f"the GPU has too little free memory: {said}",
            hint="`nvidia-smi` lists what holds it. The steps before this one count.",
        )
    return Failure(
        kind="cannot_grade",
        message=f"the GPU stopped answering: {said}",
        hint="See what `nvidia-smi` and the system's log say; the steps before this one count.",
    )
