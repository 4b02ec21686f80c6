"""The origin of an undefined value that reaches an argument.

A lane that a mask switches off without `other=` has no defined value; here it is NaN. Memory that
the kernel file allocated holds NaN until something is written there. Each such NaN gets the number
of the load that it came from, and all that is computed from it gets the number, too (`undefined`).
Integers are not followed: of them only the loads of memory that nothing has written to are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from grader.backends.triton.device.access import Access
from grader.backends.triton.device.integers import OF_SIZE
from grader.backends.triton.device.mappings import Bits, Places
from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.ttir.records import Site
from grader.backends.triton.device.values import poison
from grader.backends.triton.undefined import (
    LARGEST_NUMBER,
    NAMELESS,
    NAN,
    SPARE,
    numbered,
    unwritten_bits,
)
from grader.model import MOST_ORIGINS, Origin
from grader.worker.bounds import Span

# Words for the operations of reductions, as `Origin` has them.
COMBINED = {
    "arith.addf": "sum",
    "arith.mulf": "product",
    "arith.maxnumf": "maximum",
    "arith.maximumf": "maximum",
    "arith.minnumf": "minimum",
    "arith.minimumf": "minimum",
}


class Provenance:
    """The loads of one call that made undefined values, and the arguments that received them."""

    def __init__(self, arguments: Sequence[Span]) -> None:
        self._arguments = arguments
        self._numbers: dict[Site, int] = {}
        self._nameless = False  # some load got no number of its own
        self._unwritten: dict[Site, tuple[str, int]] = {}  # array and element of the first lane
        self._reached: dict[tuple[str, int], Site] = {}  # by argument and number
        self._combined: dict[int, tuple[Site, str]] = {}  # by number, the first reduction

    def undefined(self, dtype: torch.dtype, site: Site) -> torch.Tensor:
        """Return the value of lanes that the load at `site` leaves undefined."""
        if dtype not in NAN:
            return torch.tensor(poison(dtype), dtype=dtype)
        bits = numbered(dtype, self._number(site))
        return torch.tensor(bits, dtype=OF_SIZE[dtype.itemsize]).view(dtype)

    def unwritten(
        self,
        access: Access,
        addresses: Callable[[], Places],
        bits: Bits,
        scratch: Sequence[Span],
    ) -> None:
        """Give those bits that were read in scratch, and were never written, the access's number.

        `scratch` is the memory that the kernel file allocated.
        """
        pattern = unwritten_bits(access.dtype)
        if pattern is None:
            return
        places = np.flatnonzero(bits == pattern)
        if not places.size:
            return
        address = int(addresses()[places[0]])
        for span in scratch:
            if span.start <= address < span.stop:
                element = (address - span.start) // access.itemsize
                self._unwritten.setdefault(access.site, (span.name, element))
                if access.dtype in NAN:
                    bits[places] = numbered(access.dtype, self._number(access.site))

    def follow(self, dtype: torch.dtype, addresses: Callable[[], Places], bits: Bits) -> None:
        """Note the origins of undefined values that are stored to an argument."""
        if not self._numbers or dtype not in NAN:
            return
        nan, place = NAN[dtype]
        undefined = np.flatnonzero((bits & nan) == nan)
        if not undefined.size:
            return
        numbers, first = np.unique(bits[undefined] >> place & SPARE, return_index=True)
        sites = {number: site for site, number in self._numbers.items()}
        for number, lane in zip(numbers.tolist(), undefined[first], strict=True):
            address = int(addresses()[lane])
            for span in self._arguments:
                if number in sites and span.start <= address < span.stop:
                    self._reached.setdefault((span.name, number), sites[number])

    def combined(self, numbers: torch.Tensor, site: Site, operation: str) -> None:
        """Note a reduction of values some of which have numbers; 0 stands for a defined value."""
        for number in torch.unique(numbers).tolist():
            self._combined.setdefault(number, (site, COMBINED.get(operation, "")))

    def origins(self, source: Source) -> tuple[Origin, ...]:
        """Return the origins of what reached arguments, then loads that cannot be followed."""
        return tuple(self._origins(source))[:MOST_ORIGINS]

    def _origins(self, source: Source) -> Iterator[Origin]:
        for (output, _), site in self._reached.items():
            yield self._origin(site, source, output)
        for site in self._unwritten:
            if site not in self._numbers:
                yield self._origin(site, source, "")

    def _origin(self, site: Site, source: Source, output: str) -> Origin:
        place = source.place(site)
        array, element = self._unwritten.get(site, ("", 0))
        joined, how = self._combined.get(self._numbers.get(site, -1), (Site(), ""))
        line = source.line_of(joined)
        return Origin(output, place.line, place.name, array, element, line, how if line else "")

    @property
    def highest(self) -> int:
        """The highest number that an undefined value may have, or 0 if there is none yet."""
        return NAMELESS if self._nameless else len(self._numbers)

    def _number(self, site: Site) -> int:
        """Return the number of the load at `site`, or NAMELESS if no other one is left."""
        if site not in self._numbers and len(self._numbers) == LARGEST_NUMBER:
            self._nameless = True
            return NAMELESS
        return self._numbers.setdefault(site, len(self._numbers) + 1)
