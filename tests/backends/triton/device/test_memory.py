"""Loads and stores against plain indexing, and the accesses that are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.backends.triton.device.faults import Malformed, Misaligned, OutOfBounds
from grader.backends.triton.device.mappings import Mapping
from grader.backends.triton.device.memory import Memory
from grader.backends.triton.device.values import poison
from grader.worker.bounds import Span

from .memories import access, mapping_of, memory_of, span_of

DTYPES = (
    torch.bool,
    torch.int8,
    torch.int16,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.float8_e4m3fn,
)


def numbers(dtype: torch.dtype, count: int) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.arange(count) % 3 == 0
    return (torch.arange(count) % 120 - 50).to(dtype)


def bits(tensor: torch.Tensor) -> list[int]:
    return tensor.contiguous().flatten().view(torch.uint8).tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_loads_and_stores_move_every_dtype(dtype: torch.dtype) -> None:
    x, out = numbers(dtype, 12), torch.zeros(12).to(dtype)
    memory = memory_of(x=x, out=out)
    index = torch.arange(12).view(3, 4)
    loaded = memory.load(access("load", x, index))
    assert (loaded.dtype, loaded.shape) == (dtype, (3, 4))
    memory.store(access("store", out, index.flip(0)), loaded)
    assert bits(out.view(3, 4).flip(0)) == bits(x)


def test_a_value_outlives_a_later_store() -> None:
    x = torch.ones(4)
    memory = memory_of(x=x)
    at = torch.arange(4).view(1, 4)
    loaded = memory.load(access("load", x, at))
    memory.store(access("store", x, at), torch.zeros(1, 1))
    assert loaded.tolist() == [[1.0] * 4]


def test_lanes_that_are_masked_off() -> None:
    x = torch.arange(4.0)
    mask = torch.tensor([[True, False, True, False]])
    at = torch.arange(4).view(1, 4)
    memory = memory_of(x=x)
    loaded = memory.load(access("load", x, at, mask))
    assert loaded[0, ::2].tolist() == [0.0, 2.0]
    assert loaded[0, 1::2].isnan().all()
    other = torch.tensor([[9.0]])
    assert memory.load(access("load", x, at, mask), other).tolist() == [[0.0, 9.0, 2.0, 9.0]]
    numbers = x.to(torch.int16)
    loaded = memory_of(x=numbers).load(access("load", numbers, at, mask))
    assert loaded[0, 1] == poison(torch.int16)
    memory.store(access("store", x, at, mask), torch.tensor([[7.0]]))
    assert x.tolist() == [7.0, 1.0, 7.0, 3.0]


def test_masked_lanes_may_point_anywhere() -> None:
    x = torch.arange(4.0)
    index = torch.tensor([[0, 1 << 40, -5, 3]])
    mask = torch.tensor([[True, False, False, True]])
    memory = memory_of(x=x)
    loaded = memory.load(access("load", x, index, mask), torch.zeros(1, 1))
    assert loaded.tolist() == [[0.0, 0.0, 0.0, 3.0]]
    nobody = torch.zeros(1, 4, dtype=torch.bool)
    assert memory.load(access("load", x, index, nobody), torch.ones(1, 1)).tolist() == [[1.0] * 4]
    memory.store(access("store", x, index, nobody), torch.ones(1, 1))
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_what_is_the_same_for_all_programs_stays_so() -> None:
    x = torch.arange(4.0)
    programs = torch.arange(3)
    memory = memory_of(x=x)
    index = torch.arange(4).view(1, 4)
    assert memory.load(access("load", x, index, programs=programs)).shape == (1, 4)
    each = torch.tensor([[True], [False], [True]])
    loaded = memory.load(access("load", x, index, each, programs), torch.tensor([[-1.0]]))
    assert loaded.tolist() == [[0.0, 1.0, 2.0, 3.0], [-1.0] * 4, [0.0, 1.0, 2.0, 3.0]]
    none = torch.zeros(1, 1, dtype=torch.bool)
    own = torch.tensor([[1.0], [2.0], [3.0]])
    assert memory.load(access("load", x, index, none, programs), own)[:, 0].tolist() == [1, 2, 3]


@given(st.data())
def test_agrees_with_one_lane_after_the_other(data: st.DataObject) -> None:
    """Two arrays behind one block of pointers, in any order, with a mask."""
    x, y = torch.arange(10.0), torch.arange(100.0, 107.0)
    lanes = data.draw(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1))
    mask = data.draw(st.lists(st.booleans(), min_size=len(lanes), max_size=len(lanes)))
    pointers = [(x if first else y).data_ptr() + 4 * index for first, index in lanes]
    one = access("load", x, torch.zeros(1, len(lanes)), torch.tensor([mask]))
    one = replace(one, addresses=torch.tensor([pointers]))
    loaded = memory_of(x=x, y=y).load(one, torch.tensor([[-1.0]]))[0].tolist()
    assert loaded == [
        float((x if first else y)[index]) if active else -1.0
        for (first, index), active in zip(lanes, mask, strict=True)
    ]


def test_changes_count_for_programs_that_wait() -> None:
    x = torch.zeros(2)
    memory = memory_of(x=x)
    one = access("store", x, torch.tensor([[0, 1]]))
    memory.store(one, torch.zeros(1, 2))
    assert memory.changes == 0
    memory.store(one, torch.ones(1, 2))
    assert memory.changes == 1


# --- refused --------------------------------------------------------------------------------------


def refused(kind: str, index: list[list[int]], **options: torch.Tensor) -> str:
    arena = torch.zeros(3000)
    x, out = arena[100 : 100 + 1025], arena[1500 : 1500 + 1025]
    memory = memory_of(out=out, x=x)
    one = access(kind, x, torch.tensor(index), **options)
    operate: dict[str, Callable[[], object]] = {
        "load": lambda: memory.load(one),
        "store": lambda: memory.store(one, torch.ones(1, 1)),
        "atomic": lambda: memory.atomic(one, lambda held, places: held[places]),
    }
    with pytest.raises(OutOfBounds) as caught:
        operate[kind]()
    assert caught.value.site is one.site
    assert not arena.any(), "an access that is refused changes nothing"
    return str(caught.value)


def test_past_the_end_names_the_argument_the_distance_and_the_lanes() -> None:
    assert refused("load", [[1024, 1025, 1026, 1027]]) == (
        "load reads 3 elements past the end of x (x spans 1025 elements); "
        "3 of 4 active lanes are outside: is the mask missing?"
    )


def test_before_the_start() -> None:
    assert refused("store", [[-1]]) == (
        "store writes 1 element before the start of x (x spans 1025 elements): "
        "is the address right?"
    )


def test_atomics_are_checked() -> None:
    assert refused("atomic", [[1025]]).startswith("atomic updates 1 element past the end of x")


def test_lanes_are_those_of_the_first_program_that_leaves() -> None:
    rows = [[0, 1, 2, 3], [1023, 1024, 1025, 1026], [2000, 2000, 2000, 2000]]
    mask = torch.tensor([[True] * 4, [False, True, True, True], [True] * 4])
    assert refused("load", rows, mask=mask) == (
        "load reads 2 elements past the end of x (x spans 1025 elements); "
        "2 of 3 active lanes are outside: does its mask let them through?"
    )


def test_between_two_arguments_of_one_arena() -> None:
    assert "past the end of x" in refused("load", [[1030]])
    assert "before the start of out" in refused("load", [[1399]])


def test_lanes_that_reach_another_argument_count_as_outside_too() -> None:
    index = [list(range(1024, 1024 + 500))]  # the last ones lie in out
    assert refused("load", index) == (
        "load reads 499 elements past the end of x (x spans 1025 elements); "
        "499 of 500 active lanes are outside: is the mask missing?"
    )


def test_a_distance_that_is_no_count_says_so() -> None:
    assert refused("load", [[0, 1000, 1100, 1030]]).startswith(
        "load reads up to 76 elements past the end of x (x spans 1025 elements); "
        "2 of 4 active lanes are outside"
    )


def test_the_array_is_the_one_that_holds_the_other_lanes() -> None:
    assert "past the end of x" in refused("load", [[0, 1, 1399]])


@pytest.mark.parametrize("address", [0, 3, -(2**63), -4, 2**63 - 1], ids=hex)
def test_both_ends_of_the_address_space(address: int) -> None:
    x = torch.zeros(4)
    one = access("load", x, torch.zeros(1, 1))
    one = replace(one, addresses=torch.tensor([[address]]))
    with pytest.raises(OutOfBounds):
        memory_of(x=x).load(one)


def test_past_the_highest_address_comes_none_of_an_array() -> None:
    x = torch.zeros(4)
    first = 2**63 - 8 - x.data_ptr()
    index = (torch.arange(4) + first // 4).view(1, 4)
    with pytest.raises(OutOfBounds):
        memory_of(x=x).load(access("load", x, index))


def test_the_last_element_must_fit_as_a_whole() -> None:
    halves = torch.zeros(7, dtype=torch.int16)
    one = access("load", halves.view(torch.int16), torch.tensor([[6]]))
    one = replace(one, dtype=torch.int32)
    with pytest.raises(OutOfBounds, match="load reads 1 element past the end of x"):
        memory_of(x=halves).load(one)


def test_without_arguments() -> None:
    x = torch.zeros(4)
    memory = Memory([mapping_of(x)], [])
    with pytest.raises(OutOfBounds, match="load reads memory, but this call has no argument"):
        memory.load(access("load", x, torch.zeros(1, 1)))


def test_misaligned() -> None:
    x = torch.zeros(8, dtype=torch.int16)
    one = access("load", x, torch.tensor([[0, 2, 4, 5]]))
    one = replace(one, dtype=torch.int32)
    with pytest.raises(Misaligned, match="an access of 4 bytes begins at an address that is no"):
        memory_of(x=x).load(one)
    whole = replace(one, addresses=one.addresses[:, :3])
    assert memory_of(x=x).load(whole).tolist() == [[0, 0, 0]]


def test_mappings_that_overlap_or_miss_a_span() -> None:
    x = torch.zeros(8)
    mapping = mapping_of(x)
    with pytest.raises(Malformed):
        Memory([mapping, Mapping(mapping.start + 8, mapping.data[:4])], [])
    with pytest.raises(Malformed):
        Memory([mapping], [Span(mapping.start, mapping.stop + 1, "x")])
    Memory([mapping], [span_of("x", x)])


spans = st.tuples(st.integers(0, 60), st.integers(1, 30)).map(
    lambda drawn: Span(drawn[0], drawn[0] + drawn[1], "x")
)


@given(st.lists(spans, max_size=5), st.lists(st.integers(0, 100), min_size=1, max_size=9))
def test_bounds_of_spans_that_overlap(drawn: list[Span], addresses: list[int]) -> None:
    """Also spans that nest, touch or start together, as views of one scratch tensor do."""
    data = torch.arange(128, dtype=torch.uint8)
    memory = Memory([Mapping(0, data.numpy())], drawn)
    one = access("load", data, torch.zeros(1, len(addresses)))
    one = replace(one, addresses=torch.tensor([addresses]))
    if all(any(s.start <= a and a + 1 <= s.stop for s in drawn) for a in addresses):
        assert memory.load(one)[0].tolist() == addresses
    else:
        with pytest.raises(OutOfBounds):
            memory.load(one)
