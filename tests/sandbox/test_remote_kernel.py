"""The remote kernel: what goes there, what comes back, and what it must leave alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from messages import text_of
from syrupy.assertion import SnapshotAssertion
from torch import Tensor

from grader.correctness import dtypes as correctness_dtypes
from grader.correctness.dtypes import bits
from grader.correctness.inputs import with_layout
from grader.course import catalog
from grader.model.arguments import Argument, reads, scalar, seed, writes
from grader.model.cases import Case
from grader.model.errors import BrokenExercise
from grader.model.exercise import Spec
from grader.model.messages import TensorRef
from grader.model.results import Failure
from grader.sandbox.arena import HostArena, view
from grader.sandbox.executor import Call, KernelFailure
from grader.sandbox.poison import Poison
from grader.sandbox.remote_kernel import RemoteKernel, destinations

pytestmark = pytest.mark.slow

SMALL = Path(__file__).parents[1] / "courses" / "small"
DOUBLE = catalog.find(SMALL, "01_double").spec
ROW_SUM = catalog.find(SMALL, "02_row_sum").spec
SOFTMAX = catalog.find(Path(__file__).parents[2], "04_online_softmax").spec
DTYPES = (torch.float32, torch.float16, torch.bfloat16)

Values = Mapping[str, Tensor | float]


class Here:
    """An executor that calls `kernel` in this process, with the arguments as they lie there."""

    def __init__(self, spec: Spec, kernel: Callable[[Values], None], memory: Tensor) -> None:
        self.spec, self.kernel, self.memory = spec, kernel, memory
        self.calls: list[Call] = []

    def load(self) -> None: ...

    def call(self, calls: Sequence[Call], *, other_order: bool = False) -> None:
        self.calls += calls
        for call in calls:
            values = [view(self.memory, v) if isinstance(v, TensorRef) else v for v in call]
            names = [a.name for a in self.spec.arguments]
            self.kernel(dict(zip(names, values, strict=True)))

    def close(self) -> str:
        return ""


@pytest.fixture
def arena():
    made = HostArena(1 << 16)
    yield made
    made.close()


def remote(spec: Spec, arena: HostArena, kernel: Callable[[Values], None]) -> RemoteKernel:
    return RemoteKernel(spec, Here(spec, kernel, arena.memory), arena)


def twice(values: Values) -> None:
    values["out"].copy_(2 * values["x"])


def test_outputs_come_back(arena: HostArena):
    kernel = remote(DOUBLE, arena, twice)
    inputs = kernel.inputs(Case((7,), "float16", offset=1))
    assert torch.equal(kernel.run(inputs)["out"], 2 * inputs["x"])
    assert kernel.last_case == Case((7,), "float16", offset=1)


def test_a_call_overwrites_the_output_that_is_passed_in(arena: HostArena):
    kernel = remote(DOUBLE, arena, twice)
    x, out = torch.tensor([1.0, 2.0]), torch.zeros(2)
    kernel(x, out)
    assert out.tolist() == [2, 4]
    assert x.tolist() == [1, 2]


def test_scalars_go_along_in_the_order_of_the_arguments(arena: HostArena):
    def row_sum(values: Values) -> None:
        values["out"].copy_(values["scale"] * values["x"].float().sum(-1))
        values["count"].add_(1)

    kernel = remote(ROW_SUM, arena, row_sum)
    inputs = kernel.inputs(Case((3, 5), "bfloat16", pad=2))
    before = inputs["count"].clone()
    outputs = kernel.run(inputs)
    expected = inputs["scale"] * inputs["x"].float().sum(-1)
    assert torch.equal(outputs["out"], expected)
    assert torch.equal(outputs["count"], before + 1)
    (call,) = kernel._executor.calls
    assert [getattr(v, "name", v) for v in call] == ["x", "count", "out", inputs["scale"]]


def test_what_a_kernel_updates_is_a_copy_of_the_input(arena: HostArena):
    kernel = remote(ROW_SUM, arena, lambda values: values["count"].zero_())
    inputs = kernel.inputs(Case((3, 5), "bfloat16"))
    before = inputs["count"].clone()
    kernel.run(inputs)
    assert torch.equal(inputs["count"], before)


def test_a_call_with_another_number_of_arguments_is_refused(arena: HostArena):
    with pytest.raises(ValueError, match="zip"):
        remote(DOUBLE, arena, twice)(torch.zeros(3))


def test_the_layout_of_the_judge_is_the_layout_that_a_kernel_sees(arena: HostArena):
    seen = {}
    kernel = remote(SOFTMAX, arena, lambda values: seen.update(values))
    inputs = kernel.inputs(Case((3, 5), "float32", pad=4, offset=1))
    kernel.run(inputs)
    assert torch.equal(seen["x"], inputs["x"])
    assert seen["x"].stride() == (9, 1)
    assert seen["x"].data_ptr() % 16 == 4
    # A kernel that uses one stride for both tensors is wrong, and this shows it.
    assert seen["out"].stride() == (11, 1)


def test_destinations_take_form_and_dtype_from_the_spec():
    x = with_layout(torch.ones(3, 5, dtype=torch.float16), pad=4, offset=1)
    count = torch.ones(3, dtype=torch.int64)
    device = torch.device("cpu")
    out = destinations(SOFTMAX, {"x": x}, device)["out"]
    assert (out.shape, out.dtype, out.stride()) == (x.shape, x.dtype, (11, 1))
    wide = replace(SOFTMAX, arguments=(reads("x"), writes("out", like="x", shape=(3, 7))))
    out = destinations(wide, {"x": x}, device)["out"]  # rows as far apart as those of x, and 2 more
    assert (out.shape, out.dtype, out.stride()) == ((3, 7), x.dtype, (13, 1))
    filled = destinations(ROW_SUM, {"x": x, "count": count}, device)
    assert (filled["out"].dtype, filled["out"].shape) == (torch.float32, (3,))
    assert torch.equal(filled["count"], count)
    assert filled["count"].data_ptr() != count.data_ptr()


def test_an_output_of_a_shape_of_its_own_has_padded_rows_where_its_model_has():
    """A product of matrices has the rows of one factor and the columns of the other."""
    product = writes("out", like="x", shape=lambda inputs: (len(inputs["x"]), 7))
    spec = replace(SOFTMAX, arguments=(reads("x"), product))
    x = with_layout(torch.ones(3, 5, dtype=torch.float16), pad=4, offset=1)
    out = destinations(spec, {"x": x}, torch.device("cpu"))["out"]
    assert (out.shape, out.dtype, out.stride()) == ((3, 7), torch.float16, (13, 1))


def test_an_output_like_a_vector_has_rows_as_far_apart_as_those_of_another_input():
    """Bytes of a matrix are unpacked to the dtype of a vector of scales."""
    rows = writes("out", like="scale", shape=lambda inputs: (len(inputs["x"]), 10))
    spec = replace(SOFTMAX, arguments=(reads("x"), reads("scale"), rows))
    x = with_layout(torch.ones(3, 5, dtype=torch.uint8), pad=4, offset=1)
    inputs = {"x": x, "scale": torch.ones(3, dtype=torch.float16)}
    out = destinations(spec, inputs, torch.device("cpu"))["out"]
    assert (out.shape, out.dtype, out.stride()) == ((3, 10), torch.float16, (16, 1))


# -- the pattern in outputs that nobody wrote


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_that_were_never_written_are_known(arena: HostArena, dtype: torch.dtype):
    def leaves_the_third(values: Values) -> None:
        doubled = 2 * values["x"]
        values["out"][:2], values["out"][3:] = doubled[:2], doubled[3:]

    kernel = remote(DOUBLE, arena, leaves_the_third)
    inputs = {"x": torch.arange(5.0).to(dtype)}
    outputs = kernel.run(inputs)
    left = kernel.unwritten(outputs)
    assert left["out"].tolist() == [False, False, True, False, False]
    assert outputs["out"].isnan().tolist() == [False, False, True, False, False]


OTHERS = [dtype for dtype in correctness_dtypes.DTYPES.values() if dtype not in DTYPES]


def copies_all_but(element: int) -> Callable[[Values], None]:
    def kernel(values: Values) -> None:
        kept = bits(values["out"])[element].clone()
        bits(values["out"]).copy_(bits(values["x"]))
        bits(values["out"])[element] = kept

    return kernel


@pytest.mark.parametrize("dtype", OTHERS, ids=str)
def test_elements_of_other_dtypes_that_were_never_written_are_known(
    arena: HostArena, dtype: torch.dtype
):
    kernel = remote(DOUBLE, arena, copies_all_but(2))
    inputs = {"x": torch.tensor([1, 0, 1, 1, 0]).to(dtype)}
    found = [kernel.unwritten(kernel.run(inputs))["out"].tolist() for _ in range(20)]
    # Elsewhere random bits are what belongs there now and then.
    assert all(one[2] for one in found)
    assert min(sum(one) for one in found) == 1


def test_a_bool_comes_back_byte_by_byte(arena: HostArena):
    def writes_bytes(values: Values) -> None:
        bits(values["out"]).copy_(torch.tensor([0, 1, 255], dtype=torch.uint8))

    outputs = remote(DOUBLE, arena, writes_bytes).run({"x": torch.zeros(3, dtype=torch.bool)})
    assert bits(outputs["out"]).tolist() == [0, 1, 255]


def test_a_write_between_rows_of_bools_shows(arena: HostArena):
    """And nothing else is taken for one, though the output's bytes were no bools before."""
    x = with_layout(torch.ones((2, 3), dtype=torch.bool), pad=2, offset=0)
    spec = replace(DOUBLE, strided=True)
    remote(spec, arena, lambda values: values["out"].fill_(True)).run({"x": x})
    remote(spec, arena, lambda values: None).run({"x": x})

    def too_wide(values: Values) -> None:
        values["out"].as_strided((2, 4), values["out"].stride()).fill_(True)

    def five_calls() -> None:  # for what was there may have been a 1
        for _ in range(5):
            remote(spec, arena, too_wide).run({"x": x})

    with pytest.raises(KernelFailure) as caught:
        five_calls()
    assert caught.value.failure.kind == "stray_write"


