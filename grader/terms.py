"""The words of a verdict: its steps, what became of each, and of the whole."""

from __future__ import annotations

from enum import StrEnum


class StepName(StrEnum):
    """The steps of a verdict, in the order in which they run."""

    LOAD = "load"
    CORRECTNESS = "correctness"
    PROPERTIES = "properties"
    TRAFFIC = "traffic"
    SPEED = "speed"


class Outcome(StrEnum):
    """What became of one step."""

    PASS = "pass"
    FAIL = "fail"  # the learner's work is at fault
    NOT_STARTED = "not_started"  # the stub's NotImplementedError was reached
    SKIP = "skip"  # this machine cannot run the step; `summary` says why
    NOT_RUN = "not_run"  # a step that it needs did not pass
    ERROR = "error"  # the exercise or the grader is at fault
    CANNOT_GRADE = "cannot_grade"  # the machine is at fault
    NOISY = "noisy"  # measured, but something on this machine disturbed the measurement


class Status(StrEnum):
    """What became of the check as a whole."""

    PASS = "pass"
    FAIL = "fail"
    NOT_STARTED = "not_started"
    CANNOT_GRADE = "cannot_grade"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    UNFINISHED = "unfinished"
