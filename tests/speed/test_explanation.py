"""Occupancy by NVIDIA's formula, and the sentences for each way of being limited."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model.arguments import Argument
from grader.model.exercise import Spec
from grader.model.messages import Launched
from grader.model.outcomes import Limit
from grader.model.results import Speed, Traffic
from grader.speed.explanation import attainable, with_explanation
from grader.speed.occupancy import Multiprocessor, occupancy

# CUDA C++ Programming Guide, technical specifications per compute capability (7.5, 8.0, 9.0).
T4 = Multiprocessor(32, 1024, 16, 65536, 64 << 10, 0, 256)
A100 = Multiprocessor(32, 2048, 32, 65536, 164 << 10, 1024, 128)
H100 = Multiprocessor(32, 2048, 32, 65536, 228 << 10, 1024, 128)
GPUS = st.sampled_from([T4, A100, H100])
REGISTERS = st.integers(1, 255)
SHARED = st.integers(0, 48 << 10)
THREADS = st.integers(1, 1024)


@pytest.mark.parametrize(
    ("sm", "registers", "shared", "threads", "warps"),
    [
        (A100, 32, 0, 256, 64),  # nothing limits
        (A100, 33, 0, 256, 48),  # 1056 registers a warp, rounded up to 1280: 12 warps a partition
        (A100, 255, 0, 32, 8),  # 8192 registers a warp: 2 warps a partition
        (A100, 16, 0, 32, 32),  # 32 blocks of one warp
        (A100, 16, 40 << 10, 256, 32),  # 41 KiB a block with what is reserved: 4 blocks
        (A100, 16, 20 << 10, 128, 28),  # 21 KiB a block: 7 of them, not the 8 of 20 KiB
        (H100, 16, 40 << 10, 256, 40),  # 5 blocks
        (T4, 16, 0, 32, 16),  # 16 blocks of one warp, of 32 warps
        (T4, 16, 32 << 10, 256, 16),  # nothing is reserved: 2 blocks
        (T4, 16, 0, 33, 32),  # a second warp for one thread
        (A100, 168, 0, 384, 12),  # 3 warps a partition, 12 in all: one block
    ],
)
def test_occupancy_is_worked_out_by_the_formula_of_cuda_occupancy_h(
    sm: Multiprocessor, registers: int, shared: int, threads: int, warps: int
):
    assert occupancy(sm, registers, shared, threads) == warps / sm.warps


def test_a_block_that_does_not_fit_has_no_occupancy():
    assert occupancy(A100, 255, 0, 1024) == 0


@given(GPUS, REGISTERS, SHARED, THREADS)
def test_occupancy_is_a_share_that_more_registers_or_memory_never_raise(sm, registers, shared, n):
    found = occupancy(sm, registers, shared, n)
    assert 0 <= found <= 1
    assert found > 0 or registers * n > sm.registers // 2
    assert occupancy(sm, registers + 1, shared, n) <= found
    assert occupancy(sm, registers, shared + 512, n) <= found


def spec(backend: str = "triton") -> Spec:
    """Only what an explanation reads of a spec."""
    made = object.__new__(Spec)
    x = Argument(name="x", role="in", reads=1)
    object.__setattr__(made, "arguments", (x, Argument(name="out", role="out", writes=1)))
    object.__setattr__(made, "backend", backend)
    return made


SIZES = {"x": 1000, "out": 1000}


def counted(reads: float, writes: float = 1.0) -> tuple[Traffic, ...]:
    none = {"most_reads": None, "most_writes": None}
    return (
        Traffic(argument="x", reads=reads, writes=0.0, **none),
        Traffic(argument="out", reads=0.0, writes=writes, **none),
    )


@given(st.floats(1, 100), st.floats(1, 100))
def test_attainable_is_one_at_the_least_traffic_and_falls_with_more(reads, writes):
    found = attainable(spec(), counted(reads, writes), SIZES)
    assert found is not None
    assert 0 < found <= 1
    assert found == pytest.approx(2 / (reads + writes))
    assert attainable(spec(), counted(1.0), SIZES) == 1.0


def speed(share: float, great: float = 0.9) -> Speed:
    figures = {"bytes_moved": 2000, "time_ms": 1.0, "bandwidth_gbps": 1.0, "ceiling_gbps": 1.0}
    gates = {"passing": 0.4, "great": great, "goes": 5, "calls_per_go": 16}
    interval = {"share_low": share - 0.001, "share_high": share + 0.001}
    start = {"first_call_s": 1.0, "latency_case": "1 × 1,024 in float32", "latency_us": 5.0}
    return Speed(case="8 × 8 in float32", share=share, **interval, **figures, **gates, **start)


def kernel(**changes) -> Launched:
    usual = {"registers": 32, "spills": 0, "shared_bytes": 0, "threads": 128, "launches": 1}
    return Launched(**{"kernel": "_softmax", **usual, **changes})


ALLOWS = "at that traffic this GPU allows 50 % of the ceiling"
THREE = f"The kernel reads x 3 times where once is enough; {ALLOWS}"
TRITON = "look at the block size, num_warps and how many bytes each thread moves at once."
LEAST = "The kernel moves the least bytes but reaches 61 % of the ceiling: "
WARPS = "try a smaller block or a larger num_warps."


@pytest.mark.parametrize(
    ("share", "traffic", "launched", "limit", "told"),
    [
        (0.95, counted(1), (), "none", ("Great: 95 % of the ceiling. Little is left to gain.",)),
        (
            0.494,
            counted(3),
            (),
            "traffic",
            (f"{THREE} and you reach 49.4 %: only fewer reads help.",),
        ),
        (
            *(0.3, counted(3), (), "both"),
            (
                f"{THREE} but you reach only 30 %: fewer reads help, and something else is slow, "
                "too.",
                f"To speed up the rest, {TRITON}",
            ),
        ),
        (
            *(0.66, counted(3), (), "cache"),
            (
                f"{THREE} from memory, and you reach 66 %: the L2 cache serves a part of the "
                "repeated reads, and fewer reads still help.",
            ),
        ),
        (
            *(0.49, counted(1, 3), (), "traffic"),
            (
                f"The kernel writes out 3 times where once is enough; {ALLOWS} and you reach 49 %: "
                "only fewer writes help.",
            ),
        ),
        (
            *(0.61, counted(1), (kernel(spills=1024),), "spills"),
            (
                f"{LEAST}the compiler ran out of registers in _softmax and keeps 1,024 bytes per "
                f"thread in memory, which costs traffic of its own; {WARPS}",
            ),
        ),
        (
            *(0.61, counted(1), (kernel(registers=255, threads=32),), "occupancy"),
            (
                f"{LEAST}_softmax takes so many registers or so much shared memory that only "
                "12.5 % of a multiprocessor's warps (groups of 32 threads) fit at once, too few to "
                f"work on while others wait for memory; {WARPS}",
            ),
        ),
        (
            *(0.61, counted(1), (kernel(), kernel(kernel="_rest", launches=2)), "launches"),
            (
                f"{LEAST}one call launches 3 kernels, and each has to start and to fill the GPU. "
                f"Can one launch do the work? Otherwise {TRITON}",
            ),
        ),
        (0.61, counted(1), (kernel(threads=32),), "shape", (f"{LEAST}{TRITON}",)),
        (0.61, counted(1), (), "shape", (f"{LEAST}{TRITON}",)),
        (
            *(0.61, (), (), "unknown"),
            (
                "The kernel reaches 61 % of the ceiling. Its reads and writes were not counted: "
                "they may or may not be the limit.",
                f"If it moves no more than it must: {TRITON}",
            ),
        ),
    ],
)
def test_each_way_of_being_limited_is_told(share, traffic, launched, limit, told):
    found = with_explanation(speed(share), spec(), traffic, SIZES, launched, H100)
    assert (found.limit, found.explanation) == (Limit(limit), told)


def test_what_is_great_for_an_exercise_is_still_told_what_limits_it():
    """Three passes cannot be faster than half of the ceiling: 03 calls less than that great."""
    sm = A100
    found = with_explanation(speed(0.494, great=0.48), spec(), counted(3.0), SIZES, [kernel()], sm)
    assert found.limit is Limit.TRAFFIC
    assert found.explanation == (f"{THREE} and you reach 49.4 %: only fewer reads help.",)


def test_numba_gets_the_advice_for_numba():
    found = with_explanation(speed(0.61), spec("numba"), counted(1), SIZES, (), H100)
    assert "num_warps" not in found.explanation[0]
    assert "threads per block" in found.explanation[0]


def test_what_the_worker_tells_is_shown_and_an_empty_block_has_no_occupancy():
    told = (kernel(), kernel(kernel="forged", threads=0, spills=None))
    found = with_explanation(speed(0.61), spec(), counted(1), SIZES, told, H100).resources
    assert [(r.kernel, r.spills, r.occupancy) for r in found] == [
        ("_softmax", 0, 1.0),
        ("forged", None, None),
    ]
