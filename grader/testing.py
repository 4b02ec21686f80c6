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

import torch
from hypothesis import strategies as st
from torch import Tensor

from grader.acceptance import eps
from grader.course import load_spec
from grader.spec import Case, Spec

__all__ = ["assert_within", "cases", "cases_of", "eps"]

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
    return cases(load_spec(Path(test_file).with_name("spec.py")), roomy=scope.roomy)


def cases(
    spec: Spec, *, roomy: bool = False, within: Case | None = None
) -> st.SearchStrategy[Case]:
    """Descriptions of inputs that the exercise allows, no extent larger than `within`'s."""
    largest = within.shape if within else spec.largest
    most = within.elements if within else spec.most_elements * (16 if roomy else 1)

    @st.composite
    def build(draw: st.DrawFn) -> Case:
        # The last extent first: a failure is told by the shortest row that shows it.
        shape: list[int] = []
        room = most
        for extent in reversed(largest):
            size = draw(_extents(max(1, min(extent, room))))
            shape.insert(0, size)
            room //= size
        return Case(
            shape=tuple(shape),
            dtype=draw(st.sampled_from(spec.dtypes)),
            draw=draw(st.sampled_from(spec.draws)),
            pad=draw(st.sampled_from([0, 1, 3, 8])) if spec.strided else 0,
            offset=draw(st.sampled_from([0, 1])),
            seed=draw(st.integers(0, 2**31 - 1)),
        )

    return build()


def _extents(largest: int) -> st.SearchStrategy[int]:
    corners = [corner for corner in CORNERS if corner <= largest]
    anywhere = st.integers(1, largest)
    return anywhere | st.sampled_from(corners) if corners else anywhere


def assert_within(
    got: Tensor | float, expected: Tensor | float, limit: Tensor | float, what: str
) -> None:
    """Every |got - expected| is at most `limit`, elementwise and in float64.

    Raises AssertionError that names `what`, the worst index, what was expected and what came.
    """
    actual, wanted, slack = (
        torch.as_tensor(v).double().cpu() for v in (got, expected, limit)
    )
    wanted, slack = wanted.expand_as(actual), slack.expand_as(actual)
    excess = (actual - wanted).abs() - slack
    bad = ~(excess <= 0)  # so that NaN is bad
    bad &= actual != wanted  # equal infinities differ by NaN
    if not bool(bad.any()):
        return
    worst = int(torch.where(bad, excess.nan_to_num(nan=torch.inf), -torch.inf).argmax())
    index = [int(i) for i in torch.unravel_index(torch.tensor(worst), bad.shape)]
    place = f" at {index}" if index else ""
    raise AssertionError(
        f"{what}{place}: expected {_at(wanted, index):.7g} ± {_at(slack, index):.2g}, "
        f"got {_at(actual, index):.7g}"
    )


def _at(values: Tensor, index: Sequence[int]) -> float:
    return float(values[tuple(index)])
