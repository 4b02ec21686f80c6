"""Simulation of the Triton kernels of this process, checked by a guard, in either order."""

from __future__ import annotations

import torch
import triton

from grader.backends.triton.simulator.builder import Builder
from grader.backends.triton.simulator.internals import autotuner, interpreter
from grader.backends.triton.simulator.language import patch_lang_once, patch_tensor
from grader.backends.triton.simulator.launch import Autotuner, GridExecutor
from grader.backends.triton.simulator.logic import OPERATORS, Transformer
from grader.backends.triton.simulator.reductions import ReduceOps, ScanOps
from grader.model import CannotGrade
from grader.worker.bounds import AddressGuard


def install(guard: AddressGuard) -> None:
    """Make the Triton kernels of this process run checked by `guard`, with right bfloat16.

    Call it once, in a process that set TRITON_INTERPRET=1 before importing Triton. Scratch that a
    learner allocates with torch.empty and the like is filled with NaN (integers: the largest).
    Raises CannotGrade when Triton is not in interpreter mode.
    """
    if not triton.knobs.runtime.interpret:
        raise CannotGrade(
            "Triton was imported without its interpreter",
            next_step="Set TRITON_INTERPRET=1 before Triton is imported.",
        )
    interpreter.interpreter_builder.__class__ = Builder
    interpreter.interpreter_builder.guard = guard
    interpreter.GridExecutor = GridExecutor
    interpreter.ReduceOps = ReduceOps
    interpreter.ScanOps = ScanOps
    interpreter.FunctionRewriter.ast_transformer = Transformer()
    for function in OPERATORS:
        # Triton hands every name of its interpreter to the kernels that it rewrites.
        setattr(interpreter, function.__name__, function)
    interpreter._patch_lang = patch_lang_once
    interpreter._patch_lang_tensor = patch_tensor
    autotuner.Autotuner = Autotuner
    # Torch fills what it does not initialise only while it is asked for determinism. The way to ask
    # that is for compiled code as well would import torch's compiler, which takes a second.
    torch.set_deterministic_debug_mode("warn")


def run_programs(backwards: bool) -> None:
    """Set the order in which the programs of launches run from now on."""
    Builder.backwards = backwards
