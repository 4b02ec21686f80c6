"""Another implementation of an exercise, timed beside the learner's on inputs drawn alike."""

from __future__ import annotations

from dataclasses import replace

from grader.model import BrokenExercise
from grader.sandbox import CudaArena, ForkServer, entry_of
from grader.speed.bound import ReferenceCalls
from grader.speed.clock import BatchTime
from grader.speed.reference_kernel import EMPTY, ReferenceFailed, ReferenceKernel
from grader.speed.slots import Slots
from grader.speed.spot_checks import SlotContents


class Implementation(ReferenceKernel):
    """Another implementation of the exercise, called on the exercise's own slots.

    The judge fills them anew before each batch: the implementation must not take as its inputs what
    the learner's kernel left there. What is withheld from it until its clock starts, and compared
    then, belongs to these inputs. Its work is 1 for each call.
    """

    def __init__(
        self, slots: Slots, file: bytes, fork_server: ForkServer, arena: CudaArena
    ) -> None:
        """Raise BrokenExercise when the implementation fails, or is wrong."""
        self._slots = slots
        calls, self._contents = slots.refill()
        try:
            super().__init__(
                ReferenceCalls(entry_of(slots.spec), calls, 1.0, slots.spare),
                *(file, fork_server, arena),
            )
        except ReferenceFailed as error:
            raise BrokenExercise(
                f"The implementation that speed is compared with fails: {error.failure.message}.",
                "Correct the file that the spec's `Scored` names as `against`.",
            ) from None
        if not self._contents.outputs_right():
            self.close()
            raise BrokenExercise(
                f"The implementation that speed is compared with is wrong for {slots.case.headline}"
                ".",
                "Correct the file that the spec's `Scored` names as `against`, or the spec's "
                "`reference`.",
            )

    def prepare(self) -> None:
        self._plan = self._slots.plan()
        self._timed = replace(self._timed, calls=self._plan.calls)
        super().prepare()

    def rest(self) -> None:
        self._contents = self._slots.fill(self._plan)
        super().rest()

    def time_batch(self, contents: SlotContents = EMPTY) -> BatchTime:
        return super().time_batch(self._contents)
