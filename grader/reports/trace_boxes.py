"""The elements of an array as boxes in rows, for a terminal: as many as fit, with gaps between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.text import Text

from grader.model import Array, index_of, size

MOST_ROWS = 16  # of a table
MOST_OUTSIDE = 3  # boxes beyond the end of an array
BAD = "bold red"
FAINT = "dim"
INDENT = "    "
GAP = "…"  # where rows or columns are left out between others


@dataclass(frozen=True)
class Cell:
    """A box: what is in it, and below that the element's value."""

    text: str = ""
    style: str = ""
    outside: str = ""  # the index, if it lies beyond the array
    value: str = ""


@dataclass(frozen=True)
class Space:
    """The space for a drawing. Without `edges` boxes have no lines above and below."""

    width: int  # characters
    lines: int  # of boxes, for an array of one dimension
    rows: int = MOST_ROWS  # of a table
    edges: bool = True
    values: bool = True


def columns_of(size: int, fits: int, unit: int) -> int:
    """Return the boxes in a row, so that offsets show: whole blocks of `unit`, or a power of two.

    A row may be shorter where all of it fits.
    """
    if fits < 2 or size <= fits:
        return max(fits, 1)
    return fits // unit * unit if 1 < unit <= fits else 1 << (fits.bit_length() - 1)


def all_fit(array: Array, cells: Mapping[int, Cell], space: Space, unit: int = 1) -> bool:
    wide = _widest(cells.values())
    if len(array.shape) > 1:
        side = len(", ".join(str(extent - 1) for extent in array.shape[:-1]))
        in_use = {element % array.shape[-1] for element in cells}
        return max(in_use) - min(in_use) < (space.width - len(INDENT) - 2 - side) // (wide + 3)
    fits = (space.width - len(INDENT) - 1) // (wide + 3)
    columns = columns_of(size(array), fits, unit)
    return fits > 0 and max(cells) // columns - min(cells) // columns < space.lines


def _widest(cells: Iterable[Cell]) -> int:
    return max((max(len(cell.text), len(cell.value)) for cell in cells), default=0)


def boxes(
    array: Array,
    cells: dict[int, Cell],
    beyond: list[Cell],
    interest: set[int],
    space: Space,
    unit: int = 1,
) -> Text:
    """Draw an array's elements as boxes in rows, as many as fit, beginning with `interest`.

    `unit` is how many elements belong together, such as those of a block of threads.
    """
    near: list[Cell] = []
    if not space.values:
        cells = {element: replace(cell, value="") for element, cell in cells.items()}
    if not size(array):
        text = Text(f"    {array.name} has no elements\n")
    elif len(array.shape) > 1:
        text = _table(array, cells, interest, space)
    else:
        near = beyond[:MOST_OUTSIDE]
        text = _line(array, cells, near, interest, space, unit)
    far = beyond[len(near) :]
    for cell in far[:MOST_OUTSIDE]:
        text.append(f"    outside: {array.name}[{cell.outside}]  {cell.text}\n", style=BAD)
    if len(far) > MOST_OUTSIDE:
        text.append(f"    outside: {len(far) - MOST_OUTSIDE:,} more\n", style=BAD)
    return text


