"""An exercise as frozen data and plain functions: the types that a `spec.py` is made of.

Nothing here imports torch: `grader list` reads every spec and must print at once. A spec's
functions receive tensors and use their methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grader.model.arguments import ITEMSIZE, Argument, Inputs, faults_of_arguments
from grader.model.base_spec import BaseSpec, require_tuples
from grader.model.cases import DRAWS, Case, Draw
from grader.model.errors import BrokenExercise, UsageError
from grader.model.instructions import Instructions, faults_of
from grader.model.randomness import Randomness
from grader.model.scored import (
    MOST_OPERATIONS,
    Gates,
    Scored,
    faults_of_scored,
    halved,
    sample_rows,
    small,
)
from grader.model.spec_faults import faults_of_cases, faults_of_entries, faults_of_random

if TYPE_CHECKING:
    from torch import Tensor


# Compute capabilities for which kernels may be compiled.
TARGETS = (75, 80, 86, 89, 90, 100, 103, 120)


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """Facts about the arithmetic for the acceptance rule (docs/trust.md, "Acceptance").

    `terms(case)` is the number of terms that one output sums over. `magnitude(inputs, expected)`
    is, in float64, the size by which rounding errors of each output scale (its condition): the sum
    of the absolute terms for a sum. Where it is missing, that is the output's own size. `exact`
    lists distributions whose outputs float32 holds exactly, so that no error is accepted.
    `rounded_once` says that each output is the exact result rounded once, as a sum of two numbers
    is: then only the nearest number of the output's dtype is right.

    `intermediate(case, inputs, expected)` is, in float64, the error that each output may have
    besides, because an honest kernel stores numbers in between in the case's dtype, such as the
    factor of a product of matrices. Outputs that it leaves out have none.

    `also_right(inputs, expected)` is, of outputs of rounded numbers in integers, a second integer
    that is right where float32 may not say on which side of a tie the exact number lies. Elsewhere
    it is the expected one.
    """

    terms: Callable[[Case], int]
    intermediate: Callable[[Case, Inputs, Mapping[str, Tensor]], Mapping[str, Tensor]] | None = None
    magnitude: Callable[[Inputs, Mapping[str, Tensor]], Mapping[str, Tensor]] | None = None
    exact: tuple[str, ...] = ()
    rounded_once: bool = False
    also_right: Callable[[Inputs, Mapping[str, Tensor]], Mapping[str, Tensor]] | None = None

    def __post_init__(self) -> None:
        require_tuples(self)


# Values of `Budget.count`. Reads, writes (of elements of global and of shared memory) and barriers
# are those of the busiest thread of the counted call. Those of all warps together: transactions,
# 32-byte pieces of global memory that are moved; bank conflicts, further passes over shared memory
# because threads meet in one bank. In a language of programs that work on blocks: programs are
# those of all launches; loads, stores and bytes (of global memory) are those of the busiest one.
COUNTS = (
    "global_reads",
    "global_writes",
    "shared_reads",
    "shared_writes",
    "transactions",
    "bank_conflicts",
    "barriers",
    "programs",
    "loads",
    "stores",
    "bytes",
)


@dataclass(frozen=True)
class Budget:
    """The most that one count of the counted case may be, and the best that is known.

    `count` is one of COUNTS, and of those that the exercise's backend counts.
    """

    count: str
    most: int
    best: int


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A mistake that learners make in one exercise, recognized by the outputs that it gives.

    `cause` is a stable word for programs, `hint` the sentences for the learner. One of three
    functions recognizes the mistake. `reference(inputs)` returns the outputs that it makes wrong,
    as a kernel with it computes them; all others are right. `blocked(inputs, lanes)` does so for a
    kernel that goes through rows by blocks of so many elements. `only(inputs)` marks the elements,
    by output, that alone can be wrong.

    `near` are regular expressions: the first line of a kernel that has one of them is named.
    """

    cause: str
    hint: str
    reference: Callable[[Inputs], Mapping[str, Tensor]] | None = None
    blocked: Callable[[Inputs, int], Mapping[str, Tensor]] | None = None
    only: Callable[[Inputs], Mapping[str, Tensor]] | None = None
    near: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_tuples(self)
        given = [each for each in (self.reference, self.blocked, self.only) if each is not None]
        if len(given) != 1:
            raise ValueError(f"the mistake {self.cause!r} needs reference, blocked or only")


