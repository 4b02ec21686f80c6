"""`.grader/progress.json`: what a learner has done in a course, `grader/progress/v1`.

Commands that run at once lose nothing of each other's: each change reads, changes and replaces the
file under a lock. A kill at any moment leaves the old file or the new one. The file is the
learner's own memory and proves nothing: a class is graded from results.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.model import Outcome, Status, stamp, write_file

if TYPE_CHECKING:
    from grader.model import Result

STATE = ".grader"  # the folder in a course's root that holds what commands remember; git ignores it
FILE = "progress.json"
SCHEMA = "grader/progress/v1"
LARGEST = 4 << 20  # bytes; 60 exercises take 15 kB
PATIENCE_S = 5.0  # a lock is held for milliseconds, unless a process was stopped while it had it
# The statuses of checks that say something about the kernel.
GRADED = (Status.PASS, Status.FAIL, Status.NOT_STARTED)


@dataclass(frozen=True)
class Standing:
    """The learner's standing in one exercise.

    `passed`, `points` (of `of`) and `best_share` are the best of all checks since the last reset;
    `best_share` is None until speed was measured. `passed_at` is the time of the last pass, and
    `checked_at` of the last check of a file that was begun, in UTC, ISO 8601. `hints` counts the
    hints that were shown. `digest` is the SHA-256 of the kernel file that was graded last.
    """

    passed: bool = False
    points: int = 0
    of: int = 0
    best_share: float | None = None
    passed_at: str | None = None
    checked_at: str | None = None
    hints: int = 0
    digest: str = ""


@dataclass(frozen=True)
class Progress:
    """The learner's standing in a course, by the names of exercises.

    `current` is the exercise that the loop shows. `notice` is empty, or says in two sentences that
    something could not be remembered: show it to the learner.
    """

    current: str | None = None
    standings: Mapping[str, Standing] = field(default_factory=lambda: MappingProxyType({}))
    notice: str = ""


def standing_of(progress: Progress, name: str) -> Standing:
    return progress.standings.get(name, Standing())


def mark(standing: Standing) -> str:
    """Return the sign of an exercise that is done, begun or not begun."""
    if standing.passed:
        return "✔"
    return "○" if standing.checked_at is None else "●"


def following(exercises: Sequence[Exercise], progress: Progress) -> Exercise | None:
    """Return the first unfinished exercise behind the one that passed last, else the first before.

    Whoever skips exercises is so led on from where they are. None when all are done.
    """
    times = [standing_of(progress, one.name).passed_at for one in exercises]
    behind = max(((at, place + 1) for place, at in enumerate(times) if at), default=("", 0))
    return _unfinished_behind(exercises, behind[1], progress)


def following_on(exercise: Exercise, progress: Progress) -> Exercise | None:
    """Return the first other unfinished exercise behind this one, else the first before it."""
    known, whole = catalog.exercises(exercise.root), Exercise(exercise.folder)
    place = known.index(whole) if whole in known else 0
    others = [one for one in known if one != whole]
    return _unfinished_behind(others, place, progress)


def _unfinished_behind(
    exercises: Sequence[Exercise], place: int, progress: Progress
) -> Exercise | None:
    onward = (*exercises[place:], *exercises[:place])
    return next((one for one in onward if not standing_of(progress, one.name).passed), None)


def read(root: Path) -> Progress:
    """Read the progress in the course at `root`; a missing file is an empty one.

    A file that cannot be read is renamed, and `notice` says so. Raises nothing.
    """
    path = root / STATE / FILE
    try:
        return _parsed(path)
    except FileNotFoundError:
        return Progress()
    except (OSError, ValueError):
        pass
    with _locked(root / STATE):  # another process may be setting the same file aside
        return _read_or_set_aside(path)


def record(root: Path, result: Result) -> Progress:
    """Remember the result of a check of the learner's own kernel file.

    A check that says nothing about the kernel, because the machine or the grader failed, changes
    nothing. Nor does a check of one of several entries change whether the exercise is done. The
    result itself is kept, too, for `grader report`.
    """
    if result.status not in GRADED:
        return read(root)
    name, _, entry = result.exercise.partition(":")
    progress = _change(root, name, lambda before: _after(before, result, whole=not entry))
    _keep(root / STATE, result)
    return progress


def _keep(state: Path, result: Result) -> None:
    from grader.course import history  # reads results: quick commands do without

    with suppress(OSError):  # what cannot be written has had its notice
        history.keep(state, result)


def choose(root: Path, name: str) -> Progress:
    """Remember the exercise that the loop shows."""
    return _update(root, lambda progress: replace(progress, current=name))


def hint_shown(root: Path, name: str) -> Progress:
    """Remember that one more hint of the exercise was shown."""
    return _change(root, name, lambda before: replace(before, hints=before.hints + 1))


def begin_again(root: Path, name: str) -> Progress:
    """Forget all checks of an exercise, whose stub was written again; hints stay shown."""
    return _change(root, name, lambda before: Standing(hints=before.hints))


def make_state(root: Path) -> None:
    """Make the folder for what commands remember. Raises OSError."""
    folder = root / STATE
    folder.mkdir(exist_ok=True)
    ignored = folder / ".gitignore"  # whatever the course's own says
    if not ignored.exists():
        write_file(ignored, "*\n")


def _after(before: Standing, result: Result, whole: bool) -> Standing:
    now = stamp(datetime.now(UTC))
    begun = result.status is not Status.NOT_STARTED
    after = replace(
        before,
        checked_at=now if begun else before.checked_at,
        digest=result.kernel.sha256,
    )
    if not whole:
        return after
    same = before.of == result.max_points
    after = replace(
        after,
        points=max(before.points, result.points) if same else result.points,
        of=result.max_points,
        best_share=max(filter(None, (before.best_share, _share(result))), default=None),
    )
    if result.status is Status.PASS:
        return replace(after, passed=True, passed_at=now)
    return after


def _share(result: Result) -> float | None:
    """Return the share that a check measured, unless something disturbed the measurement."""
    told = (Outcome.PASS, Outcome.FAIL)
    shares = [one.speed.share for one in result.steps if one.speed and one.outcome in told]
    return shares[0] if shares else None


def _change(root: Path, name: str, change: Callable[[Standing], Standing]) -> Progress:
    def changed(progress: Progress) -> Progress:
        new = change(standing_of(progress, name))
        return replace(progress, standings={**progress.standings, name: new})

    return _update(root, changed)


def _update(root: Path, change: Callable[[Progress], Progress]) -> Progress:
    folder = root / STATE
    try:
        make_state(root)
        with _locked(folder):
            before = _read_or_set_aside(folder / FILE)
            after = change(before)
            write_file(folder / FILE, _text(after))
            return after
    except OSError as error:
        notice = (
            f"{folder / FILE} cannot be written: {error.strerror}. Your progress is not remembered."
        )
        return replace(change(read(root)), notice=notice)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock on a course's progress; continue without it if it cannot be had."""
    try:
        lock = os.open(folder / "progress.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + PATIENCE_S
        while not _taken(lock) and time.monotonic() < end:
            time.sleep(0.01)
        yield
    finally:
        os.close(lock)


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _read_or_set_aside(path: Path) -> Progress:
    try:
        return _parsed(path)
    except FileNotFoundError:
        return Progress()
    except (OSError, ValueError) as error:
        return Progress(notice=_set_aside(path, error))


def _set_aside(path: Path, error: OSError | ValueError) -> str:
    why = error.strerror if isinstance(error, OSError) else error
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.stem}-unreadable-{number}.json")):
        number += 1
    with suppress(OSError):
        path.rename(aside)
        return f"{path} cannot be read: {why}. It is {aside.name} now, and your progress is empty."
    return f"{path} cannot be read: {why}. Move it away."


