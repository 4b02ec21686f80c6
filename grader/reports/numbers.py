"""The numbers of a failing case as lines of text, with each wrong element in marks.

Inputs come first, then the kernel's values, and below them the expected ones. All arguments that
run along one axis of the output share the columns of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product, repeat
from math import prod

from rich.text import Text

from grader.model import MOST_VALUES, Compared, Numbers, texts
from grader.reports.layout import DETAIL, filled
from grader.reports.number_texts import Place, Rows, place_range, rows_of

MOST_LINES = 14  # without those that count what is wrong


@dataclass(frozen=True)
class _Line:
    label: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class _Table:
    """Lines whose cells lie along one axis of the output, in groups along its other axes."""

    axis: int
    places: range  # along the axis
    above: tuple[_Line, ...]  # of inputs that have no other axis
    groups: dict[Place, tuple[str | _Line, ...]]
    below: tuple[_Line, ...]  # of outputs that have no other axis

    def lines(self, groups: Iterable[Place]) -> list[str | _Line]:
        inside = (line for group in groups for line in self.groups[group])
        return [*self.above, *inside, *self.below]

    @property
    def indent(self) -> int:
        lines = (line for line in self.lines(self.groups) if isinstance(line, _Line))
        return max([len(line.label) for line in lines] + [len("element")])

    @property
    def widths(self) -> dict[int, int]:
        """The width of the column at each place."""
        lines = [line.cells for line in self.lines(self.groups) if isinstance(line, _Line)]
        columns = zip(*lines, strict=True) if lines else repeat((), len(self.places))
        return {
            place: 1 + max(map(len, [f" {place} ", *cells]))
            for place, cells in zip(self.places, columns, strict=True)
        }


def number_rows(numbers: Numbers, width: int) -> Text:
    """Return the lines for a terminal, where what is wrong is red as well."""
    wide = width - len(DETAIL)
    lines = (
        filled(line, width, DETAIL) if len(line) > wide else f"{DETAIL}{line}\n"
        for line in number_lines(numbers, wide)
    )
    rows = Text("".join(lines))
    rows.highlight_regex("»[^«]*«", "red")
    return rows


def number_lines(numbers: Numbers, width: int) -> list[str]:
    """Return at most MOST_LINES lines of numbers, and one for each output that is not whole."""
    rows = list(rows_of(numbers))
    head = [line] if (line := _alone(rows)) else []
    head += _unaligned([row for row in rows if not row.alone and not row.aligned], width)
    aligned = [row for row in rows if row.aligned and not row.alone]
    body = _fitted(numbers, aligned, width, MOST_LINES - len(head)) if aligned else []
    return [line.rstrip() for line in (*head, *body, *_summaries(numbers))]


# -- arguments that do not run with the output


def _alone(rows: Sequence[Rows]) -> str:
    """Write the scalars, and single elements of which no place of the output has its own."""
    named = ((row.label(["0"] * len(row.of.shape)), row) for row in rows if row.alone)
    return "   ".join(f"{label} = {row.cells[row.place({})].strip()}" for label, row in named)


def _unaligned(rows: Sequence[Rows], width: int) -> list[str]:
    """Write each row of these arguments on a line of its own, as far as it fits."""
    lines = [line for row in rows for line in _unaligned_lines(row)]
    indent = max((len(line.label) for line, _ in lines), default=0)
    cell = 1 + max((len(text) for line, _ in lines for text in line.cells), default=0)
    fits = max((width - indent - len(" …")) // cell, 1)
    written = []
    for line, more in lines:
        cells = "".join(f"{text:>{cell}}" for text in line.cells[:fits])
        written.append(f"{line.label:<{indent}}{cells}{' …' * (more or len(line.cells) > fits)}")
    return written


def _unaligned_lines(row: Rows) -> Iterator[tuple[_Line, bool]]:
    """Yield lines, and whether each has more elements than the window shows."""
    window = row.of.window
    inner = max((axis for axis, n in enumerate(window) if n > 1), default=len(window) - 1)
    ranges = [*map(place_range, row.of.start, window)]
    along = ranges[inner]
    for outer in product(*(r for axis, r in enumerate(ranges) if axis != inner)):
        places = [(*outer[:inner], i, *outer[inner:]) for i in along]
        index = [*map(str, places[0])]
        index[inner] = f"{along.start}:{along.stop}" if along.start else ":"
        cells = tuple(row.cells[place] for place in places)
        yield _Line(row.label(index), cells), along.stop < row.of.shape[inner]


# -- arguments that run with the output


def _fitted(numbers: Numbers, rows: Sequence[Rows], width: int, most: int) -> list[str]:
    """Write the table in pieces of `width`, with the first wrong element if not all of them fit."""
    axes = range(len(numbers.shape))
    tables = (_table(numbers, rows, axis) for axis in _choices(axes))
    table = min(tables, key=lambda table: len(table.lines(table.groups)))
    place = numbers.first or (0,) * len(numbers.shape)
    pieces = _pieces(table, width)
    whole = len(table.places) == numbers.shape[table.axis]
    height = 1 + len(table.lines(table.groups))
    if not whole or height * len(pieces) > most:
        pieces = [_around(table, width, place[table.axis])]
    groups = _nearest_groups(table, place, most // len(pieces))
    lines = [line for piece in pieces for line in _written(numbers, table, piece, groups)]
    if whole and (len(groups) < len(table.groups) or sum(map(len, pieces)) < len(table.places)):
        lines.append("… `--json` prints all of them")
    return lines


def _pieces(table: _Table, width: int) -> list[range]:
    widths, left = table.widths, width - table.indent - len(" …")
    pieces = []
    start, used = table.places.start, 0
    for at in table.places:
        if used + widths[at] > left and at > start:
            pieces.append(range(start, at))
            start, used = at, 0
        used += widths[at]
    return [*pieces, range(start, table.places.stop)]


def _around(table: _Table, width: int, wrong: int) -> range:
    """Return the places around the wrong one whose columns fit, as many on either side."""
    widths, left = table.widths, width - table.indent - len(" …")
    start = wrong if wrong in table.places else table.places.start
    stop, left = start + 1, left - widths[start]
    while True:
        sides = [at for at in (start - 1, stop) if widths.get(at, width) <= left]
        if not sides:
            return range(start, stop)
        nearest = min(sides, key=lambda at: abs(at - wrong))
        start, stop, left = min(start, nearest), max(stop, nearest + 1), left - widths[nearest]


def _choices(axes: range) -> Sequence[int]:
    """Return the axes that may run across: the last one, or either one of a matrix."""
    return tuple(reversed(axes)) if len(axes) == 2 else (axes[-1],)


def _table(numbers: Numbers, rows: Sequence[Rows], axis: int) -> _Table:
    spans = {other: _span(numbers, rows, other) for other in range(len(numbers.shape))}
    others = [other for other in spans if other != axis]
    across = [(row, _line(row, axis, spans[axis], {})) for row in rows if _runs_only(row, axis)]
    groups = {}
    for group in islice(product(*(spans[other] for other in others)), MOST_VALUES):
        at = dict(zip(others, group, strict=True))
        groups[group] = tuple(_group(rows, axis, spans[axis], at))
    return _Table(
        axis,
        spans[axis],
        above=tuple(line for row, line in across if not isinstance(row.of, Compared)),
        groups=groups,
        below=tuple(line for row, line in across if isinstance(row.of, Compared)),
    )


def _runs_only(row: Rows, axis: int) -> bool:
    return {other for other in row.of.axes if other is not None} == {axis}


def _span(numbers: Numbers, rows: Sequence[Rows], axis: int) -> range:
    """Return the places along an axis of the output: of its own window, or of the first input."""
    by_output = sorted(rows, key=lambda row: row.of.argument != numbers.output)
    for row in sorted(by_output, key=lambda row: not isinstance(row.of, Compared)):
        if axis in row.of.axes:
            own = row.of.axes.index(axis)
            return place_range(row.of.start[own], row.of.window[own])
    return range(1)


def _group(
    rows: Sequence[Rows], axis: int, places: range, at: Mapping[int, int]
) -> Iterator[str | _Line]:
    single = [row for row in rows if axis not in row.of.axes]
    if single:
        yield "   ".join(filter(None, (_single(row, at) for row in single)))
    for row in rows:
        if axis in row.of.axes and not _runs_only(row, axis):
            yield _line(row, axis, places, at)


def _single(row: Rows, at: Mapping[int, int]) -> str:
    place = row.place(at)
    cell = row.cells.get(place, "").strip()
    return f"{row.label(list(map(str, place)))} = {cell}" if cell else ""


def _line(row: Rows, axis: int, places: range, at: Mapping[int, int]) -> _Line:
    index = [*map(str, row.place({**at, axis: 0}))]
    index[row.of.axes.index(axis)] = ":"
    cells = tuple(row.cells.get(row.place({**at, axis: i}), "") for i in places)
    return _Line(row.label(index), cells)


def _nearest_groups(table: _Table, place: Place, most: int) -> list[Place]:
    """Return the groups that fit into so many lines: the wrong one, then those nearest to it."""
    wrong = tuple(at for axis, at in enumerate(place) if axis != table.axis)
    by_distance = sorted(
        table.groups, key=lambda g: [abs(a - b) for a, b in zip(g, wrong, strict=True)]
    )
    left, kept = most - 1 - len(table.above) - len(table.below), list[Place]()
    for group in by_distance:
        left -= len(table.groups[group])
        if left < 0 and kept:
            break
        kept.append(group)
    return sorted(kept)


def _written(
    numbers: Numbers, table: _Table, piece: range, groups: Sequence[Place]
) -> Iterator[str]:
    axes, extent = len(numbers.shape), numbers.shape[table.axis]
    noun = "element" if axes == 1 else "row" if axes == 2 and table.axis == 0 else "column"
    indent, widths = table.indent, table.widths

    def joined(label: str, cells: Sequence[str]) -> str:
        columns = zip(cells, piece, strict=True)
        return f"{label:<{indent}}" + "".join(f"{text:>{widths[at]}}" for text, at in columns)

    if extent > 1:
        before = " …" if piece.start else ""
        after = " …" if piece.stop < extent else ""
        yield joined(f"{noun}{before}", [f" {at} " for at in piece]) + after
    for line in table.lines(groups):
        if isinstance(line, str):
            yield line
        else:
            first = table.places.start
            yield joined(line.label, line.cells[piece.start - first : piece.stop - first])


# -- what no window shows


def _summaries(numbers: Numbers) -> Iterator[str]:
    for output in numbers.outputs:
        total = prod(output.shape)
        if output.wrong_count and len(output.values) < total:
            name, where = texts.one_line(output.argument, 80), texts.one_line(output.where or "")
            line = f"{name}: {output.wrong_count:,} of {total:,} wrong ({where})"
            if output.largest_error is not None and output.largest_at is not None:
                place = ", ".join(map(str, output.largest_at))
                line += f", largest error {output.largest_error:.3g} at [{place}]"
            yield line
