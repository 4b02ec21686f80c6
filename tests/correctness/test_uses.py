"""The accesses of a device, or of single threads, as masks of the arguments' elements."""

from __future__ import annotations

import torch

from grader.correctness.uses import (
    fitting,
    touched,
    twice_by_device,
    twice_by_threads,
    uses_of_device,
    uses_of_threads,
)
from grader.model import ArrayRef, LaunchRef, Sightings, TensorRef, Touched, Traced

# Rows of 3 elements that begin 5 apart.
TABLE = {"x": TensorRef("x", 0, (2, 3), (5, 1), "float32")}


def test_elements_in_memory_are_those_of_rows() -> None:
    seen = Sightings(touched=(Touched(4, "read", "x", ((0, 2), (5, 8)), 4, True, 2),))
    [use] = uses_of_device(seen, TABLE)
    assert use.marks.tolist() == [[True, True, False], [True, True, True]]
    assert (use.line, use.reads, use.writes, use.lanes) == (4, True, False, 4)
    assert (use.beside, use.packed) == (False, False)


def test_elements_between_rows() -> None:
    packed, spread = ((0, 6),), ((0, 4), (5, 8))
    seen = Sightings(touched=tuple(Touched(1, "write", "x", runs) for runs in (packed, spread)))
    first, second = uses_of_device(seen, TABLE)
    assert (first.beside, first.packed) == (True, True)
    assert (second.beside, second.packed) == (True, False)


def test_an_array_that_is_no_argument_is_left_out() -> None:
    assert uses_of_device(Sightings(touched=(Touched(1, "read", "y", ((0, 1),)),)), TABLE) == ()


def test_threads() -> None:
    arrays = (ArrayRef("x", "argument", (3,)), ArrayRef("x", "shared", (3,)))
    rows = ((0, 1, 0), (2, 1, 0), (1, 2, 1), (1, 1, 0), (0, 3, 2))
    traced = Traced(
        (LaunchRef("kernel", (1, 1, 1), (4, 1, 1)),),
        arrays,
        (
            *((0, 0, 0, 0, 0, element, kind, line, 0) for element, line, kind in rows),
            (0, 0, 0, 0, 1, 1, 1, 9, 0),
        ),
    )
    uses = {use.line: use for use in uses_of_threads(traced)}
    assert set(uses) == {1, 2, 3}, "shared memory is no argument"
    assert uses[1].marks.tolist() == [True, True, True]
    assert [uses[line].kind for line in (1, 2, 3)] == ["read", "write", "update"]
    assert (uses[1].unset, uses[3].unset) == (True, True), "they read what was not written yet"


def test_all_lines_together() -> None:
    seen = Sightings(
        touched=(Touched(1, "read", "x", ((0, 1),)), Touched(2, "update", "x", ((5, 6),)))
    )
    uses = uses_of_device(seen, TABLE)
    read, written = (touched(uses, "x", reading=each) for each in (True, False))
    assert isinstance(read, torch.Tensor)
    assert isinstance(written, torch.Tensor)
    assert (int(read.sum()), int(written.sum())) == (2, 1)
    assert touched(uses, "y", reading=True) is None


def stores(*rows: tuple[int, int, int, int]) -> Traced:
    """Return stores to x by launch, thread, element and kind, and one to shared memory."""
    return Traced(
        (LaunchRef("kernel", (1, 1, 1), (4, 1, 1)),) * 2,
        (ArrayRef("x", "argument", (3,)), ArrayRef("s", "shared", (3,))),
        (
            *((launch, 0, 0, thread, 0, at, kind, 5, 0) for launch, thread, at, kind in rows),
            *((0, 0, 0, thread, 1, 0, 1, 5, 0) for thread in (0, 1)),
        ),
    )


def test_elements_that_two_programs_stored_to() -> None:
    twice = twice_by_device(Sightings(twice={"x": ((1, 4), (6, 7)), "y": ((0, 1),)}), TABLE)
    assert {n: marks.tolist() for n, marks in twice.items()} == {
        "x": [[False, True, True], [False, True, False]]
    }


def test_elements_that_two_threads_stored_to() -> None:
    once = stores((0, 0, 0, 1), (0, 0, 0, 1), (0, 1, 1, 1), (0, 2, 1, 0), (0, 2, 2, 2))
    assert twice_by_threads(once) == {}, "reads, updates and a thread's own stores do not count"
    for other in ((0, 1, 0, 1), (1, 0, 0, 1)):
        twice = twice_by_threads(stores((0, 0, 0, 1), other))
        assert twice["x"].tolist() == [True, False, False]


def test_accesses_to_arguments_of_another_shape_are_left_out() -> None:
    traced = stores((0, 0, 0, 1), (0, 1, 1, 1))
    assert fitting(traced, {"x": torch.zeros(3)}) is traced
    for value in (torch.zeros(4), torch.zeros(1, 3), 3.0):
        part = fitting(traced, {"x": value})
        assert (len(part.accesses), part.cut) == (2, 2), "shared memory has any shape"
    assert fitting(traced, {}).cut == 2, "there is no such argument"