def a_hundredth(case: Case) -> int:
    """Return one percent of an argument with the case's shape and dtype, at least 4 MiB.

    In bytes: enough for a partial result of each block, not for a second copy.
    """
    return max(4 << 20, case.elements * ITEMSIZE[case.dtype] // 100)


def no_reference(inputs: Inputs) -> Mapping[str, Tensor]:
    """Stand for a reference that the spec leaves out."""
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Spec(BaseSpec):
    """One exercise whose kind is `kernel`: the learner writes a function that launches kernels.

    `edges` are cases that every check tries, smallest first. Hypothesis draws further ones, with
    each extent at most the matching entry of `largest`, and with at most `most_elements` elements
    when simulated. `launched` is a case that is executed on a GPU only: simulated, the device
    checks its launches and executes none.

    `counted` is the case whose reads and writes are counted in simulation: rows of several blocks.
    `scored` and `gates` are None where memory and speed are not graded. `also_scored` are further
    cases whose speed must reach their gates (docs/bounds.md). `budgets` limit counts of the counted
    case; `pictured` is a case small enough to be drawn. `memory_budget(case)` is the
    number of bytes that one call may hold beyond its arguments.

    `memory_counted` is the case whose memory is counted without a GPU, also with twice its rows; it
    is `counted` where that is missing. It has enough rows where scratch stops growing with them.

    With `independent_rows` a row of an output depends on that row of the inputs, and on inputs that
    have no rows. With `independent_columns` an output without rows is a vector, and each element
    depends on its column of the inputs (docs/entries.md). The judge samples rows and columns then.

    `rows_of(inputs, rows)` returns inputs whose outputs are these rows of the outputs, in order.
    Where it is missing, they are the rows of each input that grows with the case's rows. An output
    needs it whose row depends on other rows of an input, such as those that a table names.

    `reference(inputs)` returns every filled argument, computed in the dtype of its inputs: the
    judge calls it in float64 for the expected output and in float32 for torch's own error.

    `backend` is the kernel language, and `also_in` names others that a learner may write in: a file
    is graded in the one whose modules it imports.

    With `kernels`, the output must come from kernels of `backend`: a file whose output is right
    with all launches disabled is rejected.

    `also` are the specs of further entries of the same file, such as a backward pass
    (docs/entries.md). The exercise has the title, the summary and the hints of the first.

    `flops(case)` is the number of operations of one call, counted simply. An addition, a product, a
    division, a comparison and an exp are one each; what a second pass computes again counts once.
    The roofline of `grader bench` and the bound `arithmetic` use it.

    `targets` are compute capabilities, such as 90, for which the step `compile` builds the kernel.
    Without a GPU the first one is required; without any that is 90.

    `instructions` limits the arithmetic of compiled kernels (docs/instructions.md).

    `mistakes` are those to look for in a wrong output, before those that every exercise has.

    `random` says what a kernel draws that has a `seed` among its arguments. `reference` may then be
    missing: it is that of the first choice.
    """

    kind: str = "kernel"
    backend: str
    also_in: tuple[str, ...] = ()
    entry: str
    arguments: tuple[Argument, ...]
    dtypes: tuple[str, ...]
    draws: tuple[str, ...]
    edges: tuple[Case, ...]
    largest: tuple[int, ...]
    most_elements: int
    inputs: Callable[[Case, Draw], Inputs]
    reference: Callable[[Inputs], Mapping[str, Tensor]] = no_reference
    tolerance: Tolerance
    counted: Case
    launched: Case | None = None
    scored: Scored | None = None
    gates: Gates | None = None
    also_scored: tuple[Scored, ...] = ()
    budgets: tuple[Budget, ...] = ()
    pictured: Case | None = None
    memory_budget: Callable[[Case], int] = a_hundredth
    strided: bool = False
    memory_counted: Case | None = None
    independent_rows: bool = True
    rows_of: Callable[[Inputs, Tensor], Inputs] | None = None
    independent_columns: bool = False
    also: tuple[Spec, ...] = ()
    kernels: bool = True
    flops: Callable[[Case], int] | None = None
    targets: tuple[int, ...] = ()
    instructions: Instructions | None = None
    mistakes: tuple[Mistake, ...] = ()
    random: Randomness | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.random is not None and self.random.choices and self.reference is no_reference:
            object.__setattr__(self, "reference", self.random.choices[0].reference)
        faults = [
            *((True, fault) for fault in faults_of_entries(self)),
            (not self.entry.isidentifier(), f"entry {self.entry!r} is not a Python name"),
            (len({*self.backends}) < len(self.backends), "also_in names a backend twice"),
            *((True, fault) for fault in faults_of_arguments(self.arguments)),
            (not self.edges, "edges is empty: a check would test no fixed case"),
            (not self.dtypes or not self.draws, "dtypes and draws each need an entry"),
            (not set(self.draws) <= set(DRAWS), f"draws may be {', '.join(DRAWS)}"),
            (len(self.hints) < 3, "hints has fewer than three entries"),
            ((self.scored is None) != (self.gates is None), "scored needs gates, and gates scored"),
            (self.scored is None and bool(self.also_scored), "also_scored needs scored"),
            *((True, fault) for fault in faults_of_cases(self)),
            *((True, fault) for fault in faults_of_scored(self._every_scored)),
            (
                not all(gates.are_shares for gates in self._every_gates),
                "gates must satisfy 0 < passing <= great <= 1",
            ),
            (
                any(budget.count not in COUNTS for budget in self.budgets),
                f"a budget is for one of {', '.join(COUNTS)}",
            ),
            (
                not set(self.targets) <= set(TARGETS),
                f"targets may be {', '.join(map(str, TARGETS))}",
            ),
            (
                any(not 0 <= budget.best <= budget.most for budget in self.budgets),
                "budgets must satisfy 0 <= best <= most",
            ),
            *((True, fault) for fault in faults_of_random(self)),
            (self.reference is no_reference, "reference is missing"),
            *((True, fault) for fault in faults_of(self.instructions, self.arguments)),
        ]
        for wrong, message in faults:
            if wrong:
                raise ValueError(message)

    @property
    def entries(self) -> tuple[Spec, ...]:
        """The first entry, then those of `also`."""
        return (replace(self, also=()), *self.also) if self.also else (self,)

    @property
    def named_cases(self) -> Iterator[tuple[str, Case]]:
        """Each case that the spec holds, with its field; none is drawn."""
        yield from (("edges", case) for case in self.edges)
        yield "counted", self.counted
        others: dict[str, Case | None] = {
            "launched": self.launched,
            "pictured": self.pictured,
            "memory_counted": self.memory_counted,
            "random": None if self.random is None else self.random.case,
        }
        yield from ((field, case) for field, case in others.items() if case is not None)

    @property
    def backends(self) -> tuple[str, ...]:
        return (self.backend, *self.also_in)

    @property
    def timed(self) -> tuple[Scored, Gates]:
        """The first scored case and its gates. Raises UsageError without them."""
        if self.scored is None or self.gates is None:
            raise UsageError(
                f"The speed of {self.title!r} is not graded: its spec has no scored case.",
                "`grader show NAME` lists what is graded of an exercise.",
            )
        return self.scored, self.scored.gates or self.gates

    @property
    def scored_specs(self) -> tuple[Spec, ...]:
        """The spec once for each scored case, with this one alone; empty without any."""
        return tuple(replace(self, scored=one, also_scored=()) for one in self._every_scored)

    @property
    def _every_scored(self) -> tuple[Scored, ...]:
        return () if self.scored is None else (self.scored, *self.also_scored)

    @property
    def _every_gates(self) -> tuple[Gates, ...]:
        given = (self.gates, *(one.gates for one in self._every_scored))
        return tuple(gates for gates in given if gates is not None)

    @property
    def sample_case(self) -> Case:
        """One row of the scored case, or many short ones; else the counted case.

        It is small enough for any machine. Where a tensor without rows is large, as a matrix of
        weights is, or a row takes many operations, the largest extents are halved until the case is
        small.
        """
        if self.scored is None:
            return self.counted
        extents = small(self.scored.extents)
        rows = sample_rows(extents)
        case = Case((rows, *extents), self.scored.dtype)
        if not extents:
            return case
        while self.flops and self.operations(case) > MOST_OPERATIONS and max(extents) > 1:
            extents = halved(extents)
            case = replace(case, shape=(rows, *extents))
        return case

    @property
    def signature(self) -> str:
        return f"{self.entry}({', '.join(a.name for a in self.arguments)})"

    def operations(self, case: Case) -> float:
        """Return the operations of one call, by `flops`.

        Raises BrokenExercise for a number that no share can be made of: of no operations every
        kernel is too slow, and of endlessly many every one is fast enough.
        """
        assert self.flops is not None
        try:
            flops = float(self.flops(case))
            fault = "" if 0 < flops < math.inf else f"returns {flops}"
        except Exception as error:
            fault = f"fails: {type(error).__name__}: {error}"
        if fault:
            raise BrokenExercise(
                f"The exercise is broken: `flops` {fault}, for {case.headline}.",
                "Tell whoever wrote the exercise; your kernel is not at fault.",
            )
        return flops

    def needed_bytes(self, inputs: Inputs, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return the bytes of one pass over each tensor, of `sizes` bytes in all.

        Raises BrokenExercise if an argument's function fails, or asks for no bytes or too many.
        """
        needed = {}
        for argument in self.arguments:
            if argument.name in sizes:
                try:
                    needed[argument.name] = argument.needed_bytes(inputs, sizes[argument.name])
                except Exception as error:
                    raise BrokenExercise(
                        f"The exercise is broken: `bytes` of {argument.name} fails: "
                        f"{type(error).__name__}: {error}",
                        "Tell whoever wrote the exercise; your kernel is not at fault.",
                    ) from error
        return needed

    def least_bytes(self, sizes: Mapping[str, int]) -> tuple[int, int]:
        """Return the fewest bytes that a kernel can read and write.

        `sizes` are the bytes of one pass over each tensor.
        """
        tensors = [a for a in self.arguments if a.role != "scalar"]
        return (
            sum(a.reads * sizes[a.name] for a in tensors),
            sum(a.writes * sizes[a.name] for a in tensors),
        )
