"""The formats by name: where each goes by default, and what makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.model import Attempt, Signed, UsageError
from grader.reports.formats import (
    autolab,
    classroom50,
    github,
    gitlab,
    gradescope,
    junit,
    prairielearn,
    records,
    tables,
)

GITLAB_FILES = ("grader-junit.xml", "grader.env")


@dataclass(frozen=True)
class Context:
    """Data that some formats need beside the attempts. Times are UTC, ISO 8601.

    `identity` has Classroom 50's fields. `folder` is the course's in GitHub's tree (None: outside
    of it). `summary` is the file of a step's summary, and `summary_bytes` its size so far. With
    `require_started` an exercise that is not started fails a build. `scope` is a sentence on
    exercises that were not graded because they have not changed.
    """

    title: str = "grader"
    submitted_at: str = ""
    made_at: str = ""
    sign: Callable[[Sequence[Attempt]], Signed] | None = None
    identity: Mapping[str, str] = field(default_factory=dict)
    out_of: int | None = None
    folder: str | None = ""
    summary: Path | None = None
    summary_bytes: int = 0
    require_started: bool = False
    scope: str = ""


@dataclass(frozen=True)
class Document:
    """One text and its destination: a file, or standard output if `path` is None.

    A `text` of None removes a file of an earlier run.
    """

    path: Path | None
    text: str | None
    append: bool = False


Maker = Callable[[Sequence[Attempt], Context, Path | None], Sequence[Document]]


@dataclass(frozen=True)
class Format:
    """The maker of a format; `prints` says whether it goes to standard output without a path.

    If `files` are named, the path is the folder of these files.
    """

    make: Maker
    prints: bool = True
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """A requested format, and the path that was given with it."""

    name: str
    path: Path | None = None

    @classmethod
    def parse(cls, text: str) -> Report:
        """Read `FORMAT` or `FORMAT=PATH`. Raises UsageError."""
        name, equals, path = text.partition("=")
        if name not in FORMATS:
            raise UsageError(
                f"There is no format of reports named {name!r}.",
                f"Use one of {', '.join(FORMATS)}; `grader export` makes "
                f"{', '.join(OF_A_CLASS[:-1])} and {OF_A_CLASS[-1]}.",
            )
        if equals and not path:
            raise UsageError(f"--report {text!r} names no file.", f"Give --report {name}=FILE.")
        return cls(name, Path(path) if path else None)

    @property
    def prints(self) -> bool:
        return self.name == "github" or (self.path is None and FORMATS[self.name].prints)

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of the requested files, without standard output and files that a system names."""
        if self.path is None:
            return ()
        return tuple(self.path / name for name in FORMATS[self.name].files) or (self.path,)

    def make(self, attempts: Sequence[Attempt], context: Context) -> Sequence[Document]:
        return FORMATS[self.name].make(attempts, context, self.path)


def _text(make: Callable[[Sequence[Attempt]], str]) -> Maker:
    def one(attempts: Sequence[Attempt], context: Context, path: Path | None) -> Sequence[Document]:
        return [Document(path, make(attempts))]

    return one


def _signed(attempts: Sequence[Attempt], context: Context, path: Path | None) -> list[Document]:
    if context.sign is None:
        raise UsageError("The format signed needs a key.", "Give --sign KEYFILE.")
    # Appended, and never instead of an earlier run: its signed attempts may count.
    return [Document(path, records.signed_line(attempts, context.sign), append=True)]


def _junit(attempts: Sequence[Attempt], context: Context, path: Path | None) -> list[Document]:
    return [Document(path, junit.document(attempts, context.require_started))]


def _github(attempts: Sequence[Attempt], context: Context, path: Path | None) -> list[Document]:
    commands = github.commands(
        attempts, context.folder, context.require_started, scope=context.scope
    )
    documents = [Document(None, commands)]
    if (file := path or context.summary) is not None:
        limit = github.SUMMARY_BYTES - context.summary_bytes - 1  # a newline may go first
        text = github.summary(attempts, context.title, limit, context.scope)
        documents.insert(0, Document(file, text, append=True))
    return documents


def _gitlab(attempts: Sequence[Attempt], context: Context, path: Path | None) -> list[Document]:
    late = context.require_started
    variables = gitlab.dotenv(attempts, late, unchanged=bool(context.scope))
    texts = junit.document(attempts, late), variables
    return [
        Document((path or Path()) / name, text)
        for name, text in zip(GITLAB_FILES, texts, strict=True)
    ]


def _classroom50(
    attempts: Sequence[Attempt], context: Context, path: Path | None
) -> list[Document]:
    text = classroom50.document(
        attempts, context.identity, context.submitted_at, context.made_at, context.out_of
    )
    return [Document(path, text)]


OF_A_CLASS = ("canvas", "moodle", "blackboard", "gradescope-zip")  # made only by `grader export`
FORMATS: dict[str, Format] = {
    "result": Format(_text(records.result_lines)),
    "attempt": Format(_text(records.attempt_lines)),
    "signed": Format(_signed),
    "junit": Format(_junit),
    "github": Format(_github),
    "gitlab": Format(_gitlab, prints=False, files=GITLAB_FILES),
    "classroom50": Format(_classroom50),
    "gradescope": Format(_text(gradescope.document)),
    "prairielearn": Format(_text(prairielearn.document)),
    "autolab": Format(_text(autolab.line)),
    "csv-long": Format(_text(tables.long)),
    "csv-wide": Format(_text(tables.wide)),
}
