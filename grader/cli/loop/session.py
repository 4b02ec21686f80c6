"""Do what the loop's state decides: files, the judge, the learner's progress."""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from grader.cli.loop import keys, pages, state, transitions
from grader.cli.loop.judging import JudgeThread
from grader.cli.loop.languages import Languages, worked_on
from grader.cli.loop.state import Loop, Run, Transition, View, Why
from grader.cli.loop.watching import Watch
from grader.course import Exercise, backups, catalog, history, progress
from grader.grading import Options, Request, kind_of
from grader.grading.check import LARGEST_FILE
from grader.model import GraderError, UsageError


class Front(Protocol):
    """A front end: it shows the state, and does what takes the terminal."""

    def show(self, before: Loop, after: Loop) -> None:
        """Show what has changed."""

    def edit(self, path: Path) -> str:
        """Let the learner edit a file; return a note, or nothing."""

    def end(self) -> None:
        """End the loop."""

    @property
    def width(self) -> int:
        """The characters of a line."""


class Session:
    """The loop's state, and what it has a session do. All calls come from one thread."""

    def __init__(self, loop: Loop, judge: JudgeThread, watch: Watch, front: Front) -> None:
        self.loop = loop
        self._judge, self._watch, self._front = judge, watch, front
        self._began_at = time.monotonic()
        self._languages = Languages()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the current step began."""
        return time.monotonic() - self._began_at

    def start(self) -> None:
        """Start judge and watch, and check the current exercise."""
        self._judge.start()
        self.happen(lambda loop: transitions.arrive(loop, loop.current))

    def close(self) -> None:
        """End judge and watch."""
        self._watch.close()
        self._judge.close()

    def press(self, letter: str) -> None:
        """Do what a key means."""
        self.happen(lambda loop: keys.press(loop, letter))

    def happen(self, transition: Transition) -> None:
        """Change the state, show it, and do what it asks for."""
        before = self.loop
        self.loop, deeds = transition(before)
        if _work(before.run) != _work(self.loop.run):
            self._began_at = time.monotonic()
        if self.loop != before:
            self._front.show(before, self.loop)
        for deed in deeds:
            self._do(deed)

    def _do(self, deed: state.Deed) -> None:
        root = self.loop.exercise.root
        match deed:
            case state.Look():
                self._look(self.loop.exercise)
            case state.Grade(run):
                self._grade(run)
            case state.Interrupt():
                self._judge.interrupt()
            case state.Choose(name):
                self._take(progress.choose(root, name))
            case state.Remember(result):
                self._take(progress.record(root, result))
            case state.KeepPicture(trace):
                history.keep_picture(root / progress.STATE, trace)
            case state.CountHint(name):
                self._take(progress.hint_shown(root, name))
            case state.Open(view):
                self._open(view)
            case state.Reset(name):
                self._reset(self.loop.named(name))
            case state.Edit(name):
                self._edit(self.loop.named(name))
            case state.Quit():
                self._front.end()

    def _look(self, exercise: Exercise) -> None:
        try:
            self._watch.turn_to(*(one.kernel for one in exercise.in_all_backends))
            found = self._languages.saved_last(exercise)
            digest = digest_of(found)
        except GraderError as error:
            broken = partial(transitions.broken, message=error.message, advice=error.next_step)
            self.happen(broken)
            return
        if found.backend != exercise.backend:
            self.happen(lambda loop: transitions.turned(loop, found))
        self.happen(lambda loop: transitions.looked(loop, digest))

    def _take(self, new: progress.Progress) -> None:
        self.happen(lambda loop: transitions.remembered(loop, new))

    def _grade(self, run: Run) -> None:
        try:
            request = self._request(run)
        except GraderError as error:
            no_verdict = partial(transitions.over, error=error.message, advice=error.next_step)
            self.happen(partial(no_verdict, number=run.number))
            return
        self._judge.grade(run, request)

    def _request(self, run: Run) -> Request:
        exercise = self.loop.named(run.name)
        alone = run.why is not Why.SWEEP
        if not alone:
            with suppress(GraderError):  # reported when it is graded
                exercise = worked_on(exercise)
        measured = run.why is Why.SPEED
        # To compile for other GPUs too takes up to a third of what a save computes.
        options = Options(device="auto", picture=alone, require_speed=measured, elsewhere=measured)
        return Request(exercise, exercise.kernel, options)

    def _open(self, view: View) -> None:
        try:
            page = pages.make(self.loop, view, self._front.width)
        except GraderError as error:
            self._note(error)
            return
        self.happen(lambda loop: transitions.opened(loop, page))

    def _edit(self, exercise: Exercise) -> None:
        try:
            kernel = exercise.kernel
        except GraderError as error:
            self._note(error)
            return
        note = self._front.edit(kernel)
        self.happen(lambda loop: transitions.noted(loop, note))
        self.happen(transitions.saved)

    def _reset(self, exercise: Exercise) -> None:
        try:
            done = backups.reset(exercise, kind_of(exercise.any_spec).stub)
        except GraderError as error:
            self._note(error)
            return
        if done.written:
            self._take(progress.begin_again(exercise.root, exercise.name))
        kept = done.backup and done.backup.relative_to(exercise.root)
        note = f"The stub is written; your version is in {kept}." if kept else "It is the stub."
        self.happen(transitions.saved)
        self.happen(lambda loop: transitions.noted(loop, note))

    def _note(self, error: GraderError) -> None:
        note = f"{error.message} {error.next_step}".strip()
        self.happen(lambda loop: transitions.noted(loop, note))


def _work(run: Run | None) -> tuple[int, str] | None:
    return None if run is None else (run.number, run.step)


def digest_of(exercise: Exercise) -> str | None:
    """Return the SHA-256 of the kernel file; None where it cannot be read."""
    try:
        with exercise.kernel.open("rb") as file:
            return hashlib.sha256(file.read(LARGEST_FILE + 1)).hexdigest()
    except OSError:
        return None


def first_loop(root: Path, name: str | None) -> Loop:
    """Return the state at the start: at the named exercise, the current or the one to go on with.

    The path of a kernel file names the exercise in that file's language. Raises UsageError for an
    unknown name and for a course without exercises.
    """
    exercises = tuple(catalog.exercises(root))
    if not exercises:
        raise UsageError("This course has no exercises yet.", "Add a folder with a spec.py.")
    known = progress.read(root)
    names = [exercise.name for exercise in exercises]
    if name is not None:
        named = catalog.find(root, name)
        return Loop(exercises, named.name, known, note=known.notice).taking(named)
    if known.current in names:
        current = str(known.current)
    else:
        following = progress.following(exercises, known)
        current = following.name if following else names[0]
    return Loop(exercises, current, known, note=known.notice)
