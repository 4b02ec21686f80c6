"""Pieces of a picture that fit a number of lines: those that matter most, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.text import Text

from grader.reports.layout import filled
from grader.reports.trace_boxes import Space

MOST_NAMED = 3  # pieces that are left out
# With ever less space for each piece: rows of boxes, rows of tables, lines around boxes; and
# whether the legend is left out.
LEVELS = (
    (6, 16, True, False),
    (3, 8, True, False),
    (3, 6, False, False),
    (2, 4, False, False),
    (1, 3, False, False),
    (1, 3, False, True),
)


@dataclass(frozen=True)
class Piece:
    """A part of a picture, below a title that it may share with its neighbours.

    `rank` is 0 for what shows a fault, and higher for what matters less.
    """

    title: str
    name: str
    rank: int
    draw: Callable[[Space], Text]


@dataclass(frozen=True)
class Frame:
    """The text around the pieces: `above` them, and `below` them given what they show.

    `below` also takes whether to leave out what explains the marks.
    """

    above: Text
    below: Callable[[str, bool], Text]
    all_drawn: str  # says what draws all
    left_out: str = ""  # what no piece shows


def fitted(pieces: Sequence[Piece], frame: Frame, width: int, lines: int) -> Text:
    """Return a picture of at most `lines` lines, if what surrounds the pieces leaves that many.

    It has as many pieces as fit, those of the lowest ranks first, in their order.
    """
    best, best_score = Text(), (-1, -1, -1)
    lowest = max(min((piece.rank for piece in pieces), default=0), 1)
    needed = sum(piece.rank <= lowest for piece in pieces)
    ranked = sorted(range(len(pieces)), key=lambda n: (pieces[n].rank, n))
    for rows, table, edges, tight in LEVELS:
        space = Space(width, rows, table, edges)
        texts = [piece.draw(space) for piece in pieces]
        chosen: list[int] = []
        picture = _composed(pieces, texts, chosen, frame, width, tight)
        for number in ranked:
            trial = _composed(pieces, texts, sorted([*chosen, number]), frame, width, tight)
            if _height(trial) <= lines:
                chosen, picture = sorted([*chosen, number]), trial
        important = sum(pieces[number].rank <= lowest for number in chosen)
        faulty = sum(pieces[number].rank == 0 for number in chosen)
        score = faulty, important, len(chosen)
        if score > best_score:
            best, best_score = picture, score
        # Around faults, rows matter more than what else there is.
        if len(chosen) == len(pieces) or (faulty and important == needed):
            break
    return best


def whole(pieces: Sequence[Piece], frame: Frame, space: Space) -> Text:
    texts = [piece.draw(space) for piece in pieces]
    return _composed(pieces, texts, range(len(pieces)), frame, space.width, False)


def _height(text: Text) -> int:
    return text.plain.rstrip("\n").count("\n") + 1


def _composed(
    pieces: Sequence[Piece],
    texts: Sequence[Text],
    chosen: Sequence[int],
    frame: Frame,
    width: int,
    tight: bool,
) -> Text:
    picture = frame.above.copy()
    title = None
    for number in chosen:
        if pieces[number].title != title:
            picture.append("" if tight and title else "\n")
            title = pieces[number].title
            picture.append(filled(title, width), style="bold")
        picture.append_text(texts[number])
    below = frame.below(picture.plain, tight)
    if left := _left(pieces, set(chosen), frame):
        note = f"{left}; {frame.all_drawn}"
        picture.append("\n" + filled(note, width), style="dim")
    picture.append_text(below)
    return picture


def _left(pieces: Sequence[Piece], chosen: set[int], frame: Frame) -> str:
    drawn = {pieces[number].name for number in chosen}
    names = dict.fromkeys(piece.name for number, piece in enumerate(pieces) if number not in chosen)
    left = [f"more of {name}" if name in drawn else name for name in names]
    more = [f"{len(left) - MOST_NAMED} more"] if len(left) > MOST_NAMED else []
    named = [f"not drawn: {', '.join([*left[:MOST_NAMED], *more])}"] if left else []
    return "; ".join([*named, *filter(None, [frame.left_out])])