def _line(
    array: Array,
    cells: dict[int, Cell],
    beyond: list[Cell],
    interest: set[int],
    space: Space,
    unit: int,
) -> Text:
    """Draw an array of at most one dimension: rows of boxes, and accesses beyond it."""
    below = [cell for cell in beyond if cell.outside.startswith("-")]
    above = [cell for cell in beyond if cell not in below]
    names = [*(cell.outside for cell in beyond), str(size(array) - 1)]
    wide = max(_widest([*cells.values(), *beyond]), *map(len, names))
    fits = (space.width - len(INDENT) - 1 - len(beyond) * (wide + 2)) // (wide + 3)
    columns = columns_of(size(array), fits, unit)
    if beyond:  # the end that they lie beyond
        interest = {0} if below else {size(array) - 1}
    count = -(-size(array) // columns)
    rows = drawn_part(
        count,
        {element // columns for element in (*cells, *interest)},
        {element // columns for element in interest},
        space.lines,
        # An incomplete last row is drawn: that takes no more lines than saying that it is not.
        spare=1 if size(array) % columns else 0,
    )
    margin = INDENT + " " * (len(below) * (wide + 2))
    text = Text()
    for row in rows:
        if row is None:
            text.append(f"{margin}{GAP}\n", style=FAINT)
            continue
        part = range(row * columns, min((row + 1) * columns, size(array)))
        left = below if row == rows[0] else []
        right = above if row == rows[-1] else []
        boxes = [cells.get(element, Cell()) for element in part]
        text.append_text(_line_row(part, boxes, (left, right), margin, wide, space.edges))
    seen = {element for element in range(size(array)) if element // columns in rows}
    text.append(_left_out(array, len(seen), set(cells) <= seen), style=FAINT)
    return text


def _line_row(
    part: range,
    boxes: list[Cell],
    beyond: tuple[list[Cell], list[Cell]],
    margin: str,
    wide: int,
    edges: bool,
) -> Text:
    """Draw one row of boxes under the numbers of its elements, and accesses beyond it."""
    left, right = beyond
    indent = INDENT if left else margin
    names = [cell.outside for cell in left]
    line = indent + "".join(f" {name:^{wide}} " for name in names)
    names = [*map(str, part), *(cell.outside for cell in right)]
    line += "".join(f"  {name:^{wide}} " for name in names)
    text = Text()
    text.append(line.rstrip() + "\n", style=FAINT)
    if edges:
        text.append(margin + _edge("┌┬┐", len(part), wide), style=FAINT)
    for shown in _layers([*left, *boxes, *right]):
        row = Text(indent)
        for cell in left:
            row.append(f" {shown(cell):^{wide}} ", style=cell.style)
        row.append_text(_row(boxes, shown, wide))
        for cell in right:
            row.append(f"  {shown(cell):^{wide}} ", style=cell.style)
        row.rstrip()
        text.append_text(row)
        text.append("\n")
    if edges:
        text.append(margin + _edge("└┴┘", len(part), wide), style=FAINT)
    return text


def _layers(cells: Sequence[Cell]) -> list[Callable[[Cell], str]]:
    """Return what to read from cells for each line of a row: their texts, and values if any."""
    layers: list[Callable[[Cell], str]] = [lambda cell: cell.text]
    if any(cell.value for cell in cells):
        layers.append(lambda cell: cell.value)
    return layers


def drawn_part(
    count: int, used: set[int], interest: set[int], most: int, spare: int = 0
) -> list[int | None]:
    """Return at most `most` of `count` rows or columns to draw; None is a gap.

    Draw all from the first to the last one in `used`, and the others, too, if they are at most
    `spare`. If these are too many, start at the first of `interest`. If that is the first one used,
    draw the start and the end: the end shows the last block of a launch.
    """
    first, last = min(used, default=0), max(used, default=0)
    if count <= most and count - (last - first + 1) <= spare:
        first, last = 0, count - 1
    whole = range(first, last + 1)
    if len(whole) <= most:
        return list(whole)
    start = min(interest, default=first)
    if start > first or most < 3:
        start = min(start, last + 1 - most)
        return list(range(start, start + most))
    head = most // 2
    return [*whole[:head], None, *whole[len(whole) - (most - 1 - head) :]]


def _drawn_part_of_table(
    count: int, used: set[int], interest: set[int], most: int
) -> list[int | None]:
    """Do as `drawn_part`, and add neighbours, which show where an element lies."""
    if most > 2:
        used, interest = _with_neighbours(used, count), _with_neighbours(interest, count)
    return drawn_part(count, used, interest, most, spare=1)


def _with_neighbours(places: set[int], count: int) -> set[int]:
    return {each + aside for each in places for aside in (-1, 0, 1)} & set(range(count))


def _table(array: Array, cells: dict[int, Cell], interest: set[int], space: Space) -> Text:
    """Draw an array of several dimensions: its last one across, the others down the side."""
    across = array.shape[-1]
    down = size(array) // across
    wide = max(_widest(cells.values()), len(str(across - 1)))
    used = {*cells, *interest}
    rows = _drawn_part_of_table(
        down, {each // across for each in used}, {each // across for each in interest}, space.rows
    )
    names = [
        GAP if row is None else ", ".join(map(str, index_of(row, array.shape[:-1]))) for row in rows
    ]
    side = max(map(len, names))
    fits = max((space.width - len(INDENT) - 2 - side) // (wide + 3), 1)
    columns = _drawn_part_of_table(
        across,
        {each % across for each in used if each // across in rows},
        {each % across for each in interest if each // across in rows},
        fits,
    )
    indent = f"{INDENT}{'':{side}} "
    header = indent + "".join(f"  {GAP if at is None else at:^{wide}} " for at in columns)
    text = Text()
    text.append(header.rstrip() + "\n", style=FAINT)
    if space.edges:
        text.append(indent + _edge("┌┬┐", len(columns), wide), style=FAINT)
    for row, name in zip(rows, names, strict=True):
        boxes = [
            Cell(GAP, FAINT)
            if row is None or column is None
            else cells.get(row * across + column, Cell())
            for column in columns
        ]
        for number, shown in enumerate(_layers(boxes)):
            text.append(f"{INDENT}{'' if number else name:>{side}} ", style=FAINT)
            text.append_text(_row(boxes, shown, wide))
            text.append("\n")
    if space.edges:
        text.append(indent + _edge("└┴┘", len(columns), wide), style=FAINT)
    drawn = {
        row * across + column
        for row in rows
        for column in columns
        if row is not None and column is not None
    }
    text.append(_left_out(array, len(drawn), set(cells) <= drawn), style=FAINT)
    return text


def _edge(corners: str, count: int, wide: int) -> str:
    boxes = corners[1].join(["─" * (wide + 2)] * count)
    return f"{corners[0]}{boxes}{corners[2]}\n"


def _row(cells: Sequence[Cell], shown: Callable[[Cell], str], wide: int) -> Text:
    row = Text()
    row.append("│", style=FAINT)
    for cell in cells:
        row.append(f" {shown(cell):^{wide}} ", style=cell.style)
        row.append("│", style=FAINT)
    return row


def _left_out(array: Array, drawn: int, all_used: bool) -> str:
    """Say how much of the array is drawn, if not all; `all_used` says that the rest is unused."""
    if drawn == size(array):
        return ""
    others = "; the others were not touched" if all_used else ""
    return f"{INDENT}{drawn:,} of {size(array):,} elements of {array.name} are drawn{others}\n"
