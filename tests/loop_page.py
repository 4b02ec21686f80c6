"""The screen and the keys that docs/loop.md shows.

    python tests/loop_page.py

writes them into the page: run it after a change of a key or of what the screen shows.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from rich.console import Console

from grader.cli.loop import drawing, session, transitions
from grader.cli.loop.keys import KEYS
from grader.cli.loop.state import Loop
from grader.course.progress import Progress
from grader.grading import Options, Request, check
from grader.model import Result, Trace
from grader.model.results import parse_result

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "loop.md"
SCREEN = re.compile(r"(?<=<!-- screen -->\n).*?(?=<!-- end of screen -->)", re.DOTALL)
TABLE = re.compile(r"(?<=\| key \| what it does \|\n\| --- \| --- \|\n)(\|.*\n)*")
EXERCISE, KERNEL, SEED, WAITED_S = "p03_guard", "wrong_no_guard.py", 30, 0.9


def screen(loop: Loop, width: int, height: int, elapsed_s: float = 1.25) -> str:
    """Return the lines of a screen, as `screen.LoopApp` lays them out."""
    bottom = drawing.bottom(loop, width, elapsed_s).plain
    space = height - 3 - len(bottom.splitlines())
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(drawing.body(loop, width, space))
    body = [line.rstrip() for line in captured.get().splitlines()[:space]]
    return "\n".join([drawing.top(loop, width).plain, *body, "-" * width, bottom])


def graded() -> tuple[Result, Trace]:
    """Grade the page's kernel, which leaves out a guard."""
    exercise = session.first_loop(ROOT, EXERCISE).exercise
    kernel = exercise.answers / KERNEL
    traces: list[Trace] = []
    options = Options(device="cpu", seed=SEED, picture=True)
    (result,) = check.run(
        [Request(exercise, kernel, options)], lambda text: None, on_trace=traces.append
    )
    text = result.model_dump_json(by_alias=True)
    for here, shown in (
        (f" --kernel solutions/{EXERCISE}/{KERNEL}", ""),
        (f"solutions/{EXERCISE}/{KERNEL}", f"puzzles/{EXERCISE}/kernel.py"),
    ):
        text = text.replace(here, shown)
    return parse_result(text.encode()), traces[0]


def page() -> str:
    """Return the page with its screen and its keys as they are now."""
    result, trace = graded()
    loop = session.first_loop(ROOT, EXERCISE)
    loop, _ = transitions.looked(Loop(loop.exercises, EXERCISE, Progress()), "a")
    for transition in (
        partial(transitions.graded, number=1, result=result, waited_s=WAITED_S),
        partial(transitions.traced, number=1, trace=trace),
        partial(transitions.over, number=1),
    ):
        loop, _ = transition(loop)
    rows = "".join(f"| `{drawing.sign_of(key.letter)}` | {key.does} |\n" for key in KEYS)
    shown = f"\n```text\n{screen(loop, 80, 24)}\n```\n\n"
    text = PAGE.read_text(encoding="utf-8")
    return TABLE.sub(lambda _: rows, SCREEN.sub(lambda _: shown, text))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
