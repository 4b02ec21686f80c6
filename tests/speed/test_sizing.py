"""How large the scored case is on GPUs that we know from their data sheets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.model.errors import CannotGrade
from grader.speed.sizing import CALL_S, CALLS, L2_MULTIPLE, MEMORY_SHARE, MIN_CALLS, Gpu, size

GB, MIB = 10**9, 2**20

GPUS = {
    "T4": Gpu(bandwidth=300 * GB, l2=4 * MIB, free=16 * GB),
    "A100-40": Gpu(bandwidth=1555 * GB, l2=40 * MIB, free=40 * GB),
    "A100-80": Gpu(bandwidth=2039 * GB, l2=40 * MIB, free=80 * GB),
    "RTX-4090": Gpu(bandwidth=1008 * GB, l2=72 * MIB, free=24 * GB),
    "H100": Gpu(bandwidth=3350 * GB, l2=50 * MIB, free=80 * GB),
    "H200": Gpu(bandwidth=4800 * GB, l2=50 * MIB, free=141 * GB),
    "B200": Gpu(bandwidth=8000 * GB, l2=126 * MIB, free=192 * GB),
}
# Bytes a row of the six scored cases, and the multiple that their rows have to be of.
ROWS = {
    "vector_add": (12, 1024),
    "dot": (8, 1024),
    "softmax": (8 * 65_536, 1),
    "swiglu": (6 * 14_336, 1),
    "cross_entropy": (2 * 128_256 + 12, 1),
}


@pytest.mark.parametrize("work", ROWS)
@pytest.mark.parametrize("name", GPUS)
def test_every_gpu_gets_a_case_that_fits_and_dwarfs_its_cache(name: str, work: str):
    gpu, (row, multiple) = GPUS[name], ROWS[work]
    sizing = size(gpu, row, multiple)
    per_call = sizing.rows * row
    assert sizing.rows % multiple == 0
    assert MIN_CALLS <= sizing.calls <= CALLS
    assert sizing.calls * per_call <= MEMORY_SHARE * gpu.free
    # Rounding down to whole rows costs less than one row (or multiple) a call.
    assert sizing.calls * (per_call + row * multiple) >= L2_MULTIPLE * gpu.l2
    # Long enough to dwarf a launch, of some 5 microseconds.
    assert per_call / gpu.bandwidth > 0.9 * CALL_S


@pytest.mark.parametrize(
    ("name", "calls", "mib_per_call"),
    [
        ("T4", 16, 286),
        ("A100-40", 15, 1482),
        ("A100-80", 16, 1944),
        ("RTX-4090", 14, 961),
        ("H100", 14, 3194),
        ("H200", 16, 4577),
        ("B200", 14, 7629),
    ],
)
def test_sizes_in_numbers(name: str, calls: int, mib_per_call: int):
    sizing = size(GPUS[name], 12, 1024)
    assert (sizing.calls, sizing.rows * 12 // MIB) == (calls, mib_per_call)


def test_an_unusually_large_cache_makes_calls_longer():
    gpu = Gpu(bandwidth=1000 * GB, l2=512 * MIB, free=64 * GB)
    sizing = size(gpu, 8)
    assert sizing.rows * 8 > 1.2 * gpu.bandwidth * CALL_S
    assert sizing.calls * (sizing.rows + 1) * 8 >= L2_MULTIPLE * gpu.l2


def test_what_is_read_and_written_back_is_half_as_large():
    """So that a call lasts as long: the inputs of a larger one take longer to make."""
    once, twice = (size(GPUS["H200"], 12, rounds=rounds) for rounds in (1.0, 2.0))
    assert twice.rows == once.rows // 2
    assert twice.calls == once.calls


def test_with_little_free_memory_calls_get_fewer_and_then_smaller():
    card = GPUS["H200"]
    roomy, busy, busier = (
        size(Gpu(card.bandwidth, card.l2, free), 12) for free in (141 * GB, 40 * GB, 8 * GB)
    )
    assert (busy.rows, busy.calls) == (roomy.rows, 5)
    assert busier.calls == MIN_CALLS
    assert busier.rows < roomy.rows


def test_too_little_free_memory_says_how_much_and_who_may_hold_it(snapshot: SnapshotAssertion):
    card = GPUS["H200"]
    with pytest.raises(CannotGrade) as caught:
        size(Gpu(card.bandwidth, card.l2, free=GB), 12)
    assert text_of(caught.value) == snapshot


def test_a_row_larger_than_the_memory_cannot_be_graded():
    with pytest.raises(CannotGrade):
        size(GPUS["T4"], 20 * GB)


@given(
    bandwidth=st.floats(1e10, 1e14),
    l2=st.integers(0, 2**30),
    free=st.integers(0, 2**40),
    row=st.integers(1, 2**24),
    multiple=st.sampled_from([1, 128, 1024]),
)
def test_no_gpu_is_given_more_than_it_has(
    bandwidth: float, l2: int, free: int, row: int, multiple: int
):
    try:
        sizing = size(Gpu(bandwidth, l2, free), row, multiple)
    except CannotGrade:
        return
    working_set = sizing.calls * sizing.rows * row
    assert 0 < working_set <= MEMORY_SHARE * free
    assert working_set >= L2_MULTIPLE * l2 // 2
    assert MIN_CALLS <= sizing.calls <= CALLS
    assert sizing.rows % multiple == 0


def test_the_table_in_the_documents_is_what_comes_out():
    """docs/measuring-details.md: rows of 65,536 float32, read once and written once."""
    text = (Path(__file__).parents[2] / "docs" / "measuring-details.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    told = {
        row[0]: [int(cell.replace(",", "")) for cell in row[1:]] for row in rows if row[0] in GPUS
    }
    assert told.keys() == GPUS.keys()
    for name, gpu in GPUS.items():
        row = 8 * 65_536
        sizing = size(gpu, row, multiple=16)
        call = sizing.rows * row
        assert told[name] == [
            *(gpu.bandwidth // GB, gpu.l2 // MIB, gpu.free // GB),
            *(sizing.rows, round(call / 10**6), sizing.calls, round(call * sizing.calls / gpu.l2)),
        ]
