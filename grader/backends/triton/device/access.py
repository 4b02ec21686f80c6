"""An access to memory: one operation, by all programs that execute it together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from grader.backends.triton.device.sums import Sum
from grader.backends.triton.device.ttir.records import Operation, Site
from grader.backends.triton.device.wide_indices import Exact

# A volatile load, or one of an atomic: it may see what another program writes at the same time.
Kind = Literal["load", "store", "atomic", "volatile"]
# The loops around an operation, outermost first, each by its place and the number of the turn.
Loops = tuple[tuple[Site, int], ...]


@dataclass(frozen=True)
class Access:
    """The element that each lane of each program reads or writes.

    `addresses` are the worker's, int64, of shape (programs or 1, *block): the block is that of the
    operation's type. `mask` (None: all lanes) may have axes of 1, but as many as the addresses.
    `programs` are the numbers of the programs, in the order in which they act.
    """

    kind: Kind
    addresses: Tensor | Sum
    mask: Tensor | None
    dtype: torch.dtype
    programs: Tensor
    site: Site
    order: str = "relaxed"  # or acquire, release, acq_rel
    exact: Exact | None = None  # the addresses without any wrap-around, where they differ
    suspicion: str = ""  # why lanes of this operation may lie outside, if not by its mask
    operation: Operation | None = None
    loops: Loops = ()

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def releases(self) -> bool:
        return self.order in ("release", "acq_rel")

    @property
    def acquires(self) -> bool:
        return self.order in ("acquire", "acq_rel")
