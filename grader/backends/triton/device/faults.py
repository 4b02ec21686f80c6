"""The faults that end a launch: of the kernel, of its text, or of what this device can do."""

from __future__ import annotations

from grader.backends.triton.device.ttir.records import Site


class Fault(Exception):
    """The launch ends here. `kind` is a word of the reports, `site` where in the kernel file."""

    kind = "fault"

    def __init__(self, message: str, site: Site | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.site = site


class OutOfBounds(Fault):
    kind = "out_of_bounds"


class WrappedOffset(Fault):
    """An address in bounds is wrong, because the offset did not fit into its type."""

    kind = "wrapped_offset"


class Misaligned(Fault):
    """The address of an element is not a multiple of its size."""

    kind = "misaligned"


class Race(Fault):
    """Two programs use one element, and nothing orders them.

    `address` is that element's; `programs` are the one that was refused, and the one before it.
    """

    kind = "race"

    def __init__(
        self,
        message: str,
        site: Site | None = None,
        address: int | None = None,
        programs: tuple[int, int] = (-1, -1),
    ) -> None:
        super().__init__(message, site)
        self.address = address
        self.programs = programs


class Deadlock(Fault):
    """Programs wait for each other, and nothing can end it."""

    kind = "deadlock"


class TooManyOperations(Fault):
    """The budget of simulated operations is spent. A GPU is faster, so this is not a failure."""

    kind = "too_many_operations"


class AssertFailed(Fault):
    kind = "assert"


class Malformed(Fault):
    """The text is not TTIR that Triton makes."""

    kind = "malformed"


class NotSimulated(Fault):
    """The device lacks an operation or a type; this is not the learner's fault."""

    kind = "not_simulated"

    def __init__(self, what: str, site: Site | None = None) -> None:
        super().__init__(f"the simulated GPU does not have {what}", site)


def is_out_of_memory(error: Exception) -> bool:
    """Report whether Python or torch raised this because an allocation failed."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)
