"""What the pages and the Markdown of a model solution say alike."""

from __future__ import annotations

from datetime import UTC, date

from grader.classroom import Mistake, Model, started
from grader.grading import has_step
from grader.model import Memory, Result, percent
from grader.reports.libraries import libraries


def told_in_short(model: Model) -> str:
    """What the index says of a solution's figures."""
    result, speed = model.evidence.result, model.evidence.speed
    if speed and result:
        share = percent(speed.share).replace(" ", "\N{NO-BREAK SPACE}")  # cards are narrow
        return f"{share} of the ceiling, {result.environment.device}"
    if result is None:
        return "nothing measured"
    return "speed not measured" if has_step(model.spec, "speed") else "counted in simulation"


def words_of(mistake: Mistake) -> str:
    """What a mistake is called where its author does not say it: by its file's name."""
    name = mistake.name.removeprefix("wrong_").removesuffix(".py").replace("_", " ")
    return mistake.description or name


def where(result: Result) -> str:
    """On what a result was made, and when."""
    environment = result.environment
    device = "Simulated on a CPU" if environment.simulated else f"Measured on {environment.device}"
    versions = (
        ("driver", environment.driver),
        *libraries(environment),
        ("Python", environment.python),
        ("kernel-grader", environment.grader),
    )
    named = [f"{name} {version}" for name, version in versions if version]
    return " · ".join([device, *named, long_date(started(result).astimezone(UTC).date())])


def long_date(day: date) -> str:
    """Such as 18 December 2026, in English whatever the machine speaks."""
    months = "January February March April May June July August September October November December"
    return f"{day.day} {months.split()[day.month - 1]} {day.year}"


def memory_of(result: Result) -> Memory | None:
    return next((step.memory for step in result.steps if step.memory), None)
