"""One operation of a program as a strip for a terminal: its lanes, mask, elements and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from rich.text import Text

from grader.model import Access, Act, Trace, index_of
from grader.reports.layout import filled
from grader.reports.trace_boxes import BAD, FAINT, GAP, columns_of, drawn_part
from grader.reports.trace_code import code_at
from grader.reports.trace_labels import brief_value
from grader.reports.trace_words import MARKS, element_name

INDENT = "      "
VERBS = {"load": "reads", "store": "writes", "atomic": "updates", "reduce": "gives"}
MASKED = "·"
MOST_RESULTS = 8
WIDEST_LABEL = 12
_ARGUMENTS = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"  # in which calls nest twice
REDUCTION = re.compile(rf"\b\w+\.(?:max|min|sum|xor_sum|argmax|argmin|reduce)\({_ARGUMENTS}\)")
LONGEST_CODE = 200


@dataclass(frozen=True)
class Strip:
    """An act, its accesses by lane, and what is wrong with each lane's element."""

    trace: Trace
    act: Act
    lanes: Mapping[int, Access]
    marks: Mapping[int, str]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.trace.operations[self.act.operation].shape


def strip_of(trace: Trace, number: int, wrong: Mapping[tuple[int, int], str]) -> Strip:
    """Return the strip of an act; `wrong` has marks by array and element."""
    act = trace.acts[number]
    lanes = {access.thread: access for access in trace.accesses if access.act == number}
    marks = {}
    for lane, access in lanes.items():
        mark = MARKS.get(access.fault, "")
        if access.kind != "read" and access.element is not None:
            mark += wrong.get((access.array, access.element), "")
        if mark:
            marks[lane] = mark
    return Strip(trace, act, lanes, marks)


def drawing_of(strip: Strip, width: int, rows: int) -> Text:
    """Draw a strip with at most `rows` rows of lanes, below the line of the kernel."""
    act, operation = strip.act, strip.trace.operations[strip.act.operation]
    text = Text()
    line = f"{operation.line:>4}  " if operation.line else f"   {MASKED}  "
    code = code_at(strip.trace, operation.line) if operation.line else operation.kind
    text.append(_cut(line + code, width) + "\n")
    if operation.kind == "reduce":
        text.append(_cut(INDENT + results_of(strip.trace, act), width) + "\n")
    elif prod(strip.shape) == 1 and strip.lanes:
        text.append_text(_scalar(strip, width))
    elif len(strip.shape) > 1 and strip.lanes:
        text.append_text(_table(strip, width, rows))
    elif strip.lanes:
        text.append_text(_line(strip, width, rows))
    if note := about_mask(strip.trace, act):
        text.append(filled(f"{note}", width, INDENT), style=FAINT)
    if act.stopped:
        text.append(filled("the error stopped the kernel here", width, INDENT), style=BAD)
    return text


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + GAP


def results_of(trace: Trace, act: Act) -> str:
    """Write `tl.max(x, axis=0) gives 1`: the value of a line may be another than its reduction's.

    Where the line does not say which reduction it is, none is named.
    """
    operation = trace.operations[act.operation]
    shown = [brief_value(value) for value in act.results[:MOST_RESULTS]]
    more = prod(operation.shape) - len(shown)
    line = trace.source[operation.line - 1] if operation.line else ""
    calls = REDUCTION.findall(line[:LONGEST_CODE])
    who = f"{calls[0]} " if len(calls) == 1 else ""
    return f"{who}gives {'  '.join(shown)}{f' and {more:,} more' if more > 0 else ''}"


def _scalar(strip: Strip, width: int) -> Text:
    (access,) = strip.lanes.values()
    text = Text(INDENT)
    value = f": {brief_value(access.value)}" if access.value else ""
    if access.kind == "update" and value:
        value = f", which then holds{value[1:]}"
    mark = strip.marks.get(access.thread, "")
    kind = strip.trace.operations[strip.act.operation].kind
    what = f"{VERBS[kind]} {element_name(strip.trace.arrays[access.array], _index(strip, access))}"
    text.append(_cut(f"{what}{value} {mark}".rstrip(), width - len(INDENT)), BAD if mark else "")
    text.append("\n")
    return text


def _index(strip: Strip, access: Access) -> tuple[int, ...]:
    shape = strip.trace.arrays[access.array].shape
    return access.index if access.element is None else index_of(access.element, shape)


