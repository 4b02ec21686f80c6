"""The memory of a launch: every access is checked, observed, and then carried out.

So an access that is refused changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from grader.backends.triton.device.access import Access, Loops
from grader.backends.triton.device.bounds import VERBS, Bounds, Wrapped
from grader.backends.triton.device.expressions import explain
from grader.backends.triton.device.faults import Malformed, Misaligned, WrappedOffset
from grader.backends.triton.device.lanes import Lanes
from grader.backends.triton.device.mappings import Bits, Mapping, Mappings
from grader.backends.triton.device.provenance import Provenance
from grader.backends.triton.device.races import Races
from grader.backends.triton.device.sightings import Recorder
from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.traffic import Traffic
from grader.backends.triton.device.ttir.records import Operation, Site
from grader.backends.triton.device.undefined import float_like
from grader.backends.triton.device.values import whole
from grader.backends.triton.device.wide_indices import Exact
from grader.worker.bounds import Span

# Takes some elements, for each lane its place among them, and the lanes' operands. Changes the
# elements as the lanes do, one after the other, and returns what each lane found.
Update = Callable[..., Bits]


class Memory:
    """The spans of some mappings that a launch may touch, and those who observe it."""

    def __init__(
        self,
        mappings: Sequence[Mapping],
        spans: Sequence[Span],
        races: Races | None = None,
        traffic: Traffic | None = None,
        provenance: Provenance | None = None,
        recorder: Recorder | None = None,
        source: Source | None = None,
        scratch: Sequence[Span] = (),
    ) -> None:
        """Take the memory, of which `scratch` are the spans that the kernel file allocated.

        Raises Malformed if mappings overlap, or a span lies outside of them.
        """
        self._mappings = Mappings(mappings)
        for span in spans:
            if not self._mappings.holds(span.start, span.stop):
                raise Malformed(f"the memory of {span.name} is not mapped")
        self._bounds = Bounds(spans)
        self._races = races
        self._traffic = traffic
        self._provenance = provenance
        self._recorder = recorder
        self._source = source or Source()
        self._scratch = scratch
        self.changes = 0

    def load(self, access: Access, other: Tensor | None = None) -> Tensor:
        """Return the elements; lanes that are masked off get `other` or, without it, poison."""
        lanes = Lanes.of(access, apart=other is not None and other.shape[0] > 1)
        self._check(lanes)
        if self._races is not None and lanes.count:
            if access.kind == "volatile":
                self._races.look(lanes)
            else:
                self._races.read(lanes)
        if other is None and lanes.active is not None and self._provenance is not None:
            other = self._provenance.undefined(access.dtype, access.site)
        bits = self._held(lanes)
        if self._scratch and self._provenance is not None:
            self._provenance.unwritten(access, lambda: lanes.addresses, bits, self._scratch)
        return lanes.value(bits, other)

    def store(self, access: Access, values: Tensor) -> None:
        """Write `values`, which have the dtype of the access."""
        lanes = Lanes.of(access, apart=values.shape[0] > 1 or self._races is not None)
        self._check(lanes)
        if not lanes.count:
            return
        bits = lanes.bits(values)
        if self._races is not None:
            self._races.write(lanes, bits, self._held)
        if self._provenance is not None:
            self._provenance.follow(access.dtype, lambda: lanes.addresses, bits)
        # Where programs take turns, one that stores what is there already has changed nothing.
        if access.programs.shape[0] > 1 or not np.array_equal(self._held(lanes), bits):
            self.changes += 1
        self._mappings.write(lanes.starts, bits, lanes.run)

    @property
    def undefined_loads(self) -> int:
        """The highest number that an undefined value may have, or 0 if there is none yet."""
        return 0 if self._provenance is None else self._provenance.highest

    def note_combined(self, numbers: Tensor | None, site: Site, operation: str) -> None:
        """Note where undefined values, of these numbers, meet other values."""
        if numbers is not None and self._provenance is not None:
            self._provenance.combined(numbers, site, operation)

    def atomic(self, access: Access, update: Update, *operands: Tensor) -> Tensor:
        """Update elements, one lane after the other; return what each lane found."""
        lanes = Lanes.of(access, apart=True)
        self._check(lanes)
        if self._races is not None and lanes.count:
            self._races.update(lanes)
        distinct, places = np.unique(lanes.addresses, return_inverse=True)
        held = self._mappings.read(distinct, access.itemsize) if lanes.count else self._held(lanes)
        before = held.copy()
        if self._scratch and self._provenance is not None:
            self._provenance.unwritten(access, lambda: distinct, held, self._scratch)
        found = update(held, places.reshape(-1), *map(lanes.bits, operands))
        if not np.array_equal(before, held):
            self.changes += 1
            self._mappings.write(distinct, held)
            if self._provenance is not None:
                self._provenance.follow(float_like(access.dtype), lambda: distinct, held)
        return lanes.value(found)

    def note_result(
        self, operation: Operation, programs: Tensor, loops: Loops, result: Tensor
    ) -> None:
        """Do nothing: only a log keeps the results of reductions."""

    def _held(self, lanes: Lanes) -> Bits:
        size = lanes.access.itemsize
        if not lanes.count:
            return np.empty(0, f"i{size}")
        return self._mappings.read(lanes.starts, size, lanes.run)

    def _check(self, lanes: Lanes) -> None:
        """Raise OutOfBounds or Misaligned; count an access that is neither."""
        if not lanes.count:
            return
        if lanes.access.exact is None:
            self._bounds.check(lanes)
        else:
            self._check_wrapped(lanes, lanes.access.exact)
        size = lanes.access.itemsize
        if size > 1 and self._mappings.misaligned(lanes.starts, size):
            raise Misaligned(
                f"an access of {size} bytes begins at an address that is not a multiple of {size}: "
                "a GPU stops the kernel here",
                lanes.access.site,
            )
        if self._traffic is not None:
            self._traffic.see(lanes)
        if self._recorder is not None:
            self._recorder.see(lanes)

    def _check_wrapped(self, lanes: Lanes, exact: Exact) -> None:
        """Raise OutOfBounds, or WrappedOffset where active lanes at wrong addresses lie in bounds.

        The elements of such lanes are wrong on a GPU as well, whatever they hold here.
        """
        wrong = lanes.of_active(whole(lanes.access.addresses) != exact.values)
        if not wrong.any():
            self._bounds.check(lanes)
            return
        cause = explain(exact.cause, self._source)
        self._bounds.check(lanes, Wrapped(wrong, cause))
        element = lanes.element(int(np.argmax(wrong)), self._bounds.spans)
        verb = VERBS[lanes.access.kind]
        raise WrappedOffset(
            f"{verb} {element}, which is not the element that was meant: {cause}", lanes.access.site
        )
