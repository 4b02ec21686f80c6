"""The loop line by line, for screen readers, logs and terminals without a screen."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from grader.cli import say
from grader.cli.loop import drawing, transitions
from grader.cli.loop.editors import editor, none_set
from grader.cli.loop.keys import KEYS
from grader.cli.loop.session import Session
from grader.cli.loop.state import Answer, Change, Loop, Transition, View, Why
from grader.course import Exercise, catalog
from grader.model import GraderError, UsageError, texts
from grader.reports import filled, terminal

MOST_LINES = 26  # of a report, above its verdict, unless it is shown in full
LETTERS = {drawing.sign_of(key.letter): key.letter for key in KEYS} | {"y": "y"}


class Plain:
    """The front end that prints lines, and reads one-letter commands from standard input."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Transition | str | None] = queue.SimpleQueue()
        self._answered = threading.Semaphore(0)  # once for each line
        self._ended = False

    def post(self, transition: Transition) -> None:
        """Have a transition happen; may be called from any thread."""
        self._events.put(transition)

    def run(self, session: Session) -> None:
        """Answer saves and commands until one ends the loop, or the input ends."""
        say.show_text(filled(keys_in_words(), self.width), end="")
        say.show_text(arrival(session.loop))
        threading.Thread(target=self._read, daemon=True).start()
        session.start()
        while not self._ended:
            event = self._events.get()
            if event is None:
                return
            if isinstance(event, str):
                self._typed(session, event)
                self._answered.release()
            else:
                session.happen(event)

    def _read(self) -> None:
        try:
            if isinstance(sys.stdin, TextIOWrapper):
                sys.stdin.reconfigure(errors="replace")
            for line in sys.stdin or ():  # None where it is closed
                self._events.put(texts.visible(line.strip()))
                self._answered.acquire()  # the line may open an editor, which reads here, too
        finally:
            self._events.put(None)

    def _typed(self, session: Session, line: str) -> None:
        if session.loop.view not in (View.REPORT, View.HINTS):
            session.happen(lambda loop: (replace(loop, view=View.REPORT, page=None), []))
        if line.lower() in LETTERS or session.loop.asking:
            session.press(LETTERS.get(line.lower(), line))
        elif line:
            try:
                found = _meant(session.loop, line)
            except GraderError as error:
                say.show_text(f"{error.message} {error.next_step}")
                return
            session.happen(lambda loop: _arrive(loop, found))

    def show(self, before: Loop, after: Loop) -> None:
        """Print what has changed."""
        for part in said(before, after, self.width):
            _print(part)

    def edit(self, path: Path) -> str:
        """Leave the terminal to an editor; return a note where none is opened."""
        command = editor()
        if not command:
            return none_set(path)
        if not sys.stdin.isatty():
            return f"Open {path} in your editor; each save is checked."
        try:
            subprocess.run([*command, str(path)], check=False)
        except OSError as error:
            return f"The editor {command[0]} cannot be started: {error.strerror}."
        return ""

    def end(self) -> None:
        self._ended = True

    @property
    def width(self) -> int:
        """The characters of a line."""
        return say.width()


def keys_in_words() -> str:
    """Name the commands, each a letter with Enter behind it."""
    named = ", ".join(f"{drawing.sign_of(key.letter)} {key.word}" for key in KEYS)
    return f"Each save is checked. Type a letter and Enter: {named}; or the name of an exercise."


def arrival(loop: Loop) -> str:
    """Name the current exercise, its place in the course, and whether it is done."""
    place = f"{loop.place + 1} of {len(loop.names)}"
    return f"{loop.current}: exercise {place}, {drawing.in_words(loop)}"


def _meant(loop: Loop, line: str) -> Exercise:
    found = catalog.find(loop.exercise.root, line)
    if found.name not in loop.names:
        raise UsageError(
            f"{found.name} came after this loop had begun.", "Type q, and start the loop again."
        )
    return found


def _arrive(loop: Loop, found: Exercise) -> Change:
    # A name leaves the exercise in its language; the path of a file in a further one does not.
    return transitions.arrive(loop.taking(found) if found.backend else loop, found.name)


def said(before: Loop, after: Loop, width: int) -> Iterator[RenderableType]:
    """Yield the lines for what has changed between two states."""
    if after.current != before.current:
        yield Text(f"\n{arrival(after)}")
    if (ended := _ended(before, after)) is not None:
        name, answer = ended
        if name == after.current and before.run is not None and before.run.why is not Why.SWEEP:
            yield from _report(after, answer, width)
        elif answer.result is not None:
            points = f"{answer.result.points}/{answer.result.max_points}"
            yield Text(f"{name}: {terminal.word_of(answer.result.status)} {points}")
        else:
            yield Text(f"{name}: no verdict. {answer.error}")
    elif _cannot_be_checked(before, after):
        yield from _report(after, None, width)
    if after.note and after.note != before.note:
        yield Text(filled(after.note, width).rstrip())
    if after.asking and not before.asking:
        yield drawing.bottom(replace(after, note=""), width, 0.0)
    run = drawing.own_run(after)
    if after.whole != before.whole and after.current == before.current and run is None:
        yield from _report(after, after.answers.get(after.current), width)
    if run is not None and (before.run is None or before.run.number != run.number):
        yield Text(f"checking {run.name} …")
    if after.view is View.LIST and before.view is not View.LIST:
        yield drawing.list_of(after, width, len(after.exercises))
    elif after.view is not View.REPORT and after.page is not before.page:
        yield drawing.body(after, width, 0)


def _ended(before: Loop, after: Loop) -> tuple[str, Answer] | None:
    """Return the exercise and the answer of a run that has ended and was not given up."""
    run = before.run
    if run is None or (after.run is not None and after.run.number == run.number):
        return None
    answer = after.answers.get(run.name)
    settled = run.result is not None or answer is not before.answers.get(run.name)
    return (run.name, answer) if answer is not None and settled else None


def _cannot_be_checked(before: Loop, after: Loop) -> bool:
    """Report whether the current exercise has got an answer that needed no run."""
    answer = after.answers.get(after.current)
    unchecked = answer is not None and answer.result is None
    return unchecked and answer != before.answers.get(after.current)


def _report(loop: Loop, answer: Answer | None, width: int) -> Iterator[Text]:
    if answer is not None and answer.result is not None:
        yield drawing.report(answer, width, None if loop.whole else MOST_LINES)
    yield drawing.bottom(replace(loop, run=None, note="", asking=False), width, 0.0)


def _print(part: RenderableType) -> None:
    if isinstance(part, Text):
        say.show(part.append("" if part.plain.endswith("\n") else "\n"))
        return
    console = Console(width=say.width())
    with console.capture() as captured:
        console.print(part)
    say.show_text(captured.get(), end="")