def about_mask(trace: Trace, act: Act) -> str:
    """Say how many lanes are masked off, and what they get; empty if no lane is."""
    operation = trace.operations[act.operation]
    lanes = prod(operation.shape)
    masked = lanes - act.active
    if not masked or operation.kind == "reduce":
        return ""
    who = f"{masked:,} of {lanes:,} lanes are masked off" if act.active else "all lanes are masked"
    if act.stopped and act.other is None:
        return who  # the error came before the simulator looked at what they get
    if operation.kind == "load":
        got = f"get {brief_value(act.other)}" if act.other is not None else "get nothing defined"
    else:
        got = "write nothing" if operation.kind == "store" else "update nothing"
    return f"{who}: they {got}"


# -- lanes in a line


def _line(strip: Strip, width: int, rows: int) -> Text:
    (array, prefix), inner = _common(strip)
    name = strip.trace.arrays[array].name if array is not None else ""
    where = f"{name}[{prefix}]" if array is not None else "element"
    operation = strip.trace.operations[strip.act.operation]
    what = {"load": operation.name or "value", "store": "value", "atomic": "then"}
    labels = ["lane", where, what[operation.kind]]
    side = min(max(map(len, labels)), WIDEST_LABEL)
    cells = {
        lane: (inner(access) + _marked(strip, lane), brief_value(access.value))
        for lane, access in strip.lanes.items()
    }
    lanes = prod(strip.shape)
    wide = max(len(str(max(cells))), *(len(text) for cell in cells.values() for text in cell))
    fits = (width - len(INDENT) - side - 1) // (wide + 2)
    columns = _lanes_shown(strip, lanes, fits, rows)
    text = Text()
    for row in columns:
        if row is None:
            text.append(f"{INDENT}{GAP}\n", style=FAINT)
            continue
        layers: list[tuple[str, Callable[[int], str]]] = [
            (labels[0], lambda lane: str(lane)),
            (labels[1], lambda lane: cells[lane][0] if lane in cells else MASKED),
            (labels[2], lambda lane: cells[lane][1] if lane in cells else ""),
        ]
        if not any(value for _, value in cells.values()):
            layers.pop()
        for number, (label, shown) in enumerate(layers):
            text.append(f"{INDENT}{_cut(label, side):<{side}} ", style=FAINT)
            for lane in row:
                style = FAINT if number == 0 or lane is None else _style(strip, lane)
                text.append(f"  {GAP if lane is None else shown(lane):>{wide}}", style=style)
            text.rstrip()
            text.append("\n")
    drawn = {lane for row in columns for lane in row or () if lane is not None}
    return text.append_text(_about_the_rest(strip, drawn, width))


def _about_the_rest(strip: Strip, drawn: set[int], width: int) -> Text:
    left = strip.act.active - len(drawn & set(strip.lanes))
    note = f"{left:,} more lanes that take part are not drawn"
    return Text(_cut(INDENT + note, width) + "\n" if left else "", style=FAINT)


