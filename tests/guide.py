"""docs/authoring.md and docs/arithmetic.md as the steps that their readers take.

    python tests/guide.py

writes into the pages what their commands print now.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pages import BLOCK, ROOT, Command, commands, run

PAGE = ROOT / "docs" / "authoring.md"
MODEL = "03_three_pass_softmax"
NAME = "40_row_sum"

FILE = re.compile(r"^\*\*`([^`]+)`\*\*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MISTAKE = re.compile(r"^\| `(wrong_\w+\.py)` \| `(.+?)` \| `(.+?)` \| (\w+) \| (.+?) \|$", re.M)


@dataclass(frozen=True)
class Write:
    """A file that the page shows in full."""

    path: str
    text: str


@dataclass(frozen=True)
class Break:
    """A row of the table of mistakes: the solution with one text replaced, and a docstring."""

    name: str
    old: str
    new: str
    step: str
    says: str


Step = Write | Break | Command


def steps(page: str) -> list[Step]:
    """Return all that the page has its reader do, in its order."""
    found: list[tuple[int, Step]] = [(m.start(), Write(m[1], m[2])) for m in FILE.finditer(page)]
    shown = [(m.start(2), m.end(2)) for m in FILE.finditer(page)]
    found += [(m.start(), Break(*m.groups())) for m in MISTAKE.finditer(page)]
    for block in BLOCK.finditer(page):
        found += [(block.start(), command) for command in commands(block[0])]
    inside = [at for at, _ in found if any(begin < at < end for begin, end in shown)]
    assert not inside, "a command inside a file is not a command"
    return [step for _, step in sorted(found, key=lambda pair: pair[0])]


STEPS = steps(PAGE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Walk:
    """A page that begins with a copy of MODEL, and the exercise that stands there in the end."""

    page: Path
    name: str

    @property
    def steps(self) -> list[Step]:
        return steps(self.page.read_text(encoding="utf-8"))


AUTHORING = Walk(PAGE, NAME)
WALKS = (AUTHORING, Walk(ROOT / "docs" / "arithmetic.md", "41_product"))


def take(step: Write | Break, folder: Path, name: str) -> None:
    """Do what a reader does with a file or with a row of the table."""
    if isinstance(step, Write):
        (folder / step.path).write_text(step.text, encoding="utf-8")
        return
    answers = folder / "solutions" / name
    solution = (answers / "kernel.py").read_text(encoding="utf-8")
    assert solution.count(step.old) == 1, step
    docstring = f'"""{step.says}\n\nRejected at: {step.step}\n"""'
    broken = re.sub(r'\A""".*?"""', lambda _: docstring, solution.replace(step.old, step.new))
    (answers / step.name).write_text(broken, encoding="utf-8")


def a_course(folder: Path) -> Path:
    for shelf in ("exercises", "solutions"):
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / shelf / MODEL, folder / shelf / MODEL, ignore=unwanted)
    return folder


def followed(folder: Path, walk: Walk = AUTHORING) -> Iterator[tuple[Command, int, str, str]]:
    """Take every step; yield each command, its exit code, and what it printed on both streams."""
    for step in walk.steps:
        if isinstance(step, Command):
            done = run(folder, step.line)
            yield step, done.returncode, done.stdout, done.stderr
        else:
            take(step, folder, walk.name)


def update_page(walk: Walk) -> None:
    """Put what the commands print now under them."""
    text = walk.page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for command, _, printed, _ in followed(a_course(Path(folder)), walk):
            if command.language == "console":
                old = f"$ {command.line}\n{command.output}"
                assert text.count(old) == 1, f"twice on the page: {command.line}"
                text = text.replace(old, f"$ {command.line}\n{printed}")
    walk.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for each in WALKS:
        update_page(each)
