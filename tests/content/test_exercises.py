"""The course itself: every exercise is whole, and its lesson says what its spec says."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from grader.correctness.acceptance import expect, output_dtype
from grader.correctness.inputs import CaseDraw
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import steps, steps_of
from grader.grading.kinds.kernel import NO_WORK
from grader.grading.options import Options
from grader.grading.plan import points_of
from grader.grading.recording import run
from grader.grading.session import Grading
from grader.grading.steps.correctness.compare import correctness
from grader.grading.steps.memory import limits
from grader.model.cases import Case
from grader.model.exercise import Spec, a_hundredth
from grader.model.outcomes import Outcome
from grader.sandbox.arena import HostArena
from grader.sandbox.executor import KernelFailure
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.pretender import ANSWERS, Pretender
from grader.sandbox.remote_kernel import RemoteKernel
from grader.speed import bound_of

pytestmark = pytest.mark.slow

STEPS = steps.every()
ROOT = Path(__file__).parents[2]
EXERCISES = [e for e in catalog.parts(ROOT) if e.folder.parent.name == "exercises"]
OF_ONE_NUMBER = ("02_dot_reduction", "12_fused_mse")
OF_TILES = ("17_tiled_matmul",)
OF_A_DEGREE = ("19_roofline",)  # the case of a vector, and a number that is no extent of it
OF_INTEGERS = ("20_quantize_int8:quantize",)  # the first output
EDGES = (1, 2, 3, 127, 128, 129, 1023, 1024, 1025)

each = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)


def lesson(exercise: Exercise) -> str:
    return (exercise.folder / "README.md").read_text(encoding="utf-8")


def words(text: str) -> str:
    """The text as one line, whatever its line breaks."""
    return " ".join(text.split())


def test_the_first_six_exercises_are_there():
    assert [exercise.name for exercise in EXERCISES[:6]] == [
        "01_vector_add",
        "02_dot_reduction",
        "03_three_pass_softmax",
        "04_online_softmax",
        "05_swiglu",
        "06_cross_entropy",
    ]


# -- the lesson and the spec tell the same


@each
def test_the_lesson_states_the_gates(exercise: Exercise):
    """A lesson of several entries has a column of the table for each, headed by its name."""
    table = re.search(
        r"^\| gate \|.+\n\| -.+\n\| pass .+\n\| great .+", lesson(exercise), re.MULTILINE
    )
    assert table is not None
    head, _, *told = ([cell.strip() for cell in row.split("|")] for row in table[0].split("\n"))
    share = f"share of {bound_of(exercise.spec).held_to}"
    column = head.index(f"`{exercise.entry}`" if exercise.entry else share)
    gates = exercise.spec.gates
    assert [float(row[column]) for row in told] == [gates.passing, gates.great]


@each
def test_the_lesson_begins_with_the_title_and_has_every_part(exercise: Exercise):
    text = lesson(exercise)
    assert exercise.spec.title.split()[0] in text.splitlines()[0]
    parts = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert {"Why", "The bytes model", "The task", "How it is graded", "Hints"} <= set(parts)
    assert "Sources" in parts


@each
def test_the_lesson_names_the_scored_case(exercise: Exercise):
    scored = exercise.spec.scored
    told = re.search(r"^\d\. \*\*speed\*\*(?:.+\n)+", lesson(exercise), re.MULTILINE)
    assert told is not None
    assert scored.dtype in told[0]
    for extent in scored.fixed_extents:
        assert f"{extent:,}" in told[0]


@each
def test_the_lesson_lists_every_step(exercise: Exercise):
    listed = re.findall(r"^(\d)\. \*\*(\w+)\*\*", lesson(exercise), re.MULTILINE)
    steps = enumerate(steps_of(exercise.spec), start=1)
    assert listed == [(str(number), step.name) for number, step in steps]


@each
def test_the_lesson_says_the_rules_of_memory_as_a_check_does(exercise: Exercise):
    told = re.search(r"^\d\. \*\*memory\*\*(?:.+\n)+", lesson(exercise), re.MULTILINE)
    assert told is not None
    said = words(told[0])
    if exercise.spec.memory_budget is a_hundredth and "`grader show`" not in said:
        assert limits.HUNDREDTH in said.replace("a forward call", "a call")
    if "quarter" in said:
        quarter, _, _ = limits.QUARTER.partition(",")
        assert quarter in said.replace("matrix", "argument")
        assert "Without a GPU" in said


def test_the_first_lesson_introduces_scratch():
    first = next(each for each in EXERCISES if "scratch" in words(lesson(each)).lower())
    assert (first.name, "is called **scratch**" in words(lesson(first))) == ("01_vector_add", True)


COUNT_WORDS = {"once": 1, "twice": 2, "three times": 3}
TIMES = rf"{'|'.join(COUNT_WORDS)}|\d+ times"


@each
def test_the_lesson_says_how_often_arguments_may_move(exercise: Exercise):
    told = re.search(r"^\d\. \*\*traffic\*\*(?:.+\n)+", lesson(exercise), re.MULTILINE)
    assert told is not None
    said = re.findall(rf"`(\w+)` (read|written) at most ({TIMES})", words(told[0]))
    whole = Exercise(exercise.folder).whole_spec  # one sentence for all entries
    allowed = {
        (a.name, done): most
        for spec in whole.entries
        for a in spec.arguments
        for done, most in (("read", a.most_reads), ("written", a.most_writes))
        if most
    }
    counts = {(name, done): COUNT_WORDS.get(t) or int(t.split()[0]) for name, done, t in said}
    assert counts == allowed


@each
def test_the_lesson_names_the_rows_with_which_memory_is_counted(exercise: Exercise):
    case = exercise.spec.memory_counted
    if case is not None:
        told = re.search(r"^\d\. \*\*memory\*\*(?:.+\n)+", lesson(exercise), re.MULTILINE)
        assert told is not None
        assert f"with {case.shape[0]:,} rows and with {2 * case.shape[0]:,}" in words(told[0])


@each
def test_the_counted_case_has_rows_of_several_blocks(exercise: Exercise):
    counted, spec = exercise.spec.counted, exercise.spec
    assert counted.dtype in spec.dtypes
    # Tiles of a matrix are shorter than blocks of a row, and each is multiplied by several others.
    blocks = 256 if exercise.name in OF_TILES else 1024
    assert counted.shape[0 if exercise.name in OF_A_DEGREE else -1] > 2 * blocks
    assert bool(counted.pad) <= spec.strided
    most = 4096 if spec.backend == "numba" else 400_000
    assert max(math.prod(value.shape) for value in _tensors(spec, counted)) <= most


def _tensors(spec: Spec, case: Case) -> list[torch.Tensor]:
    inputs = spec.inputs(case, CaseDraw(case))
    every = (*inputs.values(), *spec.reference(inputs).values())
    return [value for value in every if isinstance(value, torch.Tensor)]


# -- the files


def test_no_spec_imports_torch():
    """`grader list` reads every spec, and importing torch takes seconds."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from grader.course.catalog import parts\n"
        "specs = [e.spec for e in parts(Path(sys.argv[1]))]\n"
        "print(len(specs), 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(ROOT)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    ).stdout
    assert said.split() == [str(len(catalog.parts(ROOT))), "False", "False"]


