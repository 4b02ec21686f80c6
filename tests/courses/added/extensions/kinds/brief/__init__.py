"""The kind `brief`: a kernel of which only the answer is graded."""

from grader.grading import Kind
from grader.model import Spec

KIND = Kind(
    name="brief",
    title="a kernel that is only right",
    spec=Spec,
    steps=("load", "correctness", "properties"),
    backend=lambda spec: spec.backend,
)
