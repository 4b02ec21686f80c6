"""The records of the loop: its state, and the deeds that a transition asks of the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from grader.course import Exercise
from grader.course.progress import Progress
from grader.model import Result, Step, Trace

if TYPE_CHECKING:
    from rich.console import RenderableType

    from grader.authoring import LintFinding


class Why(StrEnum):
    """The reason for a run of the judge."""

    SAVED = "saved"
    SPEED = "speed"
    SWEEP = "sweep"  # one of all exercises, in the background


class View(StrEnum):
    """The part of the screen between its first and its last lines."""

    REPORT = "report"
    LIST = "list"
    HINTS = "hints"
    LESSON = "lesson"
    DIFF = "diff"
    SOLUTION = "solution"
    HELP = "help"


@dataclass(frozen=True)
class Run:
    """One run of the judge over one kernel file.

    `number` tells it from runs that were given up. `step` is running, `slow` says why it may take
    long, and `ended` are the steps before it. `again` marks the second try after a crash.
    """

    number: int
    name: str
    why: Why
    step: str = ""
    slow: str = ""
    ended: tuple[Step, ...] = ()
    result: Result | None = None
    again: bool = False


@dataclass(frozen=True)
class Answer:
    """The end of a run: a result with the picture of a failing case, or an error with its advice.

    `waited_s` are the seconds from the save to the result. `notes` are lines of a kernel that
    passed, about which a lesson warns.
    """

    result: Result | None = None
    waited_s: float = 0.0
    notes: Sequence[LintFinding] = ()
    trace: Trace | None = None
    error: str = ""
    advice: str = ""


@dataclass(frozen=True)
class Sweep:
    """A check of all exercises in the background: those left, and how those before ended."""

    left: tuple[str, ...]
    passed: int = 0
    done: int = 0


@dataclass(frozen=True)
class Page:
    """A page to read in place of the report, such as a lesson."""

    view: View
    title: str
    content: RenderableType


@dataclass(frozen=True)
class Loop:
    """The state of the loop.

    `answers` and `digests` are by exercise: the last answer, and the SHA-256 of the kernel file
    that it is about, or that is being graded. `whole` shows reports in full. `asking` waits for a
    yes before a reset. `note` is one sentence above the verdict. `cursor` is a place in the list.
    """

    exercises: tuple[Exercise, ...]
    current: str
    progress: Progress
    run: Run | None = None
    sweep: Sweep | None = None
    answers: Mapping[str, Answer] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    view: View = View.REPORT
    page: Page | None = None
    cursor: int = 0
    whole: bool = False
    asking: bool = False
    note: str = ""
    runs: int = 0

    @property
    def names(self) -> list[str]:
        return [exercise.name for exercise in self.exercises]

    @property
    def exercise(self) -> Exercise:
        return self.named(self.current)

    @property
    def place(self) -> int:
        return self.names.index(self.current)

    def named(self, name: str) -> Exercise:
        return self.exercises[self.names.index(name)]

    def taking(self, exercise: Exercise) -> Loop:
        """Return the state with the exercise in the language of this one."""
        others = (exercise if one.name == exercise.name else one for one in self.exercises)
        return replace(self, exercises=tuple(others))


# -- what a transition asks for


@dataclass(frozen=True)
class Look:
    """Read the current kernel file, and report its digest with `looked`."""


@dataclass(frozen=True)
class Grade:
    """Have the judge do this run, in place of one that is running."""

    run: Run


@dataclass(frozen=True)
class Interrupt:
    """Have the judge give up the current run."""


@dataclass(frozen=True)
class Choose:
    """Remember the current exercise."""

    name: str


@dataclass(frozen=True)
class Remember:
    """Remember a result in the learner's progress."""

    result: Result


@dataclass(frozen=True)
class KeepPicture:
    """Keep the picture of a failing case beside its result, for `grader report`."""

    trace: Trace


@dataclass(frozen=True)
class CountHint:
    """Remember that one more hint is shown."""

    name: str


@dataclass(frozen=True)
class Open:
    """Make a page, and show it with `opened`."""

    view: View


@dataclass(frozen=True)
class Reset:
    """Write the stub again, and keep a backup."""

    name: str


@dataclass(frozen=True)
class Edit:
    """Open the kernel file in the learner's editor."""

    name: str


@dataclass(frozen=True)
class Quit:
    """End the loop."""


Deed = (
    Look
    | Grade
    | Interrupt
    | Choose
    | Remember
    | KeepPicture
    | CountHint
    | Open
    | Reset
    | Edit
    | Quit
)
Change = tuple[Loop, Sequence[Deed]]
Transition = Callable[[Loop], Change]
