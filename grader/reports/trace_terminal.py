"""The accesses of a small case as a drawing for a terminal: a box for each element.

It is complete without colours. A line says how much was left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from math import prod

from rich.text import Text

from grader.model import (
    Access,
    Array,
    Kind,
    Trace,
    accesses_at,
    accesses_by_element,
    frames,
    last_writes,
    stage,
    step_count,
)
from grader.reports.fitting import ALL, rows
from grader.reports.layout import filled
from grader.reports.picture_part import reduced
from grader.reports.trace_boxes import BAD, FAINT, Cell, Space, boxes
from grader.reports.trace_code import code_at
from grader.reports.trace_fit import Frame, Piece, fitted, whole
from grader.reports.trace_labels import cell_of, cells_of, legend
from grader.reports.trace_programs import program_pieces
from grader.reports.trace_words import (
    ALL_WELL,
    CUT,
    MARKS,
    MORE_CASES,
    ROLES,
    launched,
    numbered,
    problems,
    step_words,
)

WIDTH = 80
MOST_LINES = 6  # of boxes, for an array of one dimension
BRIEF_LINES = 3
MOST_STEPS = 4  # if no step is chosen
BRIEF_PICTURE = 16  # lines of a picture of programs below a report
BRIEF_STEPS = 2  # below a report, which must stay in sight
MOST_BLOCKS = 3  # drawings of shared memory

PAST = {"read": "read", "write": "written", "update": "updated"}


def drawing(
    trace: Trace,
    launch: int | None = None,
    step: int | None = None,
    width: int = WIDTH,
    brief: bool = False,
    lines: int | None = None,
) -> Text:
    """Draw what touched each element, step by step, and list the faults below.

    `launch` and `step` choose steps, counted from 0; a step that does not exist draws nothing.
    Without them a few steps are drawn, and fewer if `brief`: those with faults, and the first ones.
    With `lines` the picture has at most so many: it shows the faults first, and says what it lacks.
    """
    width = min(width, WIDTH)
    if brief and lines is None and trace.unit == "lanes":
        lines = BRIEF_PICTURE
    chosen = [
        (number, each)
        for number, each in frames(trace)
        if launch in (None, number) and step in (None, each)
    ]
    most = BRIEF_STEPS if brief else MOST_STEPS
    if brief and _has_divergent_barrier(trace):
        most = 1  # the steps before are not to blame
    sentences = None if lines is None else 1
    if trace.unit == "lanes":
        pieces, left_out = program_pieces(trace, chosen, most, width)
    else:
        drawn = chosen if step is not None else _worth_drawing(trace, chosen, most)
        pieces, left_out = _pieces(trace, drawn), _left_out(len(chosen) - len(drawn))
    if step is None and (trace.unit == "lanes" or len(frames(trace)) != 1):
        pieces += [
            Piece("at the end", array.name, 0, partial(_wrong_output, trace, array))
            for array in _wrong_outputs(trace)
        ]
    command = f"`grader show {trace.exercise} --trace --html FILE`"
    all_drawn = f"{command} with the replay's options" if brief else "`--html FILE`"
    frame = Frame(
        Text.assemble((trace.exercise, "bold"), f" · {trace.case}\n"),
        lambda above, tight: _below(trace, above, width, (brief, tight), sentences),
        f"{all_drawn} draws all",
        left_out,
    )
    if lines is not None:
        return fitted(pieces, frame, width, lines)
    return whole(pieces, frame, Space(width, BRIEF_LINES if brief else MOST_LINES))


def excerpt(trace: Trace, picture: Text, width: int, lines: int) -> Text | None:
    """Return what matters most of a picture, in at most `lines` lines, without its sentences.

    It is for a report that says the rest. Return None if nothing fits.
    """
    width = min(width, WIDTH)
    if trace.unit == "threads":
        chosen = reduced(picture, lines, width)
        marks = legend(trace, picture.plain, width).plain.strip()
        if chosen and marks in chosen.plain:
            return chosen
        tight = (_faulty_boxes(trace, width, lines, tight) for tight in (False, True))
        return next(tight) or chosen or next(tight)
    pieces, _ = program_pieces(trace, frames(trace), 1, width)
    frame = Frame(Text(), lambda above, tight: _marks(trace, above, width, tight), ALL)
    faulty = [piece for piece in pieces if piece.rank == 0] or pieces
    drawn = fitted(faulty, frame, width, lines + 1)  # it begins with an empty line
    fits = any(piece.title in drawn.plain.replace("\n", " ") for piece in faulty)
    return Text("\n").join(drawn.split("\n", allow_blank=True)[1:]) if fits else None


def _faulty_boxes(trace: Trace, width: int, lines: int, tight: bool) -> Text | None:
    """Draw the accesses with a fault of one step, in rows without edges and if need be values.

    `tight` leaves out what explains the marks.
    """
    step = _worth_drawing(trace, list(frames(trace)), 1)
    pieces = [piece for piece in _pieces(trace, step) if piece.rank == 0]
    frame = Frame(Text(), lambda above, tight: Text(), ALL)
    for values in (True, False):
        text = whole(pieces, frame, Space(width, 1, 3, edges=False, values=values))[1:]
        text.append_text(_marks(trace, text.plain, width, tight))
        if pieces and rows(text, width) <= lines:
            return text
    return None


def _marks(trace: Trace, above: str, width: int, tight: bool) -> Text:
    return Text() if tight else legend(trace, above, width)[1:]


def _left_out(parts: int) -> str:
    return f"{parts} more {'part is' if parts == 1 else 'parts are'} not drawn" if parts else ""


def _below(
    trace: Trace, above: str, width: int, brief_or_tight: tuple[bool, bool], sentences: int | None
) -> Text:
    brief, tight = brief_or_tight
    text = Text()
    if trace.cut:
        lacking = f"{trace.cut:,} accesses are not drawn: {CUT[trace.unit]}."
        text.append("\n" + filled(lacking, width))
    if not tight:
        text.append_text(legend(trace, above, width))
    text.append_text(_faults(trace, width, brief, sentences))
    return text


def _has_divergent_barrier(trace: Trace) -> bool:
    return trace.failure is not None and trace.failure.kind == "divergent_barrier"


def _worth_drawing(trace: Trace, chosen: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """Choose at most `most` steps: those with faults or writes of wrong outputs, then the first."""
    faulty = {(access.launch, access.step) for access in trace.accesses if access.fault}
    if trace.accesses and _has_divergent_barrier(trace):
        # No access is wrong: the simulation ended after the last one.
        faulty.add((trace.accesses[-1].launch, trace.accesses[-1].step))
    for name in (array.name for array in _wrong_outputs(trace)):
        missing, wrong = trace.unwritten.get(name, ()), trace.wrong.get(name, ())
        last = last_writes(trace, name)
        for element in (*missing, *(each.element for each in wrong)):
            if element in last:
                faulty.add((last[element].launch, last[element].step))
    first = [each for each in chosen if each not in faulty][:most]
    bad = [each for each in chosen if each in faulty][:most]
    return [each for each in chosen if each in first[: most - len(bad)] or each in bad]


def _pieces(trace: Trace, drawn: list[tuple[int, int]]) -> list[Piece]:
    """Return the pieces of steps of threads: the accesses of one kind to one array each."""
    pieces: list[Piece] = []
    faulty = {(access.launch, access.step) for access in trace.accesses if access.fault}
    # With one step, the outputs are drawn in it; with more, after them.
    with_outputs = len(frames(trace)) == 1
    for launch, step in drawn:
        pieces += _pieces_of_step(trace, launch, step, with_outputs, (launch, step) in faulty)
    return pieces


def _pieces_of_step(
    trace: Trace, launch: int, step: int, with_outputs: bool, faulty: bool
) -> list[Piece]:
    head = trace.launches[launch]
    which = f"launch {launch + 1} of {len(trace.launches)}: " if len(trace.launches) > 1 else ""
    title = f"{which}{head.kernel}, {launched(head)}"
    part = ""
    if (count := step_count(trace, launch)) > 1:
        part = f" in part {step + 1}"
        title += f"; part {step + 1} of {count}, {step_words(trace, launch, step)}"
    accesses = accesses_at(trace, launch, step)
    pieces = []
    if not accesses:
        nothing = Text("  No thread touches an array.\n")
        pieces.append(Piece(title, f"nothing{part}", 1, lambda space: nothing))
    outputs = {array.name for array in _wrong_outputs(trace)} if with_outputs else set()
    grids, blocks_left = _grids(trace, accesses, outputs)
    for (number, block, kind), some in grids.items():
        rank = 0 if any(access.fault for access in some) else 1 if faulty else 2
        name = f"{trace.arrays[number].name} {PAST[kind]}{part}"
        draw = partial(_accessed_array, trace, number, block, kind, some)
        pieces.append(Piece(title, name, rank, draw))
    for number, left in blocks_left.items():
        name = trace.arrays[number].name
        blocks = "block" if len(left) == 1 else "blocks"
        note = Text(f"\n  {name} of {len(left)} more {blocks} is not drawn\n", style=FAINT)
        pieces.append(Piece(title, f"{name}{part}", 3, partial(_noted, note)))
    if with_outputs:
        pieces += [
            Piece(title, array.name, 0, partial(_wrong_output, trace, array))
            for array in _wrong_outputs(trace)
        ]
    return pieces


def _noted(note: Text, space: Space) -> Text:
    return note


def _grids(
    trace: Trace, accesses: Sequence[Access], outputs: set[str]
) -> tuple[dict[tuple[int, int | None, Kind], list[Access]], dict[int, set[int]]]:
    """Group a step's accesses by array, block and kind, as data flows.

    Each block has its own shared arrays. Also return, by array, the blocks whose copy is left out.
    """
    blocks_drawn: dict[int, set[int]] = {}
    blocks_left: dict[int, set[int]] = {}
    grids: dict[tuple[int, int | None, Kind], list[Access]] = {}
    for access in accesses:
        array = trace.arrays[access.array]
        if array.name in outputs and access.kind != "read" and access.element is not None:
            continue
        block = access.block if array.space == "shared" else None
        if block is not None:
            drawn = blocks_drawn.setdefault(access.array, _blocks(accesses, access.array))
            if block not in drawn:
                blocks_left.setdefault(access.array, set()).add(block)
                continue
        grids.setdefault((access.array, block, access.kind), []).append(access)
    by_first_access = list(dict.fromkeys((number, kind) for number, _, kind in grids))

    def order(grid: tuple[int, int | None, Kind]) -> tuple[int, int, int]:
        """Sort as data flows: arguments in their order, shared memory in that of the kernel."""
        number, block, kind = grid
        where = stage(trace.arrays[number], kind)
        return where, by_first_access.index((number, kind)) if where == 1 else number, block or 0

    return {key: grids[key] for key in sorted(grids, key=order)}, blocks_left


def _blocks(accesses: Iterable[Access], array: int) -> set[int]:
    faults: dict[int, bool] = {}
    for access in accesses:
        if access.array == array:
            faults[access.block] = faults.get(access.block, False) or bool(access.fault)
    ranked = sorted(faults, key=lambda block: (not faults[block], block))
    return set(ranked[:MOST_BLOCKS])


def _wrong_outputs(trace: Trace) -> list[Array]:
    return [each for each in trace.arrays if each.name in {*trace.wrong, *trace.unwritten}]


def _wrong_output(trace: Trace, array: Array, space: Space) -> Text:
    """Draw an output with its faults, and the last writer of each element."""
    wrong = {each.element for each in trace.wrong.get(array.name, ())}
    missing = set(trace.unwritten.get(array.name, ()))
    last = last_writes(trace, array.name)
    cells = {element: cell_of(trace, [access]) for element, access in last.items()}
    for element in wrong:
        cell = cells.get(element, Cell())
        cells[element] = Cell(f"{cell.text} {MARKS['wrong']}".strip(), BAD, value=cell.value)
    for element in missing:
        cell = cells.get(element, Cell())
        cells[element] = Cell(f"{cell.text} {MARKS['unwritten']}".strip(), BAD, value=cell.value)
    text = Text(f"{_gap(space)}  {array.name} ({ROLES[array.role]}), written by\n")
    text.append_text(boxes(array, cells, [], wrong | missing, space, _unit(trace, last.values())))
    return text


def _accessed_array(
    trace: Trace, number: int, block: int | None, kind: Kind, some: list[Access], space: Space
) -> Text:
    array = trace.arrays[number]
    role = ROLES[array.role]
    if block is not None and prod(trace.launches[some[0].launch].grid) > 1:
        role += f" of block {numbered(block, trace.launches[some[0].launch].grid)}"
    text = Text(f"{_gap(space)}  {array.name} ({role}), {PAST[kind]} by\n")
    by_element = accesses_by_element(some, number)
    unit = _unit(trace, some)
    cells = cells_of(trace, array, by_element, space, unit) if by_element else {}
    faulty = {access.element for access in some if access.element is not None and access.fault}
    outside: dict[tuple[int, ...], list[Access]] = {}
    for access in some:
        if access.element is None:
            outside.setdefault(access.index, []).append(access)
    beyond = [
        Cell(cell_of(trace, each, short=True).text, BAD, ", ".join(map(str, index)))
        for index, each in outside.items()
    ]
    text.append_text(boxes(array, cells, beyond, faulty or set(cells), space, unit))
    return text


def _gap(space: Space) -> str:
    return "\n" if space.edges else ""


def _unit(trace: Trace, some: Iterable[Access]) -> int:
    """Return how many elements belong together: those of a block's threads along x."""
    widths = {trace.launches[access.launch].block[0] for access in some}
    return widths.pop() if len(widths) == 1 else 1


