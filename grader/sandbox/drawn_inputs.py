"""The check that a spec's `inputs` draws each argument as the spec declares it."""

from __future__ import annotations

from torch import Tensor

from grader.model import MOST_SEED, Argument, BrokenExercise, Inputs, Spec


def check_inputs(spec: Spec, inputs: Inputs) -> None:
    """Raise BrokenExercise unless `inputs` draws each argument as the spec declares it."""
    for argument in spec.arguments:
        if argument.role != "out" and (wrong := _misdrawn(argument, inputs)):
            fault, next_step = wrong
            raise BrokenExercise(f"The exercise is broken: {fault}.", next_step)


def _misdrawn(argument: Argument, inputs: Inputs) -> tuple[str, str] | None:
    """Return in which way an argument is not drawn as it is declared, and what to change."""
    name, declared = argument.name, argument.dtype
    if name not in inputs:
        return (
            f"`inputs` draws no {name}",
            f"It draws {', '.join(inputs) or 'nothing'}: name each as in `arguments`.",
        )
    drawn = type(inputs[name]).__name__
    if argument.role != "scalar":
        if isinstance(inputs[name], Tensor):
            return None
        return f"{name} is declared as a tensor, and `inputs` draws {drawn}", "Draw a tensor."
    if argument.seeds and (drawn != declared or not 0 <= inputs[name] <= MOST_SEED):
        return f"{name} is {inputs[name]}", "Draw it with draw.seed()."
    if drawn == declared:
        return None
    change = f'Declare it as scalar("{name}", "{drawn}"), or draw another number.'
    numbers = ("float", "int", "bool")
    return (
        f"{name} is declared as {declared}, and `inputs` draws {drawn}",
        change if drawn in numbers else f"Draw a Python number, of the type {declared}.",
    )
