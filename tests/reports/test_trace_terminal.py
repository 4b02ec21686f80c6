"""The drawing of accesses for a terminal: golden ones, and what must hold for all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import traces

from grader.model.results import Failure
from grader.model.trace import Access, Act, Launch, Operation
from grader.reports import trace_words
from grader.reports.layout import PLAIN
from grader.reports.trace_strips import about_mask
from grader.reports.trace_terminal import WIDTH, drawing

GOLDEN = Path(__file__).parents[1] / "drawings"


@pytest.mark.parametrize("name", traces.ALL)
def test_the_drawing_is_the_one_that_was_looked_at(name: str):
    expected = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert drawing(traces.ALL[name]()).plain == expected, (
        "if it should be so, run `python tests/traces.py tests/drawings` and look at what changed"
    )


@pytest.mark.parametrize("name", [*traces.ALL, "hostile"])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_drawing_keeps_to_its_width(name: str, width: int):
    lines = drawing(getattr(traces, name)(), width=width).plain.splitlines()
    # What the kernel wrote is not broken, however long its words are.
    assert [line for line in lines if len(line) > min(width, WIDTH) and "script" not in line] == []


@pytest.mark.parametrize("name", traces.ALL)
def test_a_drawing_can_be_told_without_unicode(name: str):
    plain = drawing(traces.ALL[name]()).plain.translate(PLAIN)
    if traces.ALL[name]().unit == "lanes":
        assert plain.isascii()
        return
    boxes = [line for line in plain.splitlines() if line.lstrip().startswith(("+", "|"))]
    assert boxes
    assert all(line.isascii() for line in boxes)


def test_a_step_can_be_chosen():
    both = drawing(traces.two_steps()).plain
    second = drawing(traces.two_steps(), launch=0, step=1).plain
    assert "before the barrier" in both
    assert "before the barrier" not in second
    assert "after the barrier" in second
    assert "not drawn" not in second


def test_of_many_steps_those_with_a_fault_are_drawn():
    one = traces.two_steps()
    accesses = tuple(
        access.model_copy(update={"step": step, "fault": "race" if step == 7 else ""})
        for step in range(9)
        for access in one.accesses[:2]
    )
    text = drawing(one.model_copy(update={"accesses": accesses})).plain
    assert [f"part {n} of 9" in text for n in range(1, 10)] == [
        *[True] * 3,
        *[False] * 4,
        True,
        False,
    ]
    page = "`--html FILE` draws all"
    assert f"5 more parts are not drawn; {page}" in text.replace("\n", " ")
    brief = drawing(one.model_copy(update={"accesses": accesses}), brief=True).plain
    page = f"`grader show {one.exercise} --trace --html FILE` with the replay's options draws all"
    assert f"7 more parts are not drawn; {page}" in brief.replace("\n", " ")


def test_of_many_steps_the_one_that_leaves_a_wrong_answer_is_drawn():
    one = traces.swapped()
    accesses = tuple(
        access.model_copy(update={"step": step, "kind": "write" if step == 5 else "read"})
        for step in range(9)
        for access in one.accesses
    )
    text = drawing(one.model_copy(update={"accesses": accesses}), brief=True).plain
    assert [n for n in range(1, 10) if f"part {n} of 9" in text] == [1, 6]


def test_rows_of_boxes_with_nothing_in_them_are_not_drawn():
    one = traces.two_steps()
    [number] = [n for n, array in enumerate(one.arrays) if array.name == "tile"]
    long = one.arrays[number].model_copy(update={"shape": (64,)})
    arrays = (*one.arrays[:number], long, *one.arrays[number + 1 :])
    text = drawing(one.model_copy(update={"arrays": arrays})).plain
    assert "of 64 elements of tile are drawn; the others were not touched" in text
    assert "63" not in text


def test_what_is_wrong_is_drawn_in_red_and_marked():
    text = drawing(traces.swapped())
    red = [text.plain[span.start : span.end].strip() for span in text.spans if "red" in span.style]
    assert {"b0 t0,1 ✘", "b0 t1,0 ✘", "○"} <= set(red)


def long_array(size: int, used: Sequence[int], faulty: Sequence[int] = ()) -> list[str]:
    """The lines of a drawing of an array of this size, in which these elements are read."""
    one = traces.good_map()
    launch = Launch(kernel="k", grid=(2, 1, 1), block=(size, 1, 1))
    accesses = tuple(
        one.accesses[0].model_copy(
            update={"element": n, "thread": n, "fault": "race" if n in faulty else ""}
        )
        for n in used
    )
    arrays = (one.arrays[0].model_copy(update={"shape": (size,)}),)
    changed = {"launches": (launch,), "arrays": arrays, "accesses": accesses}
    return drawing(one.model_copy(update=changed)).plain.splitlines()


def drawn(lines: list[str]) -> list[int | str]:
    """The elements that are drawn, by their numbers, and gaps."""
    heads = [at - 1 for at, line in enumerate(lines) if line.lstrip().startswith("┌")]
    found: list[int | str] = []
    for head in heads:
        found += ["…"] if lines[head - 1] == "    …" else []
        found += map(int, lines[head].split())
    return found


@pytest.mark.parametrize(
    ("size", "used", "expected"),
    [
        (40, range(40), range(40)),
        # Of what does not fit the start and the end: in the end the last block is seen.
        (400, range(400), [*range(12), "…", *range(392, 400)]),
        # What is not used is left out, unless it is less than a row.
        (64, (0, 1), range(8)),
        (12, (0, 1), range(12)),
    ],
)
def test_which_part_of_a_long_array_is_drawn(
    size: int, used: Sequence[int], expected: Sequence[int | str]
):
    lines = long_array(size, used)
    assert drawn(lines) == list(expected)
    left_out = [line for line in lines if line.endswith("of a are drawn")]
    assert bool(left_out) == (len(used) > len(expected))


def test_the_row_with_a_fault_is_drawn_and_what_follows_it():
    lines = long_array(400, range(400), faulty=[200])
    assert drawn(lines)[0] <= 200 <= drawn(lines)[9]
    assert "…" not in drawn(lines)


def table(shape: tuple[int, int], used: Sequence[tuple[int, int]]) -> list[str]:
    """The lines of a drawing of an array of this shape, in which one thread reads these."""
    one = traces.good_map()
    accesses = tuple(
        one.accesses[0].model_copy(update={"element": row * shape[1] + column, "value": ""})
        for row, column in used
    )
    arrays = (one.arrays[0].model_copy(update={"shape": shape}),)
    changed = {"arrays": arrays, "accesses": accesses}
    lines = drawing(one.model_copy(update=changed)).plain.splitlines()
    head = next(at for at, line in enumerate(lines) if "┌" in line)
    return lines[head - 1 :]


def test_of_a_large_table_what_is_used_and_its_neighbours_are_drawn():
    lines = table((33, 32), [(4, 7)])
    assert lines[0].split() == ["6", "7", "8"]
    assert [line.split()[0] for line in lines[2:5]] == ["3", "4", "5"]
    assert lines[5].split()[0].startswith("└")
    assert lines[6].endswith("9 of 1,056 elements of a are drawn; the others were not touched")


def test_one_row_of_a_table_is_drawn_rather_than_told_of():
    lines = table((3, 3), [(0, 0)])
    assert [line.split()[0] for line in lines[2:5]] == ["0", "1", "2"]
    assert not any("are drawn" in line for line in lines)


def test_of_a_table_that_does_not_fit_the_corners_are_drawn():
    lines = table((20, 40), [(0, 0), (19, 39)])
    assert lines[0].split()[0] == "0"
    assert lines[0].split()[-1] == "39"
    assert "…" in lines[0].split()
    rows = [line.split()[0] for line in lines[2:-1] if "│" in line]
    assert rows == [*map(str, range(8)), "…", *map(str, range(13, 20))]


def test_below_a_report_long_arrays_are_short():
    one = traces.good_map()
    launch = Launch(kernel="k", grid=(1, 1, 1), block=(64, 1, 1))
    accesses = tuple(
        one.accesses[0].model_copy(update={"element": n, "thread": n}) for n in range(64)
    )
    arrays = (one.arrays[0].model_copy(update={"shape": (64,)}),)
    long = one.model_copy(update={"launches": (launch,), "arrays": arrays, "accesses": accesses})
    assert [drawing(long, brief=brief).plain.count("┌") for brief in (False, True)] == [5, 2]


def test_of_threads_that_did_not_meet_only_where_they_parted_is_drawn():
    one = traces.two_steps()
    apart = Failure(kind="divergent_barrier", message="Some wait, and others do not.")
    text = drawing(one.model_copy(update={"failure": apart}), brief=True).plain
    assert "part 1 of 2" not in text
    assert "part 2 of 2" in text


def in_one_box(*who: dict) -> str:
    """What stands in the box of x[0], when these touch it."""
    one = traces.good_map()
    fields = {"launch": 0, "step": 0, "block": 0, "array": 0, "element": 0, "kind": "read"}
    accesses = tuple(Access(**{**fields, "line": None, **each}) for each in who)
    launch = Launch(kernel="k", grid=(2, 1, 1), block=(64, 1, 1))
    changed = {"launches": (launch,), "accesses": accesses}
    text = drawing(one.model_copy(update=changed)).plain
    return next(line.split("│")[1].strip() for line in text.splitlines() if "│" in line)


@pytest.mark.parametrize(
    ("who", "label"),
    [
        ([{"thread": 0}, {"thread": 7}], "b0 t0,t7"),
        ([{"thread": 0}, {"thread": 1}], "b0 t0,t1"),
        ([{"thread": 3}, {"thread": 3}], "b0 t3×2"),
        ([{"thread": 3, "block": 1}, {"thread": 5}], "b0 t5,b1 t3"),
        ([{"thread": each} for each in (4, 2, 9)], "b0 t2,t4,t9"),
        ([{"thread": each} for each in range(8)], "b0 t0–7"),
        ([{"thread": each} for each in range(0, 64, 2)], "b0 t0 & 31 more"),
    ],
)
def test_the_threads_of_one_box_are_named(who: list[dict], label: str):
    assert in_one_box(*who) == label


@pytest.mark.parametrize(
    ("threads", "racing", "label"),
    [
        ((0, 2), (2,), "b0 t2,t0 !"),
        (range(32), (7,), "b0 t7 & 31 more !"),
        (range(32), (7, 9), "b0 t7,t9 & 30 more !"),
        (range(32), range(32), "b0 t0–31 !"),
    ],
)
def test_a_thread_with_a_fault_is_named_before_the_others(
    threads: Sequence[int], racing: Sequence[int], label: str
):
    who = [{"thread": each, "fault": "race" if each in racing else ""} for each in threads]
    assert in_one_box(*who) == label


@pytest.mark.parametrize(
    ("racing", "label"), [((), "t0,0 …"), ((5,), "t1,1 … !"), ((5, 6), "t1,1 t2,1 … !")]
)
def test_where_names_have_no_room_one_stands_for_all_and_the_legend_says_so(
    racing: tuple[int, ...], label: str
):
    one = traces.swapped()
    launch = Launch(kernel="k", grid=(1, 1, 1), block=(4, 4, 1))
    table = one.arrays[0].model_copy(update={"shape": (2, 8)})
    accesses = tuple(
        one.accesses[0].model_copy(
            update={
                "thread": thread,
                "element": element,
                "block": 0,
                "fault": "race" if element == 0 and thread in racing else "",
            }
        )
        for element in range(16)
        for thread in (0, 5, 6)
    )
    changed = {"launches": (launch,), "arrays": (table,), "accesses": accesses}
    text = drawing(one.model_copy(update={**changed, "wrong": {}, "unwritten": {}})).plain
    assert f"│ {label} │" in text
    assert " …: this thread and others" in text


def test_long_names_keep_to_the_width():
    one = traces.good_map()
    launch = Launch(kernel="k", grid=(99, 99, 99), block=(11, 11, 8))
    who = [(970_298 - n, 967) for n in range(3)]  # the last thread of the last blocks
    accesses = tuple(
        one.accesses[0].model_copy(update={"block": block, "thread": thread})
        for block, thread in who
    )
    changed = one.model_copy(update={"launches": (launch,), "accesses": accesses})
    assert "│ b96,98,98 t10,10,7 … │" in drawing(changed, width=60).plain


def test_causes_stand_before_effects():
    one = traces.missing_barrier()
    # As threads do that leave out what they have no element for: shared memory comes first.
    backwards = one.model_copy(update={"accesses": one.accesses[::-1]})
    for each in (one, backwards):
        heads = [line for line in drawing(each).plain.splitlines() if line.endswith(" by")]
        names = [head.split()[0] for head in heads]
        assert names == ["a", "tile", "tile", "tile", "tile", "out"]
    inputs = [
        access.model_copy(update={"array": array, "kind": "read"})
        for access in one.accesses[:1]
        for array in (1, 0)
    ]
    text = drawing(one.model_copy(update={"accesses": tuple(inputs)})).plain
    assert text.index("a (input), read by") < text.index("out (output), read by")


def test_blocks_differ_in_colour():
    text = drawing(traces.two_steps())
    styles = {text.plain[span.start : span.end].strip(): span.style for span in text.spans}
    assert styles["b0 t0"] != styles["b1 t0"]


def test_the_shared_memory_of_many_blocks_is_not_drawn_for_all():
    one = traces.two_steps()
    accesses = tuple(
        access.model_copy(update={"block": block})
        for block in range(6)
        for access in one.accesses
        if access.block == 0 and access.array == 2
    )
    launch = Launch(kernel="k", grid=(6, 1, 1), block=(4, 1, 1))
    text = drawing(one.model_copy(update={"accesses": accesses, "launches": (launch,)})).plain
    assert "shared memory of block 2" in text
    assert "shared memory of block 3" not in text
    assert "tile of 3 more blocks is not drawn" in text


def test_markup_in_a_kernel_is_text():
    plain = drawing(traces.hostile()).plain
    assert "[red]&amp;" in plain
    assert "</script><script>alert(1)</script>" in plain


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing_guard", "thread 2 of block 1 reads a[5], where a has 5 elements, 0 to 4: line 7"),
        (
            "missing_barrier",
            "thread 2 of block 0 reads tile[1], which thread 1 of block 0 writes in line 9; "
            "no barrier lies between them: line 10",
        ),
        (
            "missing_barrier",
            "thread 0 of block 0 reads tile[3] before any thread has written it: line 10",
        ),
        (
            "swapped",
            "out[0, 1] is 3.0 and should be 1.0, written by thread (0, 1) of block 0: line 8",
        ),
        ("swapped", "out[0, 2] was never written"),
        ("empty", "out[0] to out[3] were never written"),
        (
            "outside_a_table",
            "thread (1, 0) reads a[-1, 0], where a has 2 × 3 elements, up to a[1, 2]: line 8",
        ),
        ("outside_a_table", "thread (1, 1) writes none[0], where none has no elements"),
    ],
)
def test_what_went_wrong_is_told_in_words(
    name: str, sentence: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(trace_words, "MOST_SENTENCES", 9)
    assert sentence in [told for _, told, _ in trace_words.problems(traces.ALL[name]())]


def test_two_blocks_that_race_are_told_that_no_barrier_would_help():
    one = traces.many()
    write = one.accesses[1].model_copy(update={"fault": "race"})
    other = write.model_copy(update={"block": 2, "thread": 3})
    raced = one.model_copy(update={"accesses": (write, other), "cut": 0})
    assert [told for _, told, _ in trace_words.problems(raced)] == [
        "thread 0 of block 0 writes out[0, 0], which thread 3 of block 2 writes in line 7; "
        "nothing orders two blocks: line 7"
    ]


def test_of_many_faults_the_first_are_told_and_the_others_counted():
    one = traces.many()
    fault = {"element": None, "index": (100,), "fault": "out_of_bounds"}
    beyond = tuple(access.model_copy(update=fault) for access in one.accesses[:50])
    found = trace_words.problems(one.model_copy(update={"accesses": beyond}))
    assert len(found) == trace_words.MOST_SENTENCES + 1
    assert found[-1][1] == "and 48 more"


@pytest.mark.parametrize(
    ("grid", "block", "words"),
    [
        ((1, 1, 1), (1, 1, 1), "1 block of 1 thread"),
        ((2, 1, 1), (8, 1, 1), "2 blocks of 8 threads"),
        ((2, 3, 1), (4, 4, 1), "2 × 3 blocks of 4 × 4 threads"),
        ((1, 1, 2), (4, 1, 2), "1 × 1 × 2 blocks of 4 × 1 × 2 threads"),
    ],
)
def test_a_launch_in_words(grid: tuple[int, int, int], block: tuple[int, int, int], words: str):
    assert trace_words.launched(Launch(kernel="k", grid=grid, block=block)) == words


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("y = tl.exp(x - tl.max(x, axis=0))", "tl.max(x, axis=0) gives 1.25"),
        (
            "low = tl.min(tl.where(m, f(x), 0.0), axis=0)",
            "tl.min(tl.where(m, f(x), 0.0), axis=0) gives 1.25",
        ),
        ("y = x / x.sum(axis=0)", "x.sum(axis=0) gives 1.25"),
        ("y = top(x)", "gives 1.25"),
        ("y = tl.max(x, 0) - tl.min(x, 0)", "gives 1.25"),
        ("y = tl.max(", "gives 1.25"),
    ],
)
def test_a_reduction_is_named_where_its_line_has_one(line: str, named: str):
    one = traces.loop_over_blocks()
    source = [*one.source]
    source[11] = line
    text = drawing(one.model_copy(update={"source": tuple(source)})).plain
    below = text.partition(f"  12  {line}\n")[2].splitlines()[0].strip()
    assert below.startswith(named)


def test_a_statement_of_several_lines_is_quoted_whole():
    one = traces.loop_over_blocks()
    statement = [
        "    tl.store(",
        "        out_ptr + row,  # place",
        "        highest,",
        "    )",
    ]
    line = one.operations[-1].line
    source = (*one.source[: line - 1], *statement)
    moved = [each.model_copy(update={"line": line + 2}) for each in one.operations[-1:]]
    operations = (*one.operations[:-1], *moved)
    text = drawing(one.model_copy(update={"source": source, "operations": operations})).plain
    assert f"  {line + 2}  tl.store(out_ptr + row, highest)\n" in text


def test_a_load_that_an_error_stopped_says_nothing_of_its_masked_lanes():
    """Its `other` had not been looked at, and the picture said that they get nothing defined."""
    operation = Operation(launch=0, kind="load", line=1, shape=(8,))
    trace = SimpleNamespace(operations=(operation,))
    act = Act(launch=0, step=0, block=0, operation=0, active=3)
    off = "5 of 8 lanes are masked off"
    assert about_mask(trace, act) == f"{off}: they get nothing defined"
    assert about_mask(trace, act.model_copy(update={"stopped": True})) == off
