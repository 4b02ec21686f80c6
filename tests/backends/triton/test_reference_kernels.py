"""The reference kernels move what their mix says: no more, or a ceiling would be too low."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from one_step import one_step
from streams import UNUSUAL_MIXES, exercise_of

from grader.backends.triton import reference_kernels
from grader.model.outcomes import Outcome
from grader.sandbox.fork_servers import ForkServers
from grader.speed.mixes import USUAL_MIXES, Mix

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fork_servers() -> Iterator[ForkServers]:
    made = ForkServers()
    yield made
    made.close()


# A spec has an output, whose form is that of an input: mixes without one are left out.
@pytest.mark.parametrize(
    "mix",
    [mix for mix in (*USUAL_MIXES, *UNUSUAL_MIXES) if mix.updates or (mix.reads and mix.writes)],
    ids=lambda mix: mix.name,
)
def test_a_reference_kernel_moves_the_tensors_of_its_mix_once(
    mix: Mix, tmp_path: Path, fork_servers: ForkServers
):
    exercise, kernel = exercise_of(mix, tmp_path)
    step = one_step("traffic", exercise, kernel, fork_servers)
    assert step.outcome is Outcome.PASS, step.failure
    written_from, updated_from = mix.reads, mix.reads + mix.writes
    moved = {count.argument: (count.reads, count.writes) for count in step.traffic}
    assert moved == {
        name: (float(not written_from <= at < updated_from), float(at >= written_from))
        for at, name in enumerate("abcde"[: mix.tensors])
    }


@pytest.mark.gpu
@pytest.mark.parametrize("mix", [*USUAL_MIXES, *UNUSUAL_MIXES], ids=lambda mix: mix.name)
def test_a_compiled_reference_kernel_fills_its_outputs_and_nothing_behind_them(mix: Mix):
    """A length that no block divides, so that a mask that lets too much through would show."""
    memory = torch.full((mix.tensors, 8192 * 3), 7.0, device="cuda")
    before = memory[:, :20_011].normal_().clone()
    reference_kernels.stream(mix.reads, mix.writes, *memory[:, :20_011])
    updated = before[mix.reads + mix.writes :]
    total = before[: mix.reads].sum(0) + updated.sum(0)
    torch.testing.assert_close(memory[: mix.reads, :20_011], before[: mix.reads], rtol=0, atol=0)
    for changed in memory[mix.reads :, :20_011]:
        torch.testing.assert_close(changed, total)
    assert bool((memory[:, 20_011:] == 7.0).all())
