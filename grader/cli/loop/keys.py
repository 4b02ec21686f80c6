"""The keys of the loop: each is a letter, a word and a transition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader.cli.loop.state import (
    Change,
    CountHint,
    Deed,
    Edit,
    Look,
    Loop,
    Open,
    Quit,
    Reset,
    Transition,
    View,
    Why,
)
from grader.cli.loop.state import Page as Page
from grader.cli.loop.transitions import arrive, check_again, noted, opened, sweep, turned
from grader.course.progress import standing_of
from grader.grading import has_step
from grader.model import BrokenExercise

PAGE = 10  # lines by which the list's cursor jumps


@dataclass(frozen=True)
class Key:
    """A key: what is typed, the word beside it, and the sentence in the help."""

    letter: str
    word: str
    does: str
    press: Transition
    short: bool = True  # whether the line of keys names it


def press(loop: Loop, letter: str) -> Change:
    """Do what a key means now. A key without a meaning changes nothing.

    Letters are as textual names keys: `n`, `question_mark`, `down`, `enter`, `escape`.
    """
    if loop.asking:
        return _confirmed(loop, letter)
    loop = replace(loop, note="")
    if loop.view is View.LIST and letter in MOVES:
        return replace(loop, cursor=_moved(loop, letter)), []
    if loop.view is View.LIST and letter == "enter":
        return arrive(loop, loop.names[loop.cursor])
    if loop.view is not View.REPORT and letter in ("escape", "q", _toggle(loop)):
        return replace(loop, view=View.REPORT, page=None), []
    for key in KEYS:
        if key.letter == letter:
            return key.press(loop)
    return loop, []


def _toggle(loop: Loop) -> str:
    """Return the key that opened the page in view, which also closes it; hints go on instead."""
    of_view = {View.LIST: "l", View.LESSON: "o", View.DIFF: "d", View.SOLUTION: "s"}
    return {**of_view, View.HELP: "question_mark"}.get(loop.view, "escape")


def _confirmed(loop: Loop, letter: str) -> Change:
    loop = replace(loop, asking=False)
    if letter == "y":
        return loop, [Reset(loop.current)]
    return noted(loop, "Nothing was reset.")


MOVES = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -PAGE, "pagedown": PAGE}
MOVES |= {"home": -(10**6), "end": 10**6}


def _moved(loop: Loop, letter: str) -> int:
    return min(max(loop.cursor + MOVES[letter], 0), len(loop.exercises) - 1)


def next_(loop: Loop) -> Change:
    """Go to the next exercise, passed or not."""
    if loop.place + 1 == len(loop.exercises):
        return noted(loop, "This is the last exercise.")
    return arrive(loop, loop.names[loop.place + 1])


def previous(loop: Loop) -> Change:
    """Go to the exercise before this one."""
    if loop.place == 0:
        return noted(loop, "This is the first exercise.")
    return arrive(loop, loop.names[loop.place - 1])


def hint(loop: Loop) -> Change:
    """Show the hints that were shown before; the next one where they are in view or none was."""
    try:
        most = len(loop.exercise.any_spec.hints)
    except BrokenExercise as error:
        return noted(loop, error.message)
    if most == 0:
        return noted(loop, f"{loop.current} has no hints.")
    shown = standing_of(loop.progress, loop.current).hints
    more = shown < most and (loop.view is View.HINTS or shown == 0)
    deeds: list[Deed] = [CountHint(loop.current)] if more else []
    return loop, [*deeds, Open(View.HINTS)]


def list_(loop: Loop) -> Change:
    """Show all exercises, with the cursor on the current one."""
    return replace(loop, view=View.LIST, page=None, cursor=loop.place), []


def speed(loop: Loop) -> Change:
    """Check again and measure speed, though the file is unchanged."""
    try:
        spec = loop.exercise.any_spec
    except BrokenExercise as error:
        return noted(loop, error.message)
    if not has_step(spec, "speed"):
        return noted(loop, f"{loop.current} has no speed to measure.")
    return check_again(loop, Why.SPEED)


def language(loop: Loop) -> Change:
    """Turn to the file in the exercise's next language."""
    try:
        several = loop.exercise.in_all_backends
    except BrokenExercise as error:
        return noted(loop, error.message)
    place = [one.file for one in several].index(loop.exercise.file)
    if len(several) == 1:
        return noted(loop, f"{loop.current} has one kernel file, {loop.exercise.file}.")
    loop, _ = turned(loop, several[(place + 1) % len(several)])
    return replace(loop, view=View.REPORT, page=None), [Look()]


def reset(loop: Loop) -> Change:
    """Ask before the stub is written again."""
    try:
        _ = loop.exercise.file  # which the question names
    except BrokenExercise as error:
        return noted(loop, error.message)
    return replace(loop, asking=True), []


def _open(view: View) -> Callable[[Loop], Change]:
    return lambda loop: (loop, [Open(view)])


def _help(loop: Loop) -> Change:
    return opened(loop, Page(View.HELP, "Keys", ""))


KEYS: Sequence[Key] = (
    Key("n", "next", "go to the next exercise", next_),
    Key("p", "prev", "go to the previous exercise", previous),
    Key("h", "hint", "show a hint, and each time you press it one more", hint),
    Key("l", "list", "list all exercises; arrows and Enter choose one", list_),
    Key("o", "lesson", "open the lesson", _open(View.LESSON)),
    Key("e", "edit", "open the kernel file in $EDITOR", lambda loop: (loop, [Edit(loop.current)])),
    Key("r", "check", "check the file again", check_again, short=False),
    Key("b", "speed", "check again and measure the speed, on a GPU", speed, short=False),
    Key("c", "check all", "check all exercises in the background, or stop that", sweep, False),
    Key("t", "language", "turn to the kernel file in another language", language, short=False),
    Key("v", "all", "show this report in full, or what fits", lambda loop: _whole(loop), False),
    Key("d", "diff", "show what you changed in the stub", _open(View.DIFF), short=False),
    Key("s", "solution", "show the solution, if the course allows it", _open(View.SOLUTION)),
    Key("x", "reset", "write the stub again; asks first, and keeps a backup", reset, short=False),
    Key("question_mark", "help", "show these keys", _help),
    Key("q", "quit", "close a page, or end the loop", lambda loop: (loop, [Quit()])),
)


def _whole(loop: Loop) -> Change:
    return replace(loop, whole=not loop.whole, view=View.REPORT, page=None), []