# -- the cases that every check tries


@each
def test_edges_cover_every_dtype_and_draw(exercise: Exercise):
    spec = exercise.spec
    assert {case.dtype for case in spec.edges} == set(spec.dtypes)
    assert {case.draw for case in spec.edges} == set(spec.draws)


@each
def test_edges_cover_the_lengths_at_which_kernels_go_wrong(exercise: Exercise):
    lengths = {extent for case in exercise.spec.edges for extent in case.shape}
    assert lengths >= set(EDGES), set(EDGES) - lengths
    assert any(is_prime(length) and length > 1000 for length in lengths)


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


@each
def test_edges_cover_padding_and_unaligned_tensors(exercise: Exercise):
    edges = exercise.spec.edges
    assert any(case.offset for case in edges)
    assert any(case.pad for case in edges) == exercise.spec.strided


@each
def test_edges_begin_with_the_smallest_and_leave_the_seed_open(exercise: Exercise):
    edges = exercise.spec.edges
    assert edges[0].elements == min(case.elements for case in edges)
    assert [case for case in edges if case.seed] == []
    assert len(set(edges)) == len(edges)


@pytest.mark.parametrize("name", ["03_three_pass_softmax", "04_online_softmax", "06_cross_entropy"])
def test_rows_longer_than_any_block_are_tried(name: str):
    edges = catalog.find(ROOT, name).spec.edges
    assert max(case.shape[-1] for case in edges) >= 128_256


@each
def test_the_answer_to_every_edge_is_finite_in_the_output_s_dtype(exercise: Exercise):
    spec = exercise.spec
    for case in spec.edges:
        inputs = spec.inputs(case, CaseDraw(case))
        with torch.no_grad():
            wide = {
                k: v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v
                for k, v in inputs.items()
            }
            dtypes = {a.name: output_dtype(a, inputs) for a in spec.arguments if a.filled}
            for name, value in spec.reference(wide).items():
                assert bool(value.isfinite().all()), case
                dtype = dtypes[name]
                limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
                assert limits.min <= value.min() <= value.max() <= limits.max, case


@each
def test_simulated_cases_are_small_enough(exercise: Exercise):
    # numba's simulator runs a Python task for each thread.
    most = 4096 if exercise.spec.backend == "numba" else 2**20
    assert max(case.elements for case in exercise.spec.edges) <= most