def _lanes_shown(strip: Strip, lanes: int, fits: int, rows: int) -> list[list[int | None] | None]:
    """Choose the lanes that are drawn, in rows of which `fits` fit; None is a gap."""
    used = set(strip.lanes)
    interest = set(strip.marks) or used
    if lanes <= fits:
        return [list(range(lanes))]
    # One row: masked lanes behind the last active one need no space.
    near = {*used, min(max(used) + 1, lanes - 1)}
    if rows == 1 or max(near) - min(near) < fits:
        begin = {max(min(interest) - 1, 0)} if strip.marks else near  # the last that is right
        return [drawn_part(lanes, near, begin, max(fits, 1))]
    fits = columns_of(lanes, fits, 1)
    count = -(-lanes // fits)
    within = {lane // fits for lane in used}
    drawn = drawn_part(count, within, {lane // fits for lane in interest}, rows)
    return [
        None if row is None else list(range(row * fits, min((row + 1) * fits, lanes)))
        for row in drawn
    ]


def _marked(strip: Strip, lane: int) -> str:
    return f" {strip.marks[lane]}" if lane in strip.marks else ""


def _style(strip: Strip, lane: int) -> str:
    return BAD if lane in strip.marks else "" if lane in strip.lanes else FAINT


def _common(strip: Strip) -> tuple[tuple[int | None, str], Callable[[Access], str]]:
    """Return the array and the part of the index that all lanes share, and the rest for each."""
    arrays = {access.array for access in strip.lanes.values()}
    if len(arrays) > 1:
        named = strip.trace.arrays

        def whole(access: Access) -> str:
            return element_name(named[access.array], _index(strip, access))

        return (None, ""), whole
    (array,) = arrays
    outer = {_index(strip, access)[:-1] for access in strip.lanes.values()}
    if len(outer) == 1:
        (shared,) = outer
        prefix = ", ".join([*map(str, shared), GAP])
        return (array, prefix), lambda access: ", ".join(map(str, _index(strip, access)[-1:]))
    return (array, GAP), lambda access: ",".join(map(str, _index(strip, access)))


# -- a tile


def _table(strip: Strip, width: int, rows: int) -> Text:
    """Draw a tile: its last axis across, the others down the side, named by the elements' index."""
    across = strip.shape[-1]
    down = prod(strip.shape[:-1])
    names, headers = _names(strip, down, across)
    plain = headers is None or names is None
    cells = {lane: _cell(strip, access, plain) for lane, access in strip.lanes.items()}
    used_rows = {lane // across for lane in cells}
    used_columns = {lane % across for lane in cells}
    used_columns |= {min(max(used_columns) + 1, across - 1)}  # the first that is masked off
    marked = set(strip.marks)
    shown_rows = drawn_part(
        down, used_rows, {lane // across for lane in marked} or used_rows, rows, spare=1
    )
    side = max(4, *(len(_row_name(names, row)) for row in shown_rows))
    header = [_column_name(headers, column) for column in sorted(used_columns)]
    wide = max(map(len, [*cells.values(), *header]))
    fits = max((width - len(INDENT) - side - 1) // (wide + 2), 1)
    columns = drawn_part(
        across, used_columns, {lane % across for lane in marked} or used_columns, fits, spare=1
    )
    text = Text()
    text.append(f"{INDENT}{'':{side}} ", style=FAINT)
    for column in columns:
        text.append(f"  {_column_name(headers, column):>{wide}}", style=FAINT)
    text.append("\n")
    for row in shown_rows:
        text.append(f"{INDENT}{_row_name(names, row):>{side}} ", style=FAINT)
        for column in columns:
            if row is None or column is None:
                text.append(f"  {GAP:>{wide}}", style=FAINT)
                continue
            lane = row * across + column
            text.append(f"  {cells.get(lane, MASKED):>{wide}}", style=_style(strip, lane))
        text.append("\n")
    places = {(row, column) for row in shown_rows for column in columns}
    drawn = {
        row * across + column for row, column in places if row is not None and column is not None
    }
    return text.append_text(_about_the_rest(strip, drawn, width))


Names = dict[int, str] | None


def _names(strip: Strip, down: int, across: int) -> tuple[Names, Names]:
    """Return names of a tile's rows and columns by the elements' indices, if they have any."""
    rows: dict[int, set[str]] = {}
    columns: dict[int, set[str]] = {}
    for lane, access in strip.lanes.items():
        index = _index(strip, access)
        name = strip.trace.arrays[access.array].name
        if len(index) < 2:
            return None, None
        outer = ", ".join(map(str, index[:-1]))
        rows.setdefault(lane // across, set()).add(f"{name}[{outer}, {GAP}]")
        columns.setdefault(lane % across, set()).add(str(index[-1]))
    if any(len(some) > 1 for some in (*rows.values(), *columns.values())):
        return None, None
    return {row: min(some) for row, some in rows.items()}, {
        column: min(some) for column, some in columns.items()
    }


def _row_name(names: Names, row: int | None) -> str:
    if row is None:
        return GAP
    return f"row {row}" if names is None or row not in names else names[row]


def _column_name(names: Names, column: int | None) -> str:
    if column is None:
        return GAP
    return str(column) if names is None else names.get(column, MASKED)


def _cell(strip: Strip, access: Access, plain: bool) -> str:
    value = brief_value(access.value)
    where = ",".join(map(str, _index(strip, access)))
    inside = access.element is not None
    text = where if not value else f"{where}:{value}" if plain else value
    return (text if inside or plain else where) + _marked(strip, access.thread)


def wrong_marks(trace: Trace, marks: Mapping[str, str]) -> dict[tuple[int, int], str]:
    """Return the marks of elements that came out wrong, by array and element."""
    found = {}
    for number, array in enumerate(trace.arrays):
        for each in trace.wrong.get(array.name, ()):
            found[number, each.element] = marks["wrong"]
    return found


def act_numbers(trace: Trace, launch: int, block: int, step: int) -> Sequence[int]:
    return [
        number
        for number, act in enumerate(trace.acts)
        if (act.launch, act.block, act.step) == (launch, block, step)
    ]
