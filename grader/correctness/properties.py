"""Strategies and assertions for an exercise's `test_kernel.py`.

    from hypothesis import given
    from grader.testing import assert_within, cases_of, eps

    cases = cases_of(__file__)

    @given(case=cases)
    def test_rows_sum_to_one(kernel, case):
        '''Each row of a softmax sums to 1.'''
        out = kernel.run(kernel.inputs(case))["out"]
        assert_within(out.double().sum(-1), 1.0, eps(case.dtype), "row sums")

The fixture `kernel` is a `remote.RemoteKernel`: the entry of the kernel file, callable from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeVar

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.correctness.dtypes import bits
from grader.correctness.error_limits import eps
from grader.correctness.mismatch import unravel_index
from grader.course import Exercise
from grader.model import Case, Spec

if TYPE_CHECKING:
    import pytest

__all__ = ["assert_same_bits", "assert_within", "cases", "cases_of", "eps", "of_entry"]

T = TypeVar("T")

# A law calls the kernel several times a case. Simulated, each row may cost a whole block.
ELEMENTS_OF_A_LAW = 2**15
ROWS_OF_A_LAW = 64

# Extents at which kernels go wrong: around the block sizes that learners choose, and primes.
CORNERS = (2, 3, 31, 127, 128, 129, 255, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049)


PLAIN_DRAW = "counting"  # of the cases with which a failure is explained


@dataclass(frozen=True)
class Scope:
    """The cases to which this run restricts every strategy."""

    on_gpu: bool = False  # where larger cases take no longer
    only: Case | None = None


SCOPE: ContextVar[Scope] = ContextVar("grader_scope", default=Scope())  # noqa: B039  immutable


def cases_of(test_file: str, entry: str | None = None) -> st.SearchStrategy[Case]:
    """Draw cases of the exercise whose spec.py lies beside `test_file`, small ones first.

    `entry` names one of several entries. Raises UsageError for one that is missing or unknown.
    """
    spec, scope = Exercise(Path(test_file).parent, entry).spec, SCOPE.get()
    if scope.only is not None:
        return st.just(scope.only)
    return cases(spec, on_gpu=scope.on_gpu)


def of_entry(test_file: str, entry: str) -> pytest.MarkDecorator:
    """Return a decorator for a test of this entry: the fixture `kernel` calls it.

    Raises UsageError for an unknown entry.
    """
    import pytest  # a judge has it; what reads a spec must do without

    _ = Exercise(Path(test_file).parent, entry).any_spec
    return pytest.mark.entry(entry)


def cases(
    spec: Spec, *, on_gpu: bool = False, within: Case | None = None, plain: bool = False
) -> st.SearchStrategy[Case]:
    """Draw cases that the exercise allows.

    They are small, for a law calls the kernel several times a case. With a failing case `within`,
    none is larger. Each other field has its simplest value or that of `within`: among so few
    choices a smaller failure is found soon. If they are to be `plain`, the simplest `draw` is
    PLAIN_DRAW.
    """
    largest, most = spec.largest, min(spec.most_elements, ELEMENTS_OF_A_LAW)
    if within:
        largest, most = within.shape, within.elements
    elif on_gpu:
        most *= 16
    else:
        largest = (*(min(extent, ROWS_OF_A_LAW) for extent in largest[:-1]), largest[-1])
    extents = _mostly_largest if within else _extents
    pads = (0, 1, 3, 8) if spec.strided else (0,)

    def chosen(name: str, values: Sequence[T]) -> st.SearchStrategy[T]:
        few = (values[0], getattr(within, name)) if within else values
        return st.sampled_from(list(dict.fromkeys(few)))

    @st.composite
    def build(draw: st.DrawFn) -> Case:
        # The last extent first: the shortest row that fails explains the most.
        shape: list[int] = []
        left = most  # elements
        for extent in reversed(largest):
            size = draw(extents(max(1, min(extent, left))))
            shape.insert(0, size)
            left //= size
        return Case(
            shape=tuple(shape),
            dtype=draw(chosen("dtype", spec.dtypes)),
            draw=draw(chosen("draw", (PLAIN_DRAW,) if plain else spec.draws)),
            pad=draw(chosen("pad", pads)),
            offset=draw(chosen("offset", (0, 1))),
            seed=draw(st.integers(0, 2**31 - 1)),
        )

    return build()


def spread_cases(spec: Spec, random: Random, *, on_gpu: bool = False) -> Iterator[Case]:
    """Draw large cases, from `most_elements` down by halves, all residues modulo a block evenly.

    Hypothesis would draw some residues seldom, and the largest sizes hardly ever. Together they
    have at most twice as many elements as the first. None where all cases are small.
    """
    most = spec.most_elements * (4 if on_gpu else 1)
    while most > ELEMENTS_OF_A_LAW // 4:
        columns = _octave(min(spec.largest[-1], most), random) if len(spec.largest) > 1 else most
        shape, left = [random.randint(columns // 2 + 1, columns)], most
        for extent in reversed(spec.largest[:-1]):
            left //= shape[0]
            shape.insert(0, random.randint(1, max(1, min(extent, left))))
        yield Case(
            shape=tuple(shape),
            dtype=random.choice(spec.dtypes),
            draw=random.choice(spec.draws),
            pad=random.choice((0, 1, 3, 8)) if spec.strided else 0,
            offset=random.choice((0, 1)),
            seed=random.getrandbits(31),
        )
        most //= 2


def _octave(most: int, random: Random) -> int:
    """Draw a power of two up to `most`."""
    return int(2 ** random.randrange(most.bit_length()))


def _extents(largest: int) -> st.SearchStrategy[int]:
    corners = [corner for corner in CORNERS if corner <= largest]
    anywhere = st.integers(1, largest)
    return anywhere | st.sampled_from(corners) if corners else anywhere


def _mostly_largest(largest: int) -> st.SearchStrategy[int]:
    """Draw from 1 to `largest`, which comes 3 times in 4 and shrinks to any other."""
    return st.integers(1, 4 * largest).map(lambda size: min(size, largest))


def assert_within(
    got: Tensor | float, expected: Tensor | float, limit: Tensor | float, what: str
) -> None:
    """Assert that every |got - expected| is at most `limit`, elementwise and in float64.

    Raises AssertionError with `what`, the worst index, the expected and the actual value.
    """
    # Without a dtype a Python float would become a float32.
    actual, target, slack = (
        torch.as_tensor(v, dtype=torch.float64, device="cpu") for v in (got, expected, limit)
    )
    target, slack = target.expand_as(actual), slack.expand_as(actual)
    excess = (actual - target).abs() - slack
    bad = ~(excess <= 0)  # NaN is bad, too
    bad &= actual != target  # equal infinities differ by NaN
    if not bool(bad.any()):
        return
    worst = int(torch.where(bad, excess.nan_to_num(nan=torch.inf), -torch.inf).argmax())
    index = unravel_index(bad.shape, worst)
    place = f" at {list(index)}" if index else ""
    raise AssertionError(
        f"{what}{place}: expected {_at(target, index):.7g} ± {_at(slack, index):.2g}, "
        f"got {_at(actual, index):.7g}"
    )


class OtherBits(AssertionError):
    """Two calls with the same inputs gave outputs that are not the same to the last bit."""


def assert_same_bits(got: Tensor, expected: Tensor, what: str) -> None:
    """Assert that two outputs of one dtype and shape are the same to the last bit.

    Raises OtherBits with `what`, the first index at which they differ, and both values.
    """
    differ = bits(got) != bits(expected)
    if not bool(differ.any()):
        return
    index = unravel_index(differ.shape, int(differ.flatten().byte().argmax()))
    place = f" at {list(index)}" if index else ""
    # 9 digits tell each float32 from its neighbours.
    values = [f"{_at(tensor.double(), index):.9g}" for tensor in (expected, got)]
    raise OtherBits(f"{what}{place}: expected the bits of {values[0]}, got {values[1]}")


def _at(values: Tensor, index: Sequence[int]) -> float:
    return float(values[tuple(index)])