def test_only_pure_outputs_are_poisoned(arena: HostArena):
    kernel = remote(ROW_SUM, arena, lambda values: None)
    inputs = kernel.inputs(Case((3, 5), "bfloat16"))
    assert list(kernel.unwritten(kernel.run(inputs))) == ["out"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_pattern_is_a_nan_that_arithmetic_does_not_make(dtype: torch.dtype):
    # A CPU makes NaN with an empty payload, a GPU with a full one; signs differ.
    width = torch.int32 if dtype == torch.float32 else torch.int16
    full = torch.full((4,), torch.iinfo(width).max, dtype=width).view(dtype)
    empty = torch.full((4,), torch.inf, dtype=dtype) * 0
    for _ in range(50):
        pattern = Poison.fresh()
        out = torch.zeros(4, dtype=dtype)
        assert not pattern.left_in(out).any()
        pattern.fill(out)
        assert bool(out.isnan().all())
        assert bool(pattern.left_in(out).all())
        for made in (empty, -empty, full, -full):
            assert bool(made.isnan().all())
            assert not pattern.left_in(made).any()


def test_the_pattern_is_fresh_for_each_call(arena: HostArena):
    kernel = remote(DOUBLE, arena, lambda values: None)
    seen = set()
    for _ in range(8):
        out = kernel.run({"x": torch.zeros(3)})["out"]
        seen.add(int(out.view(torch.int32)[0]))
        assert kernel.unwritten({"out": out})["out"].all()
    assert len(seen) > 4  # of a million patterns, eight are rarely the same


def test_what_surrounds_the_tensors_differs_from_call_to_call(arena: HostArena):
    kernel = remote(DOUBLE, arena, twice)
    around = []
    for _ in range(2):
        kernel.run({"x": torch.zeros(3)})
        around.append(arena.memory[:64].clone())
    assert not torch.equal(*around)


# -- what the spec's `inputs` returns


@pytest.mark.parametrize(
    ("argument", "drawn"),
    [
        (reads("y"), {}),
        (reads("y"), {"y": 3}),
        (scalar("p"), {}),
        (scalar("p"), {"p": 3}),
        (scalar("p"), {"p": torch.ones(())}),
        (scalar("p"), {"p": None}),
        (seed("seed"), {"seed": 7.5}),
        (seed("seed"), {"seed": -1}),
    ],
    ids=[
        *("no tensor", "a number for a tensor", "no number", "another number"),
        *("a tensor for a number", "None", "a float for a seed", "a seed below 0"),
    ],
)
def test_inputs_unlike_the_declared_arguments_are_the_exercises_fault(
    argument: Argument, drawn: dict[str, object], arena: HostArena, snapshot: SnapshotAssertion
):
    spec = SimpleNamespace(
        arguments=(reads("x"), argument, writes("out", like="x")),
        inputs=lambda case, draw: {"x": draw.tensor(case.shape), **drawn},
    )
    kernel = RemoteKernel(spec, Here(spec, twice, arena.memory), arena)
    with pytest.raises(BrokenExercise) as caught:
        kernel.inputs(Case((3,), "float32"))
    assert text_of(caught.value) == snapshot


# -- writes where a kernel has nothing to write


TWO_ROWS = replace(DOUBLE, strided=True, largest=(9, 1000))


def stray(arena: HostArena, dtype: torch.dtype, bump: Callable[[Tensor, Values], None]) -> Failure:
    """What is said when a kernel also does `bump`; x is 3×5 with 4 unused elements a row."""

    def kernel(values: Values) -> None:
        twice(values)
        bump(arena.memory, values)

    x = with_layout(torch.ones(3, 5, dtype=dtype), pad=4, offset=0)
    with pytest.raises(KernelFailure) as caught:
        remote(TWO_ROWS, arena, kernel).run({"x": x})
    return caught.value.failure


def poke(name: str, element: int, count: int = 1) -> Callable[[Tensor, Values], None]:
    """Flip the bits of `count` elements, counted in memory from the start of `name`."""

    def bump(memory: Tensor, values: Values) -> None:
        tensor = values[name]
        size = tensor.element_size()
        start = tensor.data_ptr() - memory.data_ptr() + element * size
        memory[start : start + count * size] ^= 0xFF

    return bump


LAST_OF_X = 2 * 9 + 4  # the third row's fifth element
LAST_OF_OUT = 2 * 11 + 4  # out has 6 unused elements a row


BESIDE = {
    "x at 0": (poke("x", 0), "input_changed"),
    "x at its last": (poke("x", LAST_OF_X), "input_changed"),
    "between rows": (poke("out", 5), "stray_write"),
    "further between rows": (poke("out", 11 + 7), "stray_write"),
    "past the end": (poke("out", LAST_OF_OUT + 1), "stray_write"),
    "a few past the end": (poke("out", LAST_OF_OUT + 1, 3), "stray_write"),
    "far past the end": (poke("out", LAST_OF_OUT + 5, 3), "stray_write"),
    "before the start": (poke("out", -1), "stray_write"),
    "far before the start": (poke("out", -7, 2), "stray_write"),
    "before an input": (poke("x", -1), "stray_write"),
    "past an input": (poke("x", LAST_OF_X + 2), "stray_write"),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("bump", "kind"), BESIDE.values(), ids=BESIDE)
def test_a_write_beside_the_outputs_is_seen(
    arena: HostArena, dtype: torch.dtype, bump: Callable, kind: str
):
    assert stray(arena, dtype, bump).kind == kind


@pytest.mark.parametrize(("bump", "kind"), BESIDE.values(), ids=BESIDE)
def test_a_write_beside_the_outputs_is_named(
    arena: HostArena, bump: Callable, kind: str, snapshot: SnapshotAssertion
):
    assert text_of(stray(arena, torch.float32, bump)) == snapshot


def test_a_single_changed_byte_is_seen(arena: HostArena):
    def bump(memory: Tensor, values: Values) -> None:
        memory[values["out"].data_ptr() - memory.data_ptr() - 1] ^= 1

    assert stray(arena, torch.float32, bump).kind == "stray_write"


def test_writing_every_output_and_nothing_else_is_no_stray_write(arena: HostArena):
    x = with_layout(torch.ones(3, 5), pad=4, offset=1)
    out = remote(TWO_ROWS, arena, twice).run({"x": x})["out"]
    assert bool((out == 2).all())


def test_an_input_that_is_rewritten_with_itself_is_unchanged(arena: HostArena):
    def rewrites(values: Values) -> None:
        values["x"].copy_(values["x"].clone())
        twice(values)

    remote(DOUBLE, arena, rewrites).run({"x": torch.ones(5)})


def test_nan_in_an_input_counts_as_unchanged(arena: HostArena):
    # Bytes are compared, not numbers: NaN differs from itself.
    remote(DOUBLE, arena, twice).run({"x": torch.full((5,), torch.nan)})


def test_a_call_that_took_too_long_is_not_tried_again():
    """Hypothesis would try it a dozen times, at the time limit each, to make the case smaller."""

    def slow(_: Values) -> None:
        raise KernelFailure(Failure(kind="timeout", message="one call took longer than 30 s"))

    arena = HostArena(1 << 22)
    here = Here(SOFTMAX, slow, arena.memory)
    kernel = RemoteKernel(SOFTMAX, here, arena)
    for columns in (900, 20):
        with pytest.raises(KernelFailure) as caught:
            kernel.run(kernel.inputs(Case((1, columns), "float32")))
        assert caught.value.failure.kind == "timeout"
    assert len(here.calls) == 1
    assert kernel.last_case == Case((1, 900), "float32")
    arena.close()
