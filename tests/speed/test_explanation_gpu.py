"""Kernels that are built to be limited in one way, graded on a GPU: is that way named?"""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.model.outcomes import Limit, Outcome
from grader.model.results import Speed
from grader.speed import occupancy

ROOT = Path(__file__).parents[2]
ADD = """\
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


def vector_add(x, y, out):
    grid = (triton.cdiv(out.numel(), {block}),)
    add_kernel[grid](x, y, out, out.numel(), BLOCK={block}, num_warps=1)
"""

pytestmark = [pytest.mark.slow, pytest.mark.gpu]


def measured(exercise: Exercise, kernel: Path) -> Speed:
    """The speed of this kernel file; it need not pass."""
    (result,) = check.run([Request(exercise, kernel, Options(device="cuda"))], print)
    step = next(step for step in result.steps if step.name == "speed")
    assert step.speed is not None, result.steps
    assert step.outcome is not Outcome.NOISY, step.failure
    return step.speed


def added(tmp_path: Path, block: int) -> Speed:
    kernel = tmp_path / "kernel.py"
    kernel.write_text(ADD.format(block=block))
    return measured(Exercise(ROOT / "exercises" / "01_vector_add"), kernel)


def test_three_reads_at_what_they_allow_are_limited_by_traffic():
    exercise = Exercise(ROOT / "exercises" / "03_three_pass_softmax")
    speed = measured(exercise, exercise.solution)
    assert speed.attainable == pytest.approx(0.5, abs=0.01)
    assert speed.limit is Limit.TRAFFIC, speed
    assert "reads x 3 times" in speed.explanation[0]


def test_tiny_blocks_of_one_warp_are_limited_by_their_shape(tmp_path: Path):
    speed = added(tmp_path, block=32)
    assert speed.attainable == 1
    assert speed.limit is Limit.SHAPE, speed
    assert speed.resources[0].threads == 32


def test_a_huge_block_of_one_warp_is_limited_by_spills(tmp_path: Path):
    # 16,384 would spill more, and ptxas would take half a minute for it.
    speed = added(tmp_path, block=8192)
    assert speed.limit is Limit.SPILLS, speed
    assert speed.resources[0].spills


@pytest.mark.parametrize(
    ("name", "limits", "kernels"),
    [
        ("01_vector_add", (Limit.NONE,), {"add_kernel"}),
        ("02_dot_reduction", (Limit.NONE, Limit.SHAPE), {"dot_partials", "sum_partials"}),
    ],
)
def test_a_solution_near_the_ceiling_is_limited_by_little(
    name: str, limits: tuple[Limit, ...], kernels: set[str]
):
    """And both libraries tell what was launched."""
    exercise = Exercise(ROOT / "exercises" / name)
    speed = measured(exercise, exercise.solution)
    assert speed.limit in limits, speed
    assert {told.kernel for told in speed.resources} == kernels
    for told in speed.resources:
        assert told.registers > 0
        assert told.occupancy is not None
        assert 0 < told.occupancy <= 1


def test_the_driver_tells_the_limits_of_a_multiprocessor():
    import torch

    sm, properties = occupancy.this_gpu(), torch.cuda.get_device_properties(0)
    assert (sm.warp_size, sm.threads) == (32, properties.max_threads_per_multi_processor)
    assert sm.registers == properties.regs_per_multiprocessor
    assert sm.shared == properties.shared_memory_per_multiprocessor
    assert sm.blocks in (16, 24, 32)
