"""The protocols that the worker's side of a backend implements."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from grader.model import Channel, Specialisation, Traced
from grader.worker.launches import Launches, Withheld
from grader.worker.recorder import Recorder

if TYPE_CHECKING:
    from grader.worker.allocations import Allocations
    from grader.worker.traffic_counter import Ledger


class Log(Protocol):
    """Every access of every thread of one call, from a backend that traces threads."""

    def keep_values(self) -> None:
        """Record from now on what each access reads, or leaves in memory."""

    def counts(self, file: str) -> dict[str, int]:
        """Return each of `grader.model.exercise.COUNTS`, by names such as `counts.barriers`."""

    def traced(self, file: str) -> Traced:
        """Return the log as the judge gets it, with lines of the kernel file `file`."""


class Kernels(Protocol):
    """The link between one backend's kernels and the arena, on the CPU or on a GPU."""

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        pass

    def argument(self, ref: Mapping[str, Any]) -> object:
        """Return the entry's tensor for a `TensorRef`."""

    def before_call(self, refs: list[Mapping[str, Any]]) -> None:
        """Prepare for a call with these tensors."""

    def in_other_order(self) -> AbstractContextManager[None]:
        """Run the blocks of launches made meanwhile in reverse, where this process runs them."""

    allocations: Allocations

    def watching(self) -> AbstractContextManager[object]:
        """Record what the block allocates in `allocations`, if the backend does not always do so.

        On a GPU and in a dry run nothing is recorded.
        """

    def counting(self, refs: list[Mapping[str, Any]]) -> AbstractContextManager[Ledger]:
        """Count the reads and writes of these tensors meanwhile; on a GPU nothing is counted."""

    def logging(self) -> AbstractContextManager[Log | None]:
        """Record every access of every thread meanwhile, where the backend traces threads."""

    def mark(self) -> Any:
        """Mark a point in the GPU's work, for timing; None in simulation, where no time counts."""

    def observing(self) -> AbstractContextManager[Launches | None]:
        """Record the kernels launched meanwhile, where they are compiled."""

    def launched(self) -> tuple[Specialisation, ...]:
        """Return the kernels that the last call launched, for the backend's `compiler`.

        Empty where a device knows them, and on a GPU.
        """

    def recording(self) -> AbstractContextManager[Recorder]:
        """Record the launches made meanwhile, so that another process can make them; on a GPU."""

    def without_kernels(self) -> AbstractContextManager[Withheld]:
        """Disable every kernel launch meanwhile, and count them."""

    def synchronize(self) -> None:
        """Wait until all started work is done; raise its errors."""

    def settle(self) -> None:
        """Release GPU memory that the libraries hold unused; a simulator holds none."""

    def root_cause(self, error: BaseException) -> BaseException:
        """Return the learner's error from inside the library's errors around it."""


class ServeDevice(Protocol):
    """Carry out the launches of one worker, for a judge, until the judge hangs up."""

    def __call__(self, judge: Channel, worker: Channel, arena: int, scratch: int) -> None: ...
