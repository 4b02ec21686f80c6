"""What this machine can do: which device a check runs on, and whether the GPU is still there."""

from __future__ import annotations

from pathlib import Path

from grader.model import CannotGrade, Failure

OLDEST = (7, 5)  # compute capability: the oldest that torch's CUDA 13 builds run on


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
