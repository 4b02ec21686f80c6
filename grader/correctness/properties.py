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

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.correctness.acceptance import eps, unravel_index
from grader.course import Exercise
from grader.model import Case, Spec

__all__ = ["assert_within", "cases", "cases_of", "eps"]

T = TypeVar("T")

MOST_ON_GPU = 2**22  # elements of a drawn case, of which the arena holds several tensors

# A law calls the kernel several times a case. Simulated, each row may cost a whole block.
ELEMENTS_OF_A_LAW = 2**15
ROWS_OF_A_LAW = 64

# Extents at which kernels go wrong: around the block sizes that learners choose, and primes.
CORNERS = (2, 3, 31, 127, 128, 129, 255, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049)
FEW = 2**11  # up to so many, each extent is as likely as any other


@dataclass(frozen=True)
class Scope:
    """The cases to which this run restricts every strategy."""

    on_gpu: bool = False  # where larger cases take no longer
    only: Case | None = None


SCOPE: ContextVar[Scope] = ContextVar("grader_scope", default=Scope())  # noqa: B039  immutable


def cases_of(test_file: str) -> st.SearchStrategy[Case]:
    """Draw cases of the exercise whose spec.py lies beside `test_file`, small ones first."""
    scope = SCOPE.get()
    if scope.only is not None:
        return st.just(scope.only)
    return cases(Exercise(Path(test_file).parent).spec, on_gpu=scope.on_gpu, of_law=True)


def cases(
    spec: Spec, *, on_gpu: bool = False, of_law: bool = False, within: Case | None = None
) -> st.SearchStrategy[Case]:
    """Draw cases that the exercise allows.

    Those `of_law` are smaller, for many calls. With a failing case `within`, none is larger. Each
    other field has its simplest value or that of `within`: among so few choices a smaller failure
    is found soon.
    """
    largest, most = _limits(spec, on_gpu, of_law)
    if within:
        largest, most = within.shape, within.elements
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
            draw=draw(chosen("draw", spec.draws)),
            pad=draw(chosen("pad", pads)),
            offset=draw(chosen("offset", (0, 1))),
            seed=draw(st.integers(0, 2**31 - 1)),
        )

    return build()


def _limits(spec: Spec, on_gpu: bool, of_law: bool) -> tuple[tuple[int, ...], int]:
    """Return the largest extents of a drawn case, and its most elements."""
    largest, most = spec.largest, spec.most_elements
    if of_law:
        most = min(most, ELEMENTS_OF_A_LAW)
    if on_gpu:
        return largest, min(16 * most, MOST_ON_GPU)
    if of_law:
        largest = (*(min(extent, ROWS_OF_A_LAW) for extent in largest[:-1]), largest[-1])
    return largest, most


def _extents(largest: int) -> st.SearchStrategy[int]:
    corners = [corner for corner in CORNERS if corner <= largest]
    if largest > FEW:
        return _of_any_length(largest, corners)
    anywhere = st.integers(1, largest)
    return anywhere | st.sampled_from(corners) if corners else anywhere


@st.composite
def _of_any_length(draw: st.DrawFn, largest: int, corners: Sequence[int]) -> int:
    """Draw a corner or, as often, a number of at most so many binary digits, few or many.

    Large extents come in every check, and few of them cost its time. Among the numbers below a
    power of two, all residues modulo a block are as likely as each other.
    """
    lengths = largest.bit_length()
    # Both kinds draw two numbers, because Hypothesis shrinks to what draws the fewest.
    digits = draw(st.integers(1, 2 * lengths))
    if digits > lengths:
        return draw(st.sampled_from(corners))
    return draw(st.integers(1, min(2**digits - 1, largest)))


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


def _at(values: Tensor, index: Sequence[int]) -> float:
    return float(values[tuple(index)])
