"""Every access of every thread of one simulated call, in order.

A log exists only on request: to count (counts.py), and to draw the work of threads. The entry's own
accesses, outside of kernels, belong to no thread and are not in it.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from grader.backends.numba.simulator.parent_arrays import Whole, variable_of
from grader.backends.numba.simulator.source_text import counts_from_end
from grader.model import (
    LONGEST_NAME,
    MOST_ACCESSES,
    MOST_ARRAYS,
    MOST_LAUNCHES,
    MOST_UNSTARTED,
    ArrayRef,
    LaunchRef,
    Stop,
    Traced,
)
from grader.worker.races import Index
from grader.worker.source_sites import Site, line_of, place_of

Kind = Literal["read", "write", "update"]  # an update is atomic, and both reads and writes
Mark = Literal["", "out_of_bounds", "race", "uninitialised", "from_end"]

# The wire carries positions in these.
KINDS: tuple[Kind, ...] = ("read", "write", "update")
MARKS: tuple[Mark, ...] = ("", "out_of_bounds", "race", "uninitialised", "from_end")


class Access(NamedTuple):
    """One access to one element.

    `step` is the number of barriers that the block has passed. Blocks are numbered in their grid
    and threads in their block, x fastest. `address` is None where the index leads out of the array.
    """

    launch: int
    step: int
    block: int
    thread: int
    whole: Whole
    address: int | None
    itemsize: int
    kind: Kind
    site: Site


class Log:
    def __init__(self) -> None:
        self.launches: list[LaunchRef] = []
        self.accesses: list[Access] = []
        self.marks: dict[int, Mark] = {}  # by an access's position in the list
        self.outside: tuple[int, ...] = ()  # the index that led out of its array, as written
        self.barriers = 0  # the most that any thread passed
        self._here = (0, 0, 0, 0)  # launch, step, block, thread
        self._moments: list[int] = []  # of each access, as races.py counts them
        self._atomic: Site | None = None
        self._wholes: dict[Whole, None] = {}  # in the order of their first access
        self._parameters: dict[Whole, str] = {}
        self._values: dict[int, int] | None = None  # bits, by an access's position in the list
        self._unknown: int | None = None  # the position of a last access that may yet change
        # Of the last launch: blocks that have begun, and threads that have yet to act in the step.
        self._begun: set[int] = set()
        self._waiting: dict[int, None] = {}
        self._closed = False  # at a race, after which threads act unseen up to the next barrier

    def keep_values(self) -> None:
        """Record from now on what each access reads, or leaves in memory."""
        self._values = {}

    # -- called by the simulator

    def begin_launch(
        self, kernel: str, grid: Index, block: Index, parameters: Mapping[str, Whole]
    ) -> None:
        """Begin a launch; `parameters` are the kernel's arrays, keyed by their names in it."""
        self.launches.append(LaunchRef(kernel[:LONGEST_NAME], grid, block))
        self._begun.clear()
        for name, whole in parameters.items():
            self._wholes[whole] = None
            self._parameters.setdefault(whole, name)

    def begin_block(self, number: int, steps: int) -> None:
        """Let a block act that has taken so many steps from barrier to barrier."""
        self._here = (len(self.launches) - 1, steps - 1, number, 0)
        self._begun.add(number)

    def begin_step(self, threads: Iterable[int]) -> None:
        """Begin a step in which these threads will act."""
        launch, step, block, _ = self._here
        self._waiting = dict.fromkeys(threads)
        self._here = (launch, step + 1, block, 0)
        self.barriers = max(self.barriers, step + 1)

    def begin_thread(self, number: int) -> None:
        self._settle()
        self._here = (*self._here[:3], number)
        if not self._closed:
            self._waiting.pop(number, None)

    def note(
        self,
        whole: Whole,
        address: int,
        itemsize: int,
        kind: Kind,
        site: Site,
        moment: int,
        from_end: bool,
    ) -> None:
        """Record an access as it begins; `mark_race` and `mark_unwritten` mark faults afterwards.

        With `from_end` its index is negative, which counts from the end. The access is then marked,
        unless the text shows that this is meant.
        """
        if kind == "update":
            # The simulator carries out one atomic operation in several accesses; all of them name
            # its site by the same object.
            if site is self._atomic:
                return
            self._atomic = site
        self._settle()
        self._unknown = len(self.accesses)
        if from_end and not counts_from_end(site):
            self.marks[len(self.accesses)] = "from_end"
        self._wholes[whole] = None
        self._moments.append(moment)
        self.accesses.append(Access(*self._here, whole, address, itemsize, kind, site))

    def note_outside(self, whole: Whole, index: Sequence[int], kind: Kind, site: Site) -> None:
        self._settle()
        self._wholes[whole] = None
        self._moments.append(0)
        self.outside = tuple(index)
        self.marks[len(self.accesses)] = "out_of_bounds"
        self.accesses.append(Access(*self._here, whole, None, 0, kind, site))

    def mark_race(self, address: int, moment: int, site: Site) -> None:
        """Mark the last access as racing with that of this moment and place."""
        last = len(self.accesses) - 1
        if self.accesses[last].kind == "read":
            self._settle()
        self._unknown = None  # a write that is refused changes nothing
        self._closed = True
        self.marks[last] = "race"
        for place in range(last - 1, -1, -1):
            access = self.accesses[place]
            if (
                (self._moments[place], access.site) == (moment, site)
                and access.address is not None
                and access.address < address + self.accesses[last].itemsize
                and address < access.address + access.itemsize
            ):
                self.marks[place] = "race"
                return

    def mark_unwritten(self, places: Iterable[int]) -> None:
        """Mark these accesses, by position, as reads of elements that no thread had written."""
        for place in places:
            self.marks[place] = "uninitialised"

    def _settle(self) -> None:
        """Take the value of the last access, now that it is complete."""
        if self._values is not None and self._unknown is not None:
            access = self.accesses[self._unknown]
            if access.address is not None and access.itemsize == access.whole.array.itemsize <= 8:
                held = ctypes.string_at(access.address, access.itemsize)
                self._values[self._unknown] = int.from_bytes(held, "little", signed=True)
        self._unknown = None

    # -- for the wire

    def traced(self, file: str) -> Traced:
        """Convert the log for the wire, with lines of the kernel file `file`.

        When it has more accesses than the wire carries, the first remain, and all marked ones.
        """
        self._settle()
        arrays = self._refs()
        order = {array: number for number, array in enumerate(arrays)}
        numbers = {whole: order[_identity(whole)] for whole in self._wholes}
        shown = [
            place
            for place, access in enumerate(self.accesses)
            if access.launch < MOST_LAUNCHES and numbers[access.whole] < MOST_ARRAYS
        ]
        marked = [place for place in shown if place in self.marks][-MOST_ACCESSES:]
        first = [place for place in shown if place not in self.marks]
        first = first[: MOST_ACCESSES - len(marked)]
        rows, listed = [], sorted([*first, *marked])
        for place in listed:
            access = self.accesses[place]
            rows.append(
                (
                    *(access.launch, access.step, access.block, access.thread),
                    numbers[access.whole],
                    -1 if access.address is None else access.whole.flat(access.address),
                    KINDS.index(access.kind),
                    line_of(access.site) if access.site[0].co_filename == file else 0,
                    MARKS.index(self.marks.get(place, "")),
                )
            )
        return Traced(
            launches=tuple(self.launches[:MOST_LAUNCHES]),
            arrays=tuple(arrays.values())[:MOST_ARRAYS],
            accesses=tuple(rows),
            outside=self.outside,
            cut=len(self.accesses) - len(rows),
            stop=self._stop(),
            values=() if self._values is None else tuple(map(self._values.get, listed)),
        )

    def _stop(self) -> Stop | None:
        """Return where the last launch ended before all its threads had acted, if it did."""
        launch, step, block, _ = self._here
        if not self.launches or launch >= MOST_LAUNCHES:
            return None
        missing = (n for n in range(math.prod(self.launches[-1].grid)) if n not in self._begun)
        blocks = tuple(islice(missing, MOST_UNSTARTED))
        threads = tuple(self._waiting)[:MOST_UNSTARTED]
        return Stop(launch, max(step, 0), block, threads, blocks) if threads or blocks else None

    def _refs(self) -> dict[object, ArrayRef]:
        refs: dict[object, ArrayRef] = {}
        for whole in self._wholes:
            if _identity(whole) not in refs:
                name = self._named(whole, len(refs))[:LONGEST_NAME]
                refs[_identity(whole)] = ArrayRef(
                    name, whole.space, whole.shape, whole.array.dtype.name[:LONGEST_NAME]
                )
        return refs

    def _named(self, whole: Whole, number: int) -> str:
        if whole.space == "argument":
            return whole.name
        if whole.site is None:
            return self._parameters.get(whole, f"scratch array {number}")
        return variable_of(whole.site) or f"shared array {number}"


def _identity(whole: Whole) -> object:
    """Return a key for an array, shared by the arrays that one call makes in each block."""
    return whole if whole.site is None else (place_of(whole.site), whole.shape)
