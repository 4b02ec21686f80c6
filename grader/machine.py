"""What this machine can do: the device that a check runs on, and who else is on it."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from grader import nvml, processes
from grader.errors import CannotGrade
from grader.results import Failure

OLDEST = (7, 5)  # compute capability: the oldest that torch's CUDA 13 builds run on
WAIT_FOR_GPU_S = 60.0


def choose_device(wanted: str) -> str:
    """`cpu` or `cuda`, for auto, cpu or cuda. Raises CannotGrade when cuda is wanted and absent."""
    if wanted == "cpu":
        return "cpu"
    lack = _what_is_missing()
    if lack is None:
        return "cuda"
    if wanted == "cuda":
        raise CannotGrade(lack, "Grade in simulation instead: --device cpu.")
    return "cpu"


def has_driver() -> bool:
    """Whether NVIDIA's driver is loaded: a guess at there being a GPU that needs no torch."""
    return Path("/dev/nvidiactl").exists()


def _what_is_missing() -> str | None:
    """Why kernels cannot run on a GPU here, or None when they can."""
    import torch

    if torch.version.cuda is None:
        return "There is no GPU to grade on: this torch was built without CUDA."
    if not torch.cuda.is_available():
        return "There is no GPU to grade on: torch sees none (does `nvidia-smi` show one?)."
    capability = torch.cuda.get_device_capability()
    if capability < OLDEST:
        have, need = (".".join(map(str, c)) for c in (capability, OLDEST))
        return f"The GPU is too old: its compute capability is {have}, and {need} is needed."
    try:
        import cuda.bindings  # noqa: F401  how judge and worker share GPU memory
    except ImportError:
        return "The package cuda-bindings is missing: pip install 'kernel-grader[gpu]'."
    return None


def gpu_is_lost(error: BaseException) -> bool:
    """Whether torch says that this process, which runs no kernel of a learner's, lost its GPU."""
    return isinstance(error, RuntimeError) and "CUDA" in str(error)


def lost_gpu(error: BaseException) -> Failure:
    return Failure(
        kind="cannot_grade",
        message=f"the GPU stopped answering: {str(error).splitlines()[0]}",
        hint="See what `nvidia-smi` and the system's log say; the steps before this one count.",
    )


def gpu_uuid() -> str:
    """Of the GPU that torch uses, as NVML writes it."""
    import torch

    return f"GPU-{torch.cuda.get_device_properties(0).uuid}"


def others_on_gpu() -> Sequence[nvml.Process]:
    """Programs on the GPU that are neither this process nor below it."""
    return nvml.others(gpu_uuid(), {os.getpid(), *processes.descendants()})


@contextmanager
def gpu_for_us_alone() -> Iterator[None]:
    """Hold the lock that all who measure on this machine share for the GPU.

    Raises CannotGrade when another check measures for longer than WAIT_FOR_GPU_S.
    """
    path = Path(tempfile.gettempdir()) / f"grader-{gpu_uuid()}.lock"
    with path.open("a") as lock:
        deadline = time.monotonic() + WAIT_FOR_GPU_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise CannotGrade(
                        f"Another check has been measuring on this GPU for {WAIT_FOR_GPU_S:.0f} s.",
                        "Wait until it is done, and check again.",
                    ) from None
                time.sleep(0.2)
        yield
