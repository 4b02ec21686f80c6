"""The findings of `grader doctor`, as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.text import Text

from grader import backends
from grader.doctor.records import Examination, Finding, Group, State
from grader.model import counted
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
_NAME = 19  # characters of a finding's name, with the space after it


def report(examination: Examination, width: int = WIDEST) -> Text:
    """Return the findings by group, then the problems again with their fixes, and the verdict."""
    width = min(width, WIDEST)
    text = Text()
    for group, findings in groupby(examination.findings, key=lambda one: one.group):
        text.append(f"{_TITLES[group]}\n", style="bold")
        for finding in findings:
            text.append_text(_line(finding, width))
    problems = [one for one in examination.findings if one.state is State.PROBLEM]
    for number, one in enumerate(problems, start=1):
        text.append("\n" if number == 1 else "")
        text.append(f"problem {number}: {one.name} ({one.group.value})\n", style="bold red")
        text.append(filled(one.message, width, " " * 6))
        text.append(filled(one.mend or "", width, " " * 11, first=" " * 6 + "fix: "))
    text.append("\n")
    text.append(_sum(examination, problems), style="bold red" if problems else "bold green")
    text.append(filled(graded_here(examination), width, " " * 6, first="here: "), style="bold")
    return text


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
    notes = sum(one.state is State.NOTE for one in examination.findings)
    verdict = counted(len(problems), "problems").upper() if problems else "NO PROBLEM"
    findings = counted(len(examination.findings), "findings")
    return f"{verdict}  {counted(notes, 'notes')}, {findings}\n"


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
