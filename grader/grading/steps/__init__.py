"""The steps of checks: each is a file or folder in here that defines `STEP`.

Adding one registers it. Modules with a `STEP` import nothing heavy before they run.
"""

from __future__ import annotations

from collections.abc import Mapping

from grader.grading.step import Step
from grader.model import BrokenExercise, discover


def every() -> Mapping[str, Step]:
    """Return all steps, keyed by name. Raises BrokenExercise if one is broken."""
    known = discover(__name__, "STEP", Step)
    for step in known.values():
        for needed in step.needs:
            if needed not in known:
                raise BrokenExercise(
                    f"The step {step.name} needs {needed!r}, and there is no such step.",
                    f"The steps are {', '.join(known)}.",
                )
    return known
