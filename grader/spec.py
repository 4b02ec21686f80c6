"""The authors' API: everything that a `spec.py` is written with. The records live in `model`."""

from grader.model.arguments import (
    ITEMSIZE,
    LARGEST,
    MOST_SEED,
    Argument,
    Inputs,
    Shape,
    reads,
    scalar,
    seed,
    updates,
    writes,
)
from grader.model.base_spec import BaseSpec, Limits
from grader.model.cases import Case, Draw
from grader.model.exercise import Budget, Mistake, Spec, Tolerance, a_hundredth
from grader.model.instructions import Instructions
from grader.model.randomness import Choice, Randomness
from grader.model.scored import Gates, Scored

__all__ = [
    "ITEMSIZE",
    "LARGEST",
    "MOST_SEED",
    "Argument",
    "BaseSpec",
    "Budget",
    "Case",
    "Choice",
    "Draw",
    "Gates",
    "Inputs",
    "Instructions",
    "Limits",
    "Mistake",
    "Randomness",
    "Scored",
    "Shape",
    "Spec",
    "Tolerance",
    "a_hundredth",
    "reads",
    "scalar",
    "seed",
    "updates",
    "writes",
]
