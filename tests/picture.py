"""The picture of README: a check as a terminal shows it, exported by rich.

    python tests/picture.py

draws it anew. `shown` reads the words back from the file, for the test that it is current.
"""

from __future__ import annotations

import io
import re
from html import unescape
from pathlib import Path

from pages import ROOT, learners_copy, run, shape
from rich.console import Console
from rich.text import Text

PICTURE = ROOT / "docs" / "pictures" / "check.svg"
COMMAND = "grader check p01_map --kernel solutions/p01_map/wrong_first_thread_only.py"
COLUMNS = 80
# Of a server elsewhere: a page asks for nothing from the network.
WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def drawn(output: str) -> str:
    """Return what a terminal shows as SVG, below the prompt with the command."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.assemble(("$ ", "bold"), COMMAND))
    console.print(Text.from_ansi(output))
    svg = console.export_svg(title="kernel-grader", unique_id="check")
    return WEB_FONT.sub("", svg)


def shown(svg: str) -> str:
    """Return the words of a picture, without spaces and what differs by run."""
    words = re.findall(r"<text [^>]*>(.*?)</text>", svg)
    return same("\n".join(unescape(word).replace("\xa0", " ") for word in words))


def same(output: str) -> str:
    """Return an output without spaces and what differs by run."""
    return "".join(shape(output).split())


def printed(course: Path) -> str:
    """Run the command with colours, in a learner's course, and return its output."""
    return run(course, f"FORCE_COLOR=1 {COMMAND}").stdout


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        PICTURE.write_text(drawn(printed(learners_copy(Path(folder)))), encoding="utf-8")
