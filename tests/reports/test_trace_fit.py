"""Pictures that fit: they keep to lines and columns, and mark what is wrong, in any trace."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
import traces
from hypothesis import given
from hypothesis import strategies as st

from grader.model.trace import Trace, Wrong
from grader.reports.trace_terminal import drawing, excerpt
from grader.reports.trace_words import MARKS

NAMES = [*traces.ALL]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "lines"), [(80, 22), (80, 28), (60, 22)])
def test_a_picture_fits_its_lines_and_columns(name: str, width: int, lines: int):
    picture = drawing(traces.ALL[name](), width=width, lines=lines).plain.rstrip("\n").splitlines()
    assert len(picture) <= lines
    assert [line for line in picture if len(line) > width] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_that_leaves_something_out_says_so(name: str):
    whole = drawing(traces.ALL[name]()).plain
    fitted = drawing(traces.ALL[name](), lines=16).plain
    heads = [re.findall(r"^.* by$|^ +\d+  .*$", text, re.MULTILINE) for text in (whole, fitted)]
    if len(heads[1]) < len(heads[0]):
        assert "--html FILE` draws all" in " ".join(fitted.split())


@pytest.mark.parametrize("name", ["missing_guard", "missing_mask", "racing_programs", "tile"])
def test_the_fault_is_drawn_first(name: str):
    trace = traces.ALL[name]()
    mark = MARKS[next(access.fault for access in trace.accesses if access.fault)]
    above, _, below = drawing(trace, lines=22).plain.partition(f"  {mark} ")
    assert mark in above, "in the picture"
    assert below, "and in words"


@pytest.mark.parametrize(
    ("name", "lines"),
    [("missing_barrier", 9), ("missing_guard", 6), ("missing_mask", 7), ("tile", 8)],
)
def test_the_picture_in_a_short_report_explains_its_marks(name: str, lines: int):
    trace = traces.ALL[name]()
    mark = MARKS[next(access.fault for access in trace.accesses if access.fault)]
    short = excerpt(trace, drawing(trace, brief=True), 80, lines)
    assert short is not None
    assert len(short.plain.rstrip("\n").splitlines()) <= lines
    above, _, legend = short.plain.rstrip("\n").rpartition(f"{mark} ")
    assert mark in above
    assert " by\n" in above or "tl." in above
    assert legend.partition(" ")[0] in ("a", "outside", "read")


def rows_of_programs(size: int, block: int, wrong: set[int]) -> Trace:
    """A kernel that copies `size` elements, `block` to a program, and has these wrong."""
    one = traces.programs()
    copy = traces._programs(
        traces.ADD,
        "k",
        -(-size // block),
        block,
        *(array.model_copy(update={"shape": (size,)}) for array in one.arrays),
    )
    load, store = copy.operation("load", 8, (block,), "x"), copy.operation("store", 9, (block,))
    for operation in (load, store):
        for program in range(-(-size // block)):
            places = {n: program * block + n for n in range(block) if program * block + n < size}
            values = {lane: str(at) for lane, at in places.items()}
            copy.act(operation, program, int(operation == store), places, values=values)
    some = tuple(Wrong(element=n, expected="1", got=str(n)) for n in sorted(wrong))
    return copy.trace("c", f"{size}", wrong={"out": some} if some else {})


@pytest.mark.slow
@given(st.integers(1, 40), st.sampled_from([1, 2, 4, 8, 16]), st.data())
def test_every_wrong_element_of_a_small_case_is_marked(size: int, block: int, data: st.DataObject):
    wrong = data.draw(st.sets(st.integers(0, size - 1), max_size=12))
    picture = drawing(rows_of_programs(size, block, wrong)).plain
    *_, at_the_end = picture.partition("at the end")
    boxes = "".join(line for line in at_the_end.splitlines() if "│" in line)
    assert boxes.count(MARKS["wrong"]) == len(wrong)
    fitted = drawing(rows_of_programs(size, block, wrong), lines=22).plain
    assert len(fitted.rstrip("\n").splitlines()) <= 22
    above = fitted.partition("\n✘")[0].partition(f"\n  {MARKS['wrong']}")[0]
    assert (MARKS["wrong"] in above) == bool(wrong)


@given(st.integers(1, 200), st.integers(1, 70))
def test_rows_of_boxes_end_after_whole_blocks(size: int, block: int):
    """So that the elements of a column are the same distance apart in each row."""
    one = traces.good_map()
    launch = one.launches[0].model_copy(update={"block": (block, 1, 1), "grid": (size, 1, 1)})
    accesses = tuple(
        one.accesses[0].model_copy(
            update={"element": n, "thread": n % block, "block": n // block, "value": ""}
        )
        for n in range(size)
    )
    arrays = (one.arrays[0].model_copy(update={"shape": (size,)}),)
    changed = {"launches": (launch,), "arrays": arrays, "accesses": accesses}
    text = drawing(one.model_copy(update=changed)).plain
    starts = [int(found) for found in re.findall(r"^ +(\d+)(?: +\d+)*\n +┌", text, re.MULTILINE)]
    steps = {after - before for before, after in pairwise(starts)}
    across = min(steps, default=0)
    assert all(step % across == 0 for step in steps)
    assert not steps or across % block == 0 or across & (across - 1) == 0
