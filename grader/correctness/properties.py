"""What an exercise's `test_kernel.py` is written with.

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

from grader.correctness.acceptance import eps, place_in
from grader.course import Exercise
from grader.model import Case, Spec

__all__ = ["assert_within", "cases", "cases_of", "eps"]

T = TypeVar("T")

# Extents at which kernels go wrong: around the block sizes that learners choose, and primes.
CORNERS = (2, 3, 31, 127, 128, 129, 255, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049)


@dataclass(frozen=True)
class Scope:
    """What this run restricts every strategy to."""

    roomy: bool = False  # a GPU has time for larger cases than a simulator
    only: Case | None = None


SCOPE: ContextVar[Scope] = ContextVar("grader_scope", default=Scope())  # noqa: B039  immutable


def cases_of(test_file: str) -> st.SearchStrategy[Case]:
    """Cases of the exercise whose spec.py lies beside `test_file`, small ones first."""
    scope = SCOPE.get()
    if scope.only is not None:
        return st.just(scope.only)
    return cases(Exercise(Path(test_file).parent).spec, roomy=scope.roomy)


def cases(
    spec: Spec, *, roomy: bool = False, within: Case | None = None
) -> st.SearchStrategy[Case]:
    """Descriptions of inputs that the exercise allows.

    With `within`, a case that fails, none is larger, and each field is as simple as the exercise
    has it or as it is there: few enough to choose from for a smaller failure to be found soon.
    """
    largest = within.shape if within else spec.largest
    most = within.elements if within else spec.most_elements * (16 if roomy else 1)
    extents = _mostly if within else _extents
    pads = (0, 1, 3, 8) if spec.strided else (0,)

    def chosen(name: str, values: Sequence[T]) -> st.SearchStrategy[T]:
        few = (values[0], getattr(within, name)) if within else values
        return st.sampled_from(list(dict.fromkeys(few)))

    @st.composite
    def build(draw: st.DrawFn) -> Case:
        # The last extent first: a failure is told by the shortest row that shows it.
        shape: list[int] = []
        room = most
        for extent in reversed(largest):
            size = draw(extents(max(1, min(extent, room))))
            shape.insert(0, size)
            room //= size
        return Case(
            shape=tuple(shape),
            dtype=draw(chosen("dtype", spec.dtypes)),
            draw=draw(chosen("draw", spec.draws)),
            pad=draw(chosen("pad", pads)),
            offset=draw(chosen("offset", (0, 1))),
            seed=draw(st.integers(0, 2**31 - 1)),
        )

    return build()


def _extents(largest: int) -> st.SearchStrategy[int]:
    corners = [corner for corner in CORNERS if corner <= largest]
    anywhere = st.integers(1, largest)
    return anywhere | st.sampled_from(corners) if corners else anywhere


def _mostly(largest: int) -> st.SearchStrategy[int]:
    """From 1 to `largest`, which is as likely as 3 in 4 and shrinks to any other."""
    return st.integers(1, 4 * largest).map(lambda size: min(size, largest))


def assert_within(
    got: Tensor | float, expected: Tensor | float, limit: Tensor | float, what: str
) -> None:
    """Every |got - expected| is at most `limit`, elementwise and in float64.

    Raises AssertionError that names `what`, the worst index, what was expected and what came.
    """
    # With the dtype, as a Python float would otherwise become a float32.
    actual, wanted, slack = (
        torch.as_tensor(v, dtype=torch.float64, device="cpu") for v in (got, expected, limit)
    )
    wanted, slack = wanted.expand_as(actual), slack.expand_as(actual)
    excess = (actual - wanted).abs() - slack
    bad = ~(excess <= 0)  # so that NaN is bad
    bad &= actual != wanted  # equal infinities differ by NaN
    if not bool(bad.any()):
        return
    worst = int(torch.where(bad, excess.nan_to_num(nan=torch.inf), -torch.inf).argmax())
    index = place_in(bad.shape, worst)
    place = f" at {list(index)}" if index else ""
    raise AssertionError(
        f"{what}{place}: expected {_at(wanted, index):.7g} ± {_at(slack, index):.2g}, "
        f"got {_at(actual, index):.7g}"
    )


def _at(values: Tensor, index: Sequence[int]) -> float:
    return float(values[tuple(index)])
