"""Read the documentation: its commands, what they print now, its sections and tables.

    python tests/pages.py

writes into README and the other pages of RUN what their commands print now. Run it after a change
of an output's wording.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import warm

from grader.course import catalog

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
COMMANDS = ROOT / "docs" / "commands.md"
STEPS = ROOT / "docs" / "steps.md"
HOUSE = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [README, *HOUSE, *sorted(ROOT.glob("docs/*.md"))]
# The pages whose commands tests run; other pages have tests of their own for what they show.
RUN = [README, ROOT / "docs" / "first-exercise.md", COMMANDS]

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A command of a fenced block, and what the page says that it prints."""

    line: str
    output: str
    language: str


def commands(page: str) -> Iterator[Command]:
    """Yield each line of `sh` blocks, and each `$ ` line of `console` blocks with its output."""
    for language, body in BLOCK.findall(page):
        if language == "sh":
            yield from (Command(line, "", "sh") for line in body.splitlines() if line.strip())
        if language == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                line, _, output = part.partition("\n")
                yield Command(line, output, "console")


def shape(output: str) -> str:
    """Return an output without line breaks, versions, seconds and seeds, which differ by run."""
    text = re.sub(r"\b(torch|triton|numba-cuda) \d[\w.+]*", r"\1 #", output)
    return " ".join(re.sub(r"\d+\.\d s\b|\bseed[ =]\d+", "#", text).split())


def learners_copy(folder: Path) -> Path:
    """Copy the course as a learner finds it: with untouched stubs."""
    for shelf in (*catalog.SHELVES, "solutions"):
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / shelf, folder / shelf, ignore=unwanted)
    run(folder, "grader stub --force")
    return folder


def run(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would, on a terminal of 80 columns and without a GPU."""
    places = warm.path_of_grader(), Path(sys.executable).parent
    environment = os.environ | {
        "PATH": os.pathsep.join(map(str, (*places, os.environ["PATH"]))),
        "CUDA_VISIBLE_DEVICES": "",
        "COLUMNS": "80",
        "PYTHONIOENCODING": "utf-8",
    }
    environment.pop("GRADER_COURSE", None)
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True
    )


def section(page: Path, title: str) -> str:
    """Return the text below one heading, up to the next of any level."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{page.name} has no section {title!r}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """Return the cells of every table row, without headings and rulers."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    below_a_ruler, kept = False, []
    for row in cells:
        if "-" in (ruler := "".join(row)) and set(ruler) <= set("-: "):
            below_a_ruler = True
            kept.pop()
        else:
            kept.append(row)
    assert below_a_ruler or not kept
    return kept


def update_pages() -> None:
    """Put what the commands print now under them."""
    with tempfile.TemporaryDirectory() as folder:
        copied = learners_copy(Path(folder))
        for page in RUN:
            text = page.read_text(encoding="utf-8")
            for command in (c for c in commands(text) if c.language == "console"):
                printed = run(copied, command.line).stdout
                old = f"$ {command.line}\n{command.output}"
                assert text.count(old) == 1, f"twice on {page.name}: {command.line}"
                text = text.replace(old, f"$ {command.line}\n{printed}")
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    update_pages()
