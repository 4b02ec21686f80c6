"""A judge for notebooks and for programs that grade many kernels."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from grader.cli.notebook.checked import Checked
from grader.cli.notebook.sources import Kernel, source_of
from grader.cli.notebook.warm import warm_judge
from grader.course import Exercise, catalog, progress
from grader.grading import Options, Request, WarmJudge, new_seed
from grader.grading import check as grading
from grader.model import Result, Step, Trace, UsageError, cannot_write, save_file

DEVICES = ("auto", "cpu", "cuda")
FOLDER = "notebook"  # of graded cells, in the folder of the learner's state
LOCK = ".lock"  # beside a graded file


class Judge:
    """A judge that grades kernels against the exercises of a course.

        with Judge() as judge:
            for checked in judge.check_all([("p01_map", text), ("p01_map", Path("other.py"))]):
                print(checked.result.status, checked.points)

    A kernel is a function, the path of a file or its text. It runs in a process of its own, and
    never in this one. `device` is cpu, cuda or auto, which takes a GPU if there is one. With `seed`
    all checks draw the same cases. `course` is the course's folder, else the one around the working
    directory, or GRADER_COURSE. Graded files stay in the folder `files`, by the names of their
    exercises; without it each is temporary, and no result says how to replay its case. `judge` is
    one that is warm already, and that the caller closes. Raises UsageError where no course is.
    """

    def __init__(
        self,
        device: str = "auto",
        seed: int | None = None,
        course: Path | None = None,
        files: Path | None = None,
        judge: WarmJudge | None = None,
    ) -> None:
        if device not in DEVICES:
            raise UsageError(
                f"There is no device {device!r}.", f"It is one of {', '.join(DEVICES)}."
            )
        self._root = course_around(course)
        self._device, self._seed, self._files = device, seed, files
        self._judge = WarmJudge() if judge is None else judge

    def check(self, name: str, kernel: Kernel) -> Checked:
        """Grade one kernel, and draw the case that fails.

        Raises UsageError for an unknown exercise and for a function that cannot be sent,
        CannotGrade and BrokenExercise as `grader check` ends with their exit codes.
        """
        return self._graded(name, kernel, picture=True)

    def check_all(self, kernels: Iterable[tuple[str, Kernel]]) -> Iterator[Checked]:
        """Grade pairs of an exercise's name and a kernel, and yield each result when it is there.

        Raises as `check` does.
        """
        for name, kernel in kernels:
            yield self._graded(name, kernel, picture=False)

    def close(self) -> None:
        """End the judge's process, and what it is grading."""
        self._judge.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _graded(self, name: str, kernel: Kernel, picture: bool) -> Checked:
        exercise, source = self._exercise(name), source_of(kernel)
        with self._folder(exercise) as folder:
            request = self._request(exercise, folder, picture)
            save_file(request.kernel, source)
            traces: list[Trace] = []
            (result,) = grading.run(
                [request], lambda _: None, on_trace=traces.append, judge=self._judge
            )
        following = progress.following_on(exercise, progress.read(self._root))
        return Checked(
            result if self._files else _without_replay(result),
            source,
            traces[0] if traces else None,
            following.name if following else None,
            _lesson_of(exercise),
        )

    def _exercise(self, name: str) -> Exercise:
        if not isinstance(name, str) or not name:
            raise UsageError(
                "No exercise is named.",
                'Its name comes first: `%%kernel p01_map`, or grader.check("p01_map", kernel).',
            )
        return catalog.find_entry(self._root, name)

    @contextmanager
    def _folder(self, exercise: Exercise) -> Iterator[Path]:
        if self._files is None:
            with tempfile.TemporaryDirectory(prefix="grader-") as temporary:
                yield Path(temporary)
            return
        folder = self._files / exercise.folder.name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(folder / exercise.file, error.strerror) from None
        with _locked(folder):
            yield folder

    def _request(self, exercise: Exercise, folder: Path, picture: bool) -> Request:
        seed = new_seed() if self._seed is None else self._seed
        how = Options(seed=seed, device=self._device, picture=picture)
        # Messages name the file as they would name the learner's own.
        return Request(exercise, folder / exercise.file, how)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    # The checks of other notebooks wait: they would write the file that is graded here.
    with ExitStack() as held:
        with suppress(OSError):  # a file system without locks
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            held.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def course_around(start: Path | None = None) -> Path:
    """Return the course as `catalog.find_root` does. Raises UsageError for a program's eyes."""
    try:
        return catalog.find_root(start)
    except UsageError as error:
        raise UsageError(
            error.message,
            "`grader init` makes a folder to learn in; start the notebook there, or set "
            "os.environ['GRADER_COURSE'] to it.",
        ) from None


def _lesson_of(exercise: Exercise) -> str:
    lesson = exercise.folder / "README.md"
    return lesson.relative_to(exercise.root).as_posix() if lesson.is_file() else ""


def _without_replay(result: Result) -> Result:
    """Return the result without commands that name a file that is gone."""
    return result.model_copy(
        update={
            "steps": tuple(map(_step_without_replay, result.steps)),
            "entries": tuple(
                one.model_copy(update={"steps": tuple(map(_step_without_replay, one.steps))})
                for one in result.entries
            ),
        }
    )


def _step_without_replay(step: Step) -> Step:
    if step.failure is None:
        return step
    return step.model_copy(update={"failure": step.failure.model_copy(update={"replay": None})})


def check(name: str, kernel: Kernel, device: str = "auto", seed: int | None = None) -> Checked:
    """Grade one kernel against an exercise of the course: a function, a path or a text.

    The graded file stays in `.grader/notebook/` of the course. The judge stays warm for the next
    check of this process. Raises as `Judge` and `Judge.check`.
    """
    root = course_around()
    try:
        progress.make_state(root)
    except OSError as error:
        raise cannot_write(root / progress.STATE, error.strerror) from None
    files = root / progress.STATE / FOLDER
    return Judge(device, seed, root, files, warm_judge(root)).check(name, kernel)
