"""The accesses of a small case as a drawing for a terminal: a box for each element, who is in it.

It is right without colours. What does not fit is left out, and said to be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
from grader.reports.layout import filled
from grader.reports.trace_boxes import BAD, FAINT, Cell, Room, boxes
from grader.reports.trace_labels import cell_of, cells_of, legend
from grader.reports.trace_words import (
    ALL_WELL,
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
MOST_STEPS = 4  # when no step is chosen
BRIEF_STEPS = 2  # below a report, which is not to be pushed out of sight
MOST_BLOCKS = 3  # whose shared memory is drawn

PAST = {"read": "read", "write": "written", "update": "updated"}


def drawing(
    trace: Trace,
    launch: int | None = None,
    step: int | None = None,
    width: int = WIDTH,
    brief: bool = False,
) -> Text:
    """Who touched what in each step, and below it what went wrong, in words.

    `launch` and `step` choose some of the steps, counted from 0; otherwise a few are drawn, and
    fewer if it is to be `brief`: those in which something goes wrong, and the first ones. Raises
    nothing for a step that is not there: it draws no step.
    """
    width = min(width, WIDTH)
    room = Room(width, BRIEF_LINES if brief else MOST_LINES)
    picture = Text()
    picture.append(trace.exercise, style="bold")
    picture.append(f" · {trace.case}\n")
    chosen = [
        (number, each)
        for number, each in frames(trace)
        if launch in (None, number) and step in (None, each)
    ]
    most = BRIEF_STEPS if brief else MOST_STEPS
    if brief and _did_not_meet(trace):
        most = 1  # what went before it has nothing to do with it
    drawn = chosen if step is not None else _worth_drawing(trace, chosen, most)
    # With one step, what the answer was like is drawn in it; with more, after them.
    ending = len(frames(trace)) != 1
    for number, each in drawn:
        picture.append_text(_step(trace, number, each, not ending, room))
    if len(drawn) < len(chosen):
        left_out = len(chosen) - len(drawn)
        more = f"{left_out} more {'part is' if left_out == 1 else 'parts are'} not drawn"
        page = f"`grader show {trace.exercise} --trace --html FILE` draws all"
        picture.append("\n" + filled(f"{more}; {page}", width))
    if ending and (answers := _answers(trace)):
        picture.append("\nat the end\n", style="bold")
        for array in answers:
            picture.append_text(_answer(trace, array, room))
    if trace.cut:
        lacking = f"{trace.cut:,} accesses are not drawn: only the first of this case were kept."
        picture.append("\n" + filled(lacking, width))
    picture.append_text(legend(trace, picture.plain, width))
    picture.append_text(_found(trace, width, brief))
    return picture


def _did_not_meet(trace: Trace) -> bool:
    """Whether threads of a block waited at different barriers, or some at none."""
    return trace.failure is not None and trace.failure.kind == "divergent_barrier"


def _worth_drawing(trace: Trace, chosen: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """In a step goes wrong what is a fault, and what leaves a wrong answer."""
    faulty = {(access.launch, access.step) for access in trace.accesses if access.fault}
    if trace.accesses and _did_not_meet(trace):
        # No access is wrong, and the simulation ended there.
        faulty.add((trace.accesses[-1].launch, trace.accesses[-1].step))
    for name in (array.name for array in _answers(trace)):
        missing, wrong = trace.unwritten.get(name, ()), trace.wrong.get(name, ())
        last = last_writes(trace, name)
        for element in (*missing, *(each.element for each in wrong)):
            if element in last:
                faulty.add((last[element].launch, last[element].step))
    first = [each for each in chosen if each not in faulty][:most]
    bad = [each for each in chosen if each in faulty][:most]
    return [each for each in chosen if each in first[: most - len(bad)] or each in bad]


def _step(trace: Trace, launch: int, step: int, with_answers: bool, room: Room) -> Text:
    text = Text("\n")
    head = trace.launches[launch]
    which = f"launch {launch + 1} of {len(trace.launches)}: " if len(trace.launches) > 1 else ""
    title = f"{which}{head.kernel}, {launched(head)}"
    if (count := step_count(trace, launch)) > 1:
        title += f"; part {step + 1} of {count}, {step_words(trace, launch, step)}"
    text.append(filled(title, room.width), style="bold")
    accesses = accesses_at(trace, launch, step)
    if not accesses:
        text.append("  No thread touches an array.\n")
    answers = {array.name for array in _answers(trace)} if with_answers else set()
    blocks_drawn: dict[int, set[int]] = {}
    blocks_left: dict[int, set[int]] = {}
    grids: dict[tuple[int, int | None, Kind], list[Access]] = {}
    # Shared memory is another one in each block.
    for access in accesses:
        array = trace.arrays[access.array]
        if array.name in answers and access.kind != "read" and access.element is not None:
            continue
        block = access.block if array.space == "shared" else None
        if block is not None:
            drawn = blocks_drawn.setdefault(access.array, _blocks(accesses, access.array))
            if block not in drawn:
                blocks_left.setdefault(access.array, set()).add(block)
                continue
        grids.setdefault((access.array, block, access.kind), []).append(access)
    came = list(dict.fromkeys((number, kind) for number, _, kind in grids))

    def order(grid: tuple[int, int | None, Kind]) -> tuple[int, int, int]:
        """As the data flows; arguments in their order, shared memory in that of the kernel."""
        number, block, kind = grid
        where = stage(trace.arrays[number], kind)
        return where, came.index((number, kind)) if where == 1 else number, block or 0

    for number, block, kind in sorted(grids, key=order):
        some = grids[number, block, kind]
        text.append_text(_grid(trace, number, block, kind, some, room))
    for number, left in blocks_left.items():
        name = trace.arrays[number].name
        blocks = "block" if len(left) == 1 else "blocks"
        text.append(f"\n  {name} of {len(left)} more {blocks} is not drawn\n", style=FAINT)
    for array in _answers(trace) if with_answers else ():
        text.append_text(_answer(trace, array, room))
    return text


def _blocks(accesses: Iterable[Access], array: int) -> set[int]:
    """The blocks whose shared array is drawn: those with a fault come first."""
    faults: dict[int, bool] = {}
    for access in accesses:
        if access.array == array:
            faults[access.block] = faults.get(access.block, False) or bool(access.fault)
    ranked = sorted(faults, key=lambda block: (not faults[block], block))
    return set(ranked[:MOST_BLOCKS])


def _answers(trace: Trace) -> list[Array]:
    return [each for each in trace.arrays if each.name in {*trace.wrong, *trace.unwritten}]


def _answer(trace: Trace, array: Array, room: Room) -> Text:
    """An output with what is wrong in it: who wrote each element last."""
    wrong = {each.element for each in trace.wrong.get(array.name, ())}
    missing = set(trace.unwritten.get(array.name, ()))
    last = last_writes(trace, array.name)
    cells = {element: cell_of(trace, [access]) for element, access in last.items()}
    for element in wrong:
        who = cells.get(element, Cell()).text
        cells[element] = Cell(f"{who} {MARKS['wrong']}".strip(), BAD)
    for element in missing:
        who = cells.get(element, Cell()).text
        cells[element] = Cell(f"{who} {MARKS['unwritten']}".strip(), BAD)
    text = Text(f"\n  {array.name} ({ROLES[array.role]}), written by\n")
    text.append_text(boxes(array, cells, [], wrong | missing, room))
    return text


def _grid(
    trace: Trace, number: int, block: int | None, kind: Kind, some: list[Access], room: Room
) -> Text:
    """One array, and who touched its elements in one way."""
    array = trace.arrays[number]
    role = ROLES[array.role]
    if block is not None and prod(trace.launches[some[0].launch].grid) > 1:
        role += f" of block {numbered(block, trace.launches[some[0].launch].grid)}"
    text = Text(f"\n  {array.name} ({role}), {PAST[kind]} by\n")
    by_element = accesses_by_element(some, number)
    cells = cells_of(trace, array, by_element, room) if by_element else {}
    faulty = {access.element for access in some if access.element is not None and access.fault}
    outside: dict[tuple[int, ...], list[Access]] = {}
    for access in some:
        if access.element is None:
            outside.setdefault(access.index, []).append(access)
    beyond = [
        Cell(cell_of(trace, each, short=True).text, BAD, ", ".join(map(str, index)))
        for index, each in outside.items()
    ]
    text.append_text(boxes(array, cells, beyond, faulty or set(cells), room))
    return text


def _found(trace: Trace, width: int, brief: bool) -> Text:
    """What went wrong, in words, each with its line of the kernel; or that nothing did.

    A `brief` one stands below a check, which has told of the other cases.
    """
    found = problems(trace)
    text = Text("\n")
    if trace.failure and trace.failure.message not in {sentence for _, sentence, _ in found}:
        text.append(filled(trace.failure.message, width, first="✘ "), style=BAD)
    elif not found:
        text.append("✔ ", style="green")
        well = ALL_WELL if brief else f"{ALL_WELL} {MORE_CASES}"
        text.append(filled(well, width, " " * 2, first=""))
    told: set[int] = set()
    for kind, sentence, access in found:
        text.append(f"  {MARKS[kind]} ", style=BAD)
        whole = re.sub(r"line (\d)", "line\N{NO-BREAK SPACE}\\1", sentence)
        text.append(filled(whole, width, " " * 4, first="    ").removeprefix("    "))
        if access and access.line and access.line not in told:
            told.add(access.line)
            code = trace.source[access.line - 1].strip()
            text.append(filled(f"{access.line}  {code}", width, " " * 6), style=FAINT)
    return text
