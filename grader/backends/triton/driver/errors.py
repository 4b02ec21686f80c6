"""Exceptions of the simulated GPU in the worker, where a real one reports an error."""

from __future__ import annotations


class DeviceError(RuntimeError):
    """The device refused a launch, or found a fault in it; `kind` is a word of the reports."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class LaunchRefused(DeviceError):
    """The driver of a real GPU would refuse this launch."""

    def __init__(self, message: str) -> None:
        super().__init__("launch_refused", message)


class NotSimulated(DeviceError):
    """A real GPU has this, and the simulated one does not; this is not the learner's fault."""

    def __init__(self, what: str) -> None:
        super().__init__("not_simulated", f"the simulated GPU does not have {what}")
