"""GitHub Actions: annotations on the log, and the summary of a step in Markdown.

The runner keeps 10 annotations of each kind from a step, and drops a summary of more than 1 MiB:
docs.github.com, "Workflow commands for GitHub Actions".
"""

import html
from collections.abc import Iterator, Sequence

from grader.model import Attempt, Status, percent, texts
from grader.reports.formats import facts
from grader.reports.layout import WIDEST
from grader.reports.numbers import number_lines

MOST_COMMANDS = 10  # of each kind
SUMMARY_BYTES = 1 << 20
_MARKS = {Status.PASS: "✅", Status.FAIL: "❌", Status.NOT_STARTED: "⚪"}
_FAULT_MARK = "⚠️"


def commands(
    attempts: Sequence[Attempt],
    folder: str | None = "",
    require_started: bool = False,
    scope: str = "",
) -> str:
    """Return workflow commands, each on its own line, at most MOST_COMMANDS of each kind.

    `folder` is the course's, relative to the tree that GitHub shows, or None outside of that tree.
    Exercises that are not started are counted, and with `require_started` errors. `scope` is a
    sentence on exercises that were not graded.
    """
    by_level: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    for attempt in attempts:
        for level, line in _annotations_of(attempt, folder, require_started):
            by_level[level].append(line)
    by_level["notice"].insert(0, _command("notice", _sum(attempts, scope), title="grader"))
    return "".join(f"{line}\n" for level, lines in by_level.items() for line in _few(level, lines))


def _sum(attempts: Sequence[Attempt], scope: str) -> str:
    if not attempts and scope:
        return scope
    missing = facts.not_started(attempts)
    total = facts.sum_of(attempts) + (f", {missing} not started" if missing else "")
    return f"{total}. {scope}" if scope else total


def _annotations_of(
    attempt: Attempt, folder: str | None, require_started: bool
) -> Iterator[tuple[str, str]]:
    result = attempt.result
    name = texts.one_line(result.exercise, 80)
    place: dict[str, str] = {}
    if folder is not None and not result.kernel.path.startswith("/"):
        place["file"] = texts.one_line("/".join(filter(None, [folder, result.kernel.path])))
        if (line := facts.line_of(result)) is not None:
            place["line"] = str(line)
    if not facts.graded(result):
        message = f"{facts.NOT_YOURS}: {facts.reason(result) or result.status.value}"
        yield "warning", _command("warning", message, **place, title=f"{name}: not graded")
    elif result.status is Status.FAIL or (result.status is Status.NOT_STARTED and require_started):
        title = f"{name}: {facts.WORDS[result.status]}"
        yield "error", _command("error", facts.reason(result) or title, **place, title=title)
    for note in attempt.notes:
        yield "warning", _command("warning", texts.one_line(note), title=name)


def _few(level: str, lines: Sequence[str]) -> Sequence[str]:
    if len(lines) <= MOST_COMMANDS:
        return lines
    first = lines[: MOST_COMMANDS - 1]
    left = len(lines) - len(first)
    return [*first, _command(level, f"{left} more: see the summary of this run", title="grader")]


def _command(level: str, message: str, **properties: str) -> str:
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {written}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(
    attempts: Sequence[Attempt], title: str, limit: int = SUMMARY_BYTES, scope: str = ""
) -> str:
    """Return Markdown of at most `limit` bytes, which ends with the number of omitted parts."""
    head = [
        f"## {texts.entities(title)}\n\n**{_sum(attempts, '')}**\n\n",
        "| | exercise | result | points | share of the ceiling |\n|---|---|---|---:|---:|\n",
    ]
    if scope:
        head.insert(1, f"{texts.entities(scope)}\n\n")
    rows = [_row(attempt) for attempt in attempts]
    details = [text for attempt in attempts for text in _details(attempt)]
    return _fitting([*head, *rows, "\n", *details], limit)


def _fitting(parts: Sequence[str], limit: int) -> str:
    cut = "\n**{} parts of this summary are left out: GitHub takes at most 1 MiB.**\n"
    sizes = [len(part.encode()) for part in parts]
    if sum(sizes) <= limit:
        return "".join(parts)
    left = limit - len(cut.format(len(parts)).encode())
    count = 0
    while count < len(parts) and sizes[count] <= left:
        left -= sizes[count]
        count += 1
    return "".join(parts[:count]) + cut.format(len(parts) - count) if left >= 0 else ""


def _row(attempt: Attempt) -> str:
    result = attempt.result
    mark = _MARKS.get(result.status, _FAULT_MARK)
    points = f"{facts.earned(result)}/{facts.most(result)}" if facts.graded(result) else "–"
    timed = facts.speed(result)
    share = percent(timed.speed.share) if timed and timed.speed else "–"
    name, words = texts.entities(result.exercise), facts.WORDS[result.status]
    return f"| {mark} | {name} | {words} | {points} | {share} |\n"


def _details(attempt: Attempt) -> Iterator[str]:
    result = attempt.result
    lines = [f"note: {texts.one_line(note)}" for note in attempt.notes]
    if result.status not in (Status.PASS, Status.NOT_STARTED):
        lines += [facts.reason(result)]
        lines += [line for numbers in _numbers(attempt) for line in numbers]
        lines += [f"replay: {texts.one_line(r)}" for r in _replays(attempt)]
    if not any(lines):
        return
    body = html.escape("\n".join(filter(None, lines)))
    name = texts.entities(result.exercise)
    yield f"<details><summary>{name}</summary>\n\n<pre>{body}</pre>\n\n</details>\n\n"


def _numbers(attempt: Attempt) -> Iterator[list[str]]:
    for step in attempt.result.steps:
        if step.failure and step.failure.numbers:
            yield [texts.lines(line) for line in number_lines(step.failure.numbers, WIDEST)]


def _replays(attempt: Attempt) -> Iterator[str]:
    for step in attempt.result.steps:
        if step.failure and step.failure.replay:
            yield step.failure.replay
