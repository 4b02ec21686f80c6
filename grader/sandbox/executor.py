"""Something that carries out calls on the arena's memory: its contract, its counts, its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from grader.model import (
    CannotGrade,
    Failure,
    Frame,
    HeldSeries,
    Origin,
    Sightings,
    Specialisation,
    TensorRef,
    Traced,
    TracedLanes,
)

Call = Sequence[TensorRef | float]


class NotSimulated(CannotGrade):
    """The kernel uses a part of a GPU that no simulator has: no failure, and no pass either."""

    kind = "not_simulated"

    def __init__(
        self,
        what: str,
        advice: str = "Nothing here says whether it is right. A machine with a GPU can grade it.",
        frames: tuple[Frame, ...] = (),
    ) -> None:
        super().__init__(f"The kernel cannot be simulated: {what}.", advice)
        self.what = what
        self._frames = frames

    def as_failure(self) -> Failure:
        return Failure(
            kind=self.kind, message=self.message, frames=self._frames, hint=self.next_step
        )


class TooManyOperations(NotSimulated):
    """The simulator gave up on a kernel that a GPU, which is faster, may well finish."""

    kind = "too_many_operations"


class KernelFailure(Exception):
    """The learner's kernel failed; `failure` says how, in words for the learner."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Counts:
    """The counts of one simulated call, and the memory that the kernel file held.

    `counts` has `reads.x`, `writes.out` and so on, in elements; and for an entry with `threads`
    `counts.transactions` and so on (`grader.model.exercise.COUNTS`). `peak` is the most bytes held
    beside the arena since the file was loaded, and `held` what was held over the call: the worker's
    word, which no figure of the grader's contradicts.
    """

    counts: Mapping[str, int]
    peak: int
    held: HeldSeries = field(default_factory=lambda: HeldSeries(missing="nothing was watched"))


class Executor(Protocol):
    """Something that carries out calls on the arena's memory."""

    def load(self) -> None:
        """Make ready. Raises KernelFailure when the kernel file is at fault."""

    def call(self, calls: Sequence[Call], *, other_order: bool = False) -> None:
        """Call the entry with each argument list in turn, and wait for all the work.

        A simulator runs the programs or blocks of a launch in an order that follows from the shapes
        of the arguments. With `other_order` it runs them in reverse; a GPU has an order of its own.
        """

    def without_kernels(self, call: Call) -> bool:
        """Call the entry once, with every kernel launch disabled; return whether it finished.

        If not, the file's own code failed without its kernels, and its outputs hold anything.
        Raises KernelFailure when the call failed for another reason, GraderError when the
        grader's own part did.
        """

    def count(self, call: Call) -> Counts:
        """Call the entry once in simulation, and count.

        Raises GraderError when nothing was counted: nothing passes by default.
        """

    def trace(self, call: Call) -> tuple[Traced, Failure | None]:
        """Call the entry once in simulation; return each thread's work, and any failure.

        Raises KernelFailure when nothing is known of the call, GraderError when the worker does not
        report the threads' work.
        """

    def trace_lanes(self, call: Call) -> tuple[TracedLanes, Failure | None]:
        """Call the entry once in simulation; return what each program did, and any failure.

        Raises GraderError when the simulated GPU cannot run the call.
        """

    def watch(self, call: Call) -> None:
        """Call the entry once, and have a simulated device, if there is one, record accesses."""

    def kernels(self) -> Sequence[Specialisation]:
        """Return the kernels that the last call launched in simulation."""

    def origins(self) -> Sequence[Origin]:
        """Return those of undefined values that the last call used, where a device saw them."""

    def sightings(self) -> Sightings | None:
        """Return the device's record of the last call that was watched, or went wrong so."""

    def close(self) -> str:
        """End; return the start of the printed output."""