@each
def test_ten_points_for_an_exercise_and_none_for_loading(exercise: Exercise):
    worth = points_of(exercise.any_spec)
    assert worth["load"] == 0
    assert sum(worth.values()) == 10 or exercise.spec.scored is None


@each
def test_a_magnitude_is_never_less_than_the_answer(exercise: Exercise):
    """Beside logits of 1e38 a 1 that is added first is lost, and with it what rounding may cost."""
    spec = exercise.spec
    for case in spec.edges:
        if case.elements <= 20_000:
            expected = expect(spec, case, spec.inputs(case, CaseDraw(case)))
            for name, answer in expected.outputs.items():
                assert bool((expected.magnitude[name] >= answer.abs() * 0.999999).all()), case


# -- answers that are no work at all


def test_verify_knows_every_answer():
    assert set(NO_WORK) == set(ANSWERS)


@pytest.mark.parametrize("answer", ANSWERS)
@each
def test_an_answer_without_work_is_rejected(exercise: Exercise, answer: str):
    if exercise.name in OF_ONE_NUMBER and answer == "constant_mean":
        pytest.skip("the mean of one number is that number")
    options = Options(seed=1, pretend=answer, shrink=False)
    grading = Grading(exercise, exercise.solution, options, ForkServers())
    try:
        assert run(grading, STEPS["load"]).outcome is Outcome.PASS
        step = run(grading, replace(STEPS["correctness"], run=correctness))
    finally:
        grading.close()
    assert (step.outcome, step.points) == (Outcome.FAIL, 0)
    kinds = {
        "zeros": ("value",),
        "ones": ("value",),
        "constant_mean": ("value",),
        # Integers hold no NaN: they are 0.
        "nan": ("value",) if exercise.name in OF_INTEGERS else ("not_finite",),
        "first_input": ("value",),
        # What is to be updated holds a value that is none of the answer.
        "untouched": ("never_written", "value"),
        "lower_precision": ("value", "rms"),
    }
    assert step.failure.kind in kinds[answer]


def pretended(exercise: Exercise, answer: str, case: Case) -> tuple[dict, dict]:
    """The inputs of a case, and what the pretended answer makes of them."""
    arena = HostArena(1 << 20)
    try:
        spec = exercise.spec
        kernel = RemoteKernel(spec, Pretender(spec, ANSWERS[answer], arena), arena)
        inputs = kernel.inputs(case)
        return inputs, kernel.run(inputs)
    finally:
        arena.close()


def with_four_bits(values: torch.Tensor) -> torch.Tensor:
    """Of significand, where bfloat16 has eight."""
    step = 2.0 ** (values.abs().clamp(min=2.0**-126).log2().floor() - 3)
    return (values / step).round() * step


def test_what_the_answers_are():
    exercise, case = EXERCISES[3], Case((3, 7), "bfloat16", pad=2, offset=1)
    inputs, outputs = pretended(exercise, "zeros", case)
    assert not outputs["out"].any()
    inputs, outputs = pretended(exercise, "nan", case)
    assert bool(outputs["out"].isnan().all())
    inputs, outputs = pretended(exercise, "first_input", case)
    assert torch.equal(outputs["out"], inputs["x"])
    inputs, outputs = pretended(exercise, "ones", case)
    assert bool((outputs["out"] == 1).all())
    inputs, outputs = pretended(exercise, "constant_mean", case)
    assert outputs["out"].double().numpy() == pytest.approx(1 / 7, rel=2.0**-8)
    inputs, outputs = pretended(EXERCISES[0], "lower_precision", Case((7,), "bfloat16"))
    coarse = [with_four_bits(inputs[name].double()) for name in ("x", "y")]
    assert torch.equal(outputs["out"].double(), with_four_bits(coarse[0] + coarse[1]))
    assert not torch.equal(outputs["out"], inputs["x"] + inputs["y"])


def test_the_first_input_fills_outputs_of_another_form():
    inputs, outputs = pretended(EXERCISES[5], "first_input", Case((3, 7), "float16"))
    assert torch.equal(outputs["logits"], inputs["logits"])
    assert torch.equal(outputs["loss"], inputs["logits"].flatten()[:3].float())
    inputs, outputs = pretended(EXERCISES[1], "first_input", Case((7,), "float32"))
    assert torch.equal(outputs["out"], inputs["a"][:1])
    broadcast = catalog.find(ROOT, "p05_broadcast")
    inputs, outputs = pretended(broadcast, "first_input", Case((2, 3), "float32"))
    assert torch.equal(outputs["out"].flatten(), inputs["a"].repeat(3))


def test_a_pretender_prints_nothing_and_never_fails():
    arena = HostArena(1 << 16)
    pretender = Pretender(EXERCISES[0].spec, ANSWERS["zeros"], arena)
    pretender.load()
    try:
        pretender.call([])
    except KernelFailure:  # pragma: no cover
        pytest.fail("there is nothing to fail")
    assert pretender.close() == ""
    arena.close()
