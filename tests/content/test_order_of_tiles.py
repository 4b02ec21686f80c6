"""The numbers of the lesson of 17_tiled_matmul follow from its spec and its solution's tiles."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import pytest

from grader.course import catalog

ROOT = Path(__file__).parents[2]
EXERCISE = catalog.find(ROOT, "17_tiled_matmul")
LESSON = (EXERCISE.folder / "README.md").read_text(encoding="utf-8")
SCORED = EXERCISE.spec.scored
EXTENT = SCORED.rows  # of square matrices
BYTES = 2  # an element of bfloat16
RATE, BANDWIDTH, CACHE = 793e12, 3e12, 50e6  # of an H100, as the lesson says
AT_A_TIME = 132  # programs: one for each of its multiprocessors
SHARED = 227  # KiB that a program may have

CONSTANTS = {
    node.targets[0].id: node.value.value
    for node in ast.parse(EXERCISE.solution.read_text(encoding="utf-8")).body
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
}
ROWS, COLUMNS = CONSTANTS["ROWS"], CONSTANTS["ROW_BYTES"] // BYTES
TERMS = CONSTANTS["STEP_BYTES"] // BYTES


def rows_with(first: str) -> list[list[str]]:
    """Return the cells of the lesson's table rows that begin with a text."""
    lines = [line for line in LESSON.splitlines() if line.startswith(f"| {first}")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def only(first: str) -> list[str]:
    [row] = rows_with(first)
    return row


def tile_of(program: int, down: int, across: int, group: int) -> tuple[int, int]:
    """Return the row and the column of tiles of a program; a group of 1 is row by row."""
    first = program // (group * across) * group
    height = min(down - first, group)
    place = program % (group * across)
    return first + place % height, place // height


def strips_of_rounds(extent: int, group: int) -> list[tuple[int, int]]:
    """Return how many strips of a, and of b, the programs of each round need together."""
    down, across = extent // ROWS, extent // COLUMNS
    found = []
    for begin in range(0, down * across, AT_A_TIME):
        together = range(begin, min(begin + AT_A_TIME, down * across))
        tiles = [tile_of(program, down, across, group) for program in together]
        found.append((len({row for row, _ in tiles}), len({column for _, column in tiles})))
    return found


def bytes_of(strips: tuple[int, int], extent: int) -> int:
    return (strips[0] * ROWS + strips[1] * COLUMNS) * extent * BYTES


def test_the_scored_matrices_are_square():
    assert SCORED.dtype == "bfloat16"
    assert SCORED.extents == (EXTENT, EXTENT)


def test_operations_and_bytes_of_the_scored_case():
    flops, matrix = 2 * EXTENT**3, EXTENT**2 * BYTES
    assert flops == EXERCISE.spec.flops(EXERCISE.spec.counted) * EXTENT**3 // math.prod(
        EXERCISE.spec.counted.shape
    )
    assert only("operations: a")[1:] == [
        f"2 * {EXTENT:,}³ = {flops / 1e9:,.0f} * 10⁹",
        f"{flops / RATE * 1e3:.2f} ms",
    ]
    assert only("bytes of one matrix")[1] == f"2 * {EXTENT:,}² = {matrix / 1e6:.1f} MB"
    all_three = f"3 * {matrix / 1e6:.1f} = {3 * matrix / 1e6:.1f} MB"
    assert only("bytes if each")[1:] == [all_three, f"{3 * matrix / BANDWIDTH * 1e3:.2f} ms"]
    assert f"These are {flops / (3 * matrix):,.0f} operations for each byte." in LESSON
    assert f"can do {RATE / BANDWIDTH:.0f} while one byte arrives" in LESSON
    meanwhile = flops / RATE * BANDWIDTH
    assert f"less than {meanwhile / 1e9:.1f} GB in its {flops / RATE * 1e3:.2f} ms" in LESSON


TILES = [(1, 1), (16, 16), (64, 64), (128, 128), (ROWS, COLUMNS)]


@pytest.mark.parametrize(("rows", "columns"), TILES)
def test_a_tile_reads_each_element_once_for_each_tile_beside_it(rows: int, columns: int):
    of_a, of_b = EXTENT // columns, EXTENT // rows
    moved = (of_a + of_b) * EXTENT**2 * BYTES
    assert only(f"{rows} x {columns}")[1:] == [
        f"{of_a:,} ×",
        f"{of_b:,} ×",
        f"{moved / 1e9:,.1f} GB",
        f"{2 * rows * columns / ((rows + columns) * BYTES):.1f}",
    ]


