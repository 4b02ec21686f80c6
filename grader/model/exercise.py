"""An exercise as frozen data and plain functions: the types that a `spec.py` is made of.

Nothing here imports torch: `grader list` reads every spec and must print at once. A spec's
functions receive tensors and use their methods.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from grader.model.base_spec import BaseSpec
from grader.model.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

Role = Literal["in", "out", "inout", "scalar"]
Inputs = Mapping[str, "Tensor | float"]
Shape = tuple[int, ...]

ITEMSIZE = {  # bytes per element
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "bool": 1,
}
LARGEST: dict[str, float] = {  # at most the largest finite number
    "float32": 3.4e38,
    "float16": 65504.0,
    "bfloat16": 3.38e38,
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "int8": 2**7 - 1,
    "int16": 2**15 - 1,
    "int32": 2**31 - 1,
    "int64": 2**63 - 1,
    "uint8": 2**8 - 1,
    "bool": 1,
}
# Compute capabilities for which kernels may be compiled.
TARGETS = (75, 80, 86, 89, 90, 100, 103, 120)
Scalar = Literal["float", "int", "bool"]
_EXTENT = r"[1-9]\d{0,98}"  # Python refuses to read a number of more than 4,300 digits

# Values of `Case.draw`; `grader.correctness.inputs` has the distributions.
DRAWS = (
    "rows",
    "ties",
    "constant",
    "extremes",
    "denormals",
    "integers",
    "spikes",
    "sunken",
    "counting",
    "signs",
    "hundreds",
    "depths",
)


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One parameter of the entry, in the order in which the entry takes them.

    `reads` and `writes` are the least number of times that a perfect kernel moves each element
    between memory and the chip; bytes follow from them and the tensor's size. `most_reads` and
    `most_writes` are the most that the traffic step lets pass; None lets any number pass.
    An `out` has the shape and dtype of the argument named by `like`, unless given here. A shape
    that follows from those of the inputs is a function of them. The `dtype` of a scalar is the
    Python type of the number: float, int or bool. `needed(inputs)` is the number of bytes that one
    pass over what these inputs ask for moves; None for all of the tensor.
    """

    name: str
    role: Role
    reads: int = 0
    writes: int = 0
    most_reads: int | None = None
    most_writes: int | None = None
    like: str | None = None
    shape: Shape | Callable[[Inputs], Shape] | None = None
    dtype: str | None = None
    needed: Callable[[Inputs], int] | None = None

    def needed_bytes(self, inputs: Inputs, size: int) -> int:
        """Return the bytes of one pass over what these inputs ask for, of `size` bytes in all.

        Raises ValueError where the spec asks for none, or for more than there are.
        """
        if self.needed is None:
            return size
        needed = int(self.needed(inputs))
        if not 0 < needed <= size:
            raise ValueError(f"{needed} bytes of {self.name} are needed, which has {size}")
        return needed

    def shape_for(self, inputs: Inputs) -> Shape | None:
        """Return the shape beside these inputs; None where `like` gives it."""
        return self.shape(inputs) if callable(self.shape) else self.shape

    @property
    def filled(self) -> bool:
        return self.role in ("out", "inout")


def reads(
    name: str, *, at_most: int | None = 1, bytes: Callable[[Inputs], int] | None = None
) -> Argument:
    """Declare a tensor that the kernel reads, each element `at_most` times, and must not change.

    Where the inputs decide how much of it must be read, as the lengths of ragged rows do, `bytes`
    returns that number of bytes. `at_most` is then of these.
    """
    return Argument(name=name, role="in", reads=1, most_reads=at_most, most_writes=0, needed=bytes)


def writes(
    name: str,
    *,
    like: str | None = None,
    shape: Shape | Callable[[Inputs], Shape] | None = None,
    dtype: str | None = None,
    at_most: int | None = 1,
) -> Argument:
    """Declare a tensor that the kernel fills, writing each element `at_most` times."""
    return Argument(
        name=name, role="out", writes=1, like=like, shape=shape, dtype=dtype, most_writes=at_most
    )