def _faults(trace: Trace, width: int, brief: bool, most: int | None) -> Text:
    """List the faults in words, each with its line of the kernel, or say that the trace has none.

    `brief` omits what the report above says: the failure, and that there are other cases.
    """
    faults = problems(trace, most)
    text = Text("\n")
    if (
        trace.failure
        and not (brief and faults)
        and trace.failure.message not in {sentence for _, sentence, _ in faults}
    ):
        text.append(filled(trace.failure.message, width, "  ", first="✘ "), style=BAD)
        for frame in () if brief else trace.failure.frames[-1:]:
            text.append(filled(f"{frame.line}  {frame.code}", width, " " * 6), style=FAINT)
    elif not faults:
        text.append("✔ ", style="green")
        well = ALL_WELL if brief else f"{ALL_WELL} {MORE_CASES}"
        text.append(filled(well, width, " " * 2, first=""))
    quoted: set[int] = set()
    for kind, sentence, access in faults:
        text.append(f"  {MARKS[kind]} ", style=BAD)
        whole = re.sub(r"line (\d)", "line\N{NO-BREAK SPACE}\\1", sentence)
        text.append(filled(whole, width, " " * 4, first="    ").removeprefix("    "))
        if access and access.line and access.line not in quoted:
            quoted.add(access.line)
            code = code_at(trace, access.line)
            text.append(filled(f"{access.line}  {code}", width, " " * 6), style=FAINT)
    return text
