"""The shared memory: what a worker cannot do to it, and how tensors lie in it."""

from __future__ import annotations

import mmap
import os

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.correctness.inputs import NAMES, with_layout
from grader.model.arguments import Argument, reads
from grader.model.errors import BrokenExercise
from grader.sandbox.arena import REDZONE, HostArena, place, view

SIZE = 1 << 16


@pytest.fixture
def arena():
    made = HostArena(SIZE)
    yield made
    made.close()


def test_a_worker_can_neither_shrink_nor_grow_the_arena(arena: HostArena):
    # Shrinking it would kill the judge with SIGBUS at its next access.
    for size in (0, SIZE // 2, 2 * SIZE):
        with pytest.raises(PermissionError):
            os.ftruncate(arena.fd, size)
    assert os.fstat(arena.fd).st_size == SIZE


def test_a_worker_cannot_remove_the_seals(arena: HostArena):
    import fcntl

    with pytest.raises(PermissionError):
        fcntl.fcntl(arena.fd, fcntl.F_ADD_SEALS, 0)


def test_both_sides_see_the_same_bytes(arena: HostArena):
    assert arena.ticket() == {"kind": "host", "size": SIZE}
    with mmap.mmap(arena.fd, SIZE) as theirs:
        theirs[100] = 7
        assert arena.memory[100] == 7
        arena.memory[200] = 9
        assert theirs[200] == 9
    assert arena.memory.dtype == torch.uint8
    assert arena.memory.numel() == SIZE
    assert not arena.memory.any() or arena.memory.nonzero().flatten().tolist() == [100, 200]


def test_closing_gives_the_descriptor_back_and_may_be_repeated(arena: HostArena):
    descriptor = arena.fd
    arena.close()
    arena.close()
    assert arena.fd is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_a_new_program_does_not_inherit_it(arena: HostArena):
    assert not os.get_inheritable(arena.fd)


# -- where tensors lie

TENSORS = st.builds(
    lambda shape, dtype, pad, offset: with_layout(torch.zeros(shape, dtype=dtype), pad, offset),
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple),
    dtype=st.sampled_from(list(NAMES)[:3]),
    pad=st.integers(0, 9),
    offset=st.integers(0, 9),
)


def named(tensors: list[torch.Tensor]) -> list[tuple[Argument, torch.Tensor]]:
    return [(reads(f"x{i}"), tensor) for i, tensor in enumerate(tensors)]


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(TENSORS, max_size=6))
def test_tensors_keep_form_alignment_and_distance(tensors: list[torch.Tensor]):
    memory = torch.zeros(SIZE, dtype=torch.uint8)
    placed, used = place(memory, named(tensors))
    end = 0
    for place_, like in zip(placed, tensors, strict=True):
        assert place_.view.shape == like.shape
        assert place_.view.stride() == like.stride()
        assert place_.view.dtype == like.dtype
        # The arena itself may begin anywhere; a worker maps it at a page.
        assert place_.start % 16 == like.data_ptr() % 16
        assert place_.start - end >= REDZONE
        assert place_.view.data_ptr() - memory.data_ptr() == place_.start == place_.ref.offset
        last = sum((n - 1) * s for n, s in zip(like.shape, like.stride(), strict=True))
        assert place_.stop == place_.start + (last + 1) * like.element_size()
        end = place_.stop
    assert used >= end + REDZONE
    assert used <= SIZE


@settings(max_examples=100)
@given(st.lists(TENSORS, min_size=1, max_size=6))
def test_writing_one_tensor_leaves_all_others_as_they_were(tensors: list[torch.Tensor]):
    memory = torch.zeros(SIZE, dtype=torch.uint8)
    placed, _ = place(memory, named(tensors))
    for number, place_ in enumerate(placed, 1):
        place_.view.fill_(number)
    for number, place_ in enumerate(placed, 1):
        assert bool((place_.view == number).all())
        assert torch.equal(view(memory, place_.ref), place_.view)


def test_a_ref_says_where_a_tensor_lies(arena: HostArena):
    like = with_layout(torch.zeros(2, 3, dtype=torch.float16), pad=5, offset=1)
    (placed,), _ = place(arena.memory, [(reads("x"), like)])
    placed.view.copy_(torch.arange(6.0).reshape(2, 3))
    assert (placed.ref.name, placed.ref.dtype) == ("x", "float16")
    assert (placed.ref.shape, placed.ref.strides) == ((2, 3), (8, 1))
    assert view(arena.memory, placed.ref).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_64_bit_integers_have_a_place_too(arena: HostArena):
    (placed,), _ = place(arena.memory, [(reads("target"), torch.tensor([5, -100]))])
    placed.view.copy_(torch.tensor([2**40, -100]))
    assert view(arena.memory, placed.ref).tolist() == [2**40, -100]


def test_what_does_not_fit_is_the_exercise_s_fault(snapshot: SnapshotAssertion):
    memory = torch.zeros(4096, dtype=torch.uint8)
    fitting = (4096 - 2 * REDZONE) // 4
    place(memory, named([torch.zeros(fitting)]))
    with pytest.raises(BrokenExercise) as caught:
        place(memory, named([torch.zeros(fitting + 1)]))
    assert text_of(caught.value) == snapshot
