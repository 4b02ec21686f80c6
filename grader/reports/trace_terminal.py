"""The accesses of a small case as a drawing for a terminal: a box for each element.

It is complete without colours. A line says how much was left out.
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
from grader.reports.trace_boxes import BAD, FAINT, Cell, Space, boxes
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
MOST_STEPS = 4  # if no step is chosen
BRIEF_STEPS = 2  # below a report, which must stay in sight
MOST_BLOCKS = 3  # drawings of shared memory

PAST = {"read": "read", "write": "written", "update": "updated"}


def drawing(
    trace: Trace,
    launch: int | None = None,
    step: int | None = None,
    width: int = WIDTH,
    brief: bool = False,
) -> Text:
    """Draw the threads that touched each element, step by step, and list the faults below.

    `launch` and `step` choose steps, counted from 0; a step that does not exist draws nothing.
    Without them a few steps are drawn, and fewer if `brief`: those with faults, and the first ones.
    """
    width = min(width, WIDTH)
    space = Space(width, BRIEF_LINES if brief else MOST_LINES)
    picture = Text()
    picture.append(trace.exercise, style="bold")
    picture.append(f" · {trace.case}\n")
    chosen = [
        (number, each)
        for number, each in frames(trace)
        if launch in (None, number) and step in (None, each)
    ]
    most = BRIEF_STEPS if brief else MOST_STEPS
    if brief and _has_divergent_barrier(trace):
        most = 1  # the steps before are not to blame
    drawn = chosen if step is not None else _worth_drawing(trace, chosen, most)
    # With one step, the outputs are drawn in it; with more, after them.
    ending = len(frames(trace)) != 1
    for number, each in drawn:
        picture.append_text(_step(trace, number, each, not ending, space))
    if len(drawn) < len(chosen):
        left_out = len(chosen) - len(drawn)
        more = f"{left_out} more {'part is' if left_out == 1 else 'parts are'} not drawn"
        page = f"`grader show {trace.exercise} --trace --html FILE` draws all"
        picture.append("\n" + filled(f"{more}; {page}", width))
    if ending and (outputs := _wrong_outputs(trace)):
        picture.append("\nat the end\n", style="bold")
        for array in outputs:
            picture.append_text(_wrong_output(trace, array, space))
    if trace.cut:
        lacking = (
            f"{trace.cut:,} accesses are not drawn: only the first ones of this case were recorded."
        )
        picture.append("\n" + filled(lacking, width))
    picture.append_text(legend(trace, picture.plain, width))
    picture.append_text(_faults(trace, width, brief))
    return picture


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


def _step(trace: Trace, launch: int, step: int, with_outputs: bool, space: Space) -> Text:
    text = Text("\n")
    head = trace.launches[launch]
    which = f"launch {launch + 1} of {len(trace.launches)}: " if len(trace.launches) > 1 else ""
    title = f"{which}{head.kernel}, {launched(head)}"
    if (count := step_count(trace, launch)) > 1:
        title += f"; part {step + 1} of {count}, {step_words(trace, launch, step)}"
    text.append(filled(title, space.width), style="bold")
    accesses = accesses_at(trace, launch, step)
    if not accesses:
        text.append("  No thread touches an array.\n")
    outputs = {array.name for array in _wrong_outputs(trace)} if with_outputs else set()
    blocks_drawn: dict[int, set[int]] = {}
    blocks_left: dict[int, set[int]] = {}
    grids: dict[tuple[int, int | None, Kind], list[Access]] = {}
    # Each block has its own shared memory.
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

    for number, block, kind in sorted(grids, key=order):
        some = grids[number, block, kind]
        text.append_text(_accessed_array(trace, number, block, kind, some, space))
    for number, left in blocks_left.items():
        name = trace.arrays[number].name
        blocks = "block" if len(left) == 1 else "blocks"
        text.append(f"\n  {name} of {len(left)} more {blocks} is not drawn\n", style=FAINT)
    for array in _wrong_outputs(trace) if with_outputs else ():
        text.append_text(_wrong_output(trace, array, space))
    return text


def _blocks(accesses: Iterable[Access], array: int) -> set[int]:
    """Choose the blocks whose shared array is drawn, those with a fault first."""
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
        label = cells.get(element, Cell()).text
        cells[element] = Cell(f"{label} {MARKS['wrong']}".strip(), BAD)
    for element in missing:
        label = cells.get(element, Cell()).text
        cells[element] = Cell(f"{label} {MARKS['unwritten']}".strip(), BAD)
    text = Text(f"\n  {array.name} ({ROLES[array.role]}), written by\n")
    text.append_text(boxes(array, cells, [], wrong | missing, space))
    return text


def _accessed_array(
    trace: Trace, number: int, block: int | None, kind: Kind, some: list[Access], space: Space
) -> Text:
    array = trace.arrays[number]
    role = ROLES[array.role]
    if block is not None and prod(trace.launches[some[0].launch].grid) > 1:
        role += f" of block {numbered(block, trace.launches[some[0].launch].grid)}"
    text = Text(f"\n  {array.name} ({role}), {PAST[kind]} by\n")
    by_element = accesses_by_element(some, number)
    cells = cells_of(trace, array, by_element, space) if by_element else {}
    faulty = {access.element for access in some if access.element is not None and access.fault}
    outside: dict[tuple[int, ...], list[Access]] = {}
    for access in some:
        if access.element is None:
            outside.setdefault(access.index, []).append(access)
    beyond = [
        Cell(cell_of(trace, each, short=True).text, BAD, ", ".join(map(str, index)))
        for index, each in outside.items()
    ]
    text.append_text(boxes(array, cells, beyond, faulty or set(cells), space))
    return text


def _faults(trace: Trace, width: int, brief: bool) -> Text:
    """List the faults in words, each with its line of the kernel, or say that the trace has none.

    `brief` omits the hint that other cases exist: the check above has tried them.
    """
    faults = problems(trace)
    text = Text("\n")
    if trace.failure and trace.failure.message not in {sentence for _, sentence, _ in faults}:
        text.append(filled(trace.failure.message, width, first="✘ "), style=BAD)
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
            code = trace.source[access.line - 1].strip()
            text.append(filled(f"{access.line}  {code}", width, " " * 6), style=FAINT)
    return text
