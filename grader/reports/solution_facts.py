"""Facts about a model solution, for its page and its Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date

from grader.classroom import Mistake, Model, started
from grader.grading import has_step
from grader.model import Memory, Result, percent
from grader.reports.libraries import libraries
from grader.speed import held_to, rates_of


def figures_in_short(model: Model) -> str:
    result, speed = model.evidence.result, model.evidence.speed
    if speed and result:
        share = percent(speed.share).replace(" ", "\N{NO-BREAK SPACE}")  # cards are narrow
        return f"{share} of {held_to(speed)}, {result.environment.device}"
    if result is None:
        return "nothing measured" if model.evidence.missing else ""
    return "speed not measured" if has_step(model.spec, "speed") else "counted in simulation"


def without_results(models: Iterable[Model]) -> str:
    """Return a sentence for the whole publication if no result was given for it, else nothing."""
    if any(model.evidence.result or model.evidence.missing for model in models):
        return ""
    return "No results of the solutions were given: the pages show no figures."


def figures_of(result: Result) -> list[tuple[str, str]]:
    """Return the rows of a table of figures, names and values; empty where nothing is measured."""
    rows = []
    if speed := next((step.speed for step in result.steps if step.speed), None):
        between = f"{percent(speed.share_low)} to {percent(speed.share_high)}"
        bound, rate, reference = rates_of(speed)
        rows += [
            (f"share of {bound.held_to}", f"{percent(speed.share)} (95 % interval {between})"),
            (bound.rate_name, f"{rate:,.0f} {bound.unit}"),
            (bound.held_to.removeprefix("the "), f"{reference:,.0f} {bound.unit}"),
            ("time of a call", f"{speed.time_ms:.3f} ms, {speed.case}"),
            ("gates", f"{percent(speed.passing)} passes, {percent(speed.great)} is great"),
        ]
        rows += [(one.case, f"{percent(one.share)} of {held_to(one)}") for one in speed.sizes]
    if memory := memory_of(result):
        rows.append(("memory beyond the arguments", f"{memory.peak_bytes:,} bytes"))
    return rows


def mistake_words(mistake: Mistake) -> str:
    """Return what the mistake gets wrong; without its author's words, the name of its file."""
    name = mistake.name.removeprefix("wrong_").removesuffix(".py").replace("_", " ")
    return mistake.description or name


def where_and_when(result: Result) -> str:
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
    """Write `18 December 2026`, in English whatever the machine's language."""
    months = "January February March April May June July August September October November December"
    return f"{day.day} {months.split()[day.month - 1]} {day.year}"


def memory_of(result: Result) -> Memory | None:
    return next((step.memory for step in result.steps if step.memory), None)
