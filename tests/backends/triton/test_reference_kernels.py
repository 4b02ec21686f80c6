"""The reference kernels move what their mix says: no more, or a ceiling would be too low."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from one_step import one_step

from grader import backends
from grader.backends.triton import reference_kernels
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.check import Request
from grader.grading.options import Options
from grader.model.outcomes import Outcome, Status
from grader.sandbox.fork_servers import ForkServers
from grader.speed.mixes import USUAL, Mix

pytestmark = pytest.mark.slow

# Of fused Adam and of a sum with a residual: `grader doctor` measures neither.
OTHERS = (Mix(4, 1, 0), Mix(1, 0, 3), Mix(1, 0, 1))

# All that is written or updated becomes the sum of what is read or updated.
SPEC = """
from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, updates, writes

READ, WRITTEN, UPDATED = {read}, {written}, {updated}


def reference(inputs):
    return dict.fromkeys((*WRITTEN, *UPDATED), sum(inputs[name] for name in (*READ, *UPDATED)))


SPEC = Spec(
    title="Stream",
    summary="Move a mix of tensors.",
    backend="triton",
    entry="moved",
    arguments=(
        *(reads(name) for name in READ),
        *(writes(name, like=READ[0]) for name in WRITTEN),
        *(updates(name) for name in UPDATED),
    ),
    dtypes=("float32",),
    draws=("rows",),
    edges=(Case((5,), "float32"),),
    largest=(4096,),
    most_elements=2**12,
    inputs=lambda case, draw: {{n: draw.tensor(case.shape) for n in (*READ, *UPDATED)}},
    reference=reference,
    tolerance=Tolerance(terms=lambda case: 4, magnitude=lambda inputs, expected: {{
        name: sum(inputs[n].abs() for n in (*READ, *UPDATED)) for name in expected
    }}),
    counted=Case((5003,), "float32"),
    scored=Scored(dtype="float32"),
    gates=Gates(passing=0.8, great=0.9),
    hints=("a", "b", "c"),
)
"""

LAW = """
from hypothesis import given

from grader.testing import assert_same_bits, cases_of


@given(case=cases_of(__file__))
def test_a_call_repeats_itself(kernel, case):
    inputs = kernel.inputs(case)
    for name, first in kernel.run(inputs).items():
        assert_same_bits(kernel.run(inputs)[name], first, name)
"""


def exercise_of(mix: Mix, root: Path) -> tuple[Exercise, Path]:
    """Make an exercise that moves such tensors, and a kernel file that calls `stream` for it."""
    names = "abcde"[: mix.tensors]
    written_from, updated_from = mix.reads, mix.reads + mix.writes
    folder = root / "exercises" / "01_stream"
    folder.mkdir(parents=True)
    (folder / "spec.py").write_text(
        SPEC.format(
            read=tuple(names[:written_from]),
            written=tuple(names[written_from:updated_from]),
            updated=tuple(names[updated_from:]),
        )
    )
    parameters = ", ".join(names)
    kernel = root / "kernel.py"
    kernel.write_text(
        f"{backends.reference_file().read_text()}\n\n"
        f"def moved({parameters}):\n    stream({mix.reads}, {mix.writes}, {parameters})\n"
    )
    return catalog.find(root, folder.name), kernel


@pytest.fixture(scope="module")
def fork_servers() -> Iterator[ForkServers]:
    made = ForkServers()
    yield made
    made.close()


# A spec has an output, whose form is that of an input: mixes without one are left out.
@pytest.mark.parametrize(
    "mix",
    [mix for mix in (*USUAL, *OTHERS) if mix.updates or (mix.reads and mix.writes)],
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
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
@pytest.mark.parametrize("mix", [*USUAL, *OTHERS], ids=lambda mix: mix.name)
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


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
@pytest.mark.parametrize("mix", OTHERS, ids=lambda mix: mix.name)
def test_an_exercise_of_another_mix_is_graded_by_its_own_ceiling(mix: Mix, tmp_path: Path):
    """It ended as broken: only some mixes had a reference kernel."""
    exercise, kernel = exercise_of(mix, tmp_path)
    (exercise.folder / "test_kernel.py").write_text(LAW)
    [result] = check.run(
        [Request(exercise, kernel, Options(device="cuda", seed=1))], lambda text: None
    )
    assert result.status is Status.PASS, result
    (speed,) = (step.speed for step in result.steps if step.speed)
    assert speed.share == pytest.approx(1, abs=0.05)
