"""Slack beyond the limits of the step `traffic`, and its advice, however bytes are counted."""

from __future__ import annotations

# Allowed beyond the limit. A last block that is shifted back to be full reads up to a block twice,
# 13 % of the counted rows with blocks of 4096. A third pass instead of two would be 50 %.
SLACK = 1.2

AGAIN = {
    "read": "Each further read costs the time of the first: what could be kept from an earlier "
    "one? Or do several threads or programs do the same work?",
    "written": "Each further write costs the time of the first: keep a value in a variable until "
    "it is final, and let only one thread store it.",
}

# Where the inputs decide what must be read.
BEYOND = (
    "The kernel reads what these inputs do not ask for, or reads something twice. A masked lane of "
    "a load costs nothing; a value that is read and then left out costs as much as one that counts."
)
