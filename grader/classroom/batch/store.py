"""The folder with the results of a class run. What it holds is never graded again.

    results/KEY.json         the cache: a result, and what its key is made of
    attempts/LOGIN.jsonl     the attempts of one student
    logs/LOGIN.log           what the run said about one submission
    class.json               all students, all exercises
    progress.html            the page to watch

A result is on the disk, whole, before its unit counts as graded: a run that is killed at any moment
goes on from there. Everything else is made from the results again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from grader.classroom.batch.units import Unit
from grader.model import (
    HALF,
    Attempt,
    CannotGrade,
    ClassRun,
    Result,
    Signed,
    UsageError,
    attempt_json,
    class_json,
    parse_class,
    parse_result,
    remove_half_files,
    result_json,
    stamp,
    texts,
    time_key,
    write_file,
)

CLASS, PROGRESS, ORDER = "class.json", "progress.html", "order.json"
RESULTS, ATTEMPTS, LOGS, WORK = "results", "attempts", "logs", ".submissions"
_LOCK = ".lock"
_OWN = {CLASS, PROGRESS, ORDER, RESULTS, ATTEMPTS, LOGS, WORK, _LOCK}
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class Store:
    """One folder of results. Its methods raise CannotGrade where the disk fails."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def work(self) -> Path:
        """A folder for what is unpacked from submissions."""
        return self.folder / WORK

    @property
    def page(self) -> Path:
        return self.folder / PROGRESS

    def earlier(self) -> ClassRun | None:
        """Return the record of an earlier run in this folder. Raises UsageError for half a one."""
        path = self.folder / CLASS
        if not os.path.lexists(path):
            return None
        try:
            return parse_class(path.read_bytes(), str(path))
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from None

    def require_fitting(self, course: str, resume: bool) -> None:
        """Raise UsageError where the folder holds something else, or a run not to be resumed."""
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise UsageError(f"{self.folder} is not a folder.", "Name a folder for the results.")
        before = self.earlier()
        if before is None:
            names = {one.name for one in self.folder.iterdir()} - _OWN
            foreign = sorted(name for name in names if not name.startswith(HALF))
            if foreign:
                raise UsageError(
                    f"{self.folder} holds something else, such as {texts.quoted(foreign[0])}.",
                    "Name a folder that is new or empty.",
                )
        elif before.course != course:
            raise UsageError(
                f"{self.folder} has the results of another course, {before.course}.",
                "Name another folder, or run the command in that course.",
            )
        elif not resume:
            raise UsageError(
                f"{self.folder} has the results of an earlier run.",
                "Go on with it, which grades only what is new: --resume. Or name another folder.",
            )

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the folder, and keep other runs out of it. Raises UsageError."""
        try:
            for name in (RESULTS, ATTEMPTS, LOGS):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UsageError(
                f"The folder {self.folder} cannot be made: {error.strerror}.",
                "Name one within a folder that exists and that you may write to.",
            ) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            if not isinstance(error, BlockingIOError):  # as on network disks without locks
                raise UsageError(
                    f"The folder {self.folder} cannot be locked: {error.strerror}.",
                    "Name one on another disk: two runs in one folder would lose results.",
                ) from None
            raise UsageError(
                f"Another `grader grade` is at work in {self.folder}.",
                "Wait until it is done, or stop it; then go on with --resume.",
            ) from None
        try:
            for name in ("", RESULTS, ATTEMPTS, LOGS):
                remove_half_files(self.folder / name)
            yield
        finally:
            os.close(lock)

    # -- results

    def find(self, unit: Unit, models: Sequence[str]) -> tuple[str, Result] | None:
        """Return the key and the result of a unit that was graded on one of these GPU models.

        Of several the newest counts: the last regrade may have been on another model.
        """
        known = ((unit.key(model), self._read(unit, model)) for model in models)
        found = [(key, result) for key, result in known if result is not None]
        return max(found, key=lambda one: time_key(one[1].started_at), default=None)

    def _read(self, unit: Unit, model: str) -> Result | None:
        try:
            found = json.loads((self._results / f"{unit.key(model)}.json").read_bytes())
            if found["parts"] == unit.parts(model):
                return parse_result(json.dumps(found["result"]))
        except (OSError, ValueError, KeyError, TypeError, ValidationError):
            pass  # a file that is damaged counts as missing
        return None

    def known(
        self, all_units: Mapping[str, Unit], models: Sequence[str]
    ) -> dict[str, tuple[str, Result]]:
        """Return what `find` finds for many units, keyed by id."""
        found = {name: self.find(unit, models) for name, unit in all_units.items()}
        return {name: result for name, result in found.items() if result is not None}

    def keep(self, unit: Unit, model: str, result: Result) -> str:
        """Write a result, and return its key once it is on the disk."""
        key = unit.key(model)
        whole = {"parts": unit.parts(model), "result": json.loads(result_json(result))}
        self._write(self._results / f"{key}.json", json.dumps(whole, indent=1) + "\n")
        return key

    @property
    def _results(self) -> Path:
        return self.folder / RESULTS

    # -- what is made of results

    def write_class(self, run: ClassRun) -> None:
        self._write(self.folder / CLASS, class_json(run) + "\n")

    def write_order(self, order: str) -> None:
        self._write(self.folder / ORDER, order)

    def write_attempts(self, student: str, records: Sequence[Attempt | Signed]) -> None:
        """Write the attempts of a student; without any, there is no file."""
        path = self.folder / ATTEMPTS / f"{file_name(student)}.jsonl"
        if records:
            self._write(path, "".join(f"{attempt_json(one)}\n" for one in records))
        else:
            path.unlink(missing_ok=True)

    def forget_others(self, students: Sequence[str]) -> None:
        """Remove the attempts of those who are no longer on the roster."""
        known = {f"{file_name(student)}.jsonl" for student in students}
        for path in (self.folder / ATTEMPTS).glob("*.jsonl"):
            if path.name not in known:
                path.unlink(missing_ok=True)

    def write_page(self, page: str) -> None:
        self._write(self.page, page)

    def log(self, students: Sequence[str], text: str) -> None:
        """Add lines to the logs of these students, with the time; hidden characters are shown."""
        when = stamp(datetime.now(UTC))
        said = texts.barred(texts.lines(text).rstrip())
        for student in students:
            try:
                with (self.folder / LOGS / f"{file_name(student)}.log").open(
                    "a", encoding="utf-8"
                ) as file:
                    file.write(f"{when} {said}\n")
            except OSError as error:
                raise self._failed(error) from None

    def _write(self, path: Path, content: str) -> None:
        try:
            write_file(path, content)
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> CannotGrade:
        return CannotGrade(
            f"The results cannot be written to {self.folder}: {error.strerror}.",
            "Make room there; then go on with --resume: what was graded before is kept.",
        )


def file_name(student: str) -> str:
    """Return the name of a student's files, without an ending; no login leads out of a folder."""
    if _SAFE.fullmatch(student):
        return student
    slug = re.sub(r"[^A-Za-z0-9]+", "-", student)[:40].strip("-") or "student"
    return f"{slug}-{hashlib.sha256(student.encode(errors='surrogatepass')).hexdigest()[:8]}"


def attempt_id(parts: Mapping[str, str]) -> str:
    """Return an id that is the same each time the same attempt is written."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
