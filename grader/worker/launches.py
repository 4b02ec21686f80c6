"""Records of the kernels that one call launches, or would launch, in any language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from grader.model import MOST_KERNELS, Launched


@dataclass
class Launches:
    """Launches seen so far. One kernel launched with two block sizes counts as two."""

    _read: Callable[[Any, int, int, int], Launched]
    _seen: Counter[tuple[Any, int, int]] = field(default_factory=Counter)

    def note(self, kernel: Any, threads: int, shared: int = 0) -> None:
        """Add a launch with so many threads per block, and bytes of dynamic shared memory."""
        self._seen[kernel, threads, shared] += 1

    def most_launched(self) -> tuple[Launched, ...]:
        """Return at most MOST_KERNELS kernels, the most launched first.

        Call it after the launches: some figures exist only once a kernel is loaded.
        """
        listed = []
        for (kernel, threads, shared), launches in self._seen.most_common(MOST_KERNELS):
            with suppress(AttributeError):  # a kernel that was never loaded has no figures
                listed.append(self._read(kernel, threads, shared, launches))
        return tuple(listed)


@dataclass
class Withheld:
    """Launches that had no effect so far, and why the grader's own part of one failed, if it did.

    A file may catch whatever is raised at a launch, so that failure is recorded here.
    """

    launches: int = 0
    broken: str = ""

    def launch(self, *args: Any, **options: Any) -> None:
        """Stand in for a launch, or for the replay of a recorded graph."""
        self.launches += 1

    @contextmanager
    def own_part(self) -> Iterator[None]:
        """Record an exception as the grader's own failure, and raise it."""
        try:
            yield
        except Exception as error:
            self.broken = self.broken or f"{type(error).__name__}: {error}"
            raise


@contextmanager
def replaced(owner: type, name: str, other: object) -> Iterator[None]:
    """Give a class another attribute, and put back its own or the inherited one at the end."""
    inherited = name not in vars(owner)
    original = None if inherited else vars(owner)[name]
    setattr(owner, name, other)
    try:
        yield
    finally:
        if inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, original)


@contextmanager
def graphs_withheld(withheld: Withheld) -> Iterator[None]:
    """Replay none of the graphs that torch recorded: they hold launches of earlier calls."""
    import torch

    with replaced(torch.cuda.CUDAGraph, "replay", withheld.launch):
        yield
