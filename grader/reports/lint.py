"""The findings of `grader lint`, as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from grader.authoring import Level, LintFinding, Review
from grader.model import counted
from grader.reports.layout import WIDEST, filled

_STYLES = {Level.NOTE: "yellow", Level.WARNING: "bold red"}
_INDENT = " " * 6


def report(reviews: Sequence[Review], width: int = WIDEST) -> Text:
    """Return the findings file by file; explain a rule below its first finding."""
    width = min(width, WIDEST)
    text = Text()
    explained: set[str] = set()
    for review in reviews:
        if review.findings:
            text.append(f"{review.path}\n", style="bold")
        for finding in review.findings:
            text.append_text(_finding(finding, finding.rule not in explained, width))
            explained.add(finding.rule)
        if review.findings:
            text.append("\n")
    text.append(_sum(reviews), style="bold")
    if explained:
        text.append(filled("a finding is a place to look at, and changes no score", width))
    return text


def _finding(finding: LintFinding, explain: bool, width: int) -> Text:
    text = Text(f"  {finding.line}:{finding.column}  ")
    text.append(finding.level.value, style=_STYLES[finding.level])
    text.append(f"  {finding.rule} {finding.name}\n")
    text.append(filled(finding.message, width, _INDENT))
    if finding.code:
        text.append(f"{_INDENT}> {finding.code}\n", style="dim")
    if explain:
        text.append(filled(finding.why, width, _INDENT + " " * 5, first=_INDENT + "why  "))
        text.append(filled(finding.action, width, _INDENT + " " * 5, first=_INDENT + "do   "))
    return text


def _sum(reviews: Sequence[Review]) -> str:
    levels = [finding.level for review in reviews for finding in review.findings]
    files = counted(len(reviews), "files")
    if not levels:
        return f"NOTHING FOUND  in {files}\n"
    counts = (counted(levels.count(level), f"{level}s") for level in (Level.WARNING, Level.NOTE))
    findings = counted(len(levels), "findings").upper()
    return f"{findings}  {', '.join(counts)} in {files}\n"
