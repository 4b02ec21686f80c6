"""The authors' API: everything that a `spec.py` is written with. The records live in `model`."""

from grader.model.arguments import (
    ITEMSIZE,
    LARGEST,
    Argument,
    Inputs,
    Shape,
    reads,
    scalar,
    updates,
    writes,
)
from grader.model.base_spec import BaseSpec, Limits
from grader.model.cases import Case, Draw
from grader.model.exercise import Budget, Gates, Mistake, Scored, Spec, Tolerance, a_hundredth

__all__ = [
    "ITEMSIZE",
    "LARGEST",
    "Argument",
    "BaseSpec",
    "Budget",
    "Case",
    "Draw",
    "Gates",
    "Inputs",
    "Limits",
    "Mistake",
    "Scored",
    "Shape",
    "Spec",
    "Tolerance",
    "a_hundredth",
    "reads",
    "scalar",
    "updates",
    "writes",
]
