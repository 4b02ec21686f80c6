"""Source text that names the lines of the kernel file that holds it, for NVRTC's messages."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from grader.backends.cuda.refusals import KERNEL

MOST = 5000  # lines of either text
TELLING = 4  # characters: a line of fewer, such as a brace, is found anywhere


def numbered(code: str, lines: Sequence[str]) -> str:
    """Add `#line` directives to a source that is made, in part or as a whole, of these lines.

    A file may put its source together of several strings, and replace names in it.
    """
    own = code.split("\n")
    if len(own) > MOST or len(lines) > MOST:
        return code
    blocks = SequenceMatcher(None, lines, own, autojunk=False).get_matching_blocks()
    shifts = {
        b: a - b
        for a, b, size in blocks
        if any(len(line.strip()) >= TELLING for line in own[b : b + size])
    }
    if not shifts:
        return code
    due, shift = next(iter(shifts.values())), 0
    numbered_lines: list[str] = []
    for number, line in enumerate(own):
        due = shifts.get(number, due)
        continued = number > 0 and own[number - 1].endswith("\\")
        if (number == 0 or due != shift) and not continued and number + due >= 0:
            numbered_lines.append(f'#line {number + due + 1} "{KERNEL}"')
            shift = due
        numbered_lines.append(line)
    return "\n".join(numbered_lines)
