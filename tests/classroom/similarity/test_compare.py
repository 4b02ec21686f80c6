"""Pairs of alike files: disguised copies are found, and what everybody was given is ignored."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.classroom.similarity.compare import COMMON, compare
from grader.classroom.similarity.given import texts
from grader.classroom.similarity.records import Comparison, Source
from grader.course import catalog

ROOT = Path(__file__).parents[3]
NAME = "04_online_softmax"
CORPUS = ROOT / "tests" / "redteam" / "honest" / NAME
# Five structures that are each other's strangers.
KERNELS = {
    path.stem: path.read_text(encoding="utf-8")
    for path in sorted(CORPUS.glob("*.py"))
    if path.stem
    in ("backwards", "last_part_combines", "odd_chunks", "rows_together", "scan_of_pairs")
}
GIVEN = texts(catalog.find(ROOT, NAME))


def of(*sources: Source, share: float = 0.5) -> Comparison:
    return compare(NAME, "Online softmax", sources, GIVEN, share)


def source(student: str, kernel: str, team: str = "") -> Source:
    return Source(student, NAME, KERNELS.get(kernel, kernel), team)


def students(comparison: Comparison) -> set[tuple[str, ...]]:
    return {tuple(sorted(pair.students)) for pair in comparison.pairs}


def disguised(kernel: str) -> str:
    """The kernel with other names, other numbers, no comments, and a line of no effect."""
    lines = KERNELS[kernel].replace("columns", "width").replace("1024", "512").splitlines()
    return "\n".join(line.partition("  # ")[0] for line in lines)


def test_a_disguised_copy_is_found_and_strangers_are_not():
    own = [source(name, name) for name in KERNELS]
    found = of(*own, source("copy", disguised("scan_of_pairs")))
    assert students(found) == {("copy", "scan_of_pairs")}
    (pair,) = found.pairs
    assert (pair.share, pair.identical) == (1, True)
    assert found.clusters[0].students == ("copy", "scan_of_pairs")


def test_lines_that_are_shared_are_those_of_the_copied_function():
    first, second = KERNELS["scan_of_pairs"], KERNELS["rows_together"]
    copied = f"{second}\n\n{first}"
    (pair,) = of(source("ada", "scan_of_pairs"), source("bob", copied), share=0.3).pairs
    offset = len(second.splitlines()) + 2
    mine, theirs = dict(zip(pair.students, pair.lines, strict=True)).values()
    assert mine
    assert {line + offset for line in mine} == {line for line in theirs if line > offset}


def test_the_given_code_is_nobody_s():
    """Two students who handed in the model solution share nothing of their own."""
    solution = catalog.find(ROOT, NAME).solution.read_text()
    found = of(source("ada", solution), source("bob", solution))
    assert found.pairs == ()
    assert found.short == ("ada", "bob")


def test_what_many_wrote_is_the_usual_way():
    many = [source(f"student {n}", "scan_of_pairs") for n in range(COMMON + 1)]
    assert of(*many).pairs == ()
    assert len(of(*many[:COMMON]).pairs) == COMMON * (COMMON - 1) // 2


def test_students_of_one_team_are_no_pair():
    team = [source(name, "scan_of_pairs", "group a") for name in ("ada", "bob")]
    assert of(*team).pairs == ()
    assert students(of(*team, source("eve", "scan_of_pairs"))) == {("ada", "eve"), ("bob", "eve")}


def test_clusters_join_pairs():
    some = [source(name, "scan_of_pairs") for name in "abc"]
    other = [source(name, "odd_chunks") for name in "xy"]
    found = of(*other, *some)
    assert [one.students for one in found.clusters] == [("a", "b", "c"), ("x", "y")]


def test_a_file_that_is_no_python_is_named_and_costs_no_other():
    found = of(source("eve", "def f(:"), source("a", "odd_chunks"), source("b", "odd_chunks"))
    assert found.unread == ("eve: it is no Python",)
    assert len(found.pairs) == 1


def test_half_a_character_in_a_kernel_costs_no_other():
    lone = 'x = "__global__ \\ud800"'
    found = of(source("eve", lone), source("a", "odd_chunks"), source("b", "odd_chunks"))
    assert (found.unread, found.short) == ((), ("eve",))
    assert len(found.pairs) == 1


@given(st.permutations(sorted(KERNELS)), st.sampled_from(sorted(KERNELS)))
@settings(max_examples=20)
def test_the_order_of_files_changes_no_pair(order: list[str], twice: str):
    found = of(*(source(name, name) for name in order), source("copy", twice), share=0.2)
    same = of(source("copy", twice), *(source(name, name) for name in sorted(KERNELS)), share=0.2)
    assert {(frozenset(one.students), one.share, one.shared) for one in found.pairs} == {
        (frozenset(one.students), one.share, one.shared) for one in same.pairs
    }


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_a_file_shares_all_of_itself(kernel: str):
    (pair,) = of(source("ada", kernel), source("bob", kernel)).pairs
    assert (pair.share, pair.identical) == (1, True)