def test_what_the_naive_and_the_largest_tile_take_for_their_bytes():
    naive = 2 * EXTENT**3 * BYTES
    assert f"The naive kernel needs {naive / BANDWIDTH * 1e3:.0f} ms for its bytes" in LESSON
    tiled = (EXTENT // ROWS + EXTENT // COLUMNS) * EXTENT**2 * BYTES
    said = " ".join(LESSON.split())
    assert f"Its {tiled / 1e9:.1f} GB would still take {tiled / BANDWIDTH * 1e3:.1f} ms" in said
    assert f"has {ROWS * COLUMNS:,} sums in float32, half of a multiprocessor's" in said
    assert ROWS * COLUMNS * 4 == 256 * 1024 // 2


@pytest.mark.parametrize("group", [1, 8, CONSTANTS["GROUP"], 32])
def test_strips_that_programs_need_together(group: int):
    rounds = strips_of_rounds(EXTENT, group)
    name = "row by row" if group == 1 else f"groups of {group} rows of tiles"
    whole = sum(bytes_of(each, EXTENT) for each in rounds)
    assert only(name)[1:] == [
        *map(str, rounds[0]),
        f"{bytes_of(rounds[0], EXTENT) / 1e6:.1f} MB",
        f"{whole / 1e9:.2f} GB",
    ]


def test_the_solution_s_groups_need_the_fewest_bytes():
    """Compare it with the sizes of the table, and with every other one."""
    down = EXTENT // ROWS

    def needed(group: int) -> int:
        return sum(bytes_of(each, EXTENT) for each in strips_of_rounds(EXTENT, group))

    assert min(range(1, down + 1), key=needed) == CONSTANTS["GROUP"]


def test_the_prose_about_rounds_and_the_cache():
    said = " ".join(LESSON.split())
    down, across = EXTENT // ROWS, EXTENT // COLUMNS
    assert (
        f"The {down * across:,} tiles of out, {down} from top to bottom and {across} from" in said
    )
    assert f"need {math.ceil(down * across / AT_A_TIME)} rounds" in said
    assert f"strip of `a`, {ROWS} rows: {ROWS * EXTENT * BYTES / 1e6:.1f} MB" in said
    assert f"strip of `b`, {COLUMNS} columns: {COLUMNS * EXTENT * BYTES / 1e6:.1f} MB" in said
    by_group = {group: strips_of_rounds(EXTENT, group) for group in (1, CONSTANTS["GROUP"])}
    plain, grouped = (sum(bytes_of(e, EXTENT) for e in r) for r in by_group.values())
    assert f"take {plain / BANDWIDTH * 1e3:.2f} ms row by row, and" in said
    assert f"{grouped / BANDWIDTH * 1e3:.2f} ms in groups of {CONSTANTS['GROUP']}" in said
    held = [CACHE / bytes_of(rounds[0], EXTENT) for rounds in by_group.values()]
    assert f"{held[0]:.0%} of what a round needs" in said.replace(" %", "%")
    assert f"and {held[1]:.0%} in groups of" in said.replace(" %", "%")


def test_the_prose_about_smaller_matrices():
    said, extent = " ".join(LESSON.split()), 4096
    assert f"Each matrix has {extent**2 * BYTES / 1e6:.1f} MB" in said
    plain, grouped = (
        bytes_of(strips_of_rounds(extent, group)[0], extent) / 1e6
        for group in (1, CONSTANTS["GROUP"])
    )
    assert f"needs {plain:.1f} MB row by row, and {grouped:.1f} MB in groups" in said


def test_the_prose_about_stages():
    said = " ".join(LESSON.split())
    pair = (ROWS * TERMS + TERMS * COLUMNS) * BYTES // 1024
    assert f"{ROWS} x {TERMS} and {TERMS} x {COLUMNS} elements, {pair} KiB" in said
    stages = CONSTANTS["STAGES"]
    assert stages == 3
    assert f"Three pairs take {stages * pair} KiB of the {SHARED} KiB" in said
    threads = 32 * CONSTANTS["WARPS"]
    assert f"{threads} threads hold {ROWS * COLUMNS // threads} sums each" in said
    assert stages * pair < SHARED


def test_the_figures_of_the_order_in_the_lesson():
    """Six columns of tiles, row by row and in groups of two rows."""
    drawn = LESSON.split("row by row                     in groups")[1].split("\n\n")[1]
    shown = [[int(number) for number in line.split()] for line in drawn.splitlines()]
    assert len(shown) == 4
    for group, columns in ((1, slice(0, 6)), (2, slice(6, 12))):
        numbers = {tile_of(program, 4, 6, group): program for program in range(24)}
        assert [row[columns] for row in shown] == [
            [numbers[down, across] for across in range(6)] for down in range(4)
        ]


def test_the_counted_case_permits_tiles_of_64():
    m, k, n = EXERCISE.spec.counted.shape
    budgets = {argument.name: argument.most_reads for argument in EXERCISE.spec.arguments}
    assert (budgets["a"], budgets["b"]) == (math.ceil(n / 64), math.ceil(m / 64))
    assert f"an `a` of {m} x {k} and a `b` of {k} x {n}" in " ".join(LESSON.split())
