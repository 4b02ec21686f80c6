"""The authors' API: everything that a `spec.py` is written with. The records live in `model`."""

from grader.model.base_spec import BaseSpec, Limits
from grader.model.exercise import (
    ITEMSIZE,
    LARGEST,
    Argument,
    Budget,
    Case,
    Draw,
    Gates,
    Inputs,
    Scored,
    Shape,
    Spec,
    Tolerance,
    a_hundredth,
    reads,
    scalar,
    updates,
    writes,
)

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
