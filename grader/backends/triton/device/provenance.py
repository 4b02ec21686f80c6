"""The origin of an undefined value that reaches an argument.

A lane that a mask switches off without `other=` has no defined value; here it is NaN. A NaN has
bits to spare, which arithmetic passes on. They hold the number of the load that made it. Some
functions and casts lose them; then nothing is known of its origin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from grader.backends.triton.device.lanes import Lanes
from grader.backends.triton.device.mappings import Bits
from grader.backends.triton.device.ttir.records import Site
from grader.backends.triton.device.values import poison
from grader.worker.bounds import Span

# Of each type the bits of NaN, and the place of the six highest bits that are spare: these stay
# when the number becomes a wider or narrower one.
_NAN = {
    torch.float16: (0x7E00, 3),
    torch.bfloat16: (0x7FC0, 0),
    torch.float32: (0x7FC0_0000, 16),
    torch.float64: (0x7FF8_0000_0000_0000, 45),
}
MOST_ORIGINS = 63


class Provenance:
    """The loads of one call that made undefined values, and the arguments that got these."""

    def __init__(self, arguments: Sequence[Span]) -> None:
        self._arguments = arguments
        self._numbers: dict[Site, int] = {}
        self._reached: dict[str, Site] = {}

    def undefined(self, dtype: torch.dtype, site: Site) -> torch.Tensor:
        """Return the value of lanes that the load at `site` leaves undefined."""
        value = torch.tensor(poison(dtype), dtype=dtype)
        if dtype not in _NAN:
            return value
        number = self._numbers.setdefault(site, len(self._numbers) + 1)
        if number > MOST_ORIGINS:
            return value
        nan, place = _NAN[dtype]
        integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
        return torch.tensor(nan | number << place, dtype=integer).view(dtype)

    def follow(self, lanes: Lanes, bits: Bits) -> None:
        """Note the origin of undefined values that are stored to an argument."""
        if not self._numbers or lanes.access.dtype not in _NAN:
            return
        nan, place = _NAN[lanes.access.dtype]
        undefined = np.flatnonzero((bits & nan) == nan)
        if not undefined.size:
            return
        lane = int(undefined[0])
        number = int(bits[lane]) >> place & MOST_ORIGINS
        address = int(lanes.addresses[lane])
        for site, of_site in self._numbers.items():
            if of_site == number:
                for span in self._arguments:
                    if span.start <= address < span.stop:
                        self._reached.setdefault(span.name, site)

    def facts(self, line_of: Callable[[Site], int]) -> dict[str, int]:
        """Return `undefined.out`: the line that left undefined what reached `out` first."""
        return {f"undefined.{name}": line_of(site) for name, site in self._reached.items()}
