"""The findings of `grader doctor`, as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.text import Text

from grader import backends
from grader.doctor.records import Examination, Finding, Group, State
from grader.model import counted
from grader.reports.fitting import cut, rows
from grader.reports.layout import WIDEST, filled

_MARKS = {State.OK: ("✔", "green"), State.NOTE: ("–", "yellow"), State.PROBLEM: ("‼", "bold red")}
_TITLES = {
    Group.INSTALLATION: "Python and packages",
    Group.SIMULATORS: "simulators, on the CPU",
    Group.GPU: "GPU",
    Group.TOOLS: "tools",
    Group.WALLS: "walls around a kernel file",
    Group.HARDENING: "parts of the walls on this machine",
    Group.COURSE: "course",
}
MOST_LINES = 12  # for a learner
_ITSELF = {Group.INSTALLATION: ("python", "torch")}  # else the finding with the group's name
_NAME = 19  # characters of a finding's name, with the space after it


def report(examination: Examination, width: int = WIDEST, brief: bool = False) -> Text:
    """Return the findings by group, then the problems again with their fixes, and the verdict.

    With `brief` there are at most `MOST_LINES` lines: a few words for each group, or the first
    problems.
    """
    width = min(width, WIDEST)
    problems = [one for one in examination.findings if one.state is State.PROBLEM]
    ending = _ending(examination, problems, width, brief)
    if brief:
        space = MOST_LINES - rows(ending, width)
        return _few_lines(examination, problems, space, width).append_text(ending)
    text = Text()
    for group, findings in groupby(examination.findings, key=lambda one: one.group):
        text.append(f"{_TITLES[group]}\n", style="bold")
        for finding in findings:
            text.append_text(_line(finding, width))
    for number, one in enumerate(problems, start=1):
        text.append("\n" if number == 1 else "").append_text(_problem(number, one, width))
    return text.append("\n").append_text(ending)


def _ending(examination: Examination, problems: Sequence[Finding], width: int, brief: bool) -> Text:
    verdict = _sum(examination, problems) + ("; `grader doctor -v` lists them" * brief)
    text = Text(filled(verdict, width), style="bold red" if problems else "bold green")
    here = filled(graded_here(examination), width, " " * 6, first="here: ")
    return text.append(here, style="bold")


def _few_lines(
    examination: Examination, problems: Sequence[Finding], most: int, width: int
) -> Text:
    """Write the first problems in at most `most` lines or, without any, each group in brief."""
    text = Text()
    if not problems:
        groups = groupby(examination.findings, key=lambda one: one.group)
        for group, findings in groups:
            text.append_text(_group_line(group, list(findings), width))
        return cut(text, most, width)
    for number, one in enumerate(problems, start=1):
        text.append_text(_problem(number, one, width))
    return cut(text, most, width)


def _group_line(group: Group, findings: Sequence[Finding], width: int) -> Text:
    shown = _most_important(group, findings)
    mark, style = _MARKS[State.NOTE if _notes(shown) else State.OK]
    name = "GPU" if group is Group.GPU else group.value
    head, indent = f" {name:<14}", " " * 18
    words = _in_words(group, shown) or f"{counted(len(findings), 'checks')} passed"
    line = Text("  ").append(mark, style=style)
    return line.append(filled(words, width, indent, first=head))


def _most_important(group: Group, findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the first note with a fix; else what the group is; else its first note; else none."""
    notes = _notes(findings)
    itself = [one for one in findings if one.name.lower() in _ITSELF.get(group, (group.value,))]
    with_fix = [one for one in notes if one.mend]
    return with_fix[:1] or itself or notes[:1] or (findings if len(findings) == 1 else [])


def _in_words(group: Group, shown: Sequence[Finding]) -> str:
    if len(shown) != 1:
        return ", ".join(f"{one.name} {one.message}" for one in shown)
    (one,) = shown
    sentence = one.message.partition(". ")[0].removesuffix(".")
    return sentence if one.name.lower() == group.value else f"{one.name}: {sentence}"


def _notes(findings: Sequence[Finding]) -> list[Finding]:
    return [one for one in findings if one.state is State.NOTE]


def _problem(number: int, one: Finding, width: int) -> Text:
    text = Text(f"problem {number}: {one.name} ({one.group.value})\n", style="bold red")
    text = Text().append_text(text)
    text.append(filled(one.message, width, " " * 6))
    return text.append(filled(one.mend or "", width, " " * 11, first=" " * 6 + "fix: "))


def _line(finding: Finding, width: int) -> Text:
    mark, style = _MARKS[finding.state]
    line = Text("  ")
    line.append(mark, style=style)
    indent = " " * (4 + _NAME)
    name = f" {finding.name:<{_NAME}}"
    line.append(filled(finding.message, width, indent, first=name))
    if finding.mend and finding.state is State.NOTE:
        label = f"{indent}fix: "
        line.append(filled(finding.mend, width, " " * len(label), first=label), style="dim")
    return line


def _sum(examination: Examination, problems: Sequence[Finding]) -> str:
    notes = len(_notes(examination.findings))
    passed = len(examination.findings) - len(problems) - notes
    verdict = counted(len(problems), "problems").upper() if problems else "NO PROBLEM"
    return f"{verdict}  {counted(passed, 'checks')} passed, {counted(notes, 'notes')}"


def graded_here(examination: Examination) -> str:
    simulated = _proven_backends(examination, Group.SIMULATORS)
    compiled = _proven_backends(examination, Group.GPU)
    graded = (
        f"{simulated} kernels are graded in simulation" if simulated else "nothing is simulated"
    )
    if compiled:
        return f"{graded}, {compiled} kernels on the GPU, with their speed"
    return f"{graded}; speed needs a CUDA GPU"


def _proven_backends(examination: Examination, group: Group) -> str:
    names = [backend.title for backend in backends.every()]
    good = {
        one.name for one in examination.findings if one.group is group and one.state is State.OK
    }
    *some, last = [name for name in names if name in good] or [""]
    return f"{', '.join(some)} and {last}" if some else last
