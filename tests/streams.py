"""Exercises that only move tensors, for mixes that update a tensor, or read one and write one."""

from __future__ import annotations

from pathlib import Path

from grader import backends
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.speed.mixes import Mix

# A sum of four tensors, fused Adam, and a sum into a residual: `grader doctor` measures none.
UNUSUAL_MIXES = (Mix(4, 1, 0), Mix(1, 0, 3), Mix(1, 0, 1))

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
    """Make an exercise of this mix, and a kernel file whose entry calls `stream`."""
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
    (folder / "test_kernel.py").write_text(LAW)
    parameters = ", ".join(names)
    kernel = root / "kernel.py"
    kernel.write_text(
        f"{backends.reference_file().read_text()}\n\n"
        f"def moved({parameters}):\n    stream({mix.reads}, {mix.writes}, {parameters})\n"
    )
    return catalog.find(root, folder.name), kernel
