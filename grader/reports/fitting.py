"""Reports that fit a number of lines: their parts have shorter forms, used where space lacks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from grader.reports.layout import DETAIL

ALL = "`-v` prints all"


@dataclass(frozen=True)
class Part:
    """Lines of a report, each with its line feed, and shorter forms of them.

    A form has a rank: the forms of a low rank are used first, whatever part they belong to.
    """

    text: Text
    shorter: tuple[tuple[int, Text], ...] = ()


def joined(parts: Iterable[Part]) -> Text:
    return Text().join(part.text for part in parts)


def fitted(parts: Sequence[Part], most: int, width: int) -> Text:
    """Join the parts in `most` lines of a terminal, and cut what no shorter form makes fit."""
    forms = [0] * len(parts)
    texts = [part.text for part in parts]
    while sum(rows(text, width) for text in texts) > most:
        further = [
            (part.shorter[form][0], place)
            for place, (part, form) in enumerate(zip(parts, forms, strict=True))
            if form < len(part.shorter)
        ]
        if not further:
            return cut(Text().join(texts), most, width)
        _, place = min(further)
        texts[place] = parts[place].shorter[forms[place]][1]
        forms[place] += 1
    return Text().join(texts)


def rows(text: Text, width: int) -> int:
    """Count the lines that a terminal of this width needs, which breaks longer ones."""
    return sum(max(1, -(-cell_len(line) // width)) for line in text.plain.splitlines())


def cut(text: Text, most: int, width: int) -> Text:
    """Keep the first lines, and say in the last of `most` lines how many are left out."""
    if rows(text, width) <= most:
        return text
    kept, every = Text(), lines(text)
    for number, line in enumerate(every):
        if rows(kept, width) + rows(line, width) > most - 1:
            return kept.append(f"{DETAIL}… {len(every) - number} more lines; {ALL}\n")
        kept.append_text(line)
    return kept


def shortened(text: Text, width: int, *forms: tuple[int, int]) -> Part:
    """Make a part that can be cut: `forms` are pairs of a rank and the most lines that remain."""
    return Part(text, tuple((rank, cut(text, most, width)) for rank, most in forms))


def lines(text: Text) -> Sequence[Text]:
    return list(text.split("\n", include_separator=True))
