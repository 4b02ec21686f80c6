"""Autolab's scores: the last line of standard output, a problem for each exercise.

It names only exercises that were graded; the others keep their score.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from grader.model import Attempt, texts
from grader.reports.formats import facts


def line(attempts: Sequence[Attempt]) -> str:
    results = [attempt.result for attempt in attempts]
    scores = {texts.one_line(r.exercise): facts.earned(r) for r in results if facts.graded(r)}
    return texts.json_without_commands(json.dumps({"scores": scores})) + "\n"
