"""A launch: what Triton's runtime hands over, as a message to the device, and its answer."""

from __future__ import annotations

import hashlib
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import torch

from grader.backends.triton.device.requests import LARGEST_GRID
from grader.backends.triton.driver.arguments import Argument, flattened
from grader.backends.triton.driver.errors import DeviceError, LaunchRefused, NotSimulated
from grader.backends.triton.driver.scratch import Place, Scratch
from grader.model import Channel

CPU_TENSOR = "Pointer argument cannot be accessed from Triton (cpu tensor?)"
LONGEST_TEXT = 6 << 20  # characters of TTIR in one message; JSON adds some
_INT = 1 << 32  # Triton's launcher multiplies the sizes of a grid as C's `int`


@dataclass(frozen=True)
class Loaded:
    """A kernel as the device holds it: Triton hands this to each launch as its function."""

    name: str
    text: str

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def makes_pointers(self) -> bool:
        """True where the kernel turns integers into pointers, as one does with a table of them."""
        return "tt.int_to_ptr" in self.text


@dataclass(frozen=True)
class Settings:
    """The options of a compiled kernel that its code, beside the TTIR, depends on."""

    warps: int
    clusters: int = 1
    stages: int = 3
    most_registers: int | None = None
    fuses: bool = True  # products and sums


class Line:
    """The line to the device, and the memory that both see."""

    def __init__(self, channel: Channel, scratch: Scratch) -> None:
        self._channel = channel
        self._scratch = scratch
        self.arena = range(0)  # addresses
        self._sent: set[str] = set()
        self._seq = 0
        self._lock = threading.Lock()
        self._trying = False
        # Tells memory of the host's from the GPU's; a worker without torch's imitation has none.
        self.unreachable: Callable[[torch.UntypedStorage], bool] = lambda storage: False
        # Lets this process reach given tensors meanwhile, where the arena is closed.
        self.opened: Callable[[object], AbstractContextManager[object]] = nullcontext
        self._tried: set[str] = set()

    def map(self, arena: torch.Tensor) -> None:
        """Report where this process has mapped the arena."""
        self.arena = range(arena.data_ptr(), arena.data_ptr() + arena.nbytes)
        self._channel.send({"op": "map", "arena": arena.data_ptr()})

    def begin(self) -> None:
        """Begin a call of the entry: its trials are its own."""
        self._tried.clear()

    def see(self, storage: torch.UntypedStorage) -> None:
        """Remember memory that the kernel file allocated, which it may reach by bare addresses."""
        if storage.data_ptr() not in self.arena:
            self._scratch.see(storage)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Launch each form of a kernel at most once meanwhile, as a trial."""
        before, self._trying = self._trying, True
        try:
            yield
        finally:
            self._trying = before

    def launch(
        self,
        loaded: Loaded,
        grid: tuple[int, int, int],
        settings: Settings,
        arguments: list[Argument],
    ) -> None:
        """Have the device carry a launch out. Raises DeviceError for what it finds wrong."""
        if self._trying and loaded.digest in self._tried:
            return
        with self._lock:
            places = self._places(loaded, arguments)
            for place, _ in places:
                self._scratch.copy_in(place)
            message = self._message(loaded, arguments, places)
            message |= {"grid": grid, **asdict(settings), "trial": self._trying}
            self._channel.send(message)
            answer = self._channel.receive()
            for place, _ in places:
                self._scratch.copy_out(place)
        print(answer.get("printed", ""), end="")  # as a GPU's printf: to the standard output
        if fault := answer.get("fault"):
            raise DeviceError(str(fault["kind"]), str(fault["message"]))
        self._sent.add(loaded.digest)
        if self._trying:
            self._tried.add(loaded.digest)

    def _message(
        self, loaded: Loaded, arguments: list[Argument], places: list[tuple[Place, str]]
    ) -> dict[str, Any]:
        if len(loaded.text) > LONGEST_TEXT:
            raise NotSimulated(f"kernels of {len(loaded.text) >> 20} MiB of TTIR")
        self._seq += 1
        return {
            "op": "launch",
            "seq": self._seq,
            "kernel": loaded.name,
            "digest": loaded.digest,
            "ttir": None if loaded.digest in self._sent else loaded.text,
            "arguments": [argument.value for argument in arguments],
            "storages": [[place.address, place.size, place.offset, name] for place, name in places],
        }

    def _places(self, loaded: Loaded, arguments: list[Argument]) -> list[tuple[Place, str]]:
        """Place the memory that this launch may touch beside the arena, each storage once."""
        reachable = [(each.name, each.storage) for each in arguments if each.storage is not None]
        for name, storage in reachable:
            if self.unreachable(storage):
                raise ValueError(f"{name}: {CPU_TENSOR}")
        if loaded.makes_pointers or any(argument.bare for argument in arguments):
            reachable += [
                ("scratch", each) for each in self._scratch.seen() if not self.unreachable(each)
            ]
        named: dict[int, tuple[Place, str]] = {}
        for name, storage in reachable:
            if storage.nbytes() and storage.data_ptr() not in self.arena:
                place = self._scratch.place(storage)
                named.setdefault(place.offset, (place, name))
        return list(named.values())


class Launcher:
    """The launcher of one compiled kernel, which Triton makes when it loads the kernel."""

    def __init__(self, line: Line, source: Any, metadata: Any) -> None:
        self._line = line
        self._signature = dict(source.signature)
        self._settings = Settings(
            warps=metadata.num_warps,
            clusters=metadata.num_ctas,
            stages=metadata.num_stages,
            most_registers=metadata.maxnreg,
            fuses=metadata.enable_fp_fusion,
        )

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        function: Loaded,
        packed_metadata: Any,
        launch_metadata: Any,
        enter_hook: Callable[[Any], object] | None,
        exit_hook: Callable[[Any], object] | None,
        *values: Any,
    ) -> None:
        grid = operator.index(x), operator.index(y), operator.index(z)
        if enter_hook is not None:
            enter_hook(launch_metadata)
        arguments = [
            argument
            for (name, kind), value in zip(self._signature.items(), values, strict=True)
            for argument in flattened(name, kind, value)
        ]
        if _starts(grid, self._settings.clusters):
            self._line.launch(function, grid, self._settings, arguments)
        if exit_hook is not None:
            exit_hook(launch_metadata)


def _starts(grid: tuple[int, int, int], clusters: int) -> bool:
    """Report whether a grid has a program. Raises LaunchRefused for one that no GPU takes."""
    for size in grid:
        if not -_INT // 2 <= size < _INT // 2:
            raise OverflowError("signed integer is greater than maximum")
    programs = grid[0] * grid[1] * grid[2]
    if programs <= 0:
        return False
    for axis, size, most in zip("xyz", (grid[0] * clusters, *grid[1:]), LARGEST_GRID, strict=True):
        if size > most:
            raise LaunchRefused(
                f"Triton Error [CUDA]: invalid argument: a grid has at most {most} programs in "
                f"{axis}, and this one asks for {size}"
            )
    if programs % _INT == 0 or programs % _INT >= _INT // 2:
        raise LaunchRefused(
            f"this grid of {programs} programs does not start: Triton's launcher multiplies its "
            "sizes in 32 bits, and starts nothing where the result is not above 0"
        )
    return True
