"""How many bytes a copy moves."""

from grader.grading.kinds.quiz import Quiz

SPEC = Quiz(
    title="Bytes",
    summary="A copy of 1000 float32: how many bytes does it read, and how many does it write?",
    questions={"read": 4000, "written": 4000},
    hints=("How large is a float32?",),
    points={"answers": 2},
)
