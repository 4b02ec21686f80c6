"""Run pytest over an exercise's own files, so that its steps and properties grade one kernel."""

from __future__ import annotations

import contextlib
import io
import os

import pytest

from grader.course import Exercise
from grader.grading import plugin
from grader.grading.session import TestRun
from grader.model import Failure, Outcome


def run(gradings: plugin.Gradings, exercise: Exercise) -> tuple[pytest.ExitCode | int, str]:
    """Run every step of the exercise. Return how pytest ended, and what it printed."""
    printed, seed = io.StringIO(), gradings.options.seed
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = pytest.main(
            [
                *("-c", os.devnull, "--rootdir", str(exercise.folder), "--noconftest"),
                # Else each folder above is listed too, down from the root of the file system.
                *("--confcutdir", str(exercise.folder)),
                *("-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"),
                # This plugin collects garbage twice at the end, longer than all the rest takes.
                *("-p", "no:unraisableexception"),
                # This one puts handlers on the root logger, and off, three times a test.
                *("-p", "no:logging"),
                *("--import-mode=importlib", "-q", f"--hypothesis-seed={seed}"),
                "--continue-on-collection-errors",
                str(exercise.folder / "spec.py"),
                *([str(exercise.tests)] if exercise.tests.exists() else []),
            ],
            plugins=[plugin, _Watch(gradings)],
        )
    return code, printed.getvalue()


class _Watch:
    """A plugin that passes the gradings on, and records tests that cannot be imported."""

    def __init__(self, gradings: plugin.Gradings) -> None:
        self._gradings = gradings

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[plugin.GRADINGS] = self._gradings

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            failure = Failure(
                kind="error",
                message=f"{report.nodeid} is broken: {last_error(report.longreprtext)}",
                hint="Tell whoever wrote the exercise; your kernel is not at fault.",
            )
            for grading in self._gradings.all():
                grading.tests.append(TestRun(report.nodeid, 0.0, Outcome.ERROR, failure))


def last_error(printed: str) -> str:
    raised = [line[1:].strip() for line in printed.splitlines() if line.startswith("E ")]
    return raised[-1] if raised else "see the output of pytest"
