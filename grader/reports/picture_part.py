"""The picture of a failing case as a part of a report: whole, or the drawings with a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.text import Text

from grader.reports.fitting import ALL, Part, lines, rows
from grader.reports.trace_boxes import BAD

LEAST = 6  # lines below which no drawing of a picture is worth reading
REDUCED, LEFT_OUT = 3, 6  # ranks of the shorter forms
_ROW_ENDS = "└"


def picture_part(
    picture: Text, most: int, width: int, excerpt: Callable[[int], Text | None] | None = None
) -> Part:
    """Make a part of a picture, of which a report of `most` lines may show less.

    `excerpt` draws it in so many lines, if it can; else its drawings are chosen from its text.
    """
    height = min(rows(picture, width), most)
    shorter = excerpt or partial(_reduced_to, picture, width)
    tried = map(shorter, range(height, LEAST - 1, -1))
    forms = [(REDUCED, _apart(form)) for form in tried if form is not None]
    none = Text("  `-v` draws who reads and writes what.\n")
    return Part(_apart(picture), (*forms, (LEFT_OUT, none)))


def _apart(picture: Text) -> Text:
    whole = Text("\n").append_text(picture)
    whole.rstrip()
    return whole.append("\n\n")


def _reduced_to(picture: Text, width: int, most: int) -> Text | None:
    return reduced(picture, most, width)


def reduced(picture: Text, most: int, width: int) -> Text | None:
    """Choose drawings that have `most` lines, with their titles: those with a fault, then others.

    What the picture says in words, the report has said. Return None unless the first fault fits.
    """
    every = list(_paragraphs(picture))
    wanted = sorted(_drawings(every), key=lambda drawn: not _shows_a_fault(every[drawn[-1]]))
    if not wanted:
        return None
    # Beside each paragraph's own lines, one between them, and a last that says how much is missing.
    if sum(rows(every[number], width) + 1 for number in wanted[0]) > most:
        *title, boxes = wanted[0]
        above = sum(rows(every[number], width) + 1 for number in title)
        few = _few_rows(every[boxes], most - above - 1)
        if few is None:
            return None
        every[boxes] = few
    chosen = set(wanted[0])
    for drawn in (*_legends(every, wanted), *wanted[1:]):
        more = chosen.union(drawn)
        if sum(rows(every[number], width) + 1 for number in more) <= most:
            chosen = more
    kept = Text("\n").join(every[number] for number in sorted(chosen))
    missing = rows(picture, width) - rows(kept, width)
    return kept.append(f"… {missing} more lines of this picture; {ALL}\n")


def _drawings(every: Sequence[Text]) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of each paragraph of boxes and, before it, of the title above it."""
    title: tuple[int, ...] = ()
    for number, paragraph in enumerate(every):
        if not paragraph.plain.startswith(" "):
            title = (number,)
        elif _ROW_ENDS in paragraph.plain or "outside: " in paragraph.plain:
            yield (*title, number)


def _legends(
    every: Sequence[Text], drawings: Sequence[tuple[int, ...]]
) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of paragraphs that begin at the margin, below all drawings."""
    below = 1 + max(drawn[-1] for drawn in drawings)
    for number, paragraph in enumerate(every[below:], start=below):
        if not paragraph.plain.startswith(" "):
            yield (number,)


def _few_rows(boxes: Text, most: int) -> Text | None:
    """Keep the heading and whole rows of boxes, those with a fault first; None if no row fits."""
    heading, *every = lines(boxes)
    groups: list[Text] = [Text()]
    for line in every:
        groups[-1].append_text(line)
        if _ROW_ENDS in line.plain:
            groups.append(Text())
    groups.pop()  # words below the boxes, or nothing
    faulty = [number for number, group in enumerate(groups) if _shows_a_fault(group)]
    kept: list[int] = []
    for number in faulty or range(len(groups)):
        if 1 + sum(len(lines(groups[each])) for each in (*kept, number)) <= most:
            kept.append(number)
    if not kept:
        return None
    return heading.append_text(Text().join(groups[number] for number in kept))


def _shows_a_fault(paragraph: Text) -> bool:
    return any(span.style == BAD for span in paragraph.spans)


def _paragraphs(picture: Text) -> Iterator[Text]:
    gathered: list[Text] = []
    for line in (*_ended(picture), Text("\n")):
        if line.plain.strip():
            gathered.append(line)
        elif gathered:
            yield Text().join(gathered)
            gathered = []


def _ended(picture: Text) -> Sequence[Text]:
    copy = picture.copy()
    copy.rstrip()
    return lines(copy.append("\n"))
