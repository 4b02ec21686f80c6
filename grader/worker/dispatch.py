"""A look at every torch operation of a simulated call, without importing torch's compiler."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class Dispatched(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode that torch's compiler is not told to leave out.

    To tell it torch would import it, which takes a second of every check.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