def updates(name: str, *, reads_at_most: int = 1) -> Argument:
    """Declare a tensor that the kernel reads and overwrites once."""
    return Argument(
        name=name, role="inout", reads=1, writes=1, most_reads=reads_at_most, most_writes=1
    )


def scalar(name: str, kind: Scalar = "float") -> Argument:
    """Declare a Python number: a float unless `kind` says otherwise, an int or a bool."""
    return Argument(name=name, role="scalar", dtype=kind)


@dataclass(frozen=True)
class Case:
    """A small description of one input, from which the judge draws the tensors.

    `draw` is one of DRAWS. `pad` is the number of unused elements between the end of a row and the
    start of the next, of the first tensor. Others have more, so that no two have one stride.
    `offset` is the number of elements by which the first one lies past a 16-byte boundary.
    """

    shape: tuple[int, ...]
    dtype: str
    draw: str = "rows"
    pad: int = 0
    offset: int = 0
    seed: int = 0

    @property
    def elements(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def headline(self) -> str:
        """The case in words, such as `1×1025 float16`."""
        extras = [self.draw] if self.draw != "rows" else []
        extras += [f"row padding {self.pad}"] if self.pad else []
        extras += [f"offset {self.offset}"] if self.offset else []
        shape = "×".join(map(str, self.shape))
        return f"{shape} {self.dtype}" + (f" ({', '.join(extras)})" if extras else "")

    def __str__(self) -> str:
        """Return the form that `--case` takes, such as `1x1025,float16,draw=ties,pad=3,seed=7`."""
        parts = ["x".join(map(str, self.shape)), self.dtype]
        parts += [f"draw={self.draw}"] if self.draw != "rows" else []
        parts += [
            f"{name}={value}"
            for name, value in (("pad", self.pad), ("offset", self.offset), ("seed", self.seed))
            if value
        ]
        return ",".join(parts)

    @classmethod
    def parse(cls, text: str) -> Case:
        """Read the form that `str` writes. Raises ValueError that names the wrong part."""
        shape, _, rest = text.strip().partition(",")
        dtype, _, rest = rest.partition(",")
        if not re.fullmatch(rf"{_EXTENT}(x{_EXTENT})*", shape):
            raise ValueError(f"a case starts with its shape, such as 2x1025, not {shape!r}")
        if dtype not in ITEMSIZE:
            raise ValueError(f"{dtype!r} is not a dtype: use one of {', '.join(ITEMSIZE)}")
        case = cls(shape=tuple(map(int, shape.split("x"))), dtype=dtype)
        parts = list(filter(None, rest.split(",")))
        names = [part.partition("=")[0] for part in parts]
        for name, part in zip(names, parts, strict=True):
            value = part.partition("=")[2]
            if names.count(name) > 1:
                raise ValueError(f"{name} may be given once")
            if name == "draw" and value in DRAWS:
                case = replace(case, draw=value)
            elif name in ("pad", "offset", "seed") and re.fullmatch(r"\d{1,99}", value):
                fields = {"pad": case.pad, "offset": case.offset, "seed": case.seed}
                case = replace(case, **fields | {name: int(value)})  # type: ignore[arg-type]
            else:
                raise ValueError(
                    f"{part!r} is not one of draw=NAME, pad=N, offset=N, seed=N, where NAME is "
                    f"{', '.join(DRAWS[:-1])} or {DRAWS[-1]}"
                )
        return case


class Draw(Protocol):
    """Values for a spec's `inputs`; `grader.correctness.inputs` implements it for one case.

    Every tensor comes out with the case's layout (padding and offset) and on the judge's device.
    """

    def tensor(
        self, shape: tuple[int, ...], *, dtype: str | None = None, extreme: float | None = None
    ) -> Tensor:
        """Draw finite values of the case's distribution, rounded to `dtype` (the case's own).

        In the distribution `extremes` they reach ±`extreme` (the dtype's largest finite value): a
        spec lowers it so that the correctly rounded output stays finite. Whole numbers lie between
        -`extreme` and `extreme`, unsigned ones between 0 and `extreme`.
        """

    def indices(self, count: int, below: int, ignored: int | None = None) -> Tensor:
        """Draw `count` int64 in [0, below); about one in five is `ignored` when that is given."""

    def number(self, low: float, high: float) -> float:
        """Draw a float, log-uniform in [low, high], that float32 holds exactly."""

    def factor(self, most: float) -> float:
        """Draw a float of any sign and size up to `most`, 0 among them; float32 holds it exactly.

        In the scored case it is an ordinary number.
        """

    def integer(self, low: int, high: int) -> int:
        """Draw an int, uniform in [low, high]."""

    def truth(self) -> bool:
        """Draw True or False, with the same probability."""


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """Facts about the arithmetic for the acceptance rule (docs/trust.md, "Acceptance").

    `terms(case)` is the number of terms that one output sums over. `magnitude(inputs, expected)`
    is, in float64, the size by which rounding errors of each output scale (its condition): the sum
    of the absolute terms for a sum. Where it is missing, that is the output's own size. `exact`
    lists distributions whose outputs float32 holds exactly, so that no error is accepted.
    `rounded_once` says that each output is the exact result rounded once, as a sum of two numbers
    is: then only the nearest number of the output's dtype is right.
    """

    terms: Callable[[Case], int]
    magnitude: Callable[[Inputs, Mapping[str, Tensor]], Mapping[str, Tensor]] | None = None
    exact: tuple[str, ...] = ()
    rounded_once: bool = False


@dataclass(frozen=True, kw_only=True)
class Gates:
    """Shares of the ceiling: `passing` passes the speed step, `great` earns the label."""

    passing: float
    great: float


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
class Scored:
    """The case whose speed is scored. Its size follows from the GPU, so only its form is here.

    `columns` is the length of a row, or None for 1-D arguments; of arguments with more than two
    dimensions it has all extents but the first. `bound` names the module of `grader.speed.bounds`
    with which the speed is compared.
    """

    dtype: str
    columns: int | tuple[int, ...] | None = None
    bound: str = "bandwidth"

    @property
    def extents(self) -> tuple[int, ...]:
        """All extents but the first, which follows from the GPU."""
        if isinstance(self.columns, tuple):
            return self.columns
        return () if self.columns is None else (self.columns,)

    @property
    def row(self) -> str:
        """The extents in words, such as `8×2,048×64`; empty for 1-D arguments."""
        return "×".join(f"{extent:,}" for extent in self.extents)


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
        given = [each for each in (self.reference, self.blocked, self.only) if each is not None]
        if len(given) != 1:
            raise ValueError(f"the mistake {self.cause!r} needs reference, blocked or only")


def a_hundredth(case: Case) -> int:
    """Return one percent of an argument with the case's shape and dtype, at least 4 MiB.

    In bytes: enough for a partial result of each block, not for a second copy.
    """
    return max(4 << 20, case.elements * ITEMSIZE[case.dtype] // 100)


@dataclass(frozen=True, kw_only=True)
class Spec(BaseSpec):
    """One exercise whose kind is `kernel`: the learner writes a function that launches kernels.

    `edges` are cases that every check tries, smallest first. Hypothesis draws further ones, with
    each extent at most the matching entry of `largest`, and with at most `most_elements` elements
    when simulated. `launched` is a case that is executed on a GPU only: simulated, the device
    checks its launches and executes none.

    `counted` is the case whose reads and writes are counted in simulation: rows of several blocks.
    `scored` and `gates` are None where memory and speed are not graded. `budgets` limit counts of
    the counted case; `pictured` is a case small enough to be drawn. `memory_budget(case)` is the
    number of bytes that one call may hold beyond its arguments.

    `reference(inputs)` returns every filled argument, computed in the dtype of its inputs: the
    judge calls it in float64 for the expected output and in float32 for torch's own error.

    With `kernels`, the output must come from kernels of `backend`: a file whose output is right
    with all launches disabled is rejected.

    `flops(case)` is the number of operations of one call, counted simply. An addition, a product, a
    division, a comparison and an exp are one each; what a second pass computes again counts once.
    Only the roofline of `grader bench` uses it; no verdict does.

    `targets` are compute capabilities, such as 90, for which the step `compile` builds the kernel.
    Without a GPU the first one is required; without any that is 90.

    `mistakes` are those to look for in a wrong output, before those that every exercise has.
    """

    kind: str = "kernel"
    backend: str
    entry: str
    arguments: tuple[Argument, ...]
    dtypes: tuple[str, ...]
    draws: tuple[str, ...]
    edges: tuple[Case, ...]
    largest: tuple[int, ...]
    most_elements: int
    inputs: Callable[[Case, Draw], Inputs]
    reference: Callable[[Inputs], Mapping[str, Tensor]]
    tolerance: Tolerance
    counted: Case
    launched: Case | None = None
    scored: Scored | None = None
    gates: Gates | None = None
    budgets: tuple[Budget, ...] = ()
    pictured: Case | None = None
    memory_budget: Callable[[Case], int] = a_hundredth
    strided: bool = False
    independent_rows: bool = True
    kernels: bool = True
    flops: Callable[[Case], int] | None = None
    targets: tuple[int, ...] = ()
    mistakes: tuple[Mistake, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        faults = [
            (not self.entry.isidentifier(), f"entry {self.entry!r} is not a Python name"),
            (not self.arguments, "arguments is empty"),
            (not any(a.filled for a in self.arguments), "no argument is written by the kernel"),
            (not self.edges, "edges is empty: a check would test no fixed case"),
            (not self.dtypes or not self.draws, "dtypes and draws each need an entry"),
            (not set(self.draws) <= set(DRAWS), f"draws may be {', '.join(DRAWS)}"),
            (len(self.hints) < 3, "hints has fewer than three entries"),
            ((self.scored is None) != (self.gates is None), "scored needs gates, and gates scored"),
            (
                self.gates is not None and not 0 < self.gates.passing <= self.gates.great <= 1,
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
        ]
        for wrong, message in faults:
            if wrong:
                raise ValueError(message)

    @property
    def timed(self) -> tuple[Scored, Gates]:
        """The case and the gates of the speed step. Raises UsageError without them."""
        if self.scored is None or self.gates is None:
            raise UsageError(
                f"The speed of {self.title!r} is not graded: its spec has no scored case.",
                "`grader show NAME` lists what is graded of an exercise.",
            )
        return self.scored, self.gates

    @property
    def sample_case(self) -> Case:
        """One row of the scored case, small enough for any machine; else the counted case."""
        if self.scored is None:
            return self.counted
        extents = self.scored.extents
        return Case((1, *extents) if extents else (65_536,), self.scored.dtype)

    @property
    def signature(self) -> str:
        return f"{self.entry}({', '.join(a.name for a in self.arguments)})"

    def needed_bytes(self, inputs: Inputs, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return the bytes of one pass over each tensor, of `sizes` bytes in all.

        Raises ValueError as `Argument.needed_bytes` does.
        """
        tensors = [a for a in self.arguments if a.name in sizes]
        return {a.name: a.needed_bytes(inputs, sizes[a.name]) for a in tensors}

    def least_bytes(self, sizes: Mapping[str, int]) -> tuple[int, int]:
        """Return the fewest bytes that a kernel can read and write.

        `sizes` are the bytes of one pass over each tensor.
        """
        tensors = [a for a in self.arguments if a.role != "scalar"]
        return (
            sum(a.reads * sizes[a.name] for a in tensors),
            sum(a.writes * sizes[a.name] for a in tensors),
        )


def describe(value: Any) -> str:
    return type(value).__name__