def _parsed(path: Path) -> Progress:
    """Parse the file. Raises FileNotFoundError, OSError, and ValueError for other content."""
    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")  # opening a pipe would wait for ever
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} bytes")
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise ValueError(f"it is no {SCHEMA}")
    current, standings = record.get("current"), record.get("standings")
    if not isinstance(current, str | None) or not isinstance(standings, dict):
        raise ValueError(f"it is no {SCHEMA}")
    progress = Progress(current, {name: _standing(one) for name, one in standings.items()})
    try:
        _text(progress).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a character") from None  # nobody could write it again
    return progress


def _standing(entries: object) -> Standing:
    """Build a standing from its fields, of which unknown ones are ignored. Raises ValueError."""
    known = {one.name: str(one.type) for one in fields(Standing)}
    if not isinstance(entries, dict):
        raise ValueError(f"it is no {SCHEMA}")
    given = {name: value for name, value in entries.items() if name in known}
    if any(type(value) not in _TYPES[known[name]] for name, value in given.items()):
        raise ValueError(f"it is no {SCHEMA}")
    return Standing(**given)


_TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "str": (str,),
    "str | None": (str, type(None)),
    "float | None": (float, int, type(None)),
}


def _text(progress: Progress) -> str:
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "current": progress.current,
        "standings": {name: asdict(one) for name, one in progress.standings.items()},
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
